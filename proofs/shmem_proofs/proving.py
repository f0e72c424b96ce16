"""Prove a theorem, show its witnesses, and see its red twins fail."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from shmem_model.language import Machine, Property
from shmem_model.machine import MACHINE
from shmem_model.readers.explorer import UNKNOWN, explore
from shmem_model.readers.trace import Trace
from shmem_proofs.induction import Obligation, Prover, Verdict, obligations
from shmem_proofs.theorems import INDUCTION, TWO_RUNS, RedTwin, Theorem, Witness
from shmem_proofs.two_runs import TwoRuns

HOLDS, FAILS, NOT_INDUCTIVE = "holds", "fails", "not-inductive"
LIMIT = 2_000_000
"""States after which the search for a witness or red twin gives up (`unknown`)."""


@dataclass
class Proof:
    """What came of the obligations of a theorem; `open` lists those that do not hold."""

    theorem: str
    obligations: int = 0
    by_frame: int = 0
    seconds: float = 0.0
    open: list[tuple[Obligation, Verdict]] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """`holds`, `not-inductive` (some obligation has a pair of states against it) or `unknown`."""
        verdicts = {verdict.verdict for _, verdict in self.open}
        if not self.obligations:
            return UNKNOWN
        return HOLDS if not verdicts else NOT_INDUCTIVE if NOT_INDUCTIVE in verdicts else UNKNOWN

    def add(self, other: Proof) -> None:
        """Take the obligations of another part of the same proof in."""
        self.obligations += other.obligations
        self.by_frame += other.by_frame
        self.seconds += other.seconds
        self.open += other.open


def obligations_of(theorem: Theorem, machine: Machine = MACHINE) -> tuple[Obligation, ...]:
    """The proof obligations of a theorem, in a fixed order."""
    if theorem.method == TWO_RUNS:
        return tuple(TwoRuns(machine, theorem.claims).obligations())
    if theorem.method != INDUCTION:
        return ()
    names = {claim.name for claim in theorem.claims}
    return tuple(one for one in obligations(machine) if one.claim in names)


def prove(theorem: Theorem, machine: Machine = MACHINE, part: tuple[int, int] = (0, 1)) -> Proof:
    """Prove a theorem, or one part of it: every n-th obligation from the i-th, `part=(i, n)`, for several processes."""
    begin = time.perf_counter()
    proof = Proof(theorem.id)
    index, count = part
    mine = obligations_of(theorem, machine)[index::count]
    checker: Prover | TwoRuns = TwoRuns(machine, theorem.claims) if theorem.method == TWO_RUNS else Prover(machine)
    for obligation in mine:
        verdict = checker.check(obligation)
        proof.obligations += 1
        proof.by_frame += checker.settled_by_frame(obligation)
        if verdict.verdict != HOLDS:
            proof.open.append((obligation, verdict))
    proof.seconds = time.perf_counter() - begin
    return proof


@dataclass(frozen=True)
class Shown:
    """What a witness or red twin showed: `holds` (nothing of the kind is reachable), `fails` (here is the run)."""

    name: str
    verdict: str
    states: int
    seconds: float
    trace: Trace | None = None
    proof: str = ""

    @property
    def steps(self) -> int | None:
        """The length of the shortest run."""
        return None if self.trace is None else len(self.trace)


def show_witness(witness: Witness, machine: Machine = MACHINE) -> Shown:
    """Search the shortest run to the state of a witness; `holds` means that it was reached."""
    never = replace(witness.state, kind="invariant", body=~witness.state.body)
    shown = _search(witness.name, never, witness.setting.scope(witness.name, machine))
    reached = {FAILS: HOLDS, HOLDS: FAILS}.get(shown.verdict, UNKNOWN)
    return replace(shown, verdict=reached)


def show_red_twin(twin: RedTwin, machine: Machine = MACHINE) -> Shown:
    """Search the shortest run in which the weakened machine breaks its claim; `fails` is what is expected.

    `proof` says what induction thinks of the weakened machine: it must not find the claim inductive.
    """
    weakened = twin.weaken(machine)
    claim = twin.claim or machine.property(twin.breaks)
    shown = _search(twin.name, claim, twin.setting.scope(twin.name, weakened))
    return replace(shown, proof=_induction_on(twin, machine, weakened))


def _search(name: str, claim: Property, scope: object) -> Shown:
    begin = time.perf_counter()
    found = explore(scope, properties=[claim], limit=LIMIT)  # type: ignore[arg-type]
    finding = found.findings[claim.name]
    return Shown(name, finding.verdict, found.states, time.perf_counter() - begin, finding.trace)


def changed_actions(machine: Machine, weakened: Machine) -> Iterator[str]:
    """The actions in which two machines differ."""
    for name, action in weakened.actions.items():
        if machine.actions.get(name) != action:
            yield name


def _induction_on(twin: RedTwin, machine: Machine, weakened: Machine) -> str:
    """The verdict of the proofs on the weakened machine: the worst of the changed actions' obligations."""
    changed = set(changed_actions(machine, weakened))
    verdicts: set[str] = set()
    if twin.claim is None:
        prover = Prover(weakened)
        verdicts |= _verdicts(prover.check(o) for o in obligations(weakened) if o.action in changed)
    else:
        two = TwoRuns(weakened)
        verdicts |= _verdicts(two.check(o) for o in two.obligations() if o.action in changed)
    return NOT_INDUCTIVE if NOT_INDUCTIVE in verdicts else UNKNOWN if UNKNOWN in verdicts else HOLDS


def _verdicts(found: Iterable[Verdict]) -> set[str]:
    return {verdict.verdict for verdict in found}


def unclaimed(theorems: Iterable[Theorem], machine: Machine = MACHINE) -> list[str]:
    """Claims of the machine that belong to no theorem (there must be none)."""
    spoken = {claim.name for theorem in theorems for claim in theorem.claims}
    return [claim.name for claim in machine.properties if claim.name not in spoken]


__all__ = [
    "Proof",
    "Shown",
    "changed_actions",
    "obligations_of",
    "prove",
    "show_red_twin",
    "show_witness",
    "unclaimed",
]
