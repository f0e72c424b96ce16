"""The worker: a process that runs tasks one after the other and sends back their outcomes.

It is started with the number of a socket, reads pickled tasks from it and writes pickled outcomes to it.
What a task raises is an outcome with the verdict *unknown*; what kills the worker is noticed by its parent.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import sys
import time
import traceback
from dataclasses import replace
from multiprocessing.connection import Connection

from shmem_suite.checks import Outcome, Task
from shmem_suite.processes import die_with_parent


def perform(task: Task) -> Outcome:
    """Run a task here; what it raises becomes the verdict *unknown* with the reason."""
    begin = time.perf_counter()
    try:
        outcome = task.function(*task.arguments)
        if not isinstance(outcome, Outcome):
            raise TypeError(f"task {task.key} answered {outcome!r}, which is no outcome")
    except Exception as error:
        outcome = failure(error)
    return replace(outcome, seconds=time.perf_counter() - begin)


def failure(error: BaseException) -> Outcome:
    """The outcome of a task that raised."""
    reason = " ".join(str(error).split()) or "no message"
    return Outcome(
        "unknown",
        f"{type(error).__name__}: {reason}",
        facts={"traceback": "".join(traceback.format_exception(error))},
    )


def serve(channel: Connection) -> None:
    """Answer tasks until the other side closes the channel."""
    while True:
        try:
            message = channel.recv_bytes()
        except EOFError:
            return
        try:
            outcome = perform(pickle.loads(message))
            answer = pickle.dumps(outcome)
        except Exception as error:
            answer = pickle.dumps(failure(error))
        channel.send_bytes(answer)


def main() -> None:
    """Serve the socket whose number is the first argument."""
    die_with_parent()
    number, parent = int(sys.argv[1]), int(sys.argv[2])
    if os.getppid() != parent:
        return
    faulthandler.enable()
    os.set_inheritable(number, False)
    serve(Connection(number))


if __name__ == "__main__":
    main()
