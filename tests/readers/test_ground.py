"""Grounding: constants fold, what cannot matter is left out, and nothing else changes."""

import pytest

from shmem_model.language import (
    BOOL,
    FALSE,
    Element,
    Function,
    LanguageError,
    Machine,
    Parameter,
    Property,
    Sort,
    action,
    becomes,
    conj,
    waits,
)
from shmem_model.language import terms as t
from shmem_model.machine import vocabulary as m
from shmem_model.readers.bits import Bits
from shmem_model.readers.concrete import Concrete
from shmem_model.readers.effects import alternatives, change
from shmem_model.readers.explorer import explore
from shmem_model.readers.ground import ground
from shmem_model.readers.packed import Packed
from shmem_model.readers.scope import Scope
from shmem_model.readers.setting import Setting
from tests.readers.small_scopes import Cell, colour, marked, ready, toy

Thing, Number = Sort("Thing"), Sort("Number")
size = Function("size", (Thing,), Number, "software", "how large the thing is")
where = Function("where", (), Thing, "software", "the thing that is meant")
known = Function("known", (Number,), BOOL, "software", "numbers that were met")
plus = Function("plus", (Number, Number), Number, "platform", "the sum")


@action("software")
def grow():
    """The thing that is meant grows: a function is read and written at a place that depends on the state."""
    yield becomes(size, where(), to=plus(size(where()), size(where())))
    yield becomes(known, size(where()), to=t.TRUE)


@action("software", x=Thing)
def point(x):
    """Another thing is meant."""
    yield waits("another", where().differs(x))
    yield becomes(where, to=x)


POINTERS = Machine("pointers", (Thing, Number), (size, where, known, plus), {}, {a.name: a for a in (grow, point)})


def pointers(things=3, numbers=5):
    """Things of sizes 1, 2, 4 modulo the number of numbers, found through a pointer."""
    start = {size: lambda x: (x + 1) % numbers, where: 0, known: 0}
    platform = {plus: lambda a, b: (a + b) % numbers}
    return Scope("pointers", POINTERS, {Thing: things, Number: numbers}, platform, start)


def test_what_never_changes_takes_no_bits():
    grounded = ground(Setting(translated=True, cached=(), actions=("read",)).scope("reads"))
    assert {bit.function.name for bit in grounded.variables} == {"readby"}


def test_actions_that_can_never_happen_vanish():
    grounded = ground(Setting(actions=("read", "fence")).scope("untranslated"))
    assert {one.action.name for one in grounded.actions} == {"fence"}


def test_bits_are_in_the_order_of_functions_and_cells():
    grounded = ground(Setting(translated=True, words=2, actions=("fill", "evict", "write")).scope("order"))
    names = [(bit.function.name, bit.cell, bit.place) for bit in grounded.variables]
    rank = [f.name for f in grounded.scope.machine.functions]
    assert names == sorted(names, key=lambda bit: (rank.index(bit[0]), *bit[1:]))


def test_places_that_depend_on_the_state_are_read_and_written():
    scope = pointers()
    concrete, packed = Concrete(scope), Packed(ground(scope))
    found = explore(scope)
    assert found.states > 20
    for level in found.levels:
        for here in level:
            state = packed.unpack(here, concrete.initial())
            for one in packed.actions:
                call = one.source.action.name, one.source.arguments
                enabled = concrete.answer(state, *call).done
                expected = packed.pack(concrete.step(state, *call)) if enabled else None
                assert packed.step(one, here) == expected


def test_observing_leaves_out_what_cannot_matter():
    scope = Setting(translated=True, actions=("fill", "evict", "write", "read")).scope("slice")
    whole = ground(scope)
    word = m.memory(scope.element(m.Frame, 0), scope.element(m.Word, 0))
    part = ground(scope, [word.same(scope.element(m.Value, 1))])
    assert {bit.function.layer for bit in whole.variables} == {"hardware", "ghost"}
    assert {bit.function.layer for bit in part.variables} == {"hardware"}
    assert {one.action.name for one in part.actions} == {"fill", "evict", "write"}


def test_observing_does_not_change_what_can_be_observed():
    scope = Setting(translated=True, actions=("fill", "evict", "write", "flush", "drain")).scope("slice")
    word = m.memory(scope.element(m.Frame, 0), scope.element(m.Word, 0))
    states = [word.same(scope.element(m.Value, value)) for value in (0, 1)]
    for goal in states:
        whole, part = explore(scope), explore(scope, observe=[goal])
        assert part.states < whole.states
        assert bool(part.where(goal)) == bool(whole.where(goal))


