"""Theorems about the implementation's own algorithms (T11 to T14) as checks.

Entries are families.  `T11` asks all of a theorem's small worlds (they share their tasks with the checks below);
`T11/world/*` has a member per world, with pinned counts, and `T11/twin/*` one per weakened algorithm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shmem_model.readers import trace as found
from shmem_proofs.algorithm_checks import Twin, World, broken, endless, explored, unrefined
from shmem_proofs.theorems import THEOREMS, Theorem
from shmem_proofs.theorems.statement import ALGORITHM
from shmem_suite.checks import Check, Outcome, Task
from shmem_suite.errors import ManifestError
from shmem_suite.manifest import Entry
from shmem_suite.story import Change, Step, Trace

RULES = 1_500_000.0
"""Transitions per second, roughly, for the weights of tasks."""


def checks(entries: Sequence[Entry], pins: Mapping[str, Mapping[str, Any]]) -> Iterator[Check]:
    """The checks that the entries stand for."""
    for entry in entries:
        theorem = _find(entry.subject)
        match entry.kind:
            case "theorem":
                yield _theorem(entry, theorem)
            case "exploration":
                large = bool(entry.options.get("large", False))
                yield from (_world(entry, theorem, w) for w in theorem.worlds if w.large == large)
            case "red-twin":
                for world in theorem.worlds:
                    yield from (_twin(entry, theorem, world, twin) for twin in world.twins)
            case other:
                raise ManifestError(f"algorithms.json: {entry.id} is of kind {other}")


def universe() -> dict[str, frozenset[str]]:
    """Every world and every weakened algorithm."""
    worlds = [(theorem, world) for theorem in _theorems() for world in theorem.worlds]
    twins = [(theorem, twin) for theorem, world in worlds for twin in world.twins]
    return {
        "world of an algorithm": frozenset(f"{theorem.id}/{slug(world.name)}" for theorem, world in worlds),
        "weakened algorithm": frozenset(f"{theorem.id}/{slug(twin.name)}" for theorem, twin in twins),
    }


def slug(name: str) -> str:
    """A name as part of an id."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower().replace("==", "equality")).strip("-")


def _theorems() -> list[Theorem]:
    return [theorem for theorem in THEOREMS if theorem.method == ALGORITHM]


def _find(id: str) -> Theorem:
    for theorem in _theorems():
        if theorem.called(id):
            return theorem
    raise ManifestError(f"algorithms.json: {id} is no theorem about an algorithm")


def _theorem(entry: Entry, theorem: Theorem) -> Check:
    """The theorem in its small worlds."""
    small = [world for world in theorem.worlds if not world.large]
    return Check(
        id=entry.id,
        kind="theorem",
        subject=theorem.id,
        statement=theorem.sentence,
        expected=entry.expected,
        tasks=tuple(_task(theorem, world) for world in small),
        tier=entry.tier,
        scope=entry.scope or f"{len(small)} small worlds",
        engine=entry.engine or "explorer",
        names=(theorem.name,),
        covers=frozenset({f"theorem:{theorem.id}"}),
    )


def world_tasks(theorem: Theorem) -> tuple[Task, ...]:
    """All worlds of a theorem, the large ones too."""
    return tuple(_task(theorem, world) for world in theorem.worlds)


def _task(theorem: Theorem, world: World) -> Task:
    id = f"{theorem.id}/world/{slug(world.name)}"
    weight = 0.05 + world.transitions / RULES * (4 if world.refines or world.progress else 1)
    return Task(id, explore_world, (theorem.id, slug(world.name)), weight)


def _world(entry: Entry, theorem: Theorem, world: World) -> Check:
    covers = {f"world of an algorithm:{theorem.id}/{slug(world.name)}"}
    if world.witnesses:
        covers.add(f"witnessed theorem:{theorem.id}")
    return Check(
        id=entry.check_id(slug(world.name)),
        kind=entry.kind,
        subject=theorem.id,
        statement=world.sentence,
        expected=entry.expected,
        tasks=(_task(theorem, world),),
        tier=entry.tier,
        scope=world.name,
        engine=entry.engine or "explorer",
        names=(theorem.name,),
        pinned=True,
        pins=pins_of(world),
        pinned_in="code",
        covers=frozenset(covers),
    )


