"""Regions: giving memory out, taking it back, and who may map it.

Every refusal is checked before anything changes, in the order of the machine: StaleHandle, InvalidArgument,
NotPermitted, RegionBusy, Fragmented, OutOfMemory.  A failed call leaves no trace.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from shmem import layout, memfd
from shmem.driver.allocator import Window, fit
from shmem.driver.records import SECURE, Agent, AgentArena, Arena, Extent, Page, Region
from shmem.errors import Fragmented, InvalidArgument, NotPermitted, OutOfMemory, RegionBusy, StaleHandle
from shmem.platforms import Platform

_ALL_FLAGS = 7
_LESS = layout.LINE - 1
_GAP = layout.PAGE  # between extents, so that blocks of two memfds never melt together


class Regions:
    """The part of the driver that deals with memory."""

    platform: Platform
    agents: dict[int, Agent]

    def __init__(self, pool: int, extent: int) -> None:
        self.pool = pool
        self.extent_size = extent
        self.arenas: dict[int, Arena] = {}
        self._by_acl: dict[tuple[frozenset[tuple[tuple[int, int], int]], bool], Arena] = {}
        self._acl_cache: dict[tuple[Any, ...], Arena] = {}
        self._last_acl: dict[str, str] | None = None
        self._last_arena: Arena | None = None
        """The list of the last alloc, and its arena: mostly the next one has the same."""
        self.had_deaths = False
        self._next_arena = 0
        self._next_device_address = 0x4000_0000_0000
        self._frontier = [low for low, _ in self.platform.windows]
        self.reserved = 0
        """Bytes of extents; at most `pool`."""

    # -- alloc ---------------------------------------------------------------------------------------------

    def alloc(
        self,
        caller: Agent,
        size: int,
        align: int = layout.LINE,
        window: Window | None = None,
        flags: int = 0,
        acl: Mapping[str, str] | None = None,
        purpose: str = "",
    ) -> Region:
        """Give out zeroed memory under a handle that never existed before."""
        again = self.alloc_again(caller, size, flags, acl, purpose) if window is None and align == layout.LINE else None
        if again is not None:
            return again
        if size < 1 or align & (align - 1) or align < 1 or flags & ~_ALL_FLAGS:
            raise _bad_request(size, align, flags)
        if window is not None:
            window = self._window(size, window)
        arena = self._arena(caller, acl, flags & SECURE)
        if arena.quarantine:
            self.sweep(arena)
        span = (size + _LESS) & -layout.LINE
        start = arena.space.take(span, align, window)
        if start is None:
            start = self._grow_and_take(arena, span, align, window)
        if not arena.spare:
            arena.space.give(start, span)
            raise OutOfMemory(
                f"alloc of {size} bytes",
                f"the arena's table of {layout.REGIONS} regions is full",
                "free some, or put several objects into one region",
            )
        index = arena.spare.pop()
        generation = arena.generations.get(index, 0) + 1
        arena.generations[index] = generation
        extents = arena.extents
        extent = extents[0] if len(extents) == 1 else arena.extent_of(start)
        region = Region(
            arena, index, generation, size, span, align, window, flags, caller.name, extent, start,
            self._next_device_address, purpose=purpose,
        )  # fmt: skip
        self._next_device_address += (span + 0xFFFF) & -0x10000
        arena.regions[index] = region
        arena.write_entry(region, layout.LIVE)
        return region

    def alloc_again(
        self, caller: Agent, size: int, flags: int, acl: Mapping[str, str] | None, purpose: str
    ) -> Region | None:
        """The common case, written out: a list that is known, and a region of that span was freed not long ago.

        It is the same seat of the table and the same memory, scrubbed, under the next generation."""
        try:
            arena = self._last_arena
            if arena is None or acl != self._last_acl or acl is None or flags & SECURE != arena.secure:
                names = tuple(acl.items()) if acl is not None else (caller.name,)
                arena = self._acl_cache.get((names, flags & SECURE))
                self._last_acl, self._last_arena = dict(acl) if acl else None, arena
            span = (size + _LESS) & -layout.LINE
        except (TypeError, AttributeError):  # arguments that make no sense
            return None
        if arena is None or arena.quarantine or flags & ~_ALL_FLAGS or not (kept := arena.pool.get(span)):
            return None
        region = kept.pop()
        arena.pooled -= span
        index = region.index
        region.generation = arena.generations[index] = region.generation + 1
        region.size, region.align, region.window = size, layout.LINE, None
        region.flags, region.owner, region.purpose = flags, caller.name, purpose
        region.device_address = self._next_device_address
        self._next_device_address += (span + 0xFFFF) & -0x10000
        arena.regions[index] = region
        start = region.start
        arena.table.words.publish(
            index * layout.ENTRY, layout.LIVE, region.generation, start - region.extent.start, size,
            region.extent.number, start, flags,
        )  # fmt: skip
        return region

    def forget_lists(self) -> None:
        """Names mean other agents from now on."""
        self._acl_cache.clear()
        self._last_acl = self._last_arena = None

    def _window(self, size: int, window: Window) -> Window:
        low, high = window
        reachable = [(max(low, a), min(high, b)) for a, b in self.platform.windows if max(low, a) < min(high, b)]
        if high - low < size or not reachable:
            known = ", ".join(f"{a:#x}-{b:#x}" for a, b in self.platform.windows)
            raise InvalidArgument(
                f"alloc of {size} bytes in the window {low:#x}-{high:#x}",
                f"it is too small, or outside of what the platform {self.platform.name} reaches ({known})",
                "name a window inside of these",
            )
        return low, high

    def _arena(self, caller: Agent, acl: Mapping[str, str] | None, secure: int) -> Arena:
        """The arena with exactly this access-control list; made if there is none."""
        names: tuple[Any, ...] = tuple(acl.items()) if acl is not None else (caller.name,)
        cached = self._acl_cache.get((names, secure))
        if cached is not None:
            return cached
        wanted = acl if acl is not None else {caller.name: "rw"}
        rights = {self.agent_named(name).key: layout.rights_of(text) for name, text in wanted.items()}
        if not any(right & layout.WRITE for right in rights.values()):
            raise InvalidArgument(
                f"alloc with the access-control list {dict(wanted)}",
                "nobody on it may write, so nobody could ever fill or free the region",
                'give at least one agent "rw"',
            )
        key = (frozenset(rights.items()), bool(secure))
        arena = self._by_acl.get(key)
        if arena is None:
            number = self._next_arena
            arena = Arena(number, rights, bool(secure), Page(f"table{number}", layout.TABLE_SIZE))
            self._next_arena += 1
            self.arenas[number] = self._by_acl[key] = arena
        self._acl_cache[(names, secure)] = arena
        return arena

    def _grow_and_take(self, arena: Arena, span: int, align: int, window: Window | None) -> int:
        need = memfd.pages(span + (align if align > layout.PAGE else 0))
        if self.reserved + need <= self.pool:
            # Each extent doubles the arena, so that a large arena has few borders that no region can cross.
            doubled = max(self.extent_size, 0 if window else sum(e.page.size for e in arena.extents))
            size = min(max(doubled, need), self.pool - self.reserved)
            if fit(self._place(size, window), size, span, align, window) is not None:
                self._add_extent(arena, size, window)
                start = arena.space.take(span, align, window)
                if start is not None:
                    return start
        free = arena.space.free_in(window)
        asked = f"alloc of {span} bytes aligned to {align}" + (f" in {window}" if window else "")
        if free >= span:
            raise Fragmented(
                asked,
                f"{free} bytes are free, but the largest hole has {arena.space.largest()}",
                "compact, or free a neighbour of a hole",
            )
        raise OutOfMemory(
            asked,
            f"{free} bytes are free here, and {self.pool - self.reserved} of {self.pool} are unused",
            "free regions, or start with a larger pool (pool= of the System)",
        )

    def _add_extent(self, arena: Arena, size: int, window: Window | None) -> None:
        start = self._place(size, window)
        page = Page(f"arena{arena.number}.{len(arena.extents)}", size, secret=arena.secure)
        try:
            if arena.secure:
                memfd.lock(page.mapping, size)
        except OutOfMemory:
            page.close()
            raise
        for i, (low, high) in enumerate(self.platform.windows):
            if low <= start < high:
                self._frontier[i] = start + size + _GAP
        arena.extents.append(Extent(len(arena.extents), start, page))
        arena.space.give(start, size)
        self.reserved += size

    def _place(self, size: int, window: Window | None) -> int:
        """A physical address for an extent: the lowest unused one of a platform window that serves the
        request."""
        for i, (low, high) in enumerate(self.platform.windows):
            start = self._frontier[i]
            if window is not None:
                start = memfd.pages(max(start, window[0])) if window[0] < high and window[1] > low else high
            if start + size <= high and (window is None or start < window[1]):
                return start
        raise OutOfMemory(
            f"{size} bytes of physical memory",
            f"no window of the platform {self.platform.name} has that much unused",
            "free regions or choose another window",
        )

    # -- handles -------------------------------------------------------------------------------------------

    def find(self, number: int, generation: int, asked: str) -> Region:
        """The live region of a handle, or StaleHandle."""
        arena = self.arenas.get(number // layout.REGIONS)
        region = arena.regions.get(number % layout.REGIONS) if arena else None
        if region is None or region.generation != generation:
            raise StaleHandle(
                f"{asked} of region {number} (generation {generation})",
                "that region has been freed" + ("" if region is None else "; its number has a new owner"),
                "use the handle of a live region",
            )
        return region

    def right_of(self, agent: Agent, region: Region) -> int:
        """What the access-control list grants."""
        return region.arena.acl.get(agent.key, 0)

    def holders(self, region: Region) -> list[str]:
        """Who maps or uses the region, in words."""
        found = []
        for index, right in region.mapped.items():
            agent = self.agents[index]
            held = agent.arenas[region.arena.number]
            views = held.pinned(region.index)
            found.append(f"{agent.name} maps it {'rw' if right & 2 else 'r'}" + (f" ({views} in use)" if views else ""))
        return found

    # -- free ----------------------------------------------------------------------------------------------

    def free(self, caller: Agent, number: int, generation: int, force: bool = False) -> None:
        """Take a region back: scrub it and give its memory to the next alloc, as soon as nobody can reach
        it."""
        arena = self.arenas.get(number // layout.REGIONS)
        region = arena.regions.get(number % layout.REGIONS) if arena is not None else None
        if arena is None or region is None or region.generation != generation:
            region = self.find(number, generation, "free")
            arena = region.arena
        if not arena.acl.get(caller.key, 0) & layout.WRITE:
            raise NotPermitted(
                f"free of region {number} by {caller.name}",
                "only an agent that may write a region may free it",
                "let its owner free it",
            )
        if region.mapped and not force:
            raise RegionBusy(
                f"free of region {number}",
                "; ".join(self.holders(region)),
                "unmap it there, or free(force=True): the memory then waits in quarantine until they end",
            )
        self.close_region(region)
        if arena.regions or self.had_deaths:
            self.after_free(arena)

    def close_region(self, region: Region) -> None:
        """End a region: its handle is stale and nobody maps it; its memory is given out when nobody uses
        it."""
        arena, index = region.arena, region.index
        if region.mapped:
            for user in region.mapped:
                arena.users[user].rights.words.store(index * 8, 0)
            region.mapped.clear()
        del arena.regions[index]
        # One word, so that those who look need no lock; and only then a look at who is still inside.
        arena.table.words.store32(index * layout.ENTRY + layout.E_STATE, layout.CLOSED)
        if self.in_use(region):
            arena.quarantine.append(region)
        else:
            self._recycle(region)

    def after_free(self, arena: Arena) -> None:
        """For the part that compacts when idle."""

    def in_use(self, region: Region) -> bool:
        """Whether any process still reads or writes the memory, or holds an array of it."""
        at = region.index * 8
        for held in region.arena.users.values():
            if held.pins.words.load(at):
                return True
        return False

    def _recycle(self, region: Region) -> None:
        """Scrub and reuse; the scrub is in memory before anybody can be given the bytes."""
        arena, extent = region.arena, region.extent
        span = region.span
        extent.page.words.zero(region.start - extent.start, span)
        kept = arena.pool.get(span)
        if kept is None:
            arena.pool[span] = [region]
        else:
            kept.append(region)
        arena.pooled += span

    def sweep(self, arena: Arena) -> None:
        """Recycle what nobody in quarantine uses any more."""
        waiting = arena.quarantine
        arena.quarantine = [region for region in waiting if self.in_use(region)]
        for region in waiting:
            if region not in arena.quarantine:
                self._recycle(region)

    # -- map -----------------------------------------------------------------------------------------------

    def map(self, caller: Agent, number: int, generation: int, rights: int) -> Region:
        """Enter a region into the caller's page table, if the access-control list allows it."""
        region = self.find(number, generation, "map")
        granted = self.right_of(caller, region)
        if rights & ~granted:
            has = {0: "no right", layout.READ: 'only "r"'}.get(granted, '"rw"')
            raise NotPermitted(
                f"map of region {number} by {caller.name} for {'writing' if rights & 2 else 'reading'}",
                f"its access-control list gives {caller.name} {has}",
                "ask the owner for a region with another list",
            )
        held = self.attach(caller, region.arena)
        held.rights.words.store(region.index * 8, region.generation << 2 | rights)
        region.mapped[caller.index] = rights
        return region

    def attach(self, agent: Agent, arena: Arena) -> AgentArena:
        """The agent's page table and pins for an arena; made at its first use."""
        held = agent.arenas.get(arena.number)
        if held is None:
            rights = Page(f"rights{agent.index}.{arena.number}", layout.RIGHTS_SIZE)
            held = AgentArena(rights, Page(f"pins{agent.index}.{arena.number}", layout.PINS_SIZE))
            agent.arenas[arena.number] = arena.users[agent.index] = held
        return held

    def unmap(self, caller: Agent, target: Agent, number: int, generation: int) -> None:
        """Take a region out of an agent's page table; accesses that have begun end first."""
        region = self.find(number, generation, "unmap")
        before = region.mapped.get(target.index)
        if before is None:
            raise InvalidArgument(
                f"unmap of region {number} from {target.name}", "it is not mapped there", "map it first"
            )
        if caller is not target and not self.right_of(caller, region) & layout.WRITE:
            raise NotPermitted(
                f"unmap of region {number} from {target.name} by {caller.name}",
                f"{caller.name} may not write the region, so it may only remove its own mapping",
                "let an agent with the right to write do it",
            )
        held = target.arenas[region.arena.number]
        held.rights.words.store(region.index * 8, 0)
        if not quiet(lambda: held.pinned(region.index) == 0):
            held.rights.words.store(region.index * 8, region.generation << 2 | before)
            raise RegionBusy(
                f"unmap of region {number} from {target.name}",
                f"{target.name} has {held.pinned(region.index)} view, copy or access of it open",
                "close them first",
            )
        del region.mapped[target.index]
        self.after_free(region.arena)

    # -- what others provide -------------------------------------------------------------------------------

    def agent_named(self, name: str) -> Agent:
        """The living agent of that name."""
        raise NotImplementedError

    def living(self) -> Iterator[Agent]:
        """All living agents."""
        return (agent for agent in self.agents.values() if agent.alive)


def quiet(idle: Any, patience: float = 0.01) -> bool:
    """Whether something becomes true within a moment: accesses take microseconds, views stay."""
    until = time.monotonic() + patience
    while not idle():
        if time.monotonic() > until:
            return False
        time.sleep(0.0002)
    return True


def _bad_request(size: int, align: int, flags: int) -> InvalidArgument:
    if size < 1:
        return InvalidArgument(f"alloc of {size} bytes", "a region has at least one byte", "ask for a positive size")
    if flags & ~_ALL_FLAGS:
        return InvalidArgument(f"alloc with flags {flags}", "there are SECURE, NO_COMPACT and UNCACHED", "use these")
    return InvalidArgument(f"alloc aligned to {align}", "alignment is a power of two", "use 64, 4096, ...")
