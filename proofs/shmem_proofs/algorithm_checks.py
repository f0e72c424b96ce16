"""What is asked of an algorithm: its claims in every state, progress under fairness, refinement of the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from shmem_model.algorithms.acting import FAIR
from shmem_model.algorithms.compiling import Algorithm
from shmem_model.language import Function, Property, Term
from shmem_model.machine import MACHINE
from shmem_model.machine import vocabulary as m
from shmem_model.readers.explorer import Exploration, explore
from shmem_model.readers.graph import FairCycle
from shmem_model.readers.packed import PackedAction
from shmem_model.readers.scope import Scope
from shmem_model.readers.setting import Setting
from shmem_model.readers.trace import Trace

LIMIT = 5_000_000
Barrier = tuple[frozenset[tuple[int, int]], frozenset[tuple[int, int]], frozenset[int], frozenset[int]]
"""The barrier of the machine: (epoch, member) arrived, (epoch, member) left, epochs that collect, dead members."""


@dataclass(frozen=True)
class Twin:
    """A weakened algorithm: `breaks` must fail in it, by a shortest run of `steps` steps.

    In a theorem about progress `breaks` is empty, and `steps` is how far it is to the endless fair run.
    """

    name: str
    sentence: str
    build: Callable[[], Subject]
    breaks: str
    steps: int


@dataclass(frozen=True)
class World:
    """An algorithm in a scope, explored to the end; the counts are pinned, like the steps to each witness.

    `done` says where a run has got to where it should (for progress), `refines` that each step of a barrier must be one
    of the machine's barrier, or none.
    """

    name: str
    sentence: str
    build: Callable[[], Subject]
    states: int
    transitions: int
    witnesses: tuple[tuple[Callable[..., Property], int], ...] = ()
    twins: tuple[Twin, ...] = ()
    large: bool = False
    refines: bool = False
    progress: bool = False


@dataclass(frozen=True)
class Subject:
    """What is explored: a scope, what is claimed, which steps are taken fairly, and where a run may end."""

    scope: Scope
    claims: tuple[Property, ...] = ()
    fair: Callable[[PackedAction], str] = lambda action: ""
    done: Term | None = None
    algorithm: Algorithm | None = field(default=None, compare=False)


def subject(algorithm: Algorithm, done: Callable[[Algorithm], Term] | None = None) -> Subject:
    """An algorithm as a subject: each thread goes on, and what waits to be drained or filled is."""
    end = None if done is None else done(algorithm)
    return Subject(algorithm.scope, algorithm.machine.properties, _fair, end, algorithm)


def of(module: Any, done: Callable[[Algorithm], Term] | None = None, **choices: Any) -> Callable[[], Subject]:
    """An algorithm of a module with these choices, built when it is asked for."""
    return partial(_built, module, done, choices)


def _built(module: Any, done: Callable[[Algorithm], Term] | None, choices: dict[str, Any]) -> Subject:
    return subject(module.build(module.Choices(**choices)), done)


def _fair(action: PackedAction) -> str:
    """The group of steps that must go on together; empty where nothing is promised."""
    one = action.source.action
    thread = one.name.partition("@")[2].partition(".")[0]
    return {"software": thread, FAIR: one.name}.get(one.group, "")


def explored(
    what: Subject, goals: Iterable[Property] = (), graph: bool = False, claims: Iterable[Property] | None = None
) -> Exploration:
    """Every reachable state, unless a claim fails before."""
    return explore(
        what.scope, properties=what.claims if claims is None else claims, goals=goals, limit=LIMIT, keep_graph=graph
    )


def endless(what: Subject, done: Exploration) -> FairCycle | None:
    """A fair run that never gets where it should, or None."""
    assert what.done is not None
    assert done.graph is not None
    groups: dict[str, set[int]] = {}
    for action in done.packed.actions:
        if name := what.fair(action):
            groups.setdefault(name, set()).add(action.number)
    node = done.packed.states_where(what.done)
    graph = done.graph
    finished = {number for number, state in enumerate(graph.states) if done.packed.holds(node, state)}
    return graph.fair_cycle(finished, list(groups.values()))


def unrefined(what: Subject, done: Exploration) -> list[tuple[str, Barrier, Barrier]]:
    """The steps that the machine's barrier cannot take, with the barrier before and after."""
    assert what.algorithm is not None
    assert done.graph is not None
    names = [name for name in what.algorithm.runners if name.startswith("member")]
    cells, places = what.algorithm.shared.cells, [what.algorithm.runners[name].place for name in names]
    about = {*(cells[f"{part}{i}"].function for part in ("arrived", "left") for i in range(len(names))), *places}
    mask = sum(1 << place for place, bit in enumerate(done.packed.ground.variables) if bit.function in about)
    kinds: dict[int, Barrier] = {}
    for state in done.graph.states:
        if state & mask not in kinds:
            kinds[state & mask] = _barrier(what.algorithm, done, state)
    short = [state & mask for state in done.graph.states]
    pairs = {(short[source], short[target]): action for source, action, target in done.graph.edges}
    allowed = machine_steps(len(names))
    actions = {action.number: action.source.action.name for action in done.packed.actions}
    found = {(kinds[before], kinds[after]): actions[action] for (before, after), action in pairs.items()}
    return [(name, *pair) for pair, name in found.items() if pair[0] != pair[1] and pair not in allowed]


