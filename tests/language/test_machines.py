"""Machines and properties: names are found, variants change one thing, closed formulas are closed."""

import pickle

import pytest

from shmem_model.language import (
    BOOL,
    FALSE,
    Function,
    LanguageError,
    Parameter,
    Sort,
    action,
    after,
    axiom,
    becomes,
    exists,
    forall,
    invariant,
    state,
    step,
    without_condition,
)
from shmem_model.language.machines import Machine, Property, pair
from shmem_model.language.terms import walk
from shmem_model.machine import MACHINE

Cat = Sort("Cat")
fed = Function("fed", (Cat,), BOOL, "software", "has eaten")


@invariant(c=Cat)
def all_fed(c):
    """Every cat
    has eaten."""
    return fed(c)


@state(c=Cat)
def one_fed(c):
    """Some cat has eaten."""
    return fed(c)


@action("software", c=Cat)
def feed(c):
    """Feed a cat."""
    yield becomes(fed, c, to=FALSE)


TINY = Machine("tiny", (Cat,), (fed,), {fed: FALSE}, {"feed": feed}, properties=(all_fed,))


def test_a_property_has_the_name_and_sentence_of_its_function():
    assert (all_fed.name, all_fed.sentence, all_fed.kind) == ("all_fed", "Every cat has eaten.", "invariant")
    assert all_fed.variables == (Parameter("c", Cat),)


def test_claims_close_with_every_and_sets_of_states_with_some():
    assert all_fed.closed is forall(Cat, lambda c: fed(c))
    assert one_fed.closed is exists(Cat, lambda c: fed(c))


def test_closed_properties_of_the_machine_have_no_free_variables():
    for claim in (*MACHINE.axioms, *MACHINE.properties):
        if claim.kind != "step":
            assert not [node for node in walk(claim.closed) if isinstance(node, Parameter)], claim.name


def test_every_kind_of_property_is_declared_by_its_own_word():
    @axiom()
    def a():
        """A."""
        return FALSE

    @step("feed", c=Cat)
    def s(c):
        """S."""
        return after(fed(c))

    @pair(c=Cat)
    def p(c):
        """P."""
        return after(fed(c)).same(fed(c))

    assert [x.kind for x in (a, s, p)] == ["axiom", "step", "pair"]
    assert s.actions == ("feed",)
    assert a.actions == ()


def test_names_are_found_and_unknown_ones_are_errors():
    assert TINY.function("fed") is fed
    assert TINY.property("all_fed") is all_fed
    assert MACHINE.property("writers_may_read").kind == "axiom"
    for find in (TINY.function, TINY.property):
        with pytest.raises(LanguageError, match=r"tiny has no .* nothing"):
            find("nothing")


def test_changing_an_action_needs_one_of_that_name():
    other = MACHINE.actions["fence"]
    with pytest.raises(LanguageError, match="tiny has no action fence"):
        TINY.changed(other)
    weak = without_condition(other, "own posted words have drained")
    assert MACHINE.changed(weak).actions["fence"] is weak
    assert list(MACHINE.changed(weak).actions) == list(MACHINE.actions)
    assert MACHINE.actions["fence"] is other


def test_machines_with_other_actions_and_further_functions():
    assert TINY.with_actions([]).actions == {}
    more = Function("more", (), BOOL, "software", "more")
    grown = TINY.with_functions({more: FALSE})
    assert grown.functions == (fed, more)
    assert grown.initial == {fed: FALSE, more: FALSE}
    assert TINY.functions == (fed,)


def test_layers_are_platform_and_state():
    assert {f.layer for f in MACHINE.platform} == {"platform"}
    assert {f.layer for f in MACHINE.state} == {"hardware", "software", "ghost"}
    assert set(MACHINE.platform) | set(MACHINE.state) == set(MACHINE.functions)
    assert {p.kind for p in MACHINE.invariants} == {"invariant"}


def test_the_machine_survives_pickling():
    """Checks are sent to other processes."""
    again = pickle.loads(pickle.dumps(MACHINE))
    assert again.functions == MACHINE.functions
    assert again.actions == MACHINE.actions
    assert all(a.body is b.body for a, b in zip(again.properties, MACHINE.properties, strict=True))


def test_a_property_is_data():
    made = Property("p", "P.", (), FALSE)
    assert made.closed is FALSE
    assert made.kind == "invariant"
