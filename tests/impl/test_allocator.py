"""The allocator against an independent checker: no overlap, alignment, windows, full coalescing."""

from __future__ import annotations

import random

import pytest

import shmem
from shmem.driver.allocator import Allocator

BASE, SIZE = 0x1000, 1 << 16


class Checker:
    """What is taken, as plain intervals."""

    def __init__(self) -> None:
        self.space = Allocator()
        self.space.give(BASE, SIZE)
        self.live: dict[int, int] = {}

    def alloc(self, size: int, align: int, window: tuple[int, int] | None) -> None:
        start = self.space.take(size, align, window)
        if start is None:
            assert not any(self.fits(s, n, size, align, window) for s, n in self.gaps())
            return
        assert start % align == 0
        assert BASE <= start <= BASE + SIZE - size
        assert window is None or window[0] <= start <= window[1] - size
        assert all(start + size <= s or s + n <= start for s, n in self.live.items())
        self.live[start] = size

    @staticmethod
    def fits(start: int, length: int, size: int, align: int, window: tuple[int, int] | None) -> bool:
        low, high = start, start + length
        if window:
            low, high = max(low, window[0]), min(high, window[1])
        return -(-low // align) * align + size <= high

    def free(self, start: int) -> None:
        self.space.give(start, self.live.pop(start))

    def gaps(self) -> list[tuple[int, int]]:
        found, at = [], BASE
        for start, size in sorted(self.live.items()):
            if start > at:
                found.append((at, start - at))
            at = start + size
        if at < BASE + SIZE:
            found.append((at, BASE + SIZE - at))
        return found

    def check(self) -> None:
        assert self.space.holes() == self.gaps(), "free space is not what is not taken, fully coalesced"
        assert self.space.free == sum(n for _, n in self.gaps())
        assert self.space.largest() == max((n for _, n in self.gaps()), default=0)


@pytest.mark.parametrize("seed", range(4))
def test_alloc_and_free_agree_with_an_independent_checker(seed: int) -> None:
    choose, c = random.Random(seed), Checker()
    for step in range(4000):
        if c.live and choose.random() < 0.5:
            c.free(choose.choice(list(c.live)))
        else:
            low = BASE + choose.randrange(SIZE) // 64 * 64
            window = (low, low + choose.randrange(64, SIZE)) if choose.random() < 0.3 else None
            c.alloc(choose.randrange(1, 64) * 64, 64 << choose.randrange(5), window)
        if step % 16 == 0:
            c.check()


def test_alloc_gives_whole_lines_in_a_window_that_begins_inside_a_line() -> None:
    space = Allocator()
    space.give(0, 4096)
    assert space.take(64, align=1, window=(100, 4096)) == 128
    assert space.take(64, align=32, window=(230, 4096)) == 256


def test_compaction_keeps_to_whole_lines_in_a_window_that_begins_inside_a_line() -> None:
    with shmem.System(devices=0) as s:
        first = s.host.alloc(256)
        with s.host.map(first, "r") as mapping:
            base = mapping.physical_address
        moved = s.host.alloc(64, align=1, window=(base + 100, base + 4096))
        s.host.free(first)
        s.host.compact()
        with s.host.map(moved, "r") as mapping:
            assert mapping.physical_address == base + 128


def test_alloc_takes_the_smallest_hole_that_fits() -> None:
    space = Allocator()
    for start, size in ((0, 4096), (8192, 128), (16384, 256)):
        space.give(start, size)
    assert space.take(128) == 8192
    assert space.take(192) == 16384
    assert space.take(64) == 16384 + 192


def test_fragmentation_is_one_minus_largest_over_free() -> None:
    space = Allocator()
    assert space.fragmentation() == 0.0
    space.give(0, 64)
    space.give(128, 192)
    assert space.fragmentation() == pytest.approx(1 - 192 / 256)


def test_take_at_refuses_what_is_not_free() -> None:
    space = Allocator()
    space.give(0, 128)
    with pytest.raises(ValueError):
        space.take_at(64, 128)