def pins_of(world: World) -> dict[str, Any]:
    """The counts that a world must have: states, transitions, and the steps to each witness."""
    steps = {"witnesses": {str(n): steps for n, (_, steps) in enumerate(world.witnesses)}} if world.witnesses else {}
    return {"states": world.states, "transitions": world.transitions, **steps}


def _twin(entry: Entry, theorem: Theorem, world: World, twin: Twin) -> Check:
    id = entry.check_id(slug(twin.name))
    return Check(
        id=id,
        kind=entry.kind,
        subject=theorem.id,
        statement=twin.sentence,
        expected=entry.expected,
        tasks=(Task(id, break_algorithm, (theorem.id, slug(twin.name)), 0.05),),
        tier=entry.tier,
        scope=world.name,
        engine=entry.engine or "explorer",
        names=(theorem.name,),
        pinned=True,
        pins={"steps": twin.steps},
        pinned_in="code",
        covers=frozenset(
            {f"weakened algorithm:{theorem.id}/{slug(twin.name)}", f"theorem with a red twin:{theorem.id}"}
        ),
    )


def explore_world(id: str, name: str) -> Outcome:
    """Explore a world to its end; every claim, every witness, refinement and progress where they are asked."""
    world = next(world for world in _find(id).worlds if slug(world.name) == name)
    what = world.build()
    goals = [make(what.algorithm) for make, _ in world.witnesses]
    done = explored(what, goals, graph=world.refines or world.progress)
    bad = [finding for finding in done.findings.values() if finding.verdict != "holds"]
    if bad and bad[0].trace is not None:
        return Outcome("fails", f"broken: {bad[0].sentence}", trace=story(bad[0].trace, f"broken: {bad[0].sentence}"))
    if not done.complete:
        return Outcome("unknown", f"given up after {done.states} states")
    counts = {"states": done.states, "transitions": done.transitions}
    shown = [done.goals[goal.name] for goal in goals]
    witnesses = {"witnesses": {str(n): finding.depth for n, finding in enumerate(shown)}} if shown else {}
    facts = {"engine": done.engine, "witnessed": {finding.name: finding.sentence for finding in shown}}
    if unreached := [finding.name for finding in shown if finding.verdict != "reached"]:
        return Outcome("fails", f"never happens: {', '.join(unreached)}", counts=counts)
    if world.refines and (wrong := unrefined(what, done)):
        return Outcome("fails", f"{wrong[0][0]} is no step of the machine's barrier: {wrong[0][1]} to {wrong[0][2]}")
    if world.progress and (cycle := endless(what, done)) is not None:
        assert done.graph is not None
        run = done.trace_to(done.graph.states[min(cycle.states)])
        return Outcome("fails", "a fair run never ends", trace=story(run, "and so on for ever"))
    return Outcome("holds", f"{done.states} states", counts=counts | witnesses, facts=facts)


def break_algorithm(id: str, name: str) -> Outcome:
    """Look for the shortest run of a weakened algorithm that breaks its claim."""
    theorem = _find(id)
    twin = next(twin for world in theorem.worlds for twin in world.twins if slug(twin.name) == name)
    what = twin.build()
    done, run = broken(what, twin)
    if run is None:
        return Outcome("holds" if done.complete else "unknown", facts={"states": done.states})
    ending = (
        f"broken: {done.findings[twin.breaks].sentence}" if twin.breaks else "and so on for ever: no fair step helps"
    )
    facts = {"states": done.states, "engine": done.engine}
    return Outcome("fails", f"{len(run)} steps", counts={"steps": len(run)}, facts=facts, trace=story(run, ending))


def story(run: found.Trace, ending: str) -> Trace:
    """A run of threads: `step@thread.detail` is a step of that thread."""
    last = len(run.steps) - 1
    steps = []
    for number, step in enumerate(run.steps):
        name, _, rest = step.action.partition("@")
        thread, _, detail = rest.partition(".")
        arguments = (("at", detail),) if detail else tuple((n, v) for n, v in step.shown.items() if v != thread)
        changes = tuple(Change(cell, (), *values) for cell, values in step.changes.items() if not cell.endswith("_at"))
        steps.append(Step(thread, name, arguments, changes, number == last))
    return Trace(tuple(steps), ending)
