"""The readers of the machine against each other: what one finds, the others must find too.

Entries are families.  `readers/bounded/*`, a member per red twin: the explorer and Z3's bounded search share nothing
but the machine's text, and must find the first violation at the same depth.  `readers/agree/*`, a member per small
world: all readers are asked about any states, reachable or not, and must say the same of every step and claim.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shmem_model.machine import MACHINE
from shmem_proofs.agreement import compare
from shmem_proofs.bounded import ReaderMismatch, Unknown, first_violation
from shmem_proofs.theorems import THEOREMS, Theorem
from shmem_suite.checks import Check, Outcome, Task
from shmem_suite.errors import ManifestError
from shmem_suite.manifest import Entry
from shmem_suite.providers.theorems import find, names, size
from shmem_suite.worlds import COMPARED


def checks(entries: Sequence[Entry], pins: Mapping[str, Mapping[str, Any]]) -> Iterator[Check]:
    """The checks that the entries stand for."""
    for entry in entries:
        match entry.subject:
            case "bounded":
                for theorem in THEOREMS:
                    yield from (_bounded(entry, theorem, name) for name in names(theorem.red_twins))
            case "agree":
                yield from (_agree(entry, world, pins) for world in COMPARED)
            case other:
                raise ManifestError(f"readers.json: {entry.id} is about {other}, which nobody can check")


def universe() -> dict[str, frozenset[str]]:
    """Every red twin must be found by the bounded search, too; and readers must agree in every world."""
    twins = frozenset(f"{theorem.id}/{name}" for theorem in THEOREMS for name in names(theorem.red_twins))
    return {"bounded search of red twin": twins, "world of readers": frozenset(COMPARED)}


def _bounded(entry: Entry, theorem: Theorem, name: str) -> Check:
    number = names(theorem.red_twins)[name]
    twin, id = theorem.red_twins[number], entry.check_id(f"{theorem.id}/{name}")
    return Check(
        id=id,
        kind=entry.kind,
        subject=theorem.id,
        statement=f"Z3's bounded search finds the first violation at step {twin.steps}, as the explorer does: {name}.",
        expected=entry.expected,
        tasks=(Task(id, search_bounded, (theorem.id, number), entry.weight),),
        tier=entry.tier,
        scope=entry.scope or size(twin.setting.scope(name)),
        engine=entry.engine,
        covers=frozenset({f"bounded search of red twin:{theorem.id}/{name}"}),
    )


def search_bounded(id: str, number: int) -> Outcome:
    """Look for the first violation of a red twin; its run is run again by the concrete reader."""
    twin = find(id).red_twins[number]
    machine = twin.weaken(MACHINE)
    claim = twin.claim or machine.property(twin.breaks)
    try:
        found = first_violation(twin.setting.scope(twin.name, machine), claim, twin.steps)
    except ReaderMismatch as error:
        return Outcome("fails", str(error))
    if isinstance(found, Unknown):
        return Outcome("unknown", f"the solver gave up at depth {found.depth}: {found.reason}")
    if found is None:
        return Outcome("fails", f"no violation within {twin.steps} steps")
    if len(found) != twin.steps:
        return Outcome("fails", f"the first violation is at step {len(found)}, the explorer's at {twin.steps}")
    return Outcome("holds", counts={"steps": len(found)})


def _agree(entry: Entry, world: str, pins: Mapping[str, Mapping[str, Any]]) -> Check:
    id, pairs = entry.check_id(world), entry.options["pairs"]
    return Check(
        id=id,
        kind=entry.kind,
        subject="readers",
        statement=f"All readers say the same of {pairs} random pairs of a state and a step: {world}.",
        expected=entry.expected,
        tasks=(Task(id, compare_readers, (world, pairs, entry.options["seed"]), entry.weight),),
        tier=entry.tier,
        scope=entry.scope or size(COMPARED[world].scope(world)),
        engine=entry.engine,
        pinned=entry.pinned,
        pins=pins.get(id),
        covers=frozenset({f"world of readers:{world}"}),
    )


def compare_readers(world: str, pairs: int, seed: int) -> Outcome:
    """Ask all readers of the machine about random states and steps of a small world."""
    found = compare(COMPARED[world].scope(world), pairs, seed)
    taken, claims = (dict(sorted(counter.items())) for counter in (found.taken, found.claims))
    counts, facts = {"pairs": found.pairs}, {"taken": taken, "claims": claims}
    if found.differences:
        return Outcome("fails", "; ".join(map(str, found.differences[:3])), counts=counts, facts=facts)
    return Outcome("holds" if taken and claims else "unknown", counts=counts, facts=facts)
