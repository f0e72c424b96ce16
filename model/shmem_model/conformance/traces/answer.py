"""What a check answers, in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from shmem_model.conformance.traces import custody as c

CODES = {"clean": 0, "race": 1, "violation": 1, "malformed": 2, "unknown": 3}
"""The exit code of each answer."""


@dataclass(frozen=True)
class Problem:
    """A broken rule (`race`), or a read of something else although none was broken (`violation`)."""

    kind: str
    what: str
    other: str
    missing: str

    def __str__(self) -> str:
        return f"{self.what}: {self.missing}" + (f" ({self.other})" if self.other else "")


@dataclass
class Answer:
    """What is so of a trace: *clean*, *race*, *violation*, *malformed* or *unknown*, and why."""

    answer: str
    events: int = 0
    problems: list[Problem] = field(default_factory=list)
    count: int = 0
    """Problems found; `problems` holds the first of them."""
    why: str = ""
    line: int = 0

    def as_json(self, file: str) -> dict[str, Any]:
        """The answer as plain data."""
        told = [{"kind": p.kind, "what": p.what, "other": p.other, "missing": p.missing} for p in self.problems]
        return {
            "file": file, "answer": self.answer, "events": self.events, "problems": told, "count": self.count,
            "why": self.why, "line": self.line,
        }  # fmt: skip


def missing(cause: int, agent: str, other: str) -> str:
    """Which step is missing between two accesses."""
    match cause:
        case c.NOT_FLUSHED:
            return f"{other} has not flushed what it wrote"
        case c.NOT_FENCED:
            return f"{other} has not fenced since"
        case c.NOT_TOLD:
            return f"{agent} was not told since: no notification or barrier after {other}'s fence"
        case c.UNREAD:
            return f"{agent} does not know that {other} has finished reading"
        case c.LOST:
            return f"{agent} has not flushed what it wrote"
    return f"{agent} was told, but has not invalidated the line since"


def short(value: str) -> str:
    """The beginning of a long value."""
    return value if len(value) <= 32 else f"{value[:32]}..."
