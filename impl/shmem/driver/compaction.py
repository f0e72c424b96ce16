"""Compaction: when an arena is fragmented and idle, live regions slide down and free space becomes one hole.

For each region: freeze (no new access), look at the pins *after* that (an idle answer must belong to this
freeze), move, publish the new place, let go.  A region with open views, or arrays that outlived one, is left
where it is. Handles, contents, rights and device addresses stay; only the physical address changes.
"""

from __future__ import annotations

import numpy as np

from shmem import layout
from shmem.driver.allocator import align_up
from shmem.driver.records import NO_COMPACT, Arena, Extent, Region
from shmem.driver.regions import Regions, quiet


class Compaction(Regions):
    """The part of the driver that moves regions."""

    def compact(self, arenas: list[Arena] | None = None) -> dict[str, int]:
        """Compact these arenas (or all); how many regions and bytes moved, and how many were pinned."""
        done = {"moved": 0, "bytes": 0, "pinned": 0}
        for arena in list(self.arenas.values()) if arenas is None else arenas:
            self.sweep(arena)
            for extent in arena.extents:
                self._compact_extent(arena, extent, done)
            for extent in reversed(arena.extents[1:]):
                self._empty_extent(arena, extent, done)
        return done

    def _empty_extent(self, arena: Arena, extent: Extent, done: dict[str, int]) -> None:
        """Move what fits to extents below, so that the last ones become whole holes."""
        for region in [r for r in arena.regions.values() if r.extent is extent]:
            below = (max(region.window[0], 0) if region.window else 0, extent.start)
            if region.window:
                below = below[0], min(below[1], region.window[1])
            if region.flags & NO_COMPACT or below[0] >= below[1]:
                continue
            target = arena.space.take(region.span, region.align, below)
            if target is None:
                continue
            arena.space.give(target, region.span)
            self._count(self._move(arena, region, target), region, done)

    def _count(self, moved: bool, region: Region, done: dict[str, int]) -> None:
        done["moved"] += moved
        done["bytes"] += region.size if moved else 0
        done["pinned"] += not moved

    def _compact_extent(self, arena: Arena, extent: Extent, done: dict[str, int]) -> None:
        blocks = [r for r in arena.regions.values() if r.extent is extent]
        fixed = [r for r in arena.quarantine if r.extent is extent]
        cursor = extent.start
        for region in sorted([*blocks, *fixed], key=lambda r: r.start):
            target = align_up(max(cursor, region.window[0] if region.window else 0), max(region.align, layout.LINE))
            if target < region.start and region not in fixed and not region.flags & NO_COMPACT:
                self._count(self._move(arena, region, target), region, done)
            cursor = region.start + region.span

    def _move(self, arena: Arena, region: Region, target: int) -> bool:
        """Freeze, quiesce, migrate, unfreeze; False where the region is in use."""
        arena.write_entry(region, layout.FROZEN)
        if not quiet(lambda: not self.in_use(region), patience=0.002):  # step: move_look
            arena.write_entry(region, layout.LIVE)
            return False
        source, extent = region.extent, arena.extent_of(target)
        old, new, span = region.offset, target - extent.start, region.span
        memory = np.frombuffer(source.page.mapping, np.uint8)
        np.frombuffer(extent.page.mapping, np.uint8)[new : new + span] = memory[old : old + span]  # step: move_copy
        memory[max(old, new + span) if extent is source else old : old + span] = 0
        arena.space.give(region.start, span)
        arena.space.take_at(target, span)
        region.extent = extent
        region.start = target
        arena.write_entry(region, layout.LIVE)
        return True
