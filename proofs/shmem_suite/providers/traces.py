"""The trace checker against the machine: tampered traces, and the comparison's own red twins.

Entries: `traces/tampered/*`, so many traces of each way to tamper, on which checker and judge agree;
`traces/trusting-checker/*` and `traces/trusting-judge/*`, in which one of the two never finds anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shmem_suite.checks import Check, Outcome, Task, Verdict
from shmem_suite.errors import ManifestError
from shmem_suite.manifest import Entry
from shmem_suite.tampering.compare import Check as Checker
from shmem_suite.tampering.compare import Judge, checked, compared, row
from shmem_suite.tampering.judge import Finding, judge
from shmem_suite.tampering.tamper import KINDS


def says_clean(trace: Sequence[str]) -> str:
    """A checker that finds nothing."""
    return "clean"


def says_legal(head: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> Finding:
    """A judge that looks at nothing."""
    return Finding(legal=())


FAMILIES: Mapping[str, tuple[str, Checker, Judge]] = {
    "tampered": ("Checker and machine agree on recorded runs that were tampered with: {}.", checked, judge),
    "trusting-checker": ("A checker that calls everything clean is found out: {}.", says_clean, judge),
    "trusting-judge": ("A judge that calls everything legal is found out: {}.", checked, says_legal),
}


def checks(entries: Sequence[Entry], pins: Mapping[str, Mapping[str, Any]]) -> Iterator[Check]:
    """The checks that the entries stand for."""
    for entry in entries:
        family = entry.id.split("/")[1]
        if family not in FAMILIES:
            raise ManifestError(f"traces.json: {entry.id} is none of {', '.join(FAMILIES)}")
        yield from (_check(entry, family, kind) for kind in KINDS)


def universe() -> dict[str, frozenset[str]]:
    """Every way to tamper is tried."""
    return {f"{family} trace": frozenset(KINDS) for family in FAMILIES}


def _check(entry: Entry, family: str, kind: str) -> Check:
    id = entry.check_id(kind)
    return Check(
        id=id,
        kind=entry.kind,
        subject=entry.subject,
        statement=FAMILIES[family][0].format(kind.replace("-", " ")),
        expected=entry.expected,
        tasks=(Task(id, ask, (family, kind, entry.options["traces"], entry.options["seed"]), entry.weight),),
        tier=entry.tier,
        scope=f"{entry.options['traces']} traces of at most 60 events",
        engine=entry.engine,
        covers=frozenset({f"{family} trace:{kind}"}),
    )


def ask(family: str, kind: str, traces: int, seed: int) -> Outcome:
    """Compare the two answers on so many traces."""
    _, check, asked = FAMILIES[family]
    found = row(kind, list(compared(kind, traces, seed, check, asked)))
    verdict: Verdict = "fails" if found.disagreements else "holds"
    if any(one.finding.unknown for one in found.disagreements):
        verdict = "unknown"
    counts = {"traces": found.traces, "detected": found.detected, "legal": found.legal}
    return Outcome(verdict, found.told, counts=counts)
