"""What the printers share: names, decision tables, and updates as assignments in an order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shmem_model.language import EACH, FALSE, LanguageError, Parameter, becomes, ite, update
from shmem_model.language import terms as t
from shmem_model.readers.printing import Names, assignment, decision, elements_of, ordered, reads
from tests.readers.plain_search import Search
from tests.readers.small_scopes import ELEMENT, SMALL, Cell, beside, caches, colour, marked, toy


@given(st.lists(st.text("aA_1 -é", max_size=4), max_size=12))
def test_names_are_injective_and_legal(wishes):
    names = Names(["a", "a1"])
    given_names = [names.add((i, wish), wish) for i, wish in enumerate(wishes)]
    assert len({name.lower() for name in given_names}) == len(wishes)
    assert all(name.isidentifier() and name.isascii() and name.lower() not in ("a", "a1") for name in given_names)
    assert given_names == [names.add((i, wish), "other") for i, wish in enumerate(wishes)]


def test_what_has_no_name_is_an_error():
    with pytest.raises(LanguageError, match="nothing was named"):
        Names(())["thing"]


@given(st.data())
def test_decision_tables_say_what_the_table_says(data):
    sizes = data.draw(st.lists(st.integers(1, 3), max_size=3))
    places = [()]
    for size in sizes:
        places = [(*place, i) for place in places for i in range(size)]
    values = {place: data.draw(st.integers(0, 2)) for place in places}

    def choose(position, indices, then, otherwise):
        return f"({then} if place[{position}] in {indices} else {otherwise})"

    text = decision(values, str, choose)
    assert {place: eval(text, {"place": place}) for place in places} == values


def sequentially(search, updates, state, env):
    """The next state when the ordered assignments are carried out one after the other."""
    temporary, in_place = ordered(updates)
    new = dict(state)
    kept = [cell for a in temporary for cell in cells(search, a, new, env)]
    for a in in_place:
        for rounds in loops(search, a, env):
            new.update(cell_of(search, a, new, rounds))
    return {**new, **dict(kept)}


def loops(search, a, env):
    """The environments of all rounds of an assignment's loops."""
    rounds = [dict(env)]
    for formal in a.loops:
        rounds = [{**r, formal: i} for r in rounds for i in range(search.scope.size(formal.sort))]
    return rounds


def cell_of(search, a, state, env):
    """The cell that one round of an assignment writes, if it writes."""
    if search.value(a.outer, state, env) and search.value(a.inner, state, env):
        place = tuple(search.value(part, state, env) for part in a.place)
        yield (a.function, place), search.value(a.value, state, env)


def cells(search, a, state, env):
    """All cells that an assignment writes when nothing changes meanwhile."""
    return [cell for r in loops(search, a, env) for cell in cell_of(search, a, state, r)]


SCOPES = {"toy": toy, "caches": caches, **SMALL}


@pytest.mark.parametrize("name", SCOPES)
def test_ordered_assignments_do_what_simultaneous_updates_do(name):
    search = Search(SCOPES[name]())
    actions = search.scope.machine.actions
    seen = set()
    for state in search.some_states(20):
        for action, arguments, after in search.steps(state):
            env = dict(zip(actions[action].parameters, arguments, strict=True))
            assert sequentially(search, actions[action].updates, state, env) == after
            seen.add(action)
    assert len(seen) > 1


def test_a_point_update_needs_no_loop():
    a = Parameter("a", Cell)
    found = assignment(becomes(marked, a, to=FALSE))
    assert (found.place, found.loops, found.value) == ((a,), (), FALSE)


def test_a_place_that_a_step_may_change_is_a_condition():
    owner = t.Function("owner", (), Cell, "software", "a place in the state")
    found = assignment(becomes(marked, owner(), to=FALSE))
    assert len(found.loops) == 1
    fixed = assignment(becomes(marked, beside(Parameter("a", Cell)), to=FALSE))
    assert not fixed.loops


def test_conditions_that_need_no_loop_variable_are_asked_once():
    ready = t.Function("ready", (), t.BOOL, "software", "ready")
    found = assignment(becomes(marked, EACH, to=FALSE, where=lambda c: ready() & colour(c).same(colour(beside(c)))))
    assert found.outer is ready()
    assert len(found.loops) == 1


def test_a_swap_goes_through_temporaries():
    a = Parameter("a", Cell)
    swap = update(colour, lambda c: ite(c.same(a), colour(beside(a)), colour(c)))
    temporary, in_place = ordered({colour: swap})
    assert not temporary
    assert reads(in_place[0], colour)
    rotate = update(colour, lambda c: colour(beside(c)))
    assert [x.function for x in ordered({colour: rotate})[0]] == [colour]


def test_elements_are_found_in_a_fixed_order():
    other = t.Element("blue", ELEMENT.sort, 1)
    assert elements_of([other.same(ELEMENT), other]) == [ELEMENT, other]
