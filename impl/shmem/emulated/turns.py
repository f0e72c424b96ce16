"""Who goes on: one strand (a thread of control) runs at a time, and hands over only inside of calls.

The next strand is drawn with the run's own random numbers from those that can go on, so the order is a
function of program and seed.  Time is virtual: a timeout ends when nobody else can go on, the shortest first.
When nobody can go on and there is no timeout, every strand is told Deadlock.
"""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable
from typing import TypeVar

from shmem.errors import Deadlock, DriverLost, TimedOut

T = TypeVar("T")


class Strand:
    """One thread of control: the host's program, or one function on a device."""

    def __init__(self, number: int, name: str, lock: threading.RLock) -> None:
        self.number = number
        self.name = name
        self.turn = threading.Condition(lock)
        """Told when this strand is drawn: one of its own each, so that nobody wakes in vain."""
        self.ready: Callable[[], bool] = lambda: True
        self.what = "start"
        self.timeout: float | None = None
        self.verdict: Exception | None = None
        self.waiting = False
        self.ended = False


class Turns:
    """The baton and everybody who wants it."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.lock = threading.RLock()
        self._numbers = itertools.count()
        self.strands: list[Strand] = []
        self.closed = False
        self.main = Strand(next(self._numbers), "host", self.lock)
        self.strands.append(self.main)
        self.current: Strand | None = self.main
        self._local = threading.local()

    def mine(self) -> Strand:
        """The strand of the calling thread; threads that the library does not know count as the host's
        program."""
        strand: Strand = getattr(self._local, "strand", self.main)
        return strand

    def new(self, name: str) -> Strand:
        """A strand that will begin when it is drawn."""
        with self.lock:
            strand = Strand(next(self._numbers), name, self.lock)
            strand.waiting = True
            self.strands.append(strand)
            return strand

    def begin(self, strand: Strand) -> None:
        """In the strand's own thread: wait for its first turn."""
        self._local.strand = strand
        with self.lock:
            self._wait(strand)

    def end(self, strand: Strand) -> None:
        """The strand is over; somebody else goes on."""
        with self.lock:
            strand.ended = True
            if strand in self.strands:
                self.strands.remove(strand)
            if self.current is strand:
                self._draw()
            self._local.strand = self.main

    def call(
        self,
        what: str,
        do: Callable[[], T],
        ready: Callable[[], bool] | None = None,
        timeout: float | None = None,
    ) -> T:
        """One call: perhaps others go first; then `do`, as soon as `ready` and drawn."""
        with self.lock:
            strand = self.mine()
            strand.ready = ready or (lambda: True)
            strand.what, strand.timeout, strand.verdict = what, timeout, None
            strand.waiting = True
            self._draw()
            self._wait(strand)
            return do()

    def _wait(self, strand: Strand) -> None:
        while self.current is not strand and not self.closed:
            strand.turn.wait()
        strand.waiting = False
        if self.closed and strand is not self.main:
            raise DriverLost(strand.what, "the system was closed", "end the program")
        if strand.verdict is not None:
            raise strand.verdict

    def _draw(self) -> None:
        able = [s for s in self.strands if s.waiting and s.ready()]
        if able:
            self.current = self.chance.choice(able)
        else:
            self.current = self._expire()
        if self.current is not None:
            self.current.turn.notify_all()

    def _expire(self) -> Strand | None:
        """Nobody can go on: the shortest timeout is over, or it is a deadlock (told to one after the
        other)."""
        asleep = [s for s in self.strands if s.waiting]
        if not asleep:
            return None
        timed = [s for s in asleep if s.timeout is not None]
        if timed:
            first = min(timed, key=lambda s: (s.timeout or 0.0, s.number))
            first.verdict = TimedOut(
                first.what, f"nobody can go on, so its {first.timeout} s are over", "look for a missing send"
            )
            return first
        first = asleep[0]
        story = "; ".join(f"{s.name} waits in {s.what}" for s in asleep)
        first.verdict = Deadlock(first.what, f"nobody can go on ({story})", "look for a missing send or arrive")
        return first

    def settle(self) -> None:
        """The host's program is over: the others go on until they end or can go no further."""

        def others_stuck() -> bool:
            return not any(s.waiting and s.ready() for s in self.strands if s is not self.main)

        if self.mine() is self.main and not self.closed:
            self.call("the end", lambda: None, others_stuck)

    def close(self) -> None:
        """Everybody who waits is told that the system has ended."""
        with self.lock:
            self.closed = True
            for strand in self.strands:
                strand.turn.notify_all()
