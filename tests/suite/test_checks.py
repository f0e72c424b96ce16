"""What verdicts add up to: the weakest part decides, and nothing undecided is a success."""

from __future__ import annotations

import itertools

import pytest

from shmem_suite.checks import VERDICTS, Check, Outcome, Task, skipped, weakest
from shmem_suite.results import Result, exit_code
from shmem_suite.runner import tasks_of
from tests.suite import fakes


def test_the_weakest_part_decides() -> None:
    order = ["fails", "not-inductive", "unknown", "holds"]
    for group in itertools.product(order, repeat=2):
        parts = {str(n): Outcome(verdict) for n, verdict in enumerate(group)}
        assert weakest(parts).verdict == min(group, key=order.index)


def test_nothing_asked_is_unknown() -> None:
    assert weakest({}).verdict == "unknown"


def test_counts_are_added_and_the_guilty_part_speaks() -> None:
    parts = {
        "a": Outcome("holds", "fine", counts={"obligations": 3, "per_action": {"fill": 1}}),
        "b": Outcome("unknown", "gave up", counts={"obligations": 4, "per_action": {"fill": 2, "read": 5}}),
    }
    whole = weakest(parts)
    assert (whole.detail, whole.counts) == (
        "gave up",
        {"obligations": 7, "per_action": {"fill": 3, "read": 5}},
    )


def test_a_skipped_part_does_not_decide_but_all_skipped_is_skipped() -> None:
    assert weakest({"a": skipped("no rumur"), "b": Outcome("holds")}).verdict == "holds"
    assert weakest({"a": skipped("no rumur")}).skipped == "no rumur"


@pytest.mark.parametrize("wrong", [{"kind": "theory"}, {"expected": "true"}, {"tier": "slow"}, {"tasks": ()}])
def test_a_check_refuses_words_that_mean_nothing(wrong: dict[str, object]) -> None:
    fields = {"id": "x", "kind": "theorem", "subject": "x", "statement": "", "expected": "holds"}
    with pytest.raises(ValueError):
        Check(**{"tasks": (Task("x", fakes.say, ("holds",)),), **fields, **wrong})  # type: ignore[arg-type]


def test_a_verdict_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="is no verdict"):
        Outcome("true")  # type: ignore[arg-type]


@pytest.mark.parametrize(("verdict", "expected"), list(itertools.product(VERDICTS, VERDICTS)))
def test_ok_means_that_the_verdict_is_the_expected_one(verdict: str, expected: str) -> None:
    assert fakes.result("x", verdict, expected).ok == (verdict == expected)


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        (["holds", "holds"], 0),
        (["holds", "fails"], 1),
        (["holds", "unknown"], 3),
        (["holds", "not-inductive"], 3),
        (["fails", "unknown"], 1),
        ([], 3),
    ],
)
def test_exit_codes(verdicts: list[str], code: int) -> None:
    assert exit_code([fakes.result(str(n), verdict) for n, verdict in enumerate(verdicts)]) == code


def test_the_summary_counts_undecided_ones_among_those_not_as_expected() -> None:
    report = fakes.report(
        fakes.result("a"),
        fakes.result("twin", "fails", "fails"),
        fakes.result("b", "fails"),
        fakes.result("c", "unknown"),
        fakes.result("d", "unknown", skipped="no rumur"),
    )
    assert report.summary == {"holds": 2, "fails": 2, "unknown": 1, "seconds": 1.5}
    assert [result.check.id for result in report.skipped] == ["d"]


def pinned(pins: object, counts: object, verdict: str = "holds", expected: str = "holds") -> Result:
    return fakes.result("x", verdict, expected, counts=counts, pinned=True, pins=pins)


def test_counts_as_pinned_are_as_expected() -> None:
    assert pinned({"states": 5, "per_action": {"fill": 2}}, {"states": 5, "per_action": {"fill": 2}}).ok


@pytest.mark.parametrize(
    ("pins", "counts", "said"),
    [
        ({"states": 5}, {"states": 6}, "states 6, pinned 5"),
        ({"states": 5, "depth": 2}, {"states": 5}, "depth None, pinned 2"),
        ({"per_action": {"fill": 2}}, {"per_action": {"fill": 3}}, "per_action.fill 3, pinned 2"),
        (None, {"states": 6}, "no counts are pinned yet"),
    ],
)
def test_other_counts_are_not_as_expected(pins: object, counts: object, said: str) -> None:
    found = pinned(pins, counts)
    assert (found.ok, found.verdict) == (False, "fails")
    assert said in found.detail
    assert exit_code([found]) == 1
    twin = pinned(pins, counts, "fails", "fails")
    assert (twin.ok, twin.verdict == "fails") == (False, False)
    assert exit_code([twin]) == 1


def test_a_shared_task_runs_once_and_two_tasks_need_two_names() -> None:
    shared = Task("step", fakes.say, ("holds",))
    one, two = (fakes.check(id, tasks=(shared,)) for id in ("a", "b"))
    assert tasks_of([one, two]) == [shared]
    other = fakes.check("c", tasks=(Task("step", fakes.say, ("fails",)),))
    with pytest.raises(ValueError, match="two different tasks"):
        tasks_of([one, other])
