"""The readers of the machine against each other: what one finds, the others must find too.

Entries: `readers/bounded/*`, a family with a member per red twin: the explorer and Z3's bounded search share
nothing but the machine's text, and must find the first violation at the same depth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shmem_model.machine import MACHINE
from shmem_proofs.bounded import ReaderMismatch, Unknown, first_violation
from shmem_proofs.theorems import THEOREMS, Theorem
from shmem_suite.checks import Check, Outcome, Task
from shmem_suite.errors import ManifestError
from shmem_suite.manifest import Entry
from shmem_suite.providers.theorems import find, names, size


def checks(entries: Sequence[Entry], pins: Mapping[str, Mapping[str, Any]]) -> Iterator[Check]:
    """The checks that the entries stand for."""
    for entry in entries:
        if entry.subject != "bounded":
            raise ManifestError(f"readers.json: {entry.id} is about {entry.subject}, which nobody can check")
        for theorem in THEOREMS:
            yield from (_bounded(entry, theorem, name) for name in names(theorem.red_twins))


def universe() -> dict[str, frozenset[str]]:
    """Every red twin must be found by the bounded search, too."""
    twins = frozenset(f"{theorem.id}/{name}" for theorem in THEOREMS for name in names(theorem.red_twins))
    return {"bounded search of red twin": twins}


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
