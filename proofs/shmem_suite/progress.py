"""How a run goes, while it goes: what is done, what runs, what is slow, how long it will still take.

On a terminal this is a live display; elsewhere (a log) a line now and then.  Either way, what is not as
expected is told at once, and all of it goes to standard error.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from shmem_suite.checks import Check, Outcome, Task
from shmem_suite.results import Result
from shmem_suite.runner import tasks_of

QUIET_SECONDS = 10.0


class Progress:
    """A watcher that shows how a run of these checks goes; use it in a `with` statement.

    With `alerts`, a check that is not as expected is told at once.
    """

    def __init__(self, checks: Sequence[Check], lanes: int, console: Console, alerts: bool = True) -> None:
        tasks = tasks_of(checks)
        self._console = console
        self._alerts = alerts
        self._lanes = lanes
        self._total = len(tasks)
        self._weight_left = sum(task.weight for task in tasks)
        self._weight_done = self._seconds_done = 0.0
        self._done = 0
        self._bad = 0
        self._running: dict[str, float] = {}
        self._slowest: tuple[float, str] = (0.0, "")
        self._begin = self._told = time.monotonic()
        self._live = Live(get_renderable=self._show, console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def started(self, task: Task) -> None:
        """A task has started."""
        self._running[task.key] = time.monotonic()

    def finished(self, task: Task, outcome: Outcome) -> None:
        """A task has an outcome."""
        self._running.pop(task.key, None)
        self._done += 1
        self._weight_left -= task.weight
        self._weight_done += task.weight
        self._seconds_done += outcome.seconds
        self._slowest = max(self._slowest, (outcome.seconds, task.key))
        if not self._console.is_terminal and time.monotonic() - self._told > QUIET_SECONDS:
            self._told = time.monotonic()
            self._console.print(Text(f"{self._state()}; {self._running_now()}"))

    def settled(self, result: Result) -> None:
        """A check has its outcome: tell it if it is not as expected."""
        if not result.ok and not result.skipped:
            self._bad += 1
            if not self._alerts:
                return
            self._console.print(Text(unexpected(result), style="red"))

    @property
    def seconds_left(self) -> float | None:
        """How long it will still take, from what the finished tasks took; None before there is one."""
        if self._weight_done <= 0:
            return None
        pace = self._seconds_done / self._weight_done
        return max(0.0, self._weight_left) * pace / min(self._lanes, max(1, self._total - self._done))

    def _state(self) -> str:
        elapsed = time.monotonic() - self._begin
        left = self.seconds_left
        text = f"{self._done} of {self._total} done in {elapsed:.0f} s"
        if left is not None:
            text += f", about {left:.0f} s left"
        return text + (f", {self._bad} not as expected" if self._bad else "")

    def _running_now(self) -> str:
        now = time.monotonic()
        ages = sorted(((now - since, key) for key, since in list(self._running.items())), reverse=True)
        shown = ", ".join(f"{key} ({age:.0f} s)" for age, key in ages[:4])
        more = f", and {len(ages) - 4} more" if len(ages) > 4 else ""
        return f"running: {shown}{more}" if ages else "running: nothing"

    def _show(self) -> RenderableType:
        bar = Table.grid(padding=(0, 1))
        bar.add_row(ProgressBar(self._total, self._done, width=30), Text(self._state()))
        seconds, key = self._slowest
        rows: list[RenderableType] = [
            bar,
            Text(self._running_now(), style="dim", no_wrap=True, overflow="ellipsis"),
        ]
        if key:
            rows.append(Text(f"slowest so far: {key} ({seconds:.1f} s)", style="dim", no_wrap=True))
        return Group(*rows)


def unexpected(result: Result) -> str:
    """One line about a check that is not as expected."""
    line = f"not as expected: {result.check.id} {result.verdict}, expected {result.check.expected}"
    return f"{line}: {result.detail}" if result.detail else line
