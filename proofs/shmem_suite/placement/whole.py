"""The allocator as a whole, on long free lists: random calls against an account of what is taken.

The account is a set of intervals and shares nothing with the allocator's lists: free is what nobody took.
"""

from __future__ import annotations

import random

from shmem.driver.allocator import Allocator
from shmem.layout import LINE

BASE, SIZE = 0x1000, 1 << 16
Window = tuple[int, int]


class Checker:
    """An allocator, what is taken of it, and what must be true of both."""

    def __init__(self, space: Allocator | None = None) -> None:
        self.space = Allocator() if space is None else space
        self.space.give(BASE, SIZE)
        self.live: dict[int, int] = {}

    def alloc(self, size: int, align: int, window: Window | None) -> None:
        """Take a block and look whether it lies where it may; if none was given there must be no place."""
        start = self.space.take(size, align, window)
        if start is None:
            assert not any(self.fits(s, n, size, align, window) for s, n in self.gaps()), "there was a place"
            return
        assert start % align == 0, "the block is not aligned"
        assert start % LINE == 0, "the block shares a line"
        assert BASE <= start <= BASE + SIZE - size, "the block is outside"
        assert window is None or window[0] <= start <= window[1] - size, "the block is outside of the window"
        assert all(start + size <= s or s + n <= start for s, n in self.live.items()), "two blocks overlap"
        self.live[start] = size

    @staticmethod
    def fits(start: int, length: int, size: int, align: int, window: Window | None) -> bool:
        """A gap has a place for the block."""
        low, high = start, start + length
        if window:
            low, high = max(low, window[0]), min(high, window[1])
        step = max(align, LINE)
        return -(-low // step) * step + size <= high

    def free(self, start: int) -> None:
        """Give a block back."""
        self.space.give(start, self.live.pop(start))

    def gaps(self) -> list[tuple[int, int]]:
        """What nobody took, in address order."""
        found, at = [], BASE
        for start, size in sorted(self.live.items()):
            if start > at:
                found.append((at, start - at))
            at = start + size
        if at < BASE + SIZE:
            found.append((at, BASE + SIZE - at))
        return found

    def check(self) -> None:
        """Free space is what nobody took, in as few pieces as there can be, and the figures are right."""
        gaps = self.gaps()
        assert self.space.holes() == gaps, "free space is not what is not taken, fully coalesced"
        assert self.space.free == sum(n for _, n in gaps), "the count of free bytes is wrong"
        assert self.space.largest() == max((n for _, n in gaps), default=0), "the largest hole is another"


def wander(seed: int, steps: int, space: Allocator | None = None, every: int = 16) -> int:
    """So many random calls, with a look at the whole now and then; AssertionError says what was wrong."""
    choose, checker = random.Random(seed), Checker(space)
    for step in range(steps):
        if checker.live and choose.random() < 0.5:
            checker.free(choose.choice(list(checker.live)))
        else:
            size = choose.randrange(1, 64) * LINE
            checker.alloc(size, 1 << choose.randrange(11), _window(choose, size) if choose.random() < 0.3 else None)
        if step % every == 0:
            checker.check()
    checker.check()
    return steps


def _window(choose: random.Random, size: int) -> Window:
    """A window, in every second case one that is hardly wider than the block."""
    low = BASE + choose.randrange(SIZE)
    tight, wide = size + choose.randrange(2 * LINE), choose.randrange(64, SIZE)
    return low, low + (tight if choose.random() < 0.5 else wide)
