"""The sort graph: cycles are found where they are, and only there."""

from dataclasses import replace

import pytest

from shmem_model.language import (
    BOOL,
    FALSE,
    TRUE,
    Function,
    LanguageError,
    Machine,
    Parameter,
    Sort,
    action,
    after,
    axiom,
    becomes,
    exists,
    forall,
    invariant,
    step,
    terms,
    update,
    waits,
)
from shmem_model.language.fragment import SortGraph, after_step, cycle, initially, sort_graph
from shmem_model.machine import MACHINE
from shmem_model.machine.claims_two_runs import RELATION

A, B, C = Sort("A"), Sort("B"), Sort("C")
f = Function("f", (A,), B, "software", "from A to B")
g = Function("g", (B,), A, "software", "from B to A")
r = Function("r", (A, B), BOOL, "software", "relates them")
p = Function("p", (A,), BOOL, "software", "holds of some")
plus = Function("plus", (C, C), C, "platform", "the sum")
v = Function("v", (A,), C, "software", "the value")
x, y = Parameter("x", A), Parameter("y", A)


def edges(*formulas, holds=True):
    graph = SortGraph()
    for formula in formulas:
        graph.add(formula, "here", holds)
    return {(e.source.name, e.target.name) for e in graph.edges}


def cyclic(*formulas):
    graph = SortGraph()
    for formula in formulas:
        graph.add(formula, "here")
    return graph.cycle()


EVERY_A_SOME_B = forall(A, lambda a: exists(B, lambda b: r(a, b)))
EVERY_B_SOME_A = forall(B, lambda b: exists(A, lambda a: r(a, b)))
BOTH_RANGE = forall(A, B, lambda a, b: r(a, b))


def test_an_alternation_is_an_edge_where_both_sorts_are_ranged_over():
    assert edges(EVERY_A_SOME_B) == set()
    assert edges(EVERY_A_SOME_B, BOTH_RANGE) == {("A", "B")}


def test_a_planted_cycle_of_alternations_is_found():
    found = cyclic(EVERY_A_SOME_B, EVERY_B_SOME_A)
    assert [(e.source, e.target) for e in found] in ([(A, B), (B, A)], [(B, A), (A, B)])
    assert "some b in here" in str(found[0]) + str(found[1])


def test_a_planted_cycle_through_functions_is_found():
    assert cyclic(forall(A, B, lambda a, b: f(a).same(b).implies(g(b).same(a))))


def test_functions_of_one_direction_are_no_cycle():
    assert cyclic(forall(A, B, lambda a, b: f(a).same(b))) is None


def test_an_alternation_inside_one_sort_is_a_cycle_by_itself():
    assert cyclic(forall(A, lambda a: exists(A, lambda c: r(a, f(c)))))


def test_polarity_is_that_of_negation_normal_form():
    """Not (some a: every b) is every a: some b."""
    refused = ~exists(A, lambda a: forall(B, lambda b: r(a, b)))
    assert edges(refused, BOTH_RANGE) == {("A", "B")}
    assert edges(exists(A, lambda a: forall(B, lambda b: r(a, b))), BOTH_RANGE) == set()
    premise = EVERY_A_SOME_B.implies(FALSE | p(x))
    assert edges(premise, BOTH_RANGE) == set()
    assert edges(EVERY_A_SOME_B, BOTH_RANGE, holds=False) == set()


def test_equivalence_and_conditions_have_both_polarities():
    either = exists(A, lambda a: p(a)).same(forall(B, lambda b: r(x, b)))
    inside = forall(A, lambda c: either & r(c, f(c)))
    graph = SortGraph()
    graph.add(inside, "here")
    assert {A, B} <= graph.nodes


def test_an_existential_depends_on_the_variables_that_it_mentions_only():
    apart = forall(A, lambda a: p(a) | exists(B, lambda b: r(x, b)))
    assert edges(apart, BOTH_RANGE) == set()


def test_an_existential_depends_on_what_its_variables_depend_on():
    """every a: some b: some c: q(b, c) makes the c depend on a, through b."""
    q = Function("q", (B, C), BOOL, "software", "q")
    term = forall(A, lambda a: exists(B, lambda b: r(a, b) & exists(C, lambda c: q(b, c))))
    assert edges(term, BOTH_RANGE, forall(C, lambda c: v(x).same(c))) == {("A", "B"), ("A", "C")}


def test_parameters_are_constants_and_make_no_edge():
    assert edges(g(f(x)).same(x), BOTH_RANGE) == set()


