"""The pitfalls of emulated memory as checks: what is wrong is caught, and a check that cannot fail is not there."""

from __future__ import annotations

import pytest

from shmem_suite import manifest
from shmem_suite.errors import ManifestError
from shmem_suite.manifest import Entry
from shmem_suite.pitfalls import PITFALLS, Pitfall
from shmem_suite.providers import pitfalls

DEMANDED = {"P-1", "P-2", "P-3", "P-4", "P-5", "P-6", "P-15", "P-21", "P-22", "P-24"}


def test_every_pitfall_is_hunted_tried_and_tried_long() -> None:
    found = list(pitfalls.checks(manifest.load().entries["pitfalls"], {}))
    assert set(PITFALLS) >= DEMANDED
    assert {check.id for check in found} == {f"pitfalls/{f}/{p}" for f in pitfalls.FAMILIES for p in PITFALLS}
    for check in found:
        if check.tier == "full":
            seeds = [n for task in check.tasks for n in range(*task.arguments[1:])]
            assert seeds == list(range(100_000))


def test_the_wrong_protocol_is_caught_twice() -> None:
    outcome = pitfalls.hunt("P-1", 300)
    assert (outcome.verdict, "twice" in outcome.detail) == ("fails", True)


def test_a_protocol_that_is_never_wrong_is_not_reported_as_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PITFALLS, "P-1", Pitfall(lambda system, right: True))
    assert pitfalls.hunt("P-1", 5).verdict == "holds"


def test_a_failure_that_does_not_come_again_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([False, True])
    monkeypatch.setitem(PITFALLS, "P-1", Pitfall(lambda system, right: next(answers)))
    assert pitfalls.hunt("P-1", 5).verdict == "unknown"


def test_a_right_protocol_that_fails_once_is_reported_with_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([True, True, False])
    monkeypatch.setitem(PITFALLS, "P-1", Pitfall(lambda system, right: next(answers)))
    outcome = pitfalls.try_seeds("P-1", 10, 20)
    assert (outcome.verdict, outcome.facts["seed"]) == ("fails", 12)


def test_the_right_protocol_holds() -> None:
    assert pitfalls.try_seeds("P-1", 0, 20).counts == {"runs": 20}


def test_an_unknown_family_is_an_error() -> None:
    with pytest.raises(ManifestError, match="pitfalls/nothing"):
        list(pitfalls.checks([Entry(id="pitfalls/nothing/*", kind="red-twin", subject="pitfalls")], {}))
