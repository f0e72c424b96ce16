"""The worlds and the weakened algorithms of T11 to T14 as the suite asks them."""

from __future__ import annotations

import pytest

from shmem_model.algorithms import barriers, waiting
from shmem_model.algorithms.compiling import Algorithm
from shmem_model.algorithms.programs import RELAXED, RELEASE, SEQ_CST, Fence, Load, Step, Store, Thread, Word
from shmem_model.readers.explorer import explore
from shmem_proofs.algorithm_checks import explored, subject, unrefined
from shmem_proofs.theorems import THEOREMS
from shmem_suite.providers import algorithms

WORLDS = [(theorem, world) for theorem in THEOREMS for world in theorem.worlds]
TWINS = [(theorem, twin) for theorem, world in WORLDS for twin in world.twins]


def named(pairs):
    return [f"{theorem.id}-{algorithms.slug(one.name)}" for theorem, one in pairs]


@pytest.mark.parametrize(("theorem", "world"), WORLDS, ids=named(WORLDS))
def test_world_is_as_pinned(theorem, world) -> None:
    found = algorithms.explore_world(theorem.id, algorithms.slug(world.name))
    assert (found.verdict, dict(found.counts)) == ("holds", algorithms.pins_of(world))


@pytest.mark.parametrize(("theorem", "twin"), TWINS, ids=named(TWINS))
def test_weakened_algorithm_fails(theorem, twin) -> None:
    found = algorithms.break_algorithm(theorem.id, algorithms.slug(twin.name))
    assert (found.verdict, found.counts["steps"]) == ("fails", twin.steps)
    assert found.trace is not None
    assert found.trace.steps[-1].guilty


def test_names_are_unique() -> None:
    for pairs in (WORLDS, TWINS):
        assert len(set(named(pairs))) == len(pairs)


def test_every_step_is_taken_in_some_world() -> None:
    taken: set[str] = set()
    known: set[str] = set()
    for _, world in WORLDS:
        what = world.build()
        if what.algorithm is not None and (not world.large or world.name.startswith("multicast")):
            known |= what.algorithm.steps
            taken |= {name for name, count in explored(what).per_action.items() if count}
    assert sorted(known - taken) == []


def test_a_barrier_that_does_not_wait_refines_nothing() -> None:
    """The red twin of refinement."""
    loose = barriers.build(barriers.Choices(members=2, mortal=(), epochs=1, waits_for_all=False))
    what = subject(loose)
    wrong = unrefined(what, explored(what, graph=True, claims=()))
    assert "leave_mark@member0" in {name for name, *_ in wrong}


def test_a_number_that_does_not_fit_is_told() -> None:
    small = waiting.build(waiting.Choices(sends=(2,), batch=(False,), waits=1, mortal=False))
    cells = small.shared.cells
    small.shared.cells = {**cells, "bell": type(cells["bell"])("m_bell", 1, "hardware", "Too small.")}
    assert explore(small.scope, properties=small.machine.properties).findings["numbers_fit"].verdict == "fails"


def litmus(order: str, fence: bool, second: str = "") -> Algorithm:
    """Store buffering (`x=1; read y | y=1; read x`), or with `second` message passing (`x=1; y=1 | read y; read x`)."""
    words = [Word("x", 2), Word("y", 2)]

    def thread(name: str, mine: str, other: str) -> Thread:
        look = Step("look", Load(other), sets={"saw": lambda r: r.got})
        then = "fence" if fence else "look"
        steps = [Step("store", Store(mine, 1, order), then), *([Step("fence", Fence(), "look")] if fence else []), look]
        return Thread(name, tuple(steps), {"saw": 2}, buffer=2)

    if not second:
        return Algorithm("litmus", "Store buffering.", words, [thread("a", "x", "y"), thread("b", "y", "x")])
    writer = Thread("a", (Step("first", Store("x", 1, order), "then"), Step("then", Store("y", 1, second))), buffer=2)
    looks = (
        Step("look", Load("y"), "again", sets={"y": lambda r: r.got}),
        Step("again", Load("x"), sets={"x": lambda r: r.got}),
    )
    return Algorithm("litmus", "Message passing.", words, [writer, Thread("b", looks, {"x": 2, "y": 2})])


@pytest.mark.parametrize(
    ("order", "fence", "both_old"), [(SEQ_CST, False, False), (RELEASE, False, True), (RELAXED, True, False)]
)
def test_store_buffers_reorder_a_store_and_a_later_load(order: str, fence: bool, both_old: bool) -> None:
    a = litmus(order, fence)
    old = a.at("a", "end") & a.at("b", "end") & a.register("a", "saw").eq(0) & a.register("b", "saw").eq(0)
    found = explore(a.scope, properties=[a.claim("never", "Not both old.", ~old)])
    assert (found.findings["never"].verdict == "fails") == both_old


@pytest.mark.parametrize(
    ("first", "second", "torn"), [(RELAXED, RELAXED, True), (RELEASE, RELEASE, False), (RELAXED, RELEASE, False)]
)
def test_only_relaxed_stores_overtake_each_other(first: str, second: str, torn: bool) -> None:
    a = litmus(first, False, second)
    seen = a.at("b", "end") & a.register("b", "y").eq(1) & a.register("b", "x").eq(0)
    found = explore(a.scope, properties=[a.claim("never", "New, then old.", ~seen)])
    assert (found.findings["never"].verdict == "fails") == torn
