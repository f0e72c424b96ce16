"""Recorded runs that were tampered with: the checker finds it, or the machine shows that it is legal behaviour."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from shmem_model.conformance.traces import custody, streams
from shmem_suite.providers.traces import says_clean, says_legal
from shmem_suite.tampering import record
from shmem_suite.tampering.compare import Compared, checked, compared, row
from shmem_suite.tampering.judge import judge
from shmem_suite.tampering.record import PROGRAMS, Recorded, lines, recorded
from shmem_suite.tampering.scene import Scene
from shmem_suite.tampering.steps import Steps
from shmem_suite.tampering.tamper import EACH, KINDS, renumbered
from tests.traces.test_tie import WRONG

RUNS = recorded()


@cache
def fifty(kind: str) -> list[Compared]:
    return list(compared(kind))


def told(one: Any) -> str:
    return f"{one.answer}, but {one.finding.verdict}:\n" + "".join(lines(one.trace))


@pytest.mark.parametrize("kind", KINDS)
def test_checker_and_machine_agree_on_tampered_traces(kind: str) -> None:
    found = row(kind, list(compared(kind, 12, seed=1)))
    assert not found.disagreements, told(found.disagreements[0])
    assert found.detected
    assert found.detected + found.legal == found.traces == 12


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_checker_and_machine_agree_on_fifty_of_each_kind(kind: str) -> None:
    found = row(kind, fifty(kind))
    assert not found.disagreements, told(found.disagreements[0])
    assert found.detected + found.legal == found.traces == EACH


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in WRONG if "copy" not in name])
def test_a_wrong_rule_of_the_checker_is_found_in_tampered_traces(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    judged = [one for kind in KINDS for one in fifty(kind)]
    function, wrong = WRONG[name]
    for module in (custody, streams):
        if hasattr(module, function):
            monkeypatch.setattr(module, function, wrong)
    assert not all(replace(one, answer=checked(lines(one.trace))).agreed for one in judged)


@pytest.mark.parametrize("kind", KINDS)
def test_a_checker_that_finds_nothing_is_found_out(kind: str) -> None:
    assert row(kind, list(compared(kind, 6, check=says_clean))).disagreements


@pytest.mark.parametrize("kind", KINDS)
def test_a_judge_that_looks_at_nothing_is_found_out(kind: str) -> None:
    assert row(kind, list(compared(kind, 6, asked=says_legal))).disagreements


def test_a_judge_that_runs_out_of_states_agrees_with_nothing() -> None:
    one = next(compared("value-changed", 1, asked=lambda head, events: judge(head, events, bound=1)))
    assert one.finding.verdict == "unknown"
    assert not one.agreed


@pytest.mark.parametrize("name", RUNS)
def test_a_recorded_run_is_clean_and_legal_and_its_witness_can_be_taken(name: str) -> None:
    head, events = RUNS[name]
    assert len(events) <= record.LONGEST
    assert checked(lines((head, events))) == "clean"
    finding = judge(head, events)
    assert finding.verdict == "legal"
    assert finding.legal is not None
    steps, rest = Steps(Scene(head, events)), {a: [e for e in events if e["agent"] == a] for a in head["agents"]}
    for agent in finding.legal:
        steps.take(rest[agent].pop(0))
    assert steps.intact()
    assert not any(rest.values())


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_run_can_be_recorded_anew(name: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    record.record(name, path)
    _, events = record.load(path)
    assert sorted(map(_without_chance, events)) == sorted(map(_without_chance, RUNS[name][1]))


def _without_chance(event: dict[str, Any]) -> str:
    """The event without what depends on who came first."""
    by_chance = {"where", "upto", "from", "value" if event["action"] == "atomic_add" else ""}
    return json.dumps({key: value for key, value in event.items() if key not in by_chance}, sort_keys=True)


def without(run: Recorded, agent: str, action: str) -> Recorded:
    """The run without the agent's first such event."""
    head, events = deepcopy(run)
    events.remove(next(e for e in events if (e["agent"], e["action"]) == (agent, action)))
    return head, renumbered(events)


@pytest.mark.parametrize(
    ("run", "agent", "action", "verdict"),
    [
        ("hand-over", "host", "fence", "broken"),
        ("hand-over", "host", "send", "illegal"),
        ("hand-over", "host", "alloc", "illegal"),
        ("hand-over", "dev0", "map", "legal"),
        ("hand-over", "dev0", "invalidate", "legal"),
        ("hand-over-caches", "dev0", "invalidate", "broken"),
        ("hand-over-caches", "host", "flush", "broken"),
        ("hand-over-caches", "host", "write", "differs"),
        ("meeting-caches", "dev0", "arrive", "illegal"),
        ("meeting", "dev0", "atomic_add", "differs"),
    ],
)
def test_the_judge_says_what_is_missing(run: str, agent: str, action: str, verdict: str) -> None:
    assert judge(*without(RUNS[run], agent, action)).verdict == verdict


def test_words_that_are_not_whole_are_not_judged() -> None:
    head, events = deepcopy(RUNS["hand-over"])
    next(e for e in events if e["action"] == "read")["range"] = [4, 4]
    with pytest.raises(ValueError, match="only whole words"):
        judge(head, events)


def test_nothing_is_mapped_before_it_is_allocated() -> None:
    head, events = deepcopy(RUNS["hand-over"])
    own = [i for i, e in enumerate(events) if e["agent"] == "host"]
    events[own[0]], events[own[1]] = events[own[1]], events[own[0]]
    changed = head, renumbered(events)
    assert judge(*changed).verdict == "illegal"
    assert checked(lines(changed)) == "malformed"
