"""What the verdicts add up to: which are as expected, the summary, the exit code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shmem_suite.checks import UNDECIDED, Check, Outcome, Verdict

OK, NOT_AS_EXPECTED, USAGE, UNKNOWN = 0, 1, 2, 3


@dataclass(frozen=True)
class Result:
    """A check with its outcome."""

    check: Check
    outcome: Outcome

    @property
    def skipped(self) -> str:
        """Why the check could not be asked on this machine, or nothing."""
        return self.outcome.skipped

    @property
    def ok(self) -> bool:
        """The verdict is the expected one, and the counts are the pinned ones."""
        return self.outcome.verdict == self.check.expected and not self.skipped and not self.pin_trouble

    @property
    def undecided(self) -> bool:
        """Not as expected, and the verdict decides nothing."""
        return not self.ok and self.verdict in UNDECIDED

    @property
    def pin_trouble(self) -> str:
        """How the counts differ from the pinned ones, or nothing."""
        if not self.check.pinned or self.skipped or self.outcome.verdict == "unknown":
            return ""
        if self.check.pins is None:
            return "no counts are pinned yet; run shmem verify --update-pins"
        differing = _differences(self.check.pins, self.outcome.counts)
        return f"counts differ from the pinned ones: {', '.join(differing[:4])}" if differing else ""

    @property
    def detail(self) -> str:
        """What there is to say about the verdict."""
        return "; ".join(part for part in (self.pin_trouble, self.outcome.detail) if part)

    @property
    def verdict(self) -> Verdict:
        """The verdict; with counts that differ from the pinned ones it is never the expected one."""
        if not self.pin_trouble or self.outcome.verdict != self.check.expected:
            return self.outcome.verdict
        return "fails" if self.check.expected == "holds" else "unknown"


def _differences(pins: Mapping[str, Any], counts: Mapping[str, Any], prefix: str = "") -> list[str]:
    found = []
    for name in dict.fromkeys([*pins, *counts]):
        pinned, now = pins.get(name), counts.get(name)
        if isinstance(pinned, Mapping) and isinstance(now, Mapping):
            found += _differences(pinned, now, f"{prefix}{name}.")
        elif pinned != now:
            found.append(f"{prefix}{name} {now}, pinned {pinned}")
    return found


@dataclass(frozen=True)
class Report:
    """The results of a run in the order of its checks, how long it took, and what each task found."""

    results: tuple[Result, ...]
    seconds: float
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)

    @property
    def asked(self) -> tuple[Result, ...]:
        """Those that were asked, that is not skipped."""
        return tuple(result for result in self.results if not result.skipped)

    @property
    def skipped(self) -> tuple[Result, ...]:
        """Those that could not be asked on this machine."""
        return tuple(result for result in self.results if result.skipped)

    @property
    def summary(self) -> dict[str, Any]:
        """`holds`: as expected; `fails`: not as expected; `unknown`: those of the latter that are
        undecided.
        """
        return {
            "holds": sum(result.ok for result in self.asked),
            "fails": sum(not result.ok for result in self.asked),
            "unknown": sum(result.undecided for result in self.asked),
            "seconds": round(self.seconds, 3),
        }

    @property
    def exit_code(self) -> int:
        """0 all as expected, 1 something is not, 3 something is undecided and nothing is wrong."""
        return exit_code(self.asked)


def exit_code(results: Sequence[Result]) -> int:
    """The exit code that these results add up to; where nothing could be asked, nothing is known."""
    if not results:
        return UNKNOWN
    if all(result.ok for result in results):
        return OK
    decided = any(not result.ok and (not result.undecided or result.pin_trouble) for result in results)
    return NOT_AS_EXPECTED if decided else UNKNOWN


def work(report: Report, results: Iterable[Result]) -> float:
    """Seconds of work for some of a report's results; a task that they share counts once."""
    keys = {task.key for result in results for task in result.check.tasks}
    return sum(report.outcomes[key].seconds for key in keys if key in report.outcomes)


def slowest(results: Iterable[Result], number: int = 5) -> list[Result]:
    """The checks that took longest."""
    return sorted(results, key=lambda result: -result.outcome.seconds)[:number]
