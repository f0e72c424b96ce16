"""The report is one page that needs nothing else, says what was asked in words, and shows the runs."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from shmem_suite.errors import UsageError
from shmem_suite.report import render, write
from shmem_suite.report.pictures import picture
from shmem_suite.results import Report
from shmem_suite.story import Change, Step, Trace
from tests.suite import fakes
from tests.suite.fakes import report, result

VOID = {"meta", "br", "link", "img", "hr", "input"}
QUESTIONS = {"questions": [{"question": "dev0.r0 == 0", "expect": "allowed", "answer": "allowed", "ok": True}]}
COUNTS = {"states": 12345, "transitions": 3, "depth": 2, "per_action": {"fill": 3}}


class Page(HTMLParser):
    """Checks that tags are balanced, and collects text, tags, attributes and ids."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def everything() -> Report:
    """A report with a result of every kind, good and bad."""
    return report(
        result("T1", names=("visibility",), counts={"obligations": 2872}, scope="any size", engine="z3"),
        result("T1/witness/a", kind="witness", trace=fakes.RUN),
        result("T1/twin/a", "fails", "fails", kind="red-twin", trace=fakes.RUN),
        result("T3", "not-inductive", detail="a pair of <states>"),
        result("explore/tiny", kind="exploration", counts=COUNTS, pinned=True, pins=COUNTS),
        result("explore/odd", kind="exploration", counts=COUNTS, pinned=True, pins={"states": 1}),
        result("litmus/mp/plain", kind="litmus", facts={**QUESTIONS, "states": 77}),
        result("litmus/mp/broken", "unknown", kind="litmus", facts={"traceback": "Traceback <here>"}),
        result("mutant/1", "fails", "fails", kind="mutant"),
        result("readers/agree", kind="differential"),
        result("referee/tiny", "unknown", kind="referee", skipped="rumur is not installed"),
    )


def test_the_page_is_well_formed_and_needs_nothing_else() -> None:
    text = render(everything())
    page = Page(text)
    assert {"html", "title", "style", "svg", "table", "details"} <= page.tags
    assert page.tags & {"script", "link", "img", "iframe", "object"} == set()
    assert [pair for pair in page.attributes if pair[0] in ("src", "onclick", "onload")] == []
    links = {value for name, value in page.attributes if name == "href"}
    ids = {value for name, value in page.attributes if name == "id"}
    assert links
    assert {f"#{value}" for value in ids} >= links
    assert re.findall(r"url\(|@import|https?:", text) == []


def test_the_page_says_what_was_asked_and_what_came_out() -> None:
    text = Page(render(everything())).text
    for words in (
        "3 of 10 checks did not come out as expected.",
        "What T1 says.",
        "visibility",
        "any size, z3, 2 872 obligations",
        "fails, as expected",
        "not-inductive, expected holds",
        "a pair of <states>",
        "12 345",
        "states 12345, pinned 1",
        "as pinned",
        "dev0.r0 == 0",
        "rumur is not installed",
        "Traceback <here>",
        "numpy",
    ):
        assert words in text


def test_the_color_scheme_follows_the_reader() -> None:
    assert "prefers-color-scheme: dark" in render(report(result("T1")))


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ([result("T1")], "All 1 checks came out as expected."),
        ([result("T1", "unknown")], "undecided is not success"),
        ([result("T1", "fails")], "1 of 1 checks did not come out as expected."),
    ],
)
def test_the_first_sentence_is_the_verdict(results: list[object], said: str) -> None:
    assert said in Page(render(report(*results))).text  # type: ignore[arg-type]


def test_the_picture_has_a_lane_per_agent_and_the_guilty_step_in_colour() -> None:
    tree = ElementTree.fromstring(picture(fakes.RUN))
    kinds = [element.get("class") for element in tree.iter()]
    assert [kinds.count(kind) for kind in ("name", "step", "step guilty", "edge")] == [3, 4, 1, 1]
    words = ["".join(element.itertext()) for element in tree.iter("text")]
    assert "host" in words
    assert "dev0" in words
    assert "dirty line0: no→yes" in words
    assert "memory line0,0: 0→1" in words
    assert "<told>" in (tree.get("aria-label") or "")


def test_the_picture_shortens_what_is_long_and_keeps_it_in_a_tip() -> None:
    changes = tuple(Change("posted_data", ("host", f"line{n}", "w"), "0" * 30, "1") for n in range(9))
    tree = ElementTree.fromstring(picture(Trace((Step("host", "flush" * 20, (), changes),), loop=0)))
    tips = [element.text or "" for element in tree.iter("title")]
    assert "flush" * 20 in tips
    assert "and 3 more" in "".join(tree.itertext())
    assert any("line8" in tip for tip in tips)


def test_a_run_without_steps_has_a_picture_too() -> None:
    ElementTree.fromstring(picture(Trace((), ending="wrong from the start", loop=0)))


def test_the_page_is_written_into_a_new_folder(tmp_path: Path) -> None:
    page = write(report(result("T1")), str(tmp_path / "a" / "b"))
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    (tmp_path / "c" / "index.html").mkdir(parents=True)
    with pytest.raises(UsageError, match="cannot write"):
        write(report(result("T1")), str(tmp_path / "c"))
