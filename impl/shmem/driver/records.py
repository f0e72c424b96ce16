"""What the driver remembers of agents, arenas, extents and regions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from shmem import layout, memfd
from shmem.driver.allocator import Allocator, Window
from shmem.words import Words

SECURE, NO_COMPACT, UNCACHED = 1, 2, 4
"""Flags of `alloc`."""
FLAG_NAMES = {SECURE: "SECURE", NO_COMPACT: "NO_COMPACT", UNCACHED: "UNCACHED"}


class Page:
    """A shared page that the driver made: its memfd, its mapping here, and its words."""

    def __init__(self, name: str, size: int, secret: bool = False) -> None:
        size = memfd.pages(size)
        self.size = size
        self.fd = self.readonly_fd = -1
        self.fd = memfd.create(name, size)
        self.readonly_fd = memfd.read_only(self.fd)
        self.mapping = memfd.map_file(self.fd, size, writable=True, secret=secret)
        self.words = Words(self.mapping)

    def close(self) -> None:
        """Let the memory go; others may still have it mapped."""
        for fd in (self.fd, self.readonly_fd):
            if fd >= 0:
                os.close(fd)
        self.fd = self.readonly_fd = -1
        self.words = None  # type: ignore[assignment]

    def __del__(self) -> None:
        """A page that came to nothing (no descriptor was left for the next one) keeps none."""
        self.close()


@dataclass(eq=False)
class Agent:
    """One agent: a host or a device, alive or dead."""

    index: int
    incarnation: int
    name: str
    uid: int
    pid: int
    owner: str
    own: Page
    bell: Page
    alive: bool = True
    arenas: dict[int, AgentArena] = field(default_factory=dict)
    pairs: dict[int, tuple[int, Page]] = field(default_factory=dict)
    """Pages on which others send to this agent: sender's index -> (its incarnation, page)."""

    key: tuple[int, int] = field(init=False)
    """Index and incarnation: an identity that is never used again."""

    def __post_init__(self) -> None:
        self.key = self.index, self.incarnation


@dataclass(eq=False)
class AgentArena:
    """One agent's page table and pins for one arena."""

    rights: Page
    pins: Page

    def pinned(self, index: int) -> int:
        """Accesses and open views of a region right now."""
        return self.pins.words.load(index * 8) & 0xFFFFFFFF

    def lingering(self, index: int) -> int:
        """Arrays that outlived their view."""
        return self.pins.words.load(index * 8) >> 32


@dataclass(eq=False)
class Extent:
    """Contiguous physical memory behind one memfd."""

    number: int
    start: int
    page: Page

    @property
    def end(self) -> int:
        """First physical address after it."""
        return self.start + self.page.size


@dataclass(eq=False, slots=True)
class Region:
    """A live region (or one in quarantine)."""

    arena: Arena
    index: int
    generation: int
    size: int
    span: int
    align: int
    window: Window | None
    flags: int
    owner: str
    extent: Extent
    start: int
    device_address: int
    mapped: dict[int, int] = field(default_factory=dict)
    """Agent index -> rights of its page table."""
    purpose: str = ""
    frames: list[int] | None = None
    """Emulated memory: where each line is (they may be moved one by one)."""
    id: int = field(init=False)
    """The number that a handle carries."""

    def __post_init__(self) -> None:
        self.id = self.arena.number * layout.REGIONS + self.index

    @property
    def key(self) -> int:
        """As in the handle: number and generation."""
        return self.id << 64 | self.generation

    @property
    def offset(self) -> int:
        """Where it lies in its extent."""
        return self.start - self.extent.start


@dataclass(eq=False)
class Arena:
    """Memory with one access-control list; nobody else holds a descriptor of it."""

    number: int
    acl: Mapping[tuple[int, int], int]
    """Identity of an agent -> its rights."""
    secure: bool
    table: Page
    free_list: Allocator = field(default_factory=Allocator)
    extents: list[Extent] = field(default_factory=list)
    regions: dict[int, Region] = field(default_factory=dict)
    generations: dict[int, int] = field(default_factory=dict)
    spare: list[int] = field(default_factory=lambda: list(range(layout.REGIONS - 1, -1, -1)))
    quarantine: list[Region] = field(default_factory=list)
    users: dict[int, AgentArena] = field(default_factory=dict)
    """Agent index -> its page table and pins."""
    pool: dict[int, list[Region]] = field(default_factory=dict)
    """Freed and scrubbed regions by span, with their seats in the table: an alloc of that span takes the last one."""
    pooled: int = 0
    """Bytes in the pool."""

    @property
    def space(self) -> Allocator:
        """Free memory as holes; what the pool had is among them, so whoever looks here sees all of it coalesced."""
        if self.pooled:
            for regions in self.pool.values():
                for region in regions:
                    self.free_list.give(region.start, region.span)
                    self.spare.append(region.index)
            self.pool.clear()
            self.pooled = 0
        return self.free_list

    def perhaps_fragmented(self, threshold: float) -> bool:
        """Whether the fragmentation may be above a threshold: where this says no, coalescing the pool says no too."""
        return self.free_list.largest() < (1.0 - threshold) * (self.free_list.free + self.pooled)

    def extent_of(self, address: int) -> Extent:
        """The extent that holds a physical address."""
        return next(e for e in self.extents if e.start <= address < e.end)

    def close_entry(self, region: Region) -> None:
        """End a region for those who look: one word, so it needs no lock."""
        self.table.words.store32(region.index * layout.ENTRY + layout.E_STATE, layout.CLOSED)

    def write_entry(self, region: Region, state: int) -> None:
        """Publish a region to those who look into the table, under its sequence lock."""
        extent, start = region.extent, region.start
        self.table.words.publish(
            region.index * layout.ENTRY, state, region.generation, start - extent.start, region.size,
            extent.number, start, region.flags,
        )  # fmt: skip


@dataclass(eq=False)
class Team:
    """Members of a barrier and the page on which they meet."""

    number: int
    name: str
    members: tuple[Agent, ...]
    flavour: str
    page: Page
