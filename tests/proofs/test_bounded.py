"""Bounded search: the shortest run that breaks a claim, at every depth, from the start state on."""

import pytest

from shmem_model.language import (
    BOOL,
    Function,
    LanguageError,
    Machine,
    Sort,
    action,
    becomes,
    exists,
    forall,
    invariant,
    state,
    step,
    terms,
    update,
    waits,
    without_condition,
)
from shmem_model.machine import MACHINE
from shmem_model.readers.explorer import explore
from shmem_model.readers.scope import Scope
from shmem_model.readers.setting import Setting
from shmem_proofs.bounded import ReaderMismatch, Run, Search, Unknown, first_violation
from shmem_proofs.finite_reader import FiniteReader
from tests.proofs import toys

HELD_TWICE = toys.lock_scope(toys.NO_WAITING)


def test_nothing_breaks_a_good_toy():
    scope = toys.lock_scope()
    assert [first_violation(scope, claim, 6) for claim in toys.CLAIMS] == [None] * len(toys.CLAIMS)


def test_a_bad_toy_breaks_after_two_steps():
    run = first_violation(HELD_TWICE, toys.one_holder, 6)
    assert isinstance(run, Run)
    assert [s.action for s in run.steps] == ["take", "take"]
    assert sorted(s.arguments["a"] for s in run.steps) == [0, 1]
    assert len(run.states) == 3
    assert run.states[-1][toys.holds] == (1, 1, 0)
    assert "take(a=Agent" in str(run)
    assert run.as_json()[0]["action"] == "take"


def test_a_bound_that_is_too_small_finds_nothing():
    assert first_violation(HELD_TWICE, toys.one_holder, 1) is None


def test_the_same_run_is_found_twice():
    runs = [str(first_violation(HELD_TWICE, toys.one_holder, 3)) for _ in range(2)]
    assert runs[0] == runs[1]


def test_a_bad_start_is_found_although_nothing_can_follow():
    """Asked before the first step is added: a search that unrolls first would miss it."""
    stuck = toys.LOCK.with_actions([toys.take])
    scope = toys.lock_scope(stuck, start={toys.holds: {(0,): 1, (1,): 1}})
    run = first_violation(scope, toys.one_holder, 3)
    assert isinstance(run, Run)
    assert len(run) == 0


def test_a_machine_without_actions_has_only_its_start():
    scope = toys.lock_scope(toys.LOCK.with_actions([]))
    assert first_violation(scope, toys.somebody_holds, 3) is None


def test_a_bad_state_without_successor_is_found():
    """Once everybody that may holds it, nothing can be taken any more."""
    machine = toys.LOCK.with_actions([without_condition(toys.take, "free")])
    weary = machine.with_actions(
        [toys.replace(machine.actions["take"], conditions=(waits("not held", ~toys.holds(A)), ALLOWED))]
    )

    @invariant()
    def somebody_is_without():
        """Not everybody that may take the lock holds it."""
        return ~forall(toys.Agent, lambda a: toys.holds(a) | toys.barred(a))

    run = first_violation(toys.lock_scope(weary), somebody_is_without, 5)
    assert isinstance(run, Run)
    assert len(run) == 2


A = toys.take.parameters[0]
ALLOWED = toys.take.conditions[1]


def test_a_goal_is_reached_by_a_shortest_run():
    run = first_violation(toys.lock_scope(), toys.somebody_holds, 3)
    assert isinstance(run, Run)
    assert len(run) == 1


def test_names_in_step_properties_mean_the_step():
    """`answer`, `actor` and `after`, each in a claim that is broken where it should be."""
    free_paint = toys.LOCK.changed(without_condition(toys.colour, "holds it"))
    run = first_violation(toys.lock_scope(free_paint), toys.only_holders_change_the_door, 2)
    assert isinstance(run, Run)
    assert [s.action for s in run.steps] == ["colour"]

    @step("colour")
    def painting_answers_the_new_colour():
        """Painting answers what the colour is now (it does not)."""
        return terms.Parameter("answer", toys.Colour).same(terms.Parameter("v", toys.Colour))

    run = first_violation(toys.lock_scope(), painting_answers_the_new_colour, 3)
    assert isinstance(run, Run)
    assert [s.action for s in run.steps] == ["take", "colour"]
    assert run.steps[-1].answer == "Colour0"
    assert run.steps[-1].shown["v"] == "Colour1"


def test_variables_of_a_claim_are_not_the_parameters_of_the_action():
    scope = Scope("lamps", toys.LAMPS, {toys.Agent: 2}, {})
    for claim in toys.LAMPS.properties:
        run = first_violation(scope, claim, 2)
        assert isinstance(run, Run)
        assert len(run) == 1


