"""The executor for a Dask cluster: `shmem verify --executor tcp://scheduler:8786`.

The workers of the cluster need this package.  Dask is no requirement of the project; it is imported when
asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from importlib import import_module
from typing import Any

from shmem_suite.checks import Outcome, Task
from shmem_suite.errors import MissingPart, UsageError
from shmem_suite.executor import Event, Finished, Started, longest_first
from shmem_suite.worker import failure, perform

_alone = threading.Lock()


def perform_alone(task: Task) -> Outcome:
    """Run a task, one at a time in each process: solvers are not made for several threads."""
    with _alone:
        return perform(task)


class DaskExecutor:
    """Runs tasks on the cluster whose scheduler has this address."""

    def __init__(self, address: str, patience: float = 10.0) -> None:
        try:
            distributed = import_module("distributed")
        except ModuleNotFoundError as error:
            raise MissingPart("--executor needs the package distributed: pip install distributed") from error
        self._distributed: Any = distributed
        try:
            self._client: Any = distributed.Client(address, timeout=patience, set_as_default=False)
        except (OSError, ValueError) as error:
            raise UsageError(f"no Dask scheduler at {address}: {error}") from error

    @property
    def lanes(self) -> int:
        """How many tasks run at the same time: the worker processes of the cluster."""
        return max(1, len(self._client.nthreads()))

    def run(self, tasks: Sequence[Task]) -> Generator[Event, None, None]:
        """Submit every task, the longest with the highest priority, and tell what comes back."""
        futures: dict[Any, Task] = {}
        try:
            for rank, task in enumerate(longest_first(tasks)):
                future = self._client.submit(
                    perform_alone, task, key=f"shmem-{rank}-{task.key}", pure=False, priority=-rank
                )
                futures[future] = task
                yield Started(task)
            for future in self._distributed.as_completed(list(futures), loop=self._client.loop):
                yield Finished(futures[future], self._outcome(future))
        finally:
            self._client.cancel(list(futures))
            self._client.close()

    def _outcome(self, future: Any) -> Outcome:
        error = future.exception()
        if error is not None:
            return failure(error)
        outcome = future.result()
        return outcome if isinstance(outcome, Outcome) else Outcome("unknown", "the cluster sent no outcome")
