"""The two ends of each way to talk that the benchmarks compare: this process asks, the worker serves.

Both ends do equal work: copy 64 bytes in, tell the other side, copy 64 bytes out.
"""

from __future__ import annotations

import mmap
import os
import time
from multiprocessing.connection import Connection
from typing import Protocol

SIZE = 64
MESSAGE = bytes(range(SIZE))


class End(Protocol):
    """One end of a way to talk."""

    def ask(self, rounds: int) -> float:
        """Seconds for so many round trips."""

    def serve(self, rounds: int) -> None:
        """Answer so many."""

    def close(self) -> None:
        """Leave nothing behind."""


class BareWord:
    """A spinning word in shared memory without rights, liveness or sleeping: what the machine can do from
    Python."""

    def __init__(self, fd: int) -> None:
        self.page = memoryview(mmap.mmap(fd, 4096))
        self.words = self.page.cast("Q")
        self.turn = 0

    def ask(self, rounds: int) -> float:
        """Write to the first half, read from the second."""
        page, words = self.page, self.words
        begin = time.perf_counter()
        for turn in range(self.turn + 1, self.turn + rounds + 1):
            page[64:128] = MESSAGE
            words[0] = turn
            while words[256] != turn:
                pass
            bytes(page[2112:2176])
        self.turn += rounds
        return time.perf_counter() - begin

    def serve(self, rounds: int) -> None:
        """Read from the first half, write to the second."""
        page, words = self.page, self.words
        for turn in range(self.turn + 1, self.turn + rounds + 1):
            while words[0] != turn:
                pass
            bytes(page[64:128])
            page[2112:2176] = MESSAGE
            words[256] = turn
        self.turn += rounds

    def close(self) -> None:
        """Unmap."""
        self.words.release()
        self.page.release()


class PipeEnd:
    """An end of `multiprocessing.Pipe`, bytes without pickling."""

    def __init__(self, fd: int) -> None:
        self.connection = Connection(fd)

    def ask(self, rounds: int) -> float:
        """Send first."""
        connection = self.connection
        begin = time.perf_counter()
        for _ in range(rounds):
            connection.send_bytes(MESSAGE)
            connection.recv_bytes()
        return time.perf_counter() - begin

    def serve(self, rounds: int) -> None:
        """Receive first."""
        connection = self.connection
        for _ in range(rounds):
            connection.recv_bytes()
            connection.send_bytes(MESSAGE)

    def close(self) -> None:
        """Close the socket."""
        self.connection.close()


def bare_page() -> int:
    """Memory for two ends of `BareWord`."""
    fd = os.memfd_create("shmem-bench", os.MFD_CLOEXEC)
    os.ftruncate(fd, 4096)
    return fd
