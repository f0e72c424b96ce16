"""How long to spin before sleeping: about as long as one wake-up takes, and not at all on one core.

A budget that is too small is worse than none: once one side has slept, its wake-up outlasts the other's
budget, so that one sleeps too, and both stay slow for ever.  With one measured wake-up as budget a wait never
costs more than twice the better of spinning and sleeping.  `sched_yield` is never used: with a third process
on the core it costs a scheduler slice each turn.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import statistics
import threading
import time
from collections.abc import Iterable

from shmem import words
from shmem.errors import InvalidArgument

_ROUNDS = 7
_FOR_EVER = 1e9
# A wake-up inside one process, as measured here, is the cheap kind: across cores it takes several times
# longer (a halted core must restart), and a budget below that is the trap described above. Hence the lower
# bound.
_LEAST_NS, _MOST_NS = 60_000, 200_000


def measured_wakeup_ns() -> int:
    """Nanoseconds from waking a sleeping thread until it runs, bounded to something sensible."""
    page = mmap.mmap(-1, 4096)
    word = words.Words(page)
    woken: list[int] = []

    def sleeper() -> None:
        for i in range(_ROUNDS):
            while word.load32(0) == i:
                word.wait(0, i, 1_000_000_000, 0)
            woken.append(time.monotonic_ns())

    thread = threading.Thread(target=sleeper, daemon=True)
    thread.start()
    costs = []
    for i in range(_ROUNDS):
        time.sleep(0.0005)  # let it fall asleep
        before = time.monotonic_ns()
        word.store32(0, i + 1)
        word.wake(0)
        while len(woken) <= i and thread.is_alive():
            time.sleep(0.00005)
        costs.append(woken[i] - before)
    thread.join()
    return int(min(max(statistics.median(costs), _LEAST_NS), _MOST_NS))


def one_core(others: Iterable[int] = ()) -> bool:
    """Whether this thread and the other processes (by pid) may all use the same single core only: whoever spins
    there keeps the others from running.  Who is kept on a core of its own, as one does for speed, may spin."""
    mine = os.sched_getaffinity(0)
    if len(mine) > 1:
        return False
    for pid in others:
        with contextlib.suppress(OSError):  # it has ended, or lives in another pid namespace
            if os.sched_getaffinity(pid) - mine:
                return False
    return True


def nanoseconds(timeout: float | None) -> int:
    """A timeout in seconds (None, or more than some decades: for ever) as nanoseconds (-1: for ever)."""
    if timeout is None or timeout > _FOR_EVER:
        return -1
    if timeout != timeout:
        raise InvalidArgument("a timeout of nan seconds", "that is no number", "give seconds, or None for no limit")
    return max(0, int(timeout * 1e9))


class Limit:
    """What is left of a timeout."""

    def __init__(self, timeout: float | None) -> None:
        self.timeout = timeout
        left = nanoseconds(timeout)
        self._until = None if left < 0 else time.monotonic_ns() + left

    def left_ns(self) -> int:
        """Nanoseconds left; -1 without limit, 0 when it is over."""
        return -1 if self._until is None else max(0, self._until - time.monotonic_ns())

    def over(self) -> bool:
        """Whether the time is over."""
        return self._until is not None and time.monotonic_ns() >= self._until
