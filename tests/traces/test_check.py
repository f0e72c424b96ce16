"""`shmem trace check`: what is clean, which step is missing, and what is no trace at all."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from shmem_model.conformance.traces import Answer, check_file, check_lines, compiled
from shmem_suite.cli import main

PLATFORM = {"write_back": "line", "invalidate": "discard", "cached": ["host", "dev0"]}
HEAD = {"shmem_trace": 1, "platform": PLATFORM, "agents": ["host", "dev0"], "complete": ["host", "dev0"]}
PLACE = {"region": [0, 1], "range": [0, 8]}
ONE, TWO, ZERO = "01" + "00" * 7, "02" + "00" * 7, "00" * 8


def numbered(events: Iterable[tuple[str, str, dict[str, Any]]]) -> list[dict[str, Any]]:
    count: dict[str, int] = {}
    told = []
    for agent, action, more in events:
        told.append({"agent": agent, "n": count.get(agent, 0), "action": action, **more})
        count[agent] = count.get(agent, 0) + 1
    return told


def text(events: Iterable[dict[str, Any]], head: dict[str, Any] = HEAD) -> list[str]:
    return [json.dumps(line) + "\n" for line in (head, *events)]


HAND_OVER = [
    ("host", "alloc", {"region": [0, 1], "range": [0, 128]}),
    ("host", "write", {**PLACE, "value": ONE, "where": "host.c:10"}),
    ("host", "flush", PLACE),
    ("host", "fence", {}),
    ("host", "send", {"to": "dev0", "slot": 7, "count": 1}),
    ("dev0", "wait", {"slot": 7, "from": "host", "upto": {"host": 1}}),
    ("dev0", "invalidate", PLACE),
    ("dev0", "read", {**PLACE, "value": ONE, "where": "dev.c:20"}),
]
"""Every step of a hand-over."""


def without(action: str) -> list[dict[str, Any]]:
    return numbered(event for event in HAND_OVER if event[1] != action)


def check(events: Iterable[dict[str, Any]], head: dict[str, Any] = HEAD) -> Answer:
    return check_lines(text(events, head))


def test_a_whole_hand_over_is_clean() -> None:
    assert check(numbered(HAND_OVER)) == Answer("clean", 8)


MISSING = {
    "flush": "host has not flushed what it wrote",
    "fence": "host has not fenced since",
    "invalidate": "dev0 was told, but has not invalidated the line since",
    "wait": "dev0 was not told since",
}


@pytest.mark.parametrize("action", MISSING)
def test_a_race_names_the_missing_step_and_both_lines(action: str) -> None:
    answer = check(without(action))
    assert answer.answer == "race"
    (problem,) = answer.problems
    assert MISSING[action] in problem.missing
    assert "dev.c:20" in problem.what
    assert "host.c:10" in problem.other


def test_another_value_although_custody_was_kept_is_a_violation() -> None:
    events = numbered(HAND_OVER)
    events[-1]["value"] = TWO
    answer = check(events)
    assert answer.answer == "violation"
    assert f"it read {TWO} and not the last write, {ONE}" in answer.problems[0].missing


@pytest.mark.parametrize(("second", "kinds"), [(TWO, ["race"] * 2), (ONE, ["race"] * 2 + ["violation"])])
def test_a_value_after_a_race_is_open_until_the_word_is_handed_over_again(second: str, kinds: list[str]) -> None:
    events = [event for event in HAND_OVER if event[1] != "fence"]
    events += [("dev0", "read", {**PLACE, "value": ZERO})]
    events += [("dev0", "send", {"to": "host", "slot": 1, "count": 1})]
    events += [("host", "wait", {"slot": 1, "upto": {"dev0": 1}}), ("host", "write", {**PLACE, "value": TWO})]
    events += [*HAND_OVER[2:4], ("host", "send", {"to": "dev0", "slot": 7, "count": 2})]
    events += [("dev0", "wait", {"slot": 7, "upto": {"host": 2}}), HAND_OVER[6]]
    events += [("dev0", "read", {**PLACE, "value": second})]
    answer = check(numbered(events))
    assert [problem.kind for problem in answer.problems] == kinds


def test_a_write_over_somebody_who_still_reads_is_a_race() -> None:
    both = {"region": [0, 1], "range": [0, 16]}
    events = [HAND_OVER[0], ("dev0", "read", {**both, "value": ZERO * 2}), ("host", "write", {**PLACE, "value": ONE})]
    answer = check(numbered(events))
    assert answer.answer == "race"
    assert "does not know that dev0 has finished reading" in answer.problems[0].missing


def test_lines_of_different_agents_may_stand_in_any_order() -> None:
    events, choose = numbered(HAND_OVER), random.Random(3)
    for _ in range(30):
        streams = {name: [e for e in events if e["agent"] == name] for name in ("host", "dev0")}
        mixed = []
        while any(streams.values()):
            name = choose.choice([name for name, left in streams.items() if left])
            mixed.append(streams[name].pop(0))
        assert check(mixed) == Answer("clean", 8)


@pytest.mark.parametrize("cut", [False, True])
def test_what_waits_for_the_last_event_of_a_killed_agent_is_unknown(cut: bool) -> None:
    events = numbered([*HAND_OVER[:4], ("host", "die", {"cut": cut}), *HAND_OVER[5:]])
    answer = check(events)
    assert answer.answer == ("unknown" if cut else "malformed")
    assert ("host was killed" in answer.why) is cut


def test_bytes_that_are_no_text_are_malformed_with_their_line(tmp_path: Path) -> None:
    file, lines = tmp_path / "run.jsonl", text(numbered(HAND_OVER))
    file.write_bytes("".join(lines[:5]).encode() + b'{"agent": "\xff"}\n' + "".join(lines[5:]).encode())
    for fast in [False, True] if compiled.available() else [False]:
        answer = check_file(file, fast=fast)
        assert (answer.answer, answer.line) == ("malformed", 6)
        assert "no UTF-8 text" in answer.why


def test_a_trace_without_events_is_no_pass() -> None:
    assert check([]).answer == "malformed"
    assert "nothing was recorded" in check([]).why


def test_a_place_may_be_unknown() -> None:
    assert check(event | {"where": None} for event in numbered(HAND_OVER)) == Answer("clean", 8)


def test_a_sticky_slot_gives_all_at_once() -> None:
    assert check_lines(two_at_once("sticky")).answer == "clean"


def test_a_notification_that_is_known_and_not_found_is_a_violation() -> None:
    """The device knows of the first notification by the second, on another slot."""
    second = ("host", "send", {"to": "dev0", "slot": 8, "count": 1})
    poll = ("dev0", "poll", {"slot": 7, "got": False, "upto": {}})
    known = ("dev0", "wait", {"slot": 8, "upto": {"host": 1}})
    assert check(numbered([*HAND_OVER[:5], second, poll, known])).answer == "clean"
    answer = check(numbered([*HAND_OVER[:5], second, known, poll]))
    assert answer.answer == "violation"
    assert "found no notification, although it knew of one of host" in answer.problems[0].missing


def test_where_an_agent_is_not_recorded_nothing_is_certain() -> None:
    head = {**HEAD, "complete": ["host"]}
    answer = check([event for event in numbered(HAND_OVER) if event["agent"] == "host"], head)
    assert answer.answer == "unknown"
    assert "dev0" in answer.why


def change(number: int, **what: Any) -> list[str]:
    events = numbered(HAND_OVER)
    events[number] |= what
    return text(events)


def drop(number: int) -> list[str]:
    events = numbered(HAND_OVER)
    del events[number]
    return text(events)


def two_at_once(slots: str) -> list[str]:
    send = HAND_OVER[4]
    events = [
        *HAND_OVER[:5],
        ("host", "send", {**send[2], "count": 2}),
        ("dev0", "wait", {**HAND_OVER[5][2], "upto": {"host": 2}}),
    ]
    return text(numbered(events), {**HEAD, "platform": {**PLATFORM, "slots": slots}})


MALFORMED: dict[str, tuple[list[str], str]] = {
    "empty": ([], "the file is empty"),
    "no JSON": (["{\n"], "no JSON at column"),
    "no object": (["[]\n"], "no JSON object"),
    "no version": (["{}\n"], "the first line must say"),
    "another version": ([json.dumps({**HEAD, "shmem_trace": 2}) + "\n"], "the first line must say"),
    "no agents": ([json.dumps({**HEAD, "agents": []}) + "\n"], "`agents` must be"),
    "an agent twice": ([json.dumps({**HEAD, "agents": ["a", "a"]}) + "\n"], "`agents` must be"),
    "complete of nobody": ([json.dumps({**HEAD, "complete": ["x"]}) + "\n"], "`complete` must list"),
    "no platform": ([json.dumps({**HEAD, "platform": 1}) + "\n"], "`platform` must be"),
    "unknown write-back": ([json.dumps({**HEAD, "platform": {**PLATFORM, "write_back": "x"}}) + "\n"], "write_back"),
    "cut off": ([*text(numbered(HAND_OVER))[:-1], '{"agent": "dev0"'], "has no end"),
    "an empty line": ([*text([])[:1], "\n"], "an empty line"),
    "unknown agent": (change(1, agent="x"), "agent 'x' is none"),
    "unknown action": (change(1, action="x"), "action 'x' is unknown"),
    "unknown error": (change(1, error="x"), "error 'x' is none"),
    "no number": (change(1, n="1"), "`n` must be"),
    "a number left out": (drop(1), "event 2 of host comes where 1 should"),
    "a number twice": (change(2, n=1), "event 1 of host comes where 2 should"),
    "no value": (change(1, value=None), "write needs `value`"),
    "odd value": (change(1, value="0"), "`value` must be bytes"),
    "short value": (change(1, value="00"), "`value` has 1 bytes and `range` 8"),
    "range of three": (change(1, range=[0, 8, 1]), "`range` must be two numbers"),
    "negative range": (change(1, range=[-8, 8]), "`range` must be two numbers"),
    "past the end": (change(1, range=[124, 8]), "goes past the end"),
    "count that jumps": (change(4, count=3), "count 3 follows 0"),
    "unknown receiver": (change(4, to="x"), "the receiver 'x' is none"),
    "taken but never sent": (change(5, upto={"host": 2}), "more notifications than were ever sent"),
    "agent that is a list": (change(1, agent=["host"]), "agent ['host'] is none"),
    "where that is a number": (change(1, where=3), "`where` must be a text"),
    "unknown slots": ([json.dumps({**HEAD, "platform": {**PLATFORM, "slots": "x"}}) + "\n"], "`platform.slots` may"),
    "a digest that is short": (change(1, value="sha256:00"), "64 digits of a digest"),
    "nothing found, and yet counted": (change(5, action="poll", got=False), "but `upto` counts one more"),
    "two at once": (two_at_once("counting"), "it took 2 notifications at once"),
    "taken from nobody": (change(5, upto={}), "`upto` counts none"),
    "no such sender": (change(5, upto={"x": 1}), "`upto` must give"),
    "unknown region": (change(7, region=[5, 1]), "nobody has allocated"),
    "given out twice": (
        text(numbered([HAND_OVER[0], HAND_OVER[0]])), "were given out before",
    ),
    "after death": (text(numbered([("host", "die", {}), ("host", "fence", {})])), "has died before"),
    "leave without arrive": (text(numbered([("host", "leave", {"team": "t", "epoch": 1})])), "without having arrived"),
    "a barrier too early": (
        text(numbered([
            ("host", "arrive", {"team": "t", "epoch": 1, "members": ["host", "dev0"]}),
            ("host", "leave", {"team": "t", "epoch": 1}),
        ])),
        "not all members have arrived",
    ),
    "epoch that jumps": (
        text(numbered([("host", "arrive", {"team": "t", "epoch": 2, "members": ["host"]})])), "epoch 2 follows 0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_what_cannot_be_is_malformed_with_its_line(name: str) -> None:
    lines, reason = MALFORMED[name]
    answer = check_lines(lines)
    assert answer.answer == "malformed", answer
    assert reason in answer.why
    assert answer.line == 0 if not lines else answer.line >= 1


@pytest.mark.parametrize(
    ("events", "code"),
    [(numbered(HAND_OVER), 0), (without("flush"), 1), (change(1, n=9), 2)],
    ids=["clean", "race", "malformed"],
)
def test_the_command_answers_with_its_exit_code(
    events: list[Any], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.jsonl"
    lines = events if isinstance(events[0], str) else text(events)
    file.write_text("".join(lines))
    assert main(["trace", "check", str(file), "--json", "-"]) == code
    (told,) = json.loads(capsys.readouterr().out)
    assert told["file"] == str(file)
    assert main(["trace", "check", str(file), str(tmp_path / "none")]) == 2


def test_what_is_kept_does_not_grow_with_the_trace() -> None:
    from shmem_model.conformance.traces.checker import Checker
    from shmem_model.conformance.traces.tables import ROWS_LEFT, SNAPS_LEFT

    checker = Checker(HEAD)
    rounds = numbered([HAND_OVER[0]])
    for event in rounds:
        checker.feed(event, 1)
    n = {"host": 1, "dev0": 0}
    sizes = []
    for turn in range(1, 400):
        for agent, action, more in [*HAND_OVER[1:], ("dev0", "send", {"to": "host", "slot": 1}), ("host", "wait", {})]:
            fields = dict(more)
            if action == "send":
                fields["count"] = turn
            if action == "wait":
                fields |= {"slot": 7 if agent == "dev0" else 1, "upto": {"host" if agent == "dev0" else "dev0": turn}}
            checker.feed({"agent": agent, "n": n[agent], "action": action, **fields}, turn)
            n[agent] += 1
        state = checker.memory.state
        sizes.append((int(state.ctl[ROWS_LEFT]), int(state.ctl[SNAPS_LEFT]), len(state.row), len(checker.columns.ev)))
    assert checker.finish().answer == "clean"
    assert set(sizes[1:]) == {sizes[1]}


def test_the_schema_names_every_action_and_field() -> None:
    from importlib.resources import files

    from shmem_model.conformance.traces.events import ACTIONS

    schema = json.loads(files("shmem_model.conformance.traces").joinpath("trace.schema.json").read_text())
    event = schema["$defs"]["event"]["properties"]
    assert event["action"]["enum"] == list(ACTIONS)
    assert {field for fields in ACTIONS.values() for field in fields} <= set(event)
