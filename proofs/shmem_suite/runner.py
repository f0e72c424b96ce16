"""Asking the checks: every task runs once, and every check is settled when its last task is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from typing import Protocol

from shmem_suite.checks import Check, Outcome, Task
from shmem_suite.executor import Executor, Started
from shmem_suite.results import Report, Result


class Watcher(Protocol):
    """Somebody who wants to know how the run goes."""

    def started(self, task: Task) -> None:
        """A task has started."""
        ...

    def finished(self, task: Task, outcome: Outcome) -> None:
        """A task has an outcome."""
        ...

    def settled(self, result: Result) -> None:
        """A check has its outcome."""
        ...


def tasks_of(checks: Sequence[Check]) -> list[Task]:
    """Every task of the checks once; one key for two different tasks is an error."""
    tasks: dict[str, Task] = {}
    for check in checks:
        for task in check.tasks:
            known = tasks.setdefault(task.key, task)
            if (known.function, known.arguments) != (task.function, task.arguments):
                raise ValueError(f"two different tasks are called {task.key}")
    return list(tasks.values())


def run(checks: Sequence[Check], executor: Executor, watchers: Sequence[Watcher] = ()) -> Report:
    """Ask all the checks; the report has them in the order given."""
    begin = time.perf_counter()
    outcomes: dict[str, Outcome] = {}
    open_parts = {check.id: {task.key for task in check.tasks} for check in checks}
    waiting: dict[str, list[Check]] = {}
    for check in checks:
        for task in check.tasks:
            waiting.setdefault(task.key, []).append(check)
    results: dict[str, Result] = {}
    with closing(executor.run(tasks_of(checks))) as events:
        for event in events:
            if isinstance(event, Started):
                for watcher in watchers:
                    watcher.started(event.task)
                continue
            outcomes[event.task.key] = event.outcome
            for watcher in watchers:
                watcher.finished(event.task, event.outcome)
            for check in waiting[event.task.key]:
                open_parts[check.id].discard(event.task.key)
                if not open_parts[check.id]:
                    results[check.id] = settle(check, outcomes)
                    for watcher in watchers:
                        watcher.settled(results[check.id])
    found = tuple(_found(check, results) for check in checks)
    return Report(found, time.perf_counter() - begin, outcomes)


def settle(check: Check, outcomes: dict[str, Outcome]) -> Result:
    """The result of a check whose tasks have all run."""
    parts = {task.key: outcomes[task.key] for task in check.tasks}
    return Result(check, next(iter(parts.values())) if len(parts) == 1 else check.combine(parts))


def _found(check: Check, results: dict[str, Result]) -> Result:
    """The result of a check; one that an executor left out is unknown, never a pass."""
    return results.get(check.id, Result(check, Outcome("unknown", "the executor left it out")))
