"""The second opinion on proofs: cvc5, from its own reading of the machine, settles every obligation as Z3 does.

Entries: one whose subject is `induction`, one whose subject is `two-runs`; each has a task per action.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from shmem_model.machine import MACHINE
from shmem_proofs.induction import Obligation, Verdict, obligations
from shmem_proofs.second_solver import AGREE, DISAGREE, Agreement, Row, SecondProver
from shmem_proofs.second_two_runs import SecondTwoRuns
from shmem_suite.checks import Check, Outcome, Task
from shmem_suite.errors import ManifestError
from shmem_suite.manifest import Entry
from shmem_suite.providers.proofs import actions, prover, two_runs

WORDS = {"induction": "obligation of the induction", "two-runs": "obligation about two runs"}
Solver = Callable[[Obligation], Verdict]


def checks(entries: Sequence[Entry], pins: Mapping[str, Mapping[str, Any]]) -> Iterator[Check]:
    """One check per entry, with a task per action."""
    for entry in entries:
        if entry.subject not in WORDS:
            raise ManifestError(f"solvers.json: {entry.id} is about {entry.subject}, not one of {', '.join(WORDS)}")
        yield Check(
            id=entry.id,
            kind=entry.kind,
            subject=entry.subject,
            statement=f"Every {WORDS[entry.subject]} is settled by cvc5 as it is by Z3.",
            expected=entry.expected,
            tasks=tuple(Task(f"{entry.id}/{one}", ask_both, (entry.subject, one), entry.weight) for one in actions()),
            tier=entry.tier,
            scope=entry.scope,
            engine=entry.engine,
            pinned=entry.pinned,
            pins=pins.get(entry.id),
            covers=frozenset({f"proof by two solvers:{entry.subject}"}),
        )


def universe() -> dict[str, frozenset[str]]:
    """Both kinds of proof must be settled by both solvers."""
    return {"proof by two solvers": frozenset(WORDS)}


@lru_cache(maxsize=1)
def second() -> SecondProver:
    """One second prover per process."""
    return SecondProver(MACHINE)


@lru_cache(maxsize=1)
def second_two_runs() -> SecondTwoRuns:
    """One second two-run prover per process."""
    return SecondTwoRuns(MACHINE)


def ask_both(kind: str, action: str) -> Outcome:
    """Ask both solvers every obligation of one action (or of the start)."""
    every, first, other = _solvers(kind)
    rows = tuple(Row(each, first(each), other(each)) for each in every if each.action == action)
    found = Agreement(rows)
    counts = {"obligations": len(found.rows), "agree": len(found.of(AGREE))}
    if found.ok:
        return Outcome("holds", counts=counts)
    lines = str(found).splitlines()
    return Outcome("fails" if found.of(DISAGREE) else "unknown", "; ".join(lines[:3]), counts=counts)


def _solvers(kind: str) -> tuple[Sequence[Obligation], Solver, Solver]:
    """The obligations of a kind of proof, and who settles them."""
    if kind == "induction":
        return list(obligations(MACHINE)), prover().check, second().check
    return list(two_runs().obligations()), two_runs().check, second_two_runs().check