def test_observing_keeps_the_actions_that_claims_of_steps_are_about():
    answer, word, line = Parameter("answer", m.Value), Parameter("w", m.Word), Parameter("b", m.Block)
    latest = Property("latest", "Reads are latest.", (), answer.same(m.last(line, word)), "step", ("read",))
    for setting, verdict in (
        (Setting(translated=True), "fails"),
        (Setting(translated=True, actions=("read",)), "holds"),
    ):
        whole, part = (explore(setting.scope("steps"), properties=[latest], observe=observe) for observe in (None, []))
        assert part.findings["latest"].verdict == whole.findings["latest"].verdict == verdict
        assert part.findings["latest"].depth == whole.findings["latest"].depth


def test_what_was_left_out_cannot_be_asked_about():
    found = explore(Setting(translated=True).scope("slice"), observe=[m.dead(Element("host", m.Agent, 0))])
    with pytest.raises(LanguageError, match="intact is unknown, or was left out; observe it"):
        found.where(m.intact())
    with pytest.raises(LanguageError, match="intact was left out; observe it"):
        found.packed.ground.value(0, m.intact, ())


def test_a_value_that_is_never_written_costs_no_bit():
    three = toy(colours=3)
    assert max(bit.place for bit in ground(three).variables) == 1
    five = toy(colours=5)
    assert max(bit.place for bit in ground(five).variables) == 2


def test_sorts_of_one_element_take_no_bits():
    assert ground(pointers(things=1, numbers=1)).width == 1  # `known` of the one number
    assert {bit.function for bit in ground(pointers(things=1)).variables} == {size, known}


def test_free_variables_are_errors():
    grounded = ground(toy())
    with pytest.raises(LanguageError, match="free variables"):
        grounded.formula(marked(Parameter("nobody", Cell)))


def test_a_start_outside_its_sort_is_an_error():
    with pytest.raises(LanguageError, match="starts outside its sort"):
        ground(toy(colours=3, start={colour: 3}))


def test_unknown_nodes_are_errors():
    class Odd(t.Term):
        __slots__ = ()

    with pytest.raises(LanguageError, match="Odd"):
        ground(toy()).formula(Odd(ready()))


@pytest.mark.parametrize(
    ("make", "alternatives_of_it"),
    [
        (lambda here, old, other: here | old, 1),
        (lambda here, old, other: ~here & old, 1),
        (lambda here, old, other: t.ite(here, other, old), 1),
        (lambda here, old, other: ~here & (old | other), 2),
        (lambda here, old, other: old, 0),
        (lambda here, old, other: other, 1),
    ],
)
def test_change_says_where_an_update_can_change_something(make, alternatives_of_it):
    x = marked.formals[0]
    here, old, other = x.same(Parameter("b", Cell)), marked(x), ready()
    found = change(make(here, old, other), old)
    assert len(list(alternatives(found))) == alternatives_of_it


def test_the_graph_of_bits_folds_what_the_other_conjuncts_decide():
    bits = Bits()
    a, b, c = (bits.variable(i) for i in range(3))
    assert bits.conj([a, bits.disj([a, b])]) == a
    assert bits.conj([a, bits.disj([a ^ 1, b])]) == bits.conj([a, b])
    assert bits.conj([a, a ^ 1]) == 0
    assert bits.disj([a, a ^ 1]) == 1
    assert bits.ite(c, a, a) == a
    assert bits.conj([bits.conj([a, b]), c]) == bits.conj([c, b, a])


def test_the_graph_of_bits_is_right_on_every_assignment():
    bits = Bits()
    a, b, c = (bits.variable(i) for i in range(3))
    node = bits.ite(a, bits.same(b, c), bits.conj([b, bits.disj([a, c])]))
    for n in range(8):
        x, y, z = (bool(n >> i & 1) for i in range(3))
        assert bits.evaluate(node, lambda i, n=n: bool(n >> i & 1)) == ((y == z) if x else (y and z))


def test_initial_values_may_depend_on_their_place():
    machine = toy().machine
    first = Machine(**{**vars(machine), "initial": {**machine.initial, marked: ~ready() & FALSE}})
    scope = Scope("toy", first, toy().sizes, toy().platform)
    assert ground(scope).initial == ground(toy()).initial
    assert conj() is t.TRUE


def test_a_platform_function_of_a_uniform_state_value_stays_open():
    """Smallest input of a bug: the sum of a word that is zero everywhere at the start was folded for ever."""
    from shmem_model.language import Element
    from shmem_model.machine import MACHINE
    from shmem_model.machine import vocabulary as m
    from shmem_model.readers.explorer import explore
    from shmem_model.readers.setting import Setting

    add_one = MACHINE.actions["atomic_add"].bind({"v": Element("one", m.Value, 1)}, "one")
    scope = Setting(values=4, translated=True).scope("adding", MACHINE.with_actions([add_one]))
    last = explore(scope, observe=[m.memory(Element("f", m.Frame, 0), Element("w", m.Word, 0)).same(m.zero())])
    assert last.states == 4
