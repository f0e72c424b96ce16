"""The graph of an exploration: who can get where, and which endless runs are fair."""

from itertools import pairwise

import pytest

from shmem_model.language import Property, exists, forall
from shmem_model.readers.explorer import explore
from shmem_model.readers.graph import Graph
from tests.readers.explorer_machines import Lamp, lamps, lit

ALL_ON = Property("all_on", "All lamps are on.", (), forall(Lamp, lambda x: lit(x)), "state")
SOME_ON = Property("some_on", "Some lamp is on.", (), exists(Lamp, lambda x: lit(x)), "state")
LIGHT, PUT_OUT, LOOK = 0, 1, 2
"""In the drawings of `endless`: three kinds of steps."""


def explored(engine, *actions):
    """Five lamps with their graph, and the numbers of ground actions by name."""
    found = explore(lamps(5, *actions), keep_graph=True, engine=engine)
    names = {}
    for one in found.packed.actions:
        names.setdefault(one.source.action.name, set()).add(one.number)
    return found, names


@pytest.fixture(params=["python", "numpy", "auto"])
def engine(request):
    """The engines that keep graphs."""
    return request.param


def test_the_graph_has_every_state_and_every_transition(engine):
    found, _ = explored(engine)
    assert len(found.graph.states) == found.states
    assert len(found.graph.edges) == found.transitions
    assert found.graph.states[found.graph.start] == found.packed.initial
    for source, action, target in found.graph.edges:
        step = found.packed.step(found.packed.actions[action], found.graph.states[source])
        assert step == found.graph.states[target]


def test_engines_draw_the_same_graph():
    graphs = [explored(engine)[0].graph for engine in ("python", "numpy")]
    drawings = [{(g.states[s], a, g.states[t]) for s, a, t in g.edges} for g in graphs]
    assert drawings[0] == drawings[1]


def test_backward_reachability_minds_which_steps_are_allowed(engine):
    found, names = explored(engine)
    number = {state: i for i, state in enumerate(found.graph.states)}
    goal = {number[state] for state in found.where(ALL_ON)}
    assert found.graph.backward_reachable(goal) == set(number.values())
    assert found.graph.backward_reachable(goal, names["light"]) == set(number.values())
    assert found.graph.backward_reachable(goal, lambda action: action in names["put_out"]) == goal


def test_the_compiled_engine_says_that_it_keeps_no_graph():
    pytest.importorskip("numba", reason="the compiled engine needs the extra `fast`")
    with pytest.raises(ValueError, match="keeps no graph"):
        explore(lamps(3), keep_graph=True, engine="compiled")


def test_without_fairness_lamps_may_never_be_all_on(engine):
    found, names = explored(engine, "light", "look")
    done = [i for i, state in enumerate(found.graph.states) if state in found.where(ALL_ON)]
    assert found.graph.fair_cycle(done) is not None
    assert found.graph.fair_cycle(done, weak=[names["light"]]) is None


def test_lamps_that_may_go_out_need_more_than_weak_fairness(engine):
    found, names = explored(engine, "light", "put_out")
    done = [i for i, state in enumerate(found.graph.states) if state in found.where(ALL_ON)]
    cycle = found.graph.fair_cycle(done, weak=[names["light"]])
    assert cycle is not None
    kinds = {found.packed.actions[action].source.action.name for _, action, _ in cycle.round}
    assert kinds == {"light", "put_out"}


def endless(edges, count=4, **fairness):
    """A fair endless run in a drawn graph that avoids the last state."""
    return Graph(range(count), edges).fair_cycle([count - 1], **fairness)


def test_standing_still_is_an_endless_run_where_nobody_must_move():
    assert endless([(0, LIGHT, 3)]).states == {0}
    assert endless([(0, LIGHT, 3)], count=1, weak=[{LIGHT}]) is None
    assert Graph([7, 8], [(0, LIGHT, 1)]).fair_cycle([1], weak=[{LIGHT}]) is None


def test_weak_fairness_is_kept_by_a_cycle_on_which_the_step_is_off_now_and_then():
    edges = [(0, LOOK, 1), (1, LOOK, 0), (0, LIGHT, 3), (2, LIGHT, 3)]
    found = endless(edges, weak=[{LIGHT}])
    assert found is not None
    assert found.states == {0, 1}
    assert {state for edge in found.round for state in (edge[0], edge[2])} == {0, 1}


def test_strong_fairness_forbids_such_a_cycle():
    edges = [(0, LOOK, 1), (1, LOOK, 0), (0, LIGHT, 3), (2, LIGHT, 3)]
    assert endless(edges, strong=[{LIGHT}], weak=[{LOOK}]) is None


def test_strong_fairness_looks_inside_a_component():
    edges = [(0, LOOK, 1), (1, LOOK, 0), (1, PUT_OUT, 2), (2, PUT_OUT, 1), (0, LIGHT, 3), (2, LIGHT, 3)]
    assert endless(edges, strong=[{LIGHT}], weak=[{LOOK, PUT_OUT}]) is None
    found = endless([*edges, (1, LOOK, 1)], strong=[{LIGHT}], weak=[{LOOK, PUT_OUT}])
    assert found.states == {1}
    assert found.round == ((1, LOOK, 1),)


def test_a_round_is_a_closed_walk_that_takes_every_fair_step_that_it_can():
    edges = [(0, LOOK, 1), (1, LIGHT, 2), (2, PUT_OUT, 0), (1, LOOK, 0)]
    found = endless(edges, weak=[{LIGHT}, {PUT_OUT}])
    walk = found.round
    assert all(one[2] == following[0] for one, following in pairwise(walk))
    assert walk[0][0] == walk[-1][2]
    assert {LIGHT, PUT_OUT} <= {edge[1] for edge in walk}
