"""The reference implementation beside the machine: random runs in lock-step, and curated bugs that they must find.

Entries: `lockstep/*/*`, so many steps in each world without a divergence, in `options.parts` tasks; `bugs/*`, each
curated bug planted into a copy of the implementation and looked for.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shmem_suite.bugs.finding import find
from shmem_suite.bugs.planting import curated
from shmem_suite.checks import Check, Outcome, Task
from shmem_suite.differential.lockstep import run, shrunk
from shmem_suite.differential.worlds import WORLDS
from shmem_suite.errors import ManifestError
from shmem_suite.manifest import Entry


def checks(entries: Sequence[Entry], pins: Mapping[str, Mapping[str, Any]]) -> Iterator[Check]:
    """The checks that the entries stand for."""
    for entry in entries:
        match entry.subject:
            case "lockstep":
                yield from (_lockstep(entry, name) for name in WORLDS)
            case "bugs":
                yield from (_bug(entry, name) for name in curated())
            case other:
                raise ManifestError(f"differential.json: {entry.id} is about {other}, of which nothing is known")


def universe() -> dict[str, frozenset[str]]:
    """Every world is walked in, every curated bug is looked for."""
    return {"world": frozenset(WORLDS), "curated bug": frozenset(curated())}


def _lockstep(entry: Entry, name: str) -> Check:
    id, steps, seed = entry.check_id(name), entry.options["steps"], entry.options["seed"]
    parts = entry.options.get("parts", 1)
    return Check(
        id=id,
        kind=entry.kind,
        subject=entry.subject,
        statement=f"Machine and implementation agree on every answer, value and state in {steps:,} steps: {name}.",
        expected=entry.expected,
        tasks=tuple(
            Task(f"{id}/{part}", walk, (name, steps // parts, 1000 * seed + part), entry.weight / parts)
            for part in range(parts)
        ),
        tier=entry.tier,
        scope=f"world {name}",
        engine=entry.engine,
        covers=frozenset({f"world:{name}"}),
    )


def _bug(entry: Entry, name: str) -> Check:
    id = entry.check_id(name)
    return Check(
        id=id,
        kind=entry.kind,
        subject=entry.subject,
        statement=f"Found in the implementation: {curated()[name].sentence}",
        expected=entry.expected,
        tasks=(Task(id, hunt, (name, float(entry.options["seconds"])), entry.weight),),
        tier=entry.tier,
        scope="all worlds in turn",
        engine=entry.engine,
        covers=frozenset({f"curated bug:{name}"}),
    )


def walk(name: str, steps: int, seed: int) -> Outcome:
    """Random steps in a world; the divergence, made short, is the detail."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = run(steps, seed, WORLDS[name])
        if result.divergence is not None:
            return Outcome("fails", str(shrunk(result.divergence)), counts={"steps": result.steps})
    if result.steps < steps:
        return Outcome("unknown", f"only {result.steps} of {steps} steps could be taken")
    return Outcome("holds", counts={"steps": result.steps})


def hunt(name: str, seconds: float) -> Outcome:
    """Look for a curated bug; `fails` where it was found, as it must be."""
    found = find(curated()[name], seconds)
    if not found.told:
        return Outcome("holds", f"not found in {found.steps} steps, {found.seconds:.0f} s")
    return Outcome("fails", found.told, facts={"steps": found.steps, "seconds": round(found.seconds, 2)})
