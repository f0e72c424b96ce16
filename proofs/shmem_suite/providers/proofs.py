"""Proof steps as tasks: all obligations of one action, asked in a worker; and how theorems rest on them.

A theorem by induction rests on every invariant of the machine (they are each other's hypotheses) and on its
own claims about steps.  The steps are shared between theorems, so each is asked once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from shmem_model.machine import MACHINE
from shmem_proofs.induction import START, Obligation, Prover, Verdict, obligations
from shmem_proofs.two_runs import TwoRuns
from shmem_suite.checks import WORST_FIRST, Outcome, Task
from shmem_suite.checks import Verdict as Word

PER_OBLIGATION = 0.008
"""Seconds for one obligation, roughly."""


@lru_cache(maxsize=1)
def prover() -> Prover:
    """One prover per process: building the hypotheses takes longer than most obligations."""
    return Prover(MACHINE)


@lru_cache(maxsize=1)
def two_runs() -> TwoRuns:
    """One two-run prover per process."""
    return TwoRuns(MACHINE)


def actions() -> tuple[str, ...]:
    """The start and every action, in order."""
    return (START, *MACHINE.actions)


def prove_action(action: str) -> Outcome:
    """Ask every obligation of one action (or of the start)."""
    mine = [each for each in obligations(MACHINE) if each.action == action]
    return ask_obligations(mine, prover().check)


def prove_two_runs(action: str) -> Outcome:
    """Ask every unwinding obligation of one action (or of the start)."""
    mine = [each for each in two_runs().obligations() if each.action == action]
    return ask_obligations(mine, two_runs().check)


def ask_obligations(mine: Sequence[Obligation], check: Callable[[Obligation], Verdict]) -> Outcome:
    """Ask a solver these obligations; those that do not hold are in `facts`, with what speaks against
    them.
    """
    failed: dict[str, list[str]] = {}
    for each in mine:
        found = check(each)
        if found.verdict != "holds":
            failed[each.claim] = [found.verdict, f"{each.name}: {found.verdict}", found.reason]
    if not mine:
        return Outcome("unknown", "there is no obligation")
    rows = list(failed.values())
    detail = "; ".join(row[1] for row in rows[:2]) + (f"; and {len(rows) - 2} more" if len(rows) > 2 else "")
    counts = {"obligations": len(mine)}
    return Outcome(worst(row[0] for row in rows), detail, counts=counts, facts={"failed": failed})


def worst(verdicts: Iterable[str]) -> Word:
    """The weakest of some verdicts (none: holds)."""
    found = set(verdicts)
    return next((verdict for verdict in WORST_FIRST if verdict in found), "holds")


def proof_tasks() -> tuple[Task, ...]:
    """The induction: a task per action."""
    return tuple(Task(f"induction/{action}", prove_action, (action,), PER_OBLIGATION * 80) for action in actions())


def two_run_tasks() -> tuple[Task, ...]:
    """The unwinding: a task per action."""
    return tuple(Task(f"two-runs/{action}", prove_two_runs, (action,), PER_OBLIGATION * 40) for action in actions())


class Rests:
    """Combines the proof steps that a theorem rests on: all invariants, and its own claims."""

    def __init__(self, claims: Iterable[str] | None) -> None:
        self.claims = None if claims is None else frozenset(claims) | {c.name for c in MACHINE.invariants}

    def concerned(self, claim: str) -> bool:
        """The theorem rests on this claim."""
        return self.claims is None or claim in self.claims

    def __call__(self, parts: Mapping[str, Outcome]) -> Outcome:
        lost = [part for part in parts.values() if "failed" not in part.facts]
        failed = [row for part in parts.values() for row in self._failed(part)]
        verdict = worst([*(part.verdict for part in lost), *(row[0] for row in failed)])
        words = [*(part.detail for part in lost), *(row[1] for row in failed)]
        more = f"; and {len(words) - 3} more" if len(words) > 3 else ""
        facts = {"failed": {row[1]: row[2] for row in failed}} if failed else {}
        return Outcome(
            verdict,
            "; ".join(words[:3]) + more,
            sum(part.seconds for part in parts.values()),
            {"obligations": sum(part.counts.get("obligations", 0) for part in parts.values())},
            facts,
        )

    def _failed(self, part: Outcome) -> Iterator[list[str]]:
        for claim, row in part.facts.get("failed", {}).items():
            if self.concerned(claim):
                yield row
