"""`shmem trace view` and `shmem trace export`: an order that the edges allow, their arrows, the broken access."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from shmem_suite.cli import main
from shmem_suite.trace_order import Order
from tests.traces.test_check import HAND_OVER, HEAD, numbered, text, without

SVG = "{http://www.w3.org/2000/svg}"


def file(place: Path, events: list[dict[str, Any]], head: dict[str, Any] = HEAD) -> str:
    found = place / "run.jsonl"
    found.write_text("".join(text(events, head)), encoding="utf-8")
    return str(found)


def receiver_first(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(events, key=lambda event: event["agent"])


def test_a_wait_comes_after_its_send_whatever_the_order_of_the_lines() -> None:
    lines = text(receiver_first(numbered(HAND_OVER)))
    found = [placed.event["action"] for placed in Order(lines)]
    assert found.index("send") < found.index("wait") < found.index("read")


def test_a_leave_comes_after_all_arrivals_and_names_them() -> None:
    meet = {"team": "t", "epoch": 1}
    arrive = {**meet, "members": ["host", "dev0"]}
    events = numbered(
        [(a, x, arrive if x == "arrive" else meet) for a in ("dev0", "host") for x in ("arrive", "leave")]
    )
    found = list(Order(text(events)))
    assert [placed.event["action"] for placed in found] == ["arrive", "arrive", "leave", "leave"]
    assert {placed.takes[0][0] for placed in found[2:]} == {"host", "dev0"}


def test_the_broken_access_is_marked_and_only_that(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "view", file(tmp_path, without("fence"))]) == 0
    shown = capsys.readouterr().out
    marked = [line for line in shown.splitlines() if line[8:9] == "!" and line[:7].strip()]
    assert len(marked) == 1
    assert "read" in marked[0]
    assert "host has not fenced since" in shown
    assert main(["trace", "view", file(tmp_path, numbered(HAND_OVER))]) == 0
    assert "!" not in capsys.readouterr().out


def test_the_picture_has_its_arrow_and_its_guilty_step(tmp_path: Path) -> None:
    out = tmp_path / "run.svg"
    for events, guilty in ((without("fence"), 1), (numbered(HAND_OVER), 0)):
        assert main(["trace", "view", file(tmp_path, events), "--out", str(out)]) == 0
        root = ET.fromstring(out.read_text("utf-8"))
        kinds = [part.get("class") for part in root.iter()]
        assert (kinds.count("edge"), kinds.count("step guilty")) == (1, guilty)


def test_a_long_trace_is_shown_around_its_problem_or_where_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [(e["agent"], e["action"], e) for e in without("flush")]
    more = [("host", "fence", {})] * 500
    where = file(tmp_path, [e | {"n": n} for e, n in _renumbered([*more, *steps, *more])])
    assert main(["trace", "view", where, "--count", "12"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 1 + 12 + 1 + 1
    assert [line[:7].strip() for line in shown if line[8:9] == "!" and line[:7].strip()] == ["506"]
    assert main(["trace", "view", where, "--from", "3", "--count", "2"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:3]] == ["3", "4"]


def _renumbered(steps: list[tuple[str, str, dict[str, Any]]]) -> list[tuple[dict[str, Any], int]]:
    count: dict[str, int] = {}
    found = []
    for agent, action, more in steps:
        found.append(({**more, "agent": agent, "action": action}, count.get(agent, 0)))
        count[agent] = count.get(agent, 0) + 1
    return found


@pytest.mark.parametrize("events", [numbered(HAND_OVER), receiver_first(numbered(HAND_OVER))])
def test_the_export_has_every_event_and_both_ends_of_each_edge(tmp_path: Path, events: list[dict[str, Any]]) -> None:
    out = tmp_path / "run.json"
    assert main(["trace", "export", file(tmp_path, events), "--format", "chrome", "--out", str(out)]) == 0
    found = json.loads(out.read_text("utf-8"))["traceEvents"]
    kinds = [entry["ph"] for entry in found]
    assert [kinds.count(kind) for kind in "MXsf"] == [2, 8, 1, 1]
    begin, end = (next(e for e in found if e["ph"] == kind) for kind in "sf")
    assert begin["id"] == end["id"]
    assert begin["ts"] < end["ts"]


def test_a_barrier_of_three_exports_a_flow_for_each_pair(tmp_path: Path) -> None:
    names = ["host", "dev0", "dev1"]
    meet = {"team": "t", "epoch": 1, "members": names}
    events = numbered([(name, action, meet) for action in ("arrive", "leave") for name in names])
    out = tmp_path / "run.json"
    where = file(tmp_path, events, {**HEAD, "agents": names, "complete": names})
    assert main(["trace", "export", where, "--out", str(out)]) == 0
    found = json.loads(out.read_text("utf-8"))["traceEvents"]
    begun, ended = ([e["id"] for e in found if e["ph"] == kind] for kind in "sf")
    assert len(set(begun)) == len(begun) == 6
    assert sorted(begun) == sorted(ended)


@pytest.mark.parametrize("command", ["view", "export"])
@pytest.mark.parametrize("content", ["", "{}\n", json.dumps(HEAD) + "\nno\n"])
def test_what_is_no_trace_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, content: str
) -> None:
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text(content, encoding="utf-8")
    assert main(["trace", command, str(wrong), "--out", str(tmp_path / "out.txt")]) == 2
    told = capsys.readouterr().err
    assert len(told.strip().splitlines()) == 1
    assert "Traceback" not in told


def test_a_trace_that_contradicts_itself_is_drawn_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text("".join(text([e for e in numbered(HAND_OVER) if e["action"] != "send"])))
    assert main(["trace", "view", str(file)]) == 2
    assert "more notifications than were ever sent" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["view", "export"])
def test_a_trace_that_is_cut_off_leaves_nothing_behind(command: str, tmp_path: Path) -> None:
    file, out = tmp_path / "run.jsonl", tmp_path / "out.svg"
    file.write_text("".join(text(numbered(HAND_OVER)))[:-1])
    assert main(["trace", command, str(file), "--out", str(out)]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["run.jsonl"]
