"""T9: the allocator keeps the laws of placement on every input, wrong allocators do not, and the means are sound."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from shmem_proofs.theorems import THEOREMS
from shmem_suite.errors import ManifestError, SuiteError
from shmem_suite.manifest import Entry
from shmem_suite.placement import cases, rounding, runs, twins, whole
from shmem_suite.placement.numbers import Broken, Undecided
from shmem_suite.placement.runs import Run, explore
from shmem_suite.providers import placement

T9 = next(theorem for theorem in THEOREMS if theorem.id == "T9")
NOT_SEEN = {"dips-below-zero", "takes-a-larger-hole", "takes-beyond-the-hole", "extent-over-another"}
SEEN_BY_RANDOM_CALLS = sorted(set(twins.TWINS) - NOT_SEEN)


@pytest.mark.parametrize("case", cases.SMALL)
def test_the_allocator_keeps_the_law(case: str) -> None:
    outcome = cases.ask(case)
    assert (outcome.verdict, outcome.detail) == ("holds", "")
    assert outcome.counts["obligations"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("case", cases.LARGER)
def test_the_allocator_keeps_the_law_on_larger_lists(case: str) -> None:
    assert cases.ask(case).verdict == "holds"


@pytest.mark.parametrize("witness", cases.SEEN)
def test_some_input_does_this(witness: str) -> None:
    assert cases.see(witness).verdict == "holds"


@pytest.mark.parametrize("twin", twins.TWINS)
def test_a_wrong_allocator_breaks_its_law(twin: str) -> None:
    outcome = cases.break_twin(twin)
    assert outcome.verdict == "fails"
    assert outcome.detail.startswith(f"{twins.TWINS[twin].case}: ")


def test_a_twin_that_changes_nothing_is_no_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(twins.TWINS, "idle", twins.Twin("return self.free", "return self.free + 0", "align_up"))
    assert cases.break_twin("idle").verdict == "holds"


def test_a_twin_whose_text_has_gone_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(twins.TWINS, "gone", twins.Twin("no such text", "", "align_up"))
    with pytest.raises(SuiteError, match="`no such text` does not stand in"):
        twins.wrong("gone")


@pytest.mark.parametrize("twin", SEEN_BY_RANDOM_CALLS)
def test_random_calls_find_a_wrong_allocator(twin: str) -> None:
    with pytest.raises(AssertionError):
        whole.wander(1, 4000, twins.wrong(twin).Allocator())


@pytest.mark.parametrize("fact", rounding.FACTS)
def test_a_fact_about_masks_holds(fact: str) -> None:
    assert rounding.proved(rounding.FACTS[fact]) == "holds"


def test_facts_about_masks_need_powers_of_two() -> None:
    answers = {name: rounding.proved(fact, any_alignment=True) for name, fact in rounding.FACTS.items()}
    assert {name for name, answer in answers.items() if answer == "fails"} == {
        "two of them are an alignment apart",
        "multiples of larger alignments are whole lines",
    }


def test_every_path_is_taken() -> None:
    seen = []

    def three_ways(run: Run) -> None:
        n = run.number("n", 100)
        seen.append("small" if n < 10 else "middle" if n < 50 else "large")

    assert explore(three_ways).paths == 3
    assert sorted(seen) == ["large", "middle", "small"]


def test_a_check_of_its_own_paths_leaves_no_trace() -> None:
    def ask(run: Run) -> None:
        n = run.number("n", 100)
        run.every(lambda: run.note("odd" if n % 2 else "even"))

    found = explore(ask)
    assert (found.paths, dict(found.notes)) == (1, {"odd": 1, "even": 1})


def test_a_law_that_fails_for_one_number_is_broken_with_that_number() -> None:
    def never_42(run: Run) -> None:
        if run.number("n") == 42:
            raise Broken("it is 42")

    with pytest.raises(Broken) as caught:
        explore(never_42)
    assert caught.value.values == {"n": 42}


def test_a_sum_that_leaves_its_word_is_broken() -> None:
    with pytest.raises(Broken, match="does not fit into 64 bits"):
        explore(lambda run: run.number("n") + 1)


def test_a_call_that_raises_is_broken() -> None:
    with pytest.raises(Broken, match="the call raises KeyError"):
        explore(lambda run: {}[run.number("n")])


def test_what_a_term_cannot_do_is_undecided() -> None:
    with pytest.raises(Undecided, match="what a term cannot"):
        explore(lambda run: run.number("n") >> 1)
    with pytest.raises(Undecided, match="no alignment"):
        explore(lambda run: run.number("n") & 5)


def test_a_solver_that_gives_up_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "EFFORT", 1)
    assert cases.ask("take-from-1-window").verdict == "unknown"


def test_an_allocator_that_was_moved_away_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cases.SMALL, "align_up", lambda world, module: SimpleNamespace().align_up)
    monkeypatch.setitem(cases.CASES, "align_up", cases.SMALL["align_up"])
    assert cases.ask("align_up").verdict == "unknown"


def test_the_theorem_and_the_suite_know_the_same_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = Entry(id="T9/twin/*", kind="red-twin", subject="T9", expected="fails")
    assert {check.id.rpartition("/")[2] for check in placement.checks(entry, T9)} == set(twins.TWINS)
    monkeypatch.delitem(twins.TWINS, "rounds-down")
    with pytest.raises(ManifestError, match="do not both know rounds-down"):
        list(placement.checks(entry, T9))


def test_the_larger_cases_are_checks_of_the_full_suite() -> None:
    entry = Entry(id="T9/larger/*", kind="theorem", subject="T9", tier="full")
    assert [check.tasks[0].arguments for check in placement.checks(entry, T9)] == [(case,) for case in cases.LARGER]
