"""The other process of a benchmark: it sleeps until it is told to serve, and ends with the process that started it.

Run as `python -m shmem_suite.bench.worker FD`; the descriptor is its end of the control connection.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any

from shmem_suite.bench.ends import BareWord, PipeEnd
from shmem_suite.bench.iceoryx import Iceoryx

PATIENCE = 120.0
KINDS = {"bare word": BareWord, "pipe": PipeEnd, "iceoryx2": Iceoryx}


class Worker:
    """A worker from the side of the benchmark."""

    def __init__(self, core: int, fds: tuple[int, ...] = ()) -> None:
        here, there = socket.socketpair()
        self.control = Connection(here.detach())
        line = [sys.executable, "-m", "shmem_suite.bench.worker", str(there.fileno())]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        self.process = subprocess.Popen(line, stdin=subprocess.PIPE, pass_fds=(there.fileno(), *fds), env=environment)
        there.close()
        self.call("core", core)

    def start(self, *message: Any) -> None:
        """Tell it what to do, and go on."""
        self.control.send(message)

    def answer(self) -> Any:
        """What came of it."""
        if not self.control.poll(PATIENCE):
            raise TimeoutError("the benchmark's worker does not answer")
        return self.control.recv()

    def call(self, *message: Any) -> Any:
        """Tell it, and wait for the answer."""
        self.start(*message)
        return self.answer()

    def close(self) -> None:
        """End it: politely, and where that fails by closing what it lives on."""
        try:
            self.call("end")
        except (OSError, EOFError):
            pass  # it has ended already
        finally:
            self.control.close()
            if self.process.stdin is not None:
                self.process.stdin.close()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


def main(fd: int) -> None:
    """Serve until told to end."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    control = Connection(fd)
    ends: dict[str, Any] = {}
    while (message := control.recv())[0] != "end":
        match message:
            case ("core", core):
                os.sched_setaffinity(0, {core})
                control.send(None)
            case ("open", kind, *arguments):
                ends[kind] = KINDS[kind](*arguments)
                control.send(None)
            case (kind, method, *arguments):
                control.send(getattr(ends[kind], method)(*arguments))
    for end in ends.values():
        end.close()
    ends.clear()
    control.send(None)


if __name__ == "__main__":
    main(int(sys.argv[1]))
