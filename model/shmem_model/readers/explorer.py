"""The explorer: every reachable state of a scope, breadth first, with shortest counterexamples.

A transition is a fired rule: an enabled ground action in a reachable state, also where it changes nothing.  Steps that
are refused or fault are no transitions.  A verdict is `holds`, `fails` (with the shortest trace) or `unknown` (the
limit was hit first); a goal is `reached`, `unreachable` or `unknown`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from shmem_model.language import LanguageError, Property, Term
from shmem_model.readers.engine_python import PythonEngine
from shmem_model.readers.graph import Graph
from shmem_model.readers.ground import closed, ground
from shmem_model.readers.packed import Packed, PackedAction, concerns
from shmem_model.readers.scope import Scope
from shmem_model.readers.trace import Trace, describe

SMALL, MIDDLING = 10_000, 2_000_000
"""States up to which generated Python, then NumPy, is the best engine."""
HOLDS, FAILS, UNKNOWN = "holds", "fails", "unknown"
REACHED, UNREACHABLE = "reached", "unreachable"


@dataclass
class Finding:
    """The verdict about one property or goal, with the state (and step) that decides it."""

    name: str
    sentence: str
    verdict: str
    depth: int | None = None
    state: int | None = None
    action: PackedAction | None = None
    trace: Trace | None = None


@dataclass
class Exploration:
    """What was found.  `complete` is false when the limit was hit or the search stopped at a violation."""

    scope: Scope
    packed: Packed
    engine: str
    states: int = 0
    transitions: int = 0
    depth: int = 0
    seconds: float = 0.0
    compile_seconds: float = 0.0
    complete: bool = True
    per_action: dict[str, int] = field(default_factory=dict)
    deadlocks: list[int] = field(default_factory=list)
    findings: dict[str, Finding] = field(default_factory=dict)
    goals: dict[str, Finding] = field(default_factory=dict)
    levels: list[Any] = field(default_factory=list)
    graph: Graph | None = None
    _finder: Any = None

    @property
    def holds(self) -> bool:
        """Every property holds, and the search was complete."""
        return self.complete and all(f.verdict == HOLDS for f in self.findings.values())

    def trace_to(self, state: int) -> Trace:
        """The shortest run to a reachable packed state; of several the one with the smallest states."""
        depth = next((d for d, level in enumerate(self.levels) if self._finder.contains(level, state)), None)
        if depth is None:
            raise LookupError("the state was not reached")
        packed, states, actions = self.packed, [state], []
        for level in reversed(self.levels[:depth]):
            target = states[-1]
            ways = [packed.leads_to(action, target) for action in packed.actions]
            source = min(self._finder.where(level, packed.bits.disj(ways)))
            actions.append(next(a for a, way in zip(packed.actions, ways, strict=True) if packed.holds(way, source)))
            states.append(source)
        states.reverse()
        actions.reverse()
        steps = [describe(packed, a, s, n) for a, s, n in zip(actions, states, states[1:], strict=False)]
        return Trace(tuple(steps), tuple(states))

    def where(self, item: Property | Term) -> list[int]:
        """The packed states in which a formula holds, in the order of their depth."""
        node = self.packed.states_where(item)
        return [state for level in self.levels for state in self._finder.where(level, node)]

    def trace_through(self, state: int, action: PackedAction) -> Trace:
        """The shortest run to a state, and one more step."""
        run = self.trace_to(state)
        after = self.packed.step(action, state)
        assert after is not None
        last = describe(self.packed, action, state, after)
        return Trace((*run.steps, last), (*run.states, after))


@dataclass
class _Watch:
    """Something to look out for in every level: a formula of states, and the step that goes with it."""

    finding: Finding
    node: int
    steps: list[tuple[PackedAction, int]] | None = None


def explore(
    scope: Scope,
    *,
    properties: Iterable[Property] = (),
    goals: Iterable[Property] = (),
    observe: Iterable[Property | Term] | None = None,
    stop_at_violation: bool = True,
    limit: int | None = None,
    engine: str = "auto",
    deadlocks: bool = False,
    keep_graph: bool = False,
) -> Exploration:
    """Explore a scope; with `observe`, only what the observed formulas (and properties, goals) depend on."""
    begin = time.perf_counter()
    properties, goals = tuple(properties), tuple(goals)
    if observe is None:
        packed = Packed(ground(scope))
    else:
        terms = [closed(item) for item in (*observe, *properties, *goals)]
        packed = Packed(ground(scope, terms, _acted_upon(scope, properties)))
    for name, most in _plan(engine, keep_graph):
        search = _Search(packed, properties, goals, deadlocks, name, keep_graph)
        if search.run(stop_at_violation, limit, most):
            break
    search.result.seconds = time.perf_counter() - begin - search.result.compile_seconds
    return search.result


def _acted_upon(scope: Scope, properties: tuple[Property, ...]) -> set[str]:
    """The actions that properties of steps are about: none of them may be left out."""
    about = [p for p in properties if p.kind == "step"]
    return {a.name for a in scope.machine.actions.values() if any(concerns(p, a) for p in about)}


def _plan(engine: str, keep_graph: bool) -> list[tuple[str, int | None]]:
    """Engines to try, each with the number of states at which the next one takes over (from the start)."""
    if engine != "auto":
        return [(engine, None)]
    if keep_graph or find_spec("numba") is None:
        return [("python", SMALL), ("numpy", None)]
    return [("python", SMALL), ("numpy", MIDDLING), ("compiled", None)]


def make_engine(name: str, packed: Packed, keep_graph: bool) -> Any:
    """The engine of that name."""
    if name == "python":
        return PythonEngine(packed, keep_graph)
    if name == "numpy":
        from shmem_model.readers.engine_numpy import NumpyEngine

        return NumpyEngine(packed, keep_graph)
    if name == "compiled":
        if find_spec("numba") is None:
            raise LanguageError("the compiled engine needs numba: install shmem[fast], or choose numpy")
        from shmem_model.readers.engine_compiled import CompiledEngine

        return CompiledEngine(packed, keep_graph)
    raise LanguageError(f"there is no engine {name!r}; choose auto, python, numpy or compiled")


class _Search:
    """One exploration under way."""

    def __init__(
        self,
        packed: Packed,
        properties: tuple[Property, ...],
        goals: tuple[Property, ...],
        deadlocks: bool,
        engine: str,
        keep_graph: bool,
    ) -> None:
        self.packed = packed
        self.want_deadlocks = deadlocks
        self.choice, self.keep_graph = engine, keep_graph
        self.properties = [self._watch(p) for p in properties]
        self.goals = [_Watch(Finding(g.name, g.sentence, UNKNOWN), packed.states_where(g)) for g in goals]
        self.engine: Any = make_engine(engine, packed, keep_graph)
        self.result = Exploration(packed.ground.scope, packed, self.engine.name, _finder=_Finder(self.engine))

    def _watch(self, claim: Property) -> _Watch:
        finding = Finding(claim.name, claim.sentence, UNKNOWN)
        if claim.kind == "step":
            steps = self.packed.steps_against(claim)
            return _Watch(finding, self.packed.bits.disj([node for _, node in steps]), steps)
        if claim.kind not in ("invariant", "axiom"):
            raise LanguageError(f"property {claim.name} is of kind {claim.kind}; give it as a goal")
        return _Watch(finding, self.packed.states_where(claim) ^ 1)

    def run(self, stop_at_violation: bool, limit: int | None, most: int | None) -> bool:
        """Level by level until nothing is new; false if there were more than `most` states, which is for others."""
        result, stuck = self.result, self.packed.some_action() ^ 1
        level = self.engine.first
        while self.engine.count(level):
            result.levels.append(level)
            depth = len(result.levels) - 1
            failed = self._look(self.properties, level, depth, FAILS)
            self._look(self.goals, level, depth, REACHED)
            if self.want_deadlocks:
                result.deadlocks += sorted(self.engine.where(level, stuck))
            if (failed and stop_at_violation) or (limit is not None and self.engine.states > limit):
                result.complete = False
                break
            if most is not None and self.engine.states > most:
                return False
            level = self.engine.expand(level)
        self._finish()
        return True

    def _look(self, watches: list[_Watch], level: Any, depth: int, verdict: str) -> bool:
        """Settle what happens in this level; the smallest state decides, so that every run says the same."""
        hit = False
        for watch in watches:
            finding = watch.finding
            if finding.verdict == UNKNOWN:
                found = self.engine.where(level, watch.node)
                if found:
                    hit = True
                    finding.verdict, finding.depth, finding.state = verdict, depth, min(found)
                    if watch.steps is not None:
                        state = finding.state
                        finding.action = next(a for a, node in watch.steps if self.packed.holds(node, state))
        return hit

    def _finish(self) -> None:
        result, engine = self.result, self.engine
        result.states, result.depth = engine.states, len(result.levels) - 1
        result.transitions = int(sum(engine.fired))
        result.compile_seconds = engine.compile_seconds
        result.per_action = dict.fromkeys(dict.fromkeys(a.base for a in result.scope.machine.actions.values()), 0)
        for action, count in zip(self.packed.actions, engine.fired, strict=True):
            result.per_action[action.source.action.base] += int(count)
        for watch, other in [(w, HOLDS) for w in self.properties] + [(w, UNREACHABLE) for w in self.goals]:
            finding = watch.finding
            if finding.verdict == UNKNOWN and result.complete:
                finding.verdict = other
            (result.findings if other == HOLDS else result.goals)[finding.name] = finding
            if finding.state is not None:
                finding.trace = self._trace(finding)
        if self.keep_graph:
            result.graph = engine.graph()

    def _trace(self, finding: Finding) -> Trace:
        assert finding.state is not None
        if finding.action is not None:
            return self.result.trace_through(finding.state, finding.action)
        return self.result.trace_to(finding.state)


class _Finder:
    """Looks for states in levels."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine

    def where(self, level: Any, node: int) -> list[int]:
        """The states of a level in which a node holds."""
        found: list[int] = self.engine.where(level, node)
        return found

    def contains(self, level: Any, state: int) -> bool:
        """The level has this state."""
        found: bool = self.engine.contains(level, state)
        return found