def _value(done: Exploration, state: int, function: Function) -> int:
    return done.packed.ground.value(state, function, [])


def _barrier(algorithm: Algorithm, done: Exploration, state: int) -> Barrier:
    """The machine's barrier that a state stands for; its two epochs take turns as numbers go on."""
    members = [name for name in algorithm.runners if name.startswith("member")]
    cells = algorithm.shared.cells
    come = [_value(done, state, cells[f"arrived{i}"].function) for i in range(len(members))]
    gone = [_value(done, state, cells[f"left{i}"].function) for i in range(len(members))]
    latest = max(come)
    epochs = [epoch for epoch in (latest - 1, latest) if epoch >= 1]
    inside = range(len(members))
    arrived = frozenset((e % 2, i) for e in epochs for i in inside if come[i] >= e)
    left = frozenset((e % 2, i) for e in epochs for i in inside if gone[i] >= e)
    collecting = frozenset(e % 2 for e in epochs if min(come) < e)
    dead = frozenset(i for i in inside if _is_dead(algorithm, done, state, members[i]))
    return arrived, left, collecting, dead


def _is_dead(algorithm: Algorithm, done: Exploration, state: int, name: str) -> bool:
    runner = algorithm.runners[name]
    return runner.thread.mortal and _value(done, state, runner.place) == runner.labels.index("dead")


def machine_steps(members: int) -> set[tuple[Barrier, Barrier]]:
    """Every step that the machine's own barrier can take, from any reachable state of it."""
    setting = Setting(
        agents=members,
        teams=(tuple(range(members)),),
        epochs=2,
        lines=(),
        mapped=False,
        actions=("arrive", "leave", "die"),
    )
    done = explore(setting.scope("barrier", MACHINE), keep_graph=True)
    assert done.graph is not None
    seen = [_machine_barrier(done, state, members) for state in done.graph.states]
    return {(seen[source], seen[target]) for source, _, target in done.graph.edges}


def _machine_barrier(done: Exploration, state: int, members: int) -> Barrier:
    value = done.packed.ground.value
    pairs = [(e, a) for e in range(2) for a in range(members)]
    arrived = frozenset((e, a) for e, a in pairs if value(state, m.arrived, [0, e, a]))
    left = frozenset((e, a) for e, a in pairs if value(state, m.left, [0, e, a]))
    collecting = frozenset(e for e in range(2) if value(state, m.collecting, [0, e]))
    dead = frozenset(a for a in range(members) if value(state, m.dead, [a]))
    return arrived, left, collecting, dead


def broken(what: Subject, twin: Twin) -> tuple[Exploration, Trace | None]:
    """The shortest run of a weakened algorithm that breaks the twin's claim, or that leads into an endless fair run."""
    if not twin.breaks:
        done = explored(what, graph=True, claims=())
        cycle = endless(what, done)
        assert done.graph is not None
        return done, None if cycle is None else done.trace_to(done.graph.states[min(cycle.states)])
    claim = next(claim for claim in what.claims if claim.name == twin.breaks)
    done = explored(what, claims=(claim,))
    return done, done.findings[claim.name].trace
