"""The Murphi printer: what rumur explores of its text is what the scope says, and printer bugs show in the counts."""

from dataclasses import replace

import pytest

from shmem_model.language import BOOL, Function, LanguageError, Property, Term, after, waits
from shmem_model.language import terms as t
from shmem_model.readers import print_murphi, printing
from shmem_model.readers.explorer import explore
from shmem_model.readers.print_murphi import KEYWORDS, murphi
from shmem_suite import referee
from tests.readers.plain_search import Search
from tests.readers.small_scopes import (
    BROKEN_TOY,
    SMALL,
    TOY,
    Cell,
    Colour,
    caches,
    colour,
    marked,
    paint,
    swap,
    toy,
    whole,
)

SCOPES = {"toy": toy, "toy of four": lambda: toy(4, 2), **SMALL}


@pytest.fixture
def rumur(need_tool):
    """The verifier, or a visible skip."""
    need_tool("rumur")
    need_tool("gcc")
    return lambda scope, properties=(): referee.run(scope, timeout=300, properties=properties)


@pytest.mark.parametrize("name", SCOPES)
def test_rumur_and_the_naive_search_and_the_explorer_count_alike(name, rumur):
    scope = SCOPES[name]()
    naive, ours, theirs = Search(scope).run(), explore(scope), rumur(scope)
    assert naive.states > 5
    assert (theirs.states, theirs.rules) == (naive.states, naive.rules) == (ours.states, ours.transitions)


def test_rumur_counts_what_caches_do(rumur):
    scope = caches()
    ours, theirs = explore(scope), rumur(scope)
    assert (theirs.states, theirs.rules) == (ours.states, ours.transitions) == (24208, 349360)


@pytest.mark.slow
def test_rumur_counts_what_the_whole_machine_does(rumur):
    scope = whole()
    ours, theirs = explore(scope), rumur(scope)
    assert (theirs.states, theirs.rules) == (ours.states, ours.transitions)
    assert ours.states > 100_000


def test_rumur_checks_the_invariants_of_the_machine(rumur):
    scope = SMALL["global"]()
    assert rumur(scope, scope.machine.invariants[::4]).errors == 0
    broken = toy(machine=BROKEN_TOY)
    found = rumur(broken, broken.machine.invariants)
    assert found.errors == 1
    assert "neighbours_differ" in found.message


def test_a_set_of_states_is_printed_as_a_cover_property(rumur):
    reached = Property("some_mark", "A cell is marked.", TOY.invariants[0].variables[:1], marked(cell()), "state")
    never = replace(reached, name="no_mark", body=marked(cell()) & ~marked(cell()))
    assert rumur(toy(), [reached]).errors == 0
    assert rumur(toy(), [never]).errors == 1


def cell() -> Term:
    """The variable of the toy's first invariant."""
    return TOY.invariants[0].variables[0]


# Planted bugs, each in a scope that can tell: it must be noticed by the counts alone.


def forget_a_condition(monkeypatch):
    """The printer loses the last condition of `paint`."""
    return toy(machine=TOY.changed(replace(paint, conditions=paint.conditions[:-1])))


def write_before_all_is_read(monkeypatch):
    """The printer writes in the order of the text, without temporaries."""
    wrong = lambda updates: ([], [printing.assignment(u) for u in updates.values()])  # noqa: E731
    monkeypatch.setattr(print_murphi, "ordered", wrong)
    return toy()


def forget_where(monkeypatch):
    """The printer loses the condition of an assignment."""
    right = printing.assignment
    wrong = lambda update: replace(right(update), outer=t.TRUE, inner=t.TRUE)  # noqa: E731
    monkeypatch.setattr(printing, "assignment", wrong)
    return SMALL["sent"]()


def forget_a_parameter(monkeypatch):
    """The printer leaves out a parameter that changes nothing, so fewer rules fire."""
    return toy(machine=TOY.changed(swap.bind({"b": t.Element("Cell0", Cell, 0)})))


