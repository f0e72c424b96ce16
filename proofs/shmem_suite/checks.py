"""What a check is: one question about the machine, the answer that is expected, and the work that settles
it.

A check is asked by running its *tasks*, each a function that can be sent to another process.  Two checks may
share a task (a proof step that two theorems need): it runs once.  The outcome of a check is made from the
outcomes of its tasks; the weakest verdict wins, so one unknown part makes the whole unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from shmem_suite.story import Trace

Verdict = Literal["holds", "fails", "not-inductive", "unknown"]
Kind = Literal["theorem", "witness", "red-twin", "exploration", "litmus", "mutant", "differential", "referee"]
PinnedIn = Literal["manifest", "scopes", "code"]
"""Where pinned counts stand: in the manifest's `pins.json`, with the scopes of the model, or in the code itself."""
Tier = Literal["quick", "default", "full"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
KINDS: tuple[Kind, ...] = get_args(Kind)
TIERS: tuple[Tier, ...] = get_args(Tier)
UNDECIDED: tuple[Verdict, ...] = ("not-inductive", "unknown")
WORST_FIRST: tuple[Verdict, ...] = ("fails", "not-inductive", "unknown", "holds")
LAST_RESORT = 900.0
"""Seconds of wall clock after which a task is given up.  Resource limits decide; this only ends what
hangs.
"""


@dataclass(frozen=True)
class Outcome:
    """What a task or a check found out.

    `counts` are numbers that must be the same in every run, so they can be pinned; `facts` are whatever else
    a reader of the report wants to see (JSON values; rates and times belong here); `skipped` says why
    nothing was asked (a tool that is not installed), and then `verdict` says nothing.
    """

    verdict: Verdict
    detail: str = ""
    seconds: float = 0.0
    counts: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    trace: Trace | None = None
    skipped: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"{self.verdict!r} is no verdict; there are {', '.join(VERDICTS)}")


def skipped(reason: str) -> Outcome:
    """The outcome of a check that cannot be asked on this machine."""
    return Outcome("unknown", reason, skipped=reason)


@dataclass(frozen=True)
class Task:
    """A piece of work: a function that can be pickled, its arguments, and how long it takes, roughly."""

    key: str
    function: Callable[..., Outcome]
    arguments: tuple[Any, ...] = ()
    weight: float = 1.0
    limit: float = LAST_RESORT


Combine = Callable[[Mapping[str, Outcome]], Outcome]


def _added(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any]:
    """The sums of two tables of numbers (or of tables of numbers)."""
    total = dict(left)
    for name, value in right.items():
        if name not in total:
            total[name] = value
        elif isinstance(value, Mapping):
            total[name] = _added(total[name], value)
        else:
            total[name] += value
    return total


def weakest(outcomes: Mapping[str, Outcome]) -> Outcome:
    """The outcome of a whole: the weakest verdict with the details of those that gave it; counts are
    added.
    """
    if not outcomes:
        return Outcome("unknown", "nothing was asked")
    parts = list(outcomes.values())
    asked = [part for part in parts if not part.skipped]
    if not asked:
        return parts[0]
    verdict = next(v for v in WORST_FIRST if any(part.verdict == v for part in asked))
    guilty = [part for part in asked if part.verdict == verdict]
    details = dict.fromkeys(part.detail for part in guilty if part.detail)
    counts: dict[str, Any] = {}
    facts: dict[str, Any] = {}
    for part in asked:
        facts |= part.facts
        counts = _added(counts, part.counts)
    return Outcome(
        verdict,
        "; ".join(list(details)[:3]) + (f"; and {len(details) - 3} more" if len(details) > 3 else ""),
        sum(part.seconds for part in parts),
        counts,
        facts,
        next((part.trace for part in guilty if part.trace), None),
    )


@dataclass(frozen=True)
class Check:
    """One question with the answer that is expected.

    `subject` is what it is about (a theorem's id, a scope, a litmus file), so that a theorem, its witnesses
    and its red twins find each other.  `pins` are the counts that the outcome must have; a check with
    `pinned` and without pins has not been pinned yet, which is not as expected.  `covers` names what the
    check leaves not unchecked, as `action:flush` or `scope:hand-over`.
    """

    id: str
    kind: Kind
    subject: str
    statement: str
    expected: Verdict
    tasks: tuple[Task, ...]
    tier: Tier = "quick"
    scope: str = ""
    engine: str = ""
    names: tuple[str, ...] = ()
    pinned: bool = False
    pins: Mapping[str, Any] | None = None
    pinned_in: PinnedIn = "manifest"
    covers: frozenset[str] = frozenset()
    combine: Combine = weakest

    def __post_init__(self) -> None:
        for value, known in ((self.kind, KINDS), (self.expected, VERDICTS), (self.tier, TIERS)):
            if value not in known:
                raise ValueError(f"check {self.id}: {value!r} is none of {', '.join(known)}")
        if not self.tasks:
            raise ValueError(f"check {self.id} asks nothing: it has no task")

    @property
    def weight(self) -> float:
        """How long the whole check takes, roughly, in seconds."""
        return sum(task.weight for task in self.tasks)
