"""The second opinion on proofs: cvc5, from its own reading of the machine, settles every obligation as Z3 does.

Entries: one whose subject is `induction`, one whose subject is `two-runs`.  Z3's half of each is the proof itself, so
it is asked once for both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from shmem_model.machine import MACHINE
from shmem_proofs.induction import obligations
from shmem_proofs.second_solver import SecondProver
from shmem_proofs.second_two_runs import SecondTwoRuns
from shmem_suite.checks import Check, Outcome, Task, Verdict
from shmem_suite.errors import ManifestError
from shmem_suite.manifest import Entry
from shmem_suite.providers.proofs import ask_obligations, proof_tasks, two_run_tasks, two_runs

WORDS = {"induction": "obligation of the induction", "two-runs": "obligation about two runs"}


def checks(entries: Sequence[Entry], pins: Mapping[str, Mapping[str, Any]]) -> Iterator[Check]:
    """One check per entry, with a task per action and solver."""
    for entry in entries:
        if entry.subject not in WORDS:
            raise ManifestError(f"solvers.json: {entry.id} is about {entry.subject}, not one of {', '.join(WORDS)}")
        first = proof_tasks() if entry.subject == "induction" else two_run_tasks()
        yield Check(
            id=entry.id,
            kind=entry.kind,
            subject=entry.subject,
            statement=f"Every {WORDS[entry.subject]} is settled by cvc5 as it is by Z3.",
            expected=entry.expected,
            tasks=(*first, *(Task(f"cvc5/{t.key}", ask_second, (t.key,), entry.weight) for t in first)),
            tier=entry.tier,
            scope=entry.scope,
            engine=entry.engine,
            pinned=entry.pinned,
            pins=pins.get(entry.id),
            covers=frozenset({f"proof by two solvers:{entry.subject}"}),
            combine=agree,
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


def ask_second(key: str) -> Outcome:
    """Ask cvc5 the obligations that the proof task of this name (`induction/flush`) asks Z3."""
    kind, _, action = key.partition("/")
    if kind == "induction":
        return ask_obligations([each for each in obligations(MACHINE) if each.action == action], second().check)
    mine = [each for each in two_runs().obligations() if each.action == action]
    return ask_obligations(mine, second_two_runs().check)


def agree(parts: Mapping[str, Outcome]) -> Outcome:
    """What two solvers say of the same obligations: `holds` if the same of each, `unknown` if one does not know."""
    differing, open_ones, asked = [], [], 0
    for key, first in parts.items():
        if key.startswith("cvc5/"):
            continue
        other = parts[f"cvc5/{key}"]
        if "failed" not in first.facts or "failed" not in other.facts:
            open_ones.append(f"{key}: {first.detail or other.detail}")
            continue
        if first.counts != other.counts:
            differing.append(f"{key}: Z3 was asked {first.counts}, cvc5 {other.counts}")
        asked += other.counts["obligations"]
        for claim in {**first.facts["failed"], **other.facts["failed"]}:
            said = [part.facts["failed"].get(claim, ["holds"])[0] for part in (first, other)]
            if "unknown" in said:
                open_ones.append(f"{key} keeps {claim}: Z3 {said[0]}, cvc5 {said[1]}")
            elif said[0] != said[1]:
                differing.append(f"{key} keeps {claim}: Z3 {said[0]}, cvc5 {said[1]}")
    rows = differing or open_ones
    more = f"; and {len(rows) - 3} more" if len(rows) > 3 else ""
    seconds = sum(part.seconds for key, part in parts.items() if key.startswith("cvc5/"))
    verdict: Verdict = "fails" if differing else "unknown" if open_ones or not asked else "holds"
    return Outcome(verdict, "; ".join(rows[:3]) + more, seconds, {"obligations": asked})