def confuse_a_table(monkeypatch):
    """The printer reads platform tables with the arguments in the wrong order."""
    right = print_murphi.look_up
    monkeypatch.setattr(print_murphi, "look_up", lambda table, place: right(table, place[::-1]))
    return SMALL["copied"]()


PLANTED = {
    forget_a_condition: toy,
    write_before_all_is_read: toy,
    forget_a_parameter: toy,
    forget_where: SMALL["sent"],
    confuse_a_table: SMALL["copied"],
}


@pytest.mark.parametrize("plant", PLANTED)
def test_a_planted_bug_is_noticed_on_counts(plant, rumur, monkeypatch):
    right = explore(PLANTED[plant]())
    before = referee.judge(PLANTED[plant](), right.states, right.transitions, 300)
    assert before.verdict == "holds"
    wrong = plant(monkeypatch)
    outcome = referee.judge(wrong, right.states, right.transitions, 300)
    assert outcome.verdict == "fails"
    assert f"{right.states} states" in outcome.detail


# The text, without a verifier.


def test_the_text_is_the_same_every_time():
    assert murphi(toy()) == murphi(toy())


def test_keywords_are_renamed_and_no_two_things_share_a_name():
    text = murphi(toy())
    assert "to_: array [Cell] of Colour" in text
    assert "end_: Colour" in text
    assert "rule_: boolean" in text
    names = print_murphi._Printer(toy()).names
    every = [name.lower() for name in names._names.values()]
    assert len(every) == len(set(every))
    assert not set(every) & KEYWORDS


def test_labels_that_look_alike_stay_apart():
    names = {Colour: ("dark red", "dark_red", "Dark-Red")}
    text = murphi(toy(names=names))
    assert "enum { Colour_dark_red, Colour_dark_red_, Colour_Dark_Red__ }" in text


def test_old_values_are_kept_where_an_update_reads_other_cells():
    text = murphi(toy())
    assert "new_to" in text
    assert "new_marked" in text
    assert "new_" not in murphi(caches(), ())


def test_functions_that_no_action_changes_are_constants():
    text = murphi(toy(start={TOY.function("fixed"): {(1,): True}}))
    assert "fixed" not in text
    assert "Cell1" in text.split('rule "paint"')[1].split("==>")[0]


def test_a_function_that_is_only_cleared_is_a_variable_where_it_is_set_at_the_start():
    assert "\n  tlb:" not in murphi(SMALL["global"](), ())
    fresh = SMALL["moved"]()
    assert "\n  tlb:" in murphi(fresh, ())
    only = fresh.machine.with_actions([fresh.machine.actions["shootdown"]])
    assert "\n  tlb:" in murphi(replace(fresh, machine=only), ())
    empty = {f: table for f, table in fresh.start.items() if f.name not in ("tlb", "tlb_writable")}
    with pytest.raises(LanguageError, match="nothing to explore"):
        murphi(replace(fresh, machine=only, start=empty))


class Unknown(Term):
    """A kind of term that no printer knows."""

    __slots__ = ()


@pytest.mark.parametrize("strange", [Unknown(marked(cell())), after(marked(cell()))])
def test_an_unknown_term_is_an_error(strange):
    changed = replace(swap, conditions=(*swap.conditions, waits("strange", strange)))
    with pytest.raises(LanguageError, match="Murphi has no"):
        murphi(toy(machine=TOY.changed(changed)))


def test_a_property_of_steps_is_an_error():
    claim = Property("p", "s", (), t.TRUE, "step")
    with pytest.raises(LanguageError, match="kind step"):
        murphi(toy(), [claim])


def test_a_value_outside_its_sort_is_an_error():
    with pytest.raises(LanguageError, match="no element 7"):
        murphi(toy(start={colour: 7}))


def test_an_unnamed_function_is_an_error():
    stranger = Function("stranger", (), BOOL, "software", "of no machine")
    changed = replace(swap, conditions=(waits("strange", stranger()),))
    with pytest.raises((LanguageError, KeyError)):
        murphi(toy(machine=TOY.changed(changed)))
