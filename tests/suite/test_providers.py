"""The real manifest: everything is covered, every entry is understood, and small members of each family answer."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from shmem_model.scopes import REFEREED
from shmem_suite import manifest, referee
from shmem_suite.assembly import assemble, gaps, provider
from shmem_suite.checks import TIERS, Check, Outcome
from shmem_suite.errors import ManifestError
from shmem_suite.manifest import Entry
from shmem_suite.providers import mutants, readers, referees, walks
from shmem_suite.runner import tasks_of
from shmem_suite.selection import in_tier


@pytest.fixture(scope="module")
def every() -> list[Check]:
    """All checks of the suite."""
    return assemble(manifest.load())


def answer(check: Check) -> Outcome:
    """Ask a check here."""
    parts = {task.key: task.function(*task.arguments) for task in check.tasks}
    return check.combine(parts)


def named(checks: Sequence[Check], id: str) -> Check:
    return next(check for check in checks if check.id == id)


def test_nothing_is_unchecked(every: list[Check]) -> None:
    outcome = answer(named(every, "suite/nothing-unchecked"))
    assert (outcome.verdict, outcome.detail) == ("holds", "")


def test_whatever_is_taken_away_is_missed(every: list[Check]) -> None:
    """Red twin: without the checks of any one provider, or any one theorem, there are gaps."""
    loaded = manifest.load()
    for name in loaded.entries:
        universe = provider(name).universe()
        for category, things in universe.items():
            missed = gaps(every[:1], {category: things}, {})
            assert len(missed) >= len(things) > 0


def test_every_check_can_be_told_apart_and_has_its_words(every: list[Check]) -> None:
    assert len({check.id for check in every}) == len(every)
    assert [check.id for check in every if not check.statement or not check.engine or not check.scope] == []
    assert len(tasks_of(every)) > len(every) / 2


def test_every_tier_has_more_than_the_one_before(every: list[Check]) -> None:
    sizes = [len(in_tier(every, tier)) for tier in TIERS]
    assert sizes == sorted(set(sizes))
    kinds = {check.kind for check in in_tier(every, "default")}
    assert kinds == {
        "theorem",
        "witness",
        "red-twin",
        "exploration",
        "litmus",
        "mutant",
        "differential",
        "referee",
    }


def test_every_pinned_check_has_its_pins(every: list[Check]) -> None:
    assert [check.id for check in every if check.pinned and check.pins is None] == []


@pytest.mark.parametrize("name", ["readers", "walks", "solvers", "mutants"])
def test_an_entry_that_nobody_understands_is_refused(name: str) -> None:
    entry = Entry(id="x", kind="differential", subject="the weather", options={"part": "the weather"})
    with pytest.raises(ManifestError, match="the weather"):
        list(provider(name).checks([entry], {}))


def test_readers_agree_on_a_few_pairs() -> None:
    found = readers.compare_readers("small", 60, 3)
    assert found.verdict == "holds"
    assert found.counts["pairs"] == 60


def test_the_bounded_search_finds_a_violation_where_the_explorer_does(every: list[Check]) -> None:
    assert answer(named(every, "readers/bounded/T4/wait-that-needs-no-notification")).verdict == "holds"


def test_a_walk_that_gets_stuck_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    found = walks.walk("weakest", 50, 1)
    assert (found.verdict, found.counts["steps"]) == ("holds", 50)
    monkeypatch.setattr(walks, "run", lambda scope, steps, seed: walks.Walk(steps=7))
    assert walks.walk("weakest", 50, 1).detail == "only 7 steps could be taken"


def test_hypothesis_must_take_enough_steps() -> None:
    assert walks.search(examples=2, steps=5, least=5).verdict == "holds"
    assert walks.search(examples=2, steps=5, least=10**6).verdict == "unknown"


def test_a_story_may_be_hardly_longer_than_the_shortest(every: list[Check]) -> None:
    (function, arguments) = (task := named(every, "walks/T5/send-without-the-right").tasks[0]).function, task.arguments
    assert function(*arguments).verdict == "holds"
    theorem, number, stories, _ = arguments
    assert function(theorem, number, stories, -1).verdict == "fails"


def test_a_mutant_is_noticed_by_whom_the_table_says(every: list[Check]) -> None:
    tenth = [check for check in in_tier(every, "default") if check.id.startswith("mutant/")]
    assert len(tenth) >= 25
    check = next(check for check in tenth if "by invariant" in check.statement)
    assert (answer(check).verdict, check.expected) == ("fails", "fails")


def test_a_mutant_that_the_table_does_not_know_is_never_right(monkeypatch: pytest.MonkeyPatch) -> None:
    assert mutants.judge_mutant("flush/no-such-place").verdict == "unknown"
    table = mutants.read_table()
    name = next(iter(table))
    monkeypatch.setattr(mutants, "read_table", lambda: {name: mutants.Row("what", mutants.ALIVE, "", "")})
    assert mutants.judge_mutant(name).verdict == "unknown"
    assert mutants.look_at_table().verdict == "fails"


def test_the_referee_is_asked_on_every_scope_that_is_to_be_refereed(every: list[Check]) -> None:
    assert {check.subject for check in every if check.kind == "referee"} == set(REFEREED)


def test_without_the_referee_its_checks_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(referee, "missing", lambda: "rumur is not installed")
    found = referees.ask("uncached")
    assert "rumur is not installed" in found.skipped