def test_a_tiny_resource_limit_gives_unknown():
    found = first_violation(HELD_TWICE, toys.one_holder, 3, rlimit=1)
    assert isinstance(found, Unknown)
    assert found.depth < 3
    assert found.reason


def test_searches_do_not_disturb_each_other():
    """Solver sorts and names are global in one context; every search has a context of its own."""
    searches = [Search(toys.lock_scope(colours=n)) for n in (2, 3, 5)]
    for search in searches:
        search.extend()
    assert [search.ask(search.bad_state(toys.one_holder), 1) for search in searches] == [None] * 3


def test_a_step_property_of_another_kind_is_refused():
    claim = toys.replace(toys.one_holder, kind="pair")
    with pytest.raises(LanguageError, match="pair"):
        first_violation(HELD_TWICE, claim, 1)


# ------------------------------------------------------------------ sizes and places that depend on the state

Box = Sort("Box")
here = Function("here", (), Box, "hardware", "where the pointer is")
full = Function("full", (Box,), BOOL, "software", "the box is full")
after_it = Function("after_it", (Box,), Box, "platform", "the next box")


@action("software")
def walk():
    """The pointer moves on."""
    yield becomes(here, to=after_it(here()))


@action("software")
def fill_here():
    """The box at the pointer is filled."""
    yield update(full, lambda x: full(x) | x.same(here()))


@invariant()
def pointer_is_on_a_box():
    """The pointer is on a box: no solver value stands for none."""
    return exists(Box, lambda x: here().same(x))


@state()
def all_full():
    """All boxes are full."""
    return forall(Box, lambda x: full(x))


def boxes(size):
    walker = Machine(
        "walker",
        (Box,),
        (here, full, after_it),
        {full: terms.FALSE},
        {a.name: a for a in (walk, fill_here)},
    )
    return Scope("walker", walker, {Box: size}, {after_it: lambda x: (x + 1) % size}, {here: 0})


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_places_may_depend_on_the_state_in_sorts_of_any_size(size):
    assert first_violation(boxes(size), pointer_is_on_a_box, 4) is None
    run = first_violation(boxes(size), all_full, 2 * size)
    assert isinstance(run, Run)
    assert len(run) == 2 * size - 1


# ------------------------------------------------------------------ the machine

WEAKENED = {
    ("fence", "own posted words have drained"): "published_words_are_in_memory",
    ("fill", "own posted words have drained"): "current_caches_hold_the_last_write",
    ("write", "translated for writing"): "dirty_words_are_permitted",
}
READ_ONLY = Setting(rights={(1, 0): "r"})


@pytest.mark.parametrize(("action_name", "condition"), WEAKENED)
def test_explorer_and_bounded_search_break_a_weakened_machine_at_one_depth(action_name, condition):
    weak = MACHINE.changed(without_condition(MACHINE.actions[action_name], condition))
    if action_name == "write":
        weak = weak.changed(without_condition(weak.actions["write"], "ReadOnly"))
    claim = weak.property(WEAKENED[action_name, condition])
    scope = READ_ONLY.scope(f"weak {action_name}", weak)
    explored = explore(scope, properties=[claim]).findings[claim.name]
    run = first_violation(scope, claim, 8)
    assert isinstance(run, Run)
    assert explored.verdict == "fails"
    assert len(run) == len(explored.trace) == explored.depth


def test_the_machine_itself_holds_to_a_depth():
    scope = Setting().scope("small")
    for name in ("published_words_are_in_memory", "a_read_returns_the_last_write"):
        assert first_violation(scope, MACHINE.property(name), 6) is None


# ------------------------------------------------------------------ planted bugs


def test_a_finite_reader_that_drops_a_conjunct_is_caught(monkeypatch):
    """The run that it finds is none: the concrete reader refuses it."""
    honest = FiniteReader.conj

    def broken(self, values):
        values = list(values)
        return honest(self, values[:1] if len(values) == 2 else values)

    monkeypatch.setattr(FiniteReader, "conj", broken)
    with pytest.raises(ReaderMismatch):
        first_violation(toys.lock_scope(), toys.barred_agents_stay_out, 3)


def test_a_finite_reader_that_forgets_an_update_is_caught(monkeypatch):
    honest = FiniteReader.value

    def broken(self, term, env, now, then=None):
        if isinstance(term, terms.Or) and any(isinstance(v, terms.Formal) for v in env):
            return honest(self, term.fields[-1], env, now, then)
        return honest(self, term, env, now, then)

    scope = toys.lock_scope()
    assert isinstance(first_violation(scope, toys.somebody_holds, 2), Run)
    monkeypatch.setattr(FiniteReader, "value", broken)
    assert first_violation(scope, toys.somebody_holds, 2) is None