def test_sorts_over_which_nothing_ranges_are_harmless():
    """A sum of values makes new values for ever, but no claim is instantiated with values."""
    assert cyclic(forall(A, lambda a: plus(v(a), v(a)).same(v(a)))) is None
    assert cyclic(forall(A, C, lambda a, c: plus(v(a), c).same(c)))


def test_the_value_after_a_step_has_updates_put_in():
    @action("software", a=A)
    def change(a):
        """Change."""
        yield becomes(p, a, to=FALSE)
        yield update(r, lambda y, b: p(y) & r(y, b))

    term = forall(A, lambda a: p(a) | exists(B, lambda b: r(a, b)))
    a = change.parameters[0]
    shown = str(after_step(term, change)).replace("<a 2>", "y").replace("<b 1>", "z")
    assert shown == "every y: y != a and p(y) or (some z: p(y) and r(y, z))"
    one = p(x) & after(p(x))
    assert after_step(one, change, inside=False) is (p(x) & (~x.same(a) & p(x)))


def machine(*claims, actions=()):
    return Machine(
        "planted",
        (A, B, C),
        (f, g, r, p, v, plus),
        {p: FALSE, r: FALSE},
        {each.name: each for each in actions},
        properties=claims,
    )


@invariant(a=A, b=B)
def ranged(a, b):
    """Both sorts are ranged over."""
    return r(a, b)


@invariant(a=A)
def some_b(a):
    """Every A has a B."""
    return exists(B, lambda b: r(a, b))


def test_a_planted_cycle_that_only_an_update_makes_is_found():
    """The claim by itself is harmless, and so is the update; put together they alternate."""

    @action("software")
    def spread():
        """p holds where some b is not related."""
        yield update(p, lambda a: forall(B, lambda b: r(a, b)))

    @invariant(b=B)
    def some_p(b):
        """Some p."""
        return exists(A, lambda a: p(a) & r(a, b))

    assert cycle(machine(ranged, some_b)) is None
    assert cycle(machine(ranged, some_p)) is None
    found = cycle(machine(ranged, some_p, actions=[spread]))
    assert found
    assert "some_p after spread" in " ".join(str(edge) for edge in found)


def test_a_planted_cycle_in_a_guard_is_found():
    @action("software")
    def guarded():
        """Guarded."""
        yield waits("every b has an a", forall(B, lambda b: exists(A, lambda a: r(a, b))))
        yield becomes(p, x, to=FALSE)

    assert cycle(machine(ranged, some_b)) is None
    found = cycle(machine(ranged, some_b, actions=[guarded]))
    assert {edge.reason for edge in found} == {"some b in some_b", "some a in the guard of guarded"}


def test_a_planted_cycle_in_an_axiom_is_found():
    @axiom(b=B)
    def some_a(b):
        """Every B has an A."""
        return exists(A, lambda a: r(a, b))

    assert cycle(replace(machine(ranged, some_b), axioms=(some_a,)))


def test_step_properties_are_goals_and_no_hypotheses():
    @step(b=B)
    def some_a_now(b):
        """Every B has an A."""
        return exists(A, lambda a: after(p(a)) & r(a, b))

    idle = action("software")(lambda: iter([becomes(p, x, to=FALSE)]))
    assert cycle(machine(ranged, some_b, some_a_now, actions=[idle])) is None


def test_initial_values_are_put_in():
    """Functions without an initial value keep their name, what is constant folds away."""
    assert initially(p(x) | r(x, f(x)), machine()) is FALSE
    assert initially(p(x) | v(x).same(v(y)), machine()) is v(x).same(v(y))
    assert initially(forall(A, lambda a: p(a).implies(exists(B, lambda b: r(a, b)))), machine()).body is TRUE


def test_the_proof_obligations_of_the_machine_are_in_the_decidable_fragment():
    assert cycle(MACHINE, RELATION) is None


def test_the_sort_graph_of_the_machine_is_what_the_documentation_says():
    graph = sort_graph(MACHINE, RELATION)
    assert "Value" not in {sort.name for sort in graph.nodes}
    assert {(e.source.name, e.target.name) for e in graph.edges} == {
        ("Token", "Agent"),
        ("Team", "Agent"),
        ("Epoch", "Agent"),
        ("Block", "Region"),
    }


def test_an_unknown_node_is_an_error():
    class Strange(terms.Term):
        __slots__ = ()

    with pytest.raises(LanguageError, match="Strange"):
        after_step(Strange(p(x)), action("software")(lambda: iter([])))
