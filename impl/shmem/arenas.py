"""An agent's side of memory: arenas mapped once, page tables, pins, and the way into each region."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from shmem import layout, memfd
from shmem.errors import Frozen, InvalidArgument, NotMapped, ReadOnly, ShmemError, StaleHandle
from shmem.handles import SharedMemoryRegion
from shmem.link import Link
from shmem.words import Access, Words

_FREEZE_PATIENCE = 1.0  # seconds; a move takes microseconds to milliseconds
_NOT_YET = (layout.IS_FROZEN, -layout.IS_FROZEN, layout.TORN, -layout.TORN)


class _ClientArena:
    """The pages of one arena in this process."""

    def __init__(self, number: int, fds: list[int]) -> None:
        table, rights, pins = fds
        self.number = number
        self.table = Words(memfd.map_file(table, layout.TABLE_SIZE, writable=False), False)
        self.rights = Words(memfd.map_file(rights, layout.RIGHTS_SIZE, writable=False), False)
        self.pins = Words(memfd.map_file(pins, layout.PINS_SIZE, writable=True))
        self.fds = fds
        self.extents: dict[int, tuple[memfd.Mapping, Words]] = {}


class Arenas:
    """All memory that one agent has mapped."""

    def __init__(self, link: Link, name: str) -> None:
        self.link = link
        self.name = name
        self.arenas: dict[int, _ClientArena] = {}
        self._accesses: dict[int, Access] = {}
        self._bytes: dict[int, memoryview] = {}
        """The mapping that each access leads into."""

    def attach(self, told: dict[str, Any], fds: list[int]) -> None:
        """Take over what the driver answered to `map`."""
        number = told["arena"]
        if not told["attached"]:
            self.arenas[number] = _ClientArena(number, fds)
        region = SharedMemoryRegion(told["region"], told["generation"], told["size"], told["device_address"])
        self._open(region, self.arenas[number], told["extent"])

    def _open(self, region: SharedMemoryRegion, arena: _ClientArena, extent: int) -> None:
        if extent not in arena.extents:
            self._fetch(arena, extent)
        index = region.id % layout.REGIONS
        mapping, words = arena.extents[extent]
        self._bytes[region.key] = memoryview(mapping)
        self._accesses[region.key] = Access(
            words, extent, arena.table, index * layout.ENTRY, region.generation,
            arena.rights, index * 8, arena.pins, index * 8,
        )  # fmt: skip

    def _fetch(self, arena: _ClientArena, number: int) -> None:
        told, (fd,) = self.link.call("extent", arena=arena.number, extent=number)
        mapping = memfd.map_file(fd, told["size"], told["writable"], told["secure"])
        arena.fds.append(fd)
        arena.extents[number] = mapping, Words(mapping, told["writable"])

    def access(self, region: SharedMemoryRegion, action: str) -> Access:
        """The checked way into a region; NotMapped or StaleHandle where there is none."""
        found = self._accesses.get(region.key)
        if found is None:
            raise self.missing(region, action)
        return found

    def again(self, region: SharedMemoryRegion, action: str, attempt: Callable[[Access], Any]) -> Any:
        """Repeat an attempt that answers a code (or minus a code), while the region is frozen, its entry is half
        written (the driver may have been put aside in the middle), both for a stated time, or while it has moved to
        another extent."""
        until = time.monotonic() + _FREEZE_PATIENCE
        while True:
            access = self.access(region, action)
            answer = attempt(access)
            if answer in (layout.MOVED, -layout.MOVED):
                arena = self.arenas[region.id // layout.REGIONS]
                self._open(region, arena, self.entry(region, layout.E_EXTENT))
            elif answer not in _NOT_YET or time.monotonic() > until:
                return answer
            else:
                time.sleep(0.0001)

    def missing(self, region: SharedMemoryRegion, action: str) -> ShmemError:
        """Why there is no way into a region that was never mapped: freed, or just not mapped."""
        arena = self.arenas.get(region.id // layout.REGIONS)
        if arena is not None and self._generation(arena, region) != region.generation:
            return stale(region, action)
        if arena is None:
            try:
                self.link.call("where", region=region.id, generation=region.generation)
            except StaleHandle:
                return stale(region, action)
            except ShmemError as error:
                return NotMapped(f"{action} of {region} by {self.name}", error.found, "ask its owner for the right")
        return not_mapped(region, action, self.name)

    def _generation(self, arena: _ClientArena, region: SharedMemoryRegion) -> int:
        at = region.id % layout.REGIONS * layout.ENTRY
        state = arena.table.load32(at + layout.E_STATE)
        return arena.table.load(at + layout.E_GENERATION) if state in (layout.LIVE, layout.FROZEN) else -1

    def forget(self, region: SharedMemoryRegion) -> None:
        """The region was freed: its handle will not be asked about often any more."""
        self._accesses.pop(region.key, None)
        self._bytes.pop(region.key, None)

    def failure(self, code: int, region: SharedMemoryRegion, action: str, offset: int, length: int) -> ShmemError:
        """The error that a code of `Access` stands for."""
        if code == layout.STALE:
            return stale(region, action)
        if code == layout.RANGE:
            return out_of_range(region, action, offset, length)
        if code == layout.NOT_MAPPED:
            return not_mapped(region, action, self.name)
        if code == layout.READ_ONLY:
            return ReadOnly(
                f"{action} of {region} by {self.name}",
                f"{self.name} has mapped it for reading",
                'map it "rw"',
            )
        if code == layout.IS_FROZEN:
            return Frozen(
                f"{action} of {region} by {self.name}",
                f"the driver is moving it and has not finished in {_FREEZE_PATIENCE} s",
                "try again; if it stays, the driver has died (shmem doctor)",
            )
        return ShmemError(f"{action} of {region}", "its table entry is damaged", "restart the system (shmem doctor)")

    def entry(self, region: SharedMemoryRegion, field: int) -> int:
        """A field of the region's table entry, read under its sequence lock."""
        arena = self.arenas[region.id // layout.REGIONS]
        at = region.id % layout.REGIONS * layout.ENTRY
        while True:
            before = arena.table.load32(at + layout.E_SEQ)
            value = arena.table.load(at + field)
            if before % 2 == 0 and before == arena.table.load32(at + layout.E_SEQ):
                return value

    def bytes_of(self, region: SharedMemoryRegion, place: int, offset: int, length: int) -> memoryview:
        """The memory of a pinned region, as a counted export of the mapping."""
        return self._bytes[region.key][place + offset : place + offset + length]

    def host_address(self, region: SharedMemoryRegion) -> int:
        """Where the region is in this process now."""
        arena = self.arenas[region.id // layout.REGIONS]
        mapping = arena.extents[self.entry(region, layout.E_EXTENT)][0]
        base = int(np.frombuffer(mapping, np.uint8).ctypes.data)
        return base + self.entry(region, layout.E_OFFSET)

    def close(self) -> None:
        """Close the descriptors; mappings go when nothing refers to them any more."""
        for arena in self.arenas.values():
            for fd in arena.fds:
                os.close(fd)
            arena.fds = []
        self._accesses.clear()
        self._bytes.clear()
        self.arenas.clear()


def stale(region: SharedMemoryRegion, action: str) -> StaleHandle:
    """Use after free."""
    return StaleHandle(f"{action} of {region}", "it has been freed", "use the handle of a live region")


def not_mapped(region: SharedMemoryRegion, action: str, name: str) -> NotMapped:
    """An access without mapping."""
    return NotMapped(
        f"{action} of {region} by {name}", f"{name} has not mapped it (or it was unmapped)", "map it first"
    )


def out_of_range(region: SharedMemoryRegion, action: str, offset: int, length: int) -> InvalidArgument:
    """A range that leaves the region."""
    return InvalidArgument(
        f"{action} of {length} bytes at {offset} of {region}",
        f"the region has {region.size} bytes",
        "stay inside of it (atomics: at a multiple of 8)",
    )
