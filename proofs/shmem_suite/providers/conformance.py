"""The test vectors on the reference implementation: every call at every node of every scope is answered as allowed.

Entry: `conformance/vectors/*`, one check for each scope; in a commanded scope every transition must really be made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shmem_model.conformance import vectors
from shmem_model.conformance.vector_scopes import SCOPES
from shmem_suite.checks import Check, Outcome, Task
from shmem_suite.errors import ManifestError
from shmem_suite.manifest import Entry


def checks(entries: Sequence[Entry], pins: Mapping[str, Mapping[str, Any]]) -> Iterator[Check]:
    """The checks that the entries stand for."""
    for entry in entries:
        if entry.subject != "vectors":
            raise ManifestError(f"conformance.json: {entry.id} is about {entry.subject}; only vectors are run here")
        for name, scope in SCOPES.items():
            id = entry.check_id(name)
            yield Check(
                id=id,
                kind=entry.kind,
                subject=entry.subject,
                statement=f"The reference implementation answers as allowed. {scope.about}",
                expected=entry.expected,
                tasks=(Task(id, follow, (name,), entry.weight),),
                tier=entry.tier,
                scope=entry.scope or f"{name}, hardware {'commanded' if scope.commanded else 'hidden'}",
                engine=entry.engine,
                covers=frozenset({f"vector scope:{name}"}),
            )


def universe() -> dict[str, frozenset[str]]:
    """Every scope must be run."""
    return {"vector scope": frozenset(SCOPES)}


def follow(name: str, factory: Any = None) -> Outcome:
    """Make the vectors of a scope and run them on the reference implementation (or another factory's adapters)."""
    from shmem_suite.differential.reference import make

    data = vectors.vector(SCOPES[name])
    run = vectors.run(data, factory or make)
    counts = {"calls": run.calls, "transitions": run.edges, "covered": run.covered}
    if run.failures:
        return Outcome("fails", run.failures[0].story(), counts=counts)
    if run.skipped:
        return Outcome("unknown", run.skipped, counts=counts)
    if SCOPES[name].commanded and run.covered < run.edges:
        return Outcome("unknown", f"only {run.covered} of {run.edges} transitions were made", counts=counts)
    return Outcome("holds", counts=counts)
