"""Where tasks run: an interface, and the executor that uses processes of this machine.

The longest task starts first.  Every worker leads a process group of its own, is killed by the kernel when
we die, and is killed with its children when we stop, for whatever reason.  A worker that dies takes one task
with it: that task is *unknown*, with the reason, and another worker takes the place.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import IO, Protocol

from shmem_suite.checks import Outcome, Task
from shmem_suite.processes import kill_group, usable_cores
from shmem_suite.worker import failure


@dataclass(frozen=True)
class Started:
    """A task has been given to a worker."""

    task: Task


@dataclass(frozen=True)
class Finished:
    """A task has an outcome."""

    task: Task
    outcome: Outcome


Event = Started | Finished


class Executor(Protocol):
    """Runs tasks somewhere.  Closing the generator early stops what still runs and leaves nothing behind."""

    @property
    def lanes(self) -> int:
        """How many tasks run at the same time."""
        ...

    def run(self, tasks: Sequence[Task]) -> Generator[Event, None, None]:
        """Start every task and tell what happens, until all have an outcome."""
        ...


def longest_first(tasks: Sequence[Task]) -> list[Task]:
    """The order in which tasks start."""
    return sorted(tasks, key=lambda task: -task.weight)


@dataclass
class _Worker:
    """A process, our end of its channel, what it has said, and what it works on."""

    process: subprocess.Popen[bytes]
    channel: Connection
    log: IO[bytes]
    task: Task | None = None
    since: float = field(default=0.0)

    def give(self, task: Task) -> None:
        self.task, self.since = task, time.monotonic()
        self.channel.send_bytes(pickle.dumps(task))

    @property
    def patience(self) -> float:
        """Seconds until the task is given up."""
        return self.since + self.task.limit - time.monotonic() if self.task else float("inf")

    def end(self) -> str:
        """Kill it; how it ended, in words."""
        self.channel.close()
        status = kill_group(self.process)
        self.log.seek(0)
        said = next((line.strip() for line in self.log.read().decode(errors="replace").splitlines() if line), "")
        self.log.close()
        how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with exit code {status}"
        return f"the worker {how}" + (f": {said}" if said else "")


def _start() -> _Worker:
    ours, theirs = socket.socketpair()
    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    log = tempfile.TemporaryFile()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "shmem_suite.worker", str(theirs.fileno()), str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
            env=os.environ | {"PYTHONPATH": path},
        )
    return _Worker(process, Connection(ours.detach()), log)


class LocalExecutor:
    """Runs tasks in `jobs` processes of this machine."""

    def __init__(self, jobs: int | None = None) -> None:
        self._jobs = jobs or usable_cores()

    @property
    def lanes(self) -> int:
        """How many tasks run at the same time."""
        return self._jobs

    def run(self, tasks: Sequence[Task]) -> Generator[Event, None, None]:
        """Start every task, the longest first, and tell what happens."""
        waiting = deque(longest_first(tasks))
        workers: list[_Worker] = []
        try:
            while waiting or any(worker.task for worker in workers):
                yield from self._hand_out(waiting, workers)
                yield from self._collect(workers)
        finally:
            for worker in workers:
                worker.end()

    def _hand_out(self, waiting: deque[Task], workers: list[_Worker]) -> Iterator[Event]:
        while waiting:
            idle = next((worker for worker in workers if worker.task is None), None)
            if idle is None:
                if len(workers) >= self._jobs:
                    return
                idle = _start()
                workers.append(idle)
            task = waiting.popleft()
            yield Started(task)
            try:
                idle.give(task)
            except BrokenPipeError:
                workers.remove(idle)
                yield Finished(task, Outcome("unknown", idle.end()))
            except Exception as error:
                idle.task = None
                yield Finished(task, failure(error))

    def _collect(self, workers: list[_Worker]) -> Iterator[Event]:
        busy = [worker for worker in workers if worker.task]
        if not busy:
            return
        ready = wait([worker.channel for worker in busy], max(0.0, min(worker.patience for worker in busy)))
        for worker in busy:
            task = worker.task
            if task is None:
                continue
            if worker.channel in ready:
                answer = self._answer(worker, workers)
                worker.task = None
                yield Finished(task, answer)
            elif worker.patience <= 0:
                workers.remove(worker)
                worker.end()
                yield Finished(task, Outcome("unknown", f"given up after {task.limit:g} s of wall clock"))

    def _answer(self, worker: _Worker, workers: list[_Worker]) -> Outcome:
        try:
            outcome = pickle.loads(worker.channel.recv_bytes())
        except (EOFError, OSError):
            workers.remove(worker)
            return Outcome("unknown", worker.end())
        if not isinstance(outcome, Outcome):
            return Outcome("unknown", f"the worker answered {type(outcome).__name__}, which is no outcome")
        return outcome
