"""Taking turns: every contender once per round, so that what disturbs one disturbs all."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """What was measured of one contender."""

    name: str
    values: tuple[float, ...]
    unit: str

    @property
    def median(self) -> float:
        """The value in the middle."""
        return statistics.median(self.values)

    def as_json(self) -> dict[str, Any]:
        """The row in the promised shape."""
        low, high = min(self.values), max(self.values)
        return {"name": self.name, "median": self.median, "min": low, "max": high, "unit": self.unit}


@dataclass(frozen=True)
class Bench:
    """The rows of a benchmark, ratios between them, and what could not be measured and why."""

    name: str
    rows: tuple[Row, ...]
    ratios: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    subject: str = ""

    def as_json(self) -> dict[str, Any]:
        """The answer of `shmem bench NAME --json`."""
        return {
            "bench": self.name,
            "rows": [row.as_json() for row in self.rows],
            "ratios": dict(self.ratios),
            "subject": self.subject,
            "notes": list(self.notes),
        }


Contender = Callable[[], Mapping[str, float]]
"""Runs once; what it measured by the name of the row."""


def take_turns(
    contenders: Sequence[Contender], rounds: int, tell: Callable[[str], None]
) -> dict[str, tuple[float, ...]]:
    """Every contender once per round; the values of each row."""
    found: dict[str, list[float]] = {}
    for number in range(rounds):
        for contender in contenders:
            for name, value in contender().items():
                found.setdefault(name, []).append(value)
                tell(f"round {number + 1} of {rounds}: {name} {value:,.4g}")
    return {name: tuple(values) for name, values in found.items()}


def ratio(rows: Sequence[Row], over: str, under: str) -> float | None:
    """The ratio of two medians; None where one was not measured."""
    medians = {row.name: row.median for row in rows}
    if over not in medians or not medians.get(under):
        return None
    return medians[over] / medians[under]


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process and what it starts on one of its cores."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
