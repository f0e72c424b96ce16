"""What the checker says of tampered traces, and what the judge says of them.

`python -m shmem_suite.tampering.compare [SEED]` prints the table, and every trace that they disagree about.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from shmem_model.conformance.traces import check_lines
from shmem_suite.tampering.judge import Finding, judge
from shmem_suite.tampering.record import Recorded, lines, recorded
from shmem_suite.tampering.scene import Events
from shmem_suite.tampering.tamper import EACH, KINDS, tampered

Judge = Callable[[Mapping[str, Any], Events], Finding]
Check = Callable[[Sequence[str]], str]
FITS = {"clean": "legal", "race": "broken", "violation": "differs", "malformed": "illegal"}
"""The checker's answer -> the judge's verdict."""


def checked(trace: Sequence[str]) -> str:
    """The checker's answer."""
    return check_lines(trace).answer


@dataclass(frozen=True)
class Compared:
    """One tampered trace, and the two answers."""

    kind: str
    run: str
    trace: Recorded
    answer: str
    finding: Finding

    @property
    def agreed(self) -> bool:
        """The answers fit together.

        *clean*: all orders that end are legal ones, and there is one.  *race*: some order breaks custody.
        *violation*: some order has a wrong value, and none breaks custody.  *malformed*: no order is legal.
        """
        if self.finding.unknown:
            return False
        if self.answer == "malformed":
            return self.finding.legal is None
        return FITS.get(self.answer) == self.finding.verdict


def compared(
    kind: str, count: int = EACH, seed: int = 4, check: Check = checked, asked: Judge = judge
) -> Iterator[Compared]:
    """So many traces, tampered with in one way."""
    for name, trace in islice(tampered(kind, recorded(), seed), count):
        yield Compared(kind, name, trace, check(lines(trace)), asked(*trace))


@dataclass(frozen=True)
class Row:
    """One line of the table: tampered traces of one kind."""

    kind: str
    traces: int
    answers: Mapping[str, int]
    legal: int
    """Traces that the judge has shown to be legal behaviour."""
    disagreements: Sequence[Compared]

    @property
    def told(self) -> str:
        """The line as text."""
        answers = ", ".join(f"{count} {answer}" for answer, count in self.answers.items())
        return (
            f"{self.traces} tampered: {self.detected} detected, {self.legal} legal by the judge, "
            f"{len(self.disagreements)} disagreements ({answers})"
        )

    @property
    def detected(self) -> int:
        """Traces that are not clean."""
        return self.traces - self.answers.get("clean", 0)


def row(kind: str, found: Sequence[Compared]) -> Row:
    """What was found, counted."""
    legal = sum(one.finding.verdict == "legal" for one in found)
    answers = dict(sorted(Counter(one.answer for one in found).items()))
    return Row(kind, len(found), answers, legal, [one for one in found if not one.agreed])


def main(seed: int) -> int:
    """The table; whether there was a disagreement."""
    rows = [row(kind, list(compared(kind, seed=seed))) for kind in KINDS]
    for one in rows:
        sys.stdout.write(f"{one.kind}: {one.told}\n")
        for found in one.disagreements:
            sys.stdout.write(f"  {found.answer}, but {found.finding.verdict}:\n{''.join(lines(found.trace))}")
    return int(any(one.disagreements for one in rows))


if __name__ == "__main__":
    sys.exit(main(int((sys.argv[1:] or ["4"])[0])))
