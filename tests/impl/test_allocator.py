"""The allocator against an independent checker: no overlap, alignment, windows, full coalescing.

The checker is that of theorem T9; that it finds what is wrong is tested in `tests/suite/test_placement.py`.
"""

from __future__ import annotations

import pytest

import shmem
from shmem.driver.allocator import Allocator
from shmem_suite.placement.whole import wander


@pytest.mark.parametrize("seed", range(4))
def test_alloc_and_free_agree_with_an_independent_checker(seed: int) -> None:
    wander(seed, 4000)


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


def test_a_failed_alloc_reserves_no_memory_that_could_not_serve_it() -> None:
    with shmem.System(devices=0, pool=32 << 20, extent=1 << 20) as s:
        with s.host.map(s.host.alloc(64), "r") as mapping:
            behind = mapping.physical_address + (1 << 20) + 8192
        assert s.driver is not None
        before = s.driver.service.reserved
        for _ in range(3):
            with pytest.raises(shmem.OutOfMemory):
                s.host.alloc(64, align=1 << 22, window=(behind, behind + (1 << 18)))
        assert s.driver.service.reserved == before
