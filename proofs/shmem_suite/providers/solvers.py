"""The second opinion on proofs: cvc5, from its own reading of the machine, settles every obligation as Z3
does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from shmem_model.machine import MACHINE
from shmem_proofs.induction import obligations
from shmem_proofs.second_solver import AGREE, DISAGREE, SecondProver, compare
from shmem_suite.checks import Check, Outcome, Task
from shmem_suite.manifest import Entry
from shmem_suite.providers.proofs import actions, prover


def checks(entries: Sequence[Entry], pins: Mapping[str, Mapping[str, Any]]) -> Iterator[Check]:
    """One check, with a task per action."""
    for entry in entries:
        yield Check(
            id=entry.id,
            kind=entry.kind,
            subject=entry.subject,
            statement="Every obligation of the induction is settled by cvc5 as it is by Z3.",
            expected=entry.expected,
            tasks=tuple(Task(f"{entry.id}/{one}", ask_both, (one,), entry.weight) for one in actions()),
            tier=entry.tier,
            scope=entry.scope,
            engine=entry.engine,
            pinned=entry.pinned,
            pins=pins.get(entry.id),
        )


def universe() -> dict[str, frozenset[str]]:
    """Nothing has to be covered here."""
    return {}


@lru_cache(maxsize=1)
def second() -> SecondProver:
    """One second prover per process."""
    return SecondProver(MACHINE)


def ask_both(action: str) -> Outcome:
    """Ask both solvers every obligation of one action (or of the start)."""
    mine = [each for each in obligations(MACHINE) if each.action == action]
    found = compare(MACHINE, mine, first=prover(), second=second())
    counts = {"obligations": len(found.rows), "agree": len(found.of(AGREE))}
    if found.ok:
        return Outcome("holds", counts=counts)
    lines = str(found).splitlines()
    return Outcome("fails" if found.of(DISAGREE) else "unknown", "; ".join(lines[:3]), counts=counts)
