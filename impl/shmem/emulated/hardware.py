"""The hardware of emulated memory: each hazard is a method, and software's accesses are built on them.

A *frame* is the physical address of a line.  Methods named like hardware actions of the machine do exactly
one step and refuse with InvalidArgument where the step is not possible now; `random_step` lets a seeded
adversary choose one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import numpy as np

from shmem.driver.records import UNCACHED, Region
from shmem.driver.service import Service
from shmem.emulated.lines import ALL, Block, Line, Side, merge, span
from shmem.errors import Fault, Frozen, InvalidArgument, NotMapped, ReadOnly
from shmem.layout import LINE, WORD, WRITE

Step = Callable[[], None]


def _not_now(what: str, why: str) -> InvalidArgument:
    return InvalidArgument(what, why, "choose a step that hardware can do now (see state())")


class Hardware:
    """Caches, write buffers, translation caches and memory of all agents."""

    def __init__(self, service: Service, seed: int | None, hazards: float) -> None:
        self.service = service
        self.platform = service.platform
        self.chance = random.Random(seed)
        self.hazards = hazards if seed is not None else 0.0
        self.sides: dict[str, Side] = {}
        self.regions: dict[int, Region] = {}
        """Key of a handle -> its live region."""
        self.frames: dict[Block, int] = {}
        """Where each live line is (`at`)."""
        self.frozen: set[Block] = set()
        self.dead: set[str] = set()

    def add(self, name: str) -> None:
        """A new agent."""
        self.sides[name] = Side(self.platform.cached)

    # -- memory --------------------------------------------------------------------------------------------

    def memory(self, frame: int) -> memoryview:
        """The line in memory."""
        for arena in self.service.arenas.values():
            for extent in arena.extents:
                if extent.start <= frame < extent.end:
                    at = frame - extent.start
                    return memoryview(extent.page.mapping)[at : at + LINE]
        return memoryview(bytearray(LINE))  # the memory was given back to the system

    def cached(self, name: str, block: Block) -> bool:
        """Whether the agent caches this line."""
        region = self.regions.get(block[0])
        return self.sides[name].cached and not (region and region.flags & UNCACHED)

    # -- hardware actions ----------------------------------------------------------------------------------

    def fill(self, name: str, block: Block) -> None:
        """H1: a translated line enters the cache, but not past the agent's own posted words."""
        side = self.sides[name]
        entry = side.tlb.get(block)
        if not self.cached(name, block) or entry is None or entry[0] in side.lines or entry[0] in side.posted:
            raise _not_now(f"fill of {block} by {name}", "no cache, no translation, cached already, or words posted")
        side.lines[entry[0]] = Line(bytearray(self.memory(entry[0])))

    def evict(self, name: str, frame: int) -> None:
        """H2: a line leaves the cache; a dirty one is written back, after what was posted before."""
        side = self.sides[name]
        line = side.lines.get(frame)
        if line is None or (line.mask and frame in side.posted):
            raise _not_now(f"evict of {frame:#x} by {name}", "it is not cached, or older words are posted")
        merge(self.memory(frame), line.data, line.mask)
        del side.lines[frame]

    def drain(self, name: str, frame: int) -> None:
        """H4: the posted words of a line arrive in memory, together."""
        posted = self.sides[name].posted.pop(frame, None)
        if posted is None:
            raise _not_now(f"drain of {frame:#x} by {name}", "nothing is posted there")
        merge(self.memory(frame), posted.data, posted.mask)

    def translate(self, name: str, block: Block) -> None:
        """The translation cache walks the page table."""
        region = self.regions.get(block[0])
        right = region.mapped.get(self._index(name)) if region else None
        if right is None or block in self.frozen or block not in self.frames:
            raise _not_now(f"translate of {block} by {name}", "it is not mapped, or frozen")
        self.sides[name].tlb[block] = self.frames[block], bool(right & WRITE)

    def lose(self, name: str, frame: int) -> None:
        """H11: what a dead agent left of a line is lost."""
        side = self.sides[name]
        if name not in self.dead or not side.holds(frame):
            raise _not_now(f"lose of {frame:#x} by {name}", "the agent lives, or has nothing of it")
        side.lines.pop(frame, None)
        side.posted.pop(frame, None)

    def shootdown(self, name: str, block: Block) -> None:
        """The driver empties the translation cache of a line."""
        if self.sides[name].tlb.pop(block, None) is None:
            raise _not_now(f"shootdown of {block} for {name}", "there is no entry")

    def _index(self, name: str) -> int:
        return next(a.index for a in self.service.agents.values() if a.name == name)

    # -- accesses ------------------------------------------------------------------------------------------

    def reach(self, name: str, block: Block, writing: bool, what: str) -> int:
        """What an access must pass: its frame through the agent's translation, or the fault."""
        side, region = self.sides[name], self.regions[block[0]]
        right = region.mapped.get(self._index(name), 0)
        entry = side.tlb.get(block)
        if not right and entry is None:
            raise NotMapped(what, f"{name} has not mapped it (or it was unmapped)", "map it first")
        if writing and not right & WRITE and not (entry and entry[1]):
            raise ReadOnly(what, f"{name} has mapped it for reading", 'map it "rw"')
        if block in self.frozen and (entry is None or (writing and not entry[1])):
            raise Frozen(what, "the driver is moving it", "try again when it has been let go")
        if entry is None or (writing and not entry[1]):
            self.translate(name, block)
            entry = side.tlb[block]
        return entry[0]

    def present(self, name: str, block: Block, frame: int) -> None:
        """Bring a line into the cache if it is not there."""
        side = self.sides[name]
        if frame not in side.lines:
            if frame in side.posted:
                self.drain(name, frame)
            self.fill(name, block)

    def load(self, name: str, block: Block, offset: int, length: int, what: str) -> bytes:
        """Read inside one line: from the cache, or from the own write buffer and memory."""
        frame = self.reach(name, block, False, what)
        side = self.sides[name]
        if self.cached(name, block):
            self.present(name, block, frame)
            return bytes(side.lines[frame].data[offset : offset + length])
        data = bytearray(self.memory(frame))
        if frame in side.posted:
            merge(data, side.posted[frame].data, side.posted[frame].mask)
        return bytes(data[offset : offset + length])

    def store(self, name: str, block: Block, offset: int, data: bytes, what: str) -> None:
        """Write inside one line: into the cache, where (H3) the whole line may turn dirty, or into the
        buffer."""
        frame = self.reach(name, block, True, what)
        side, mask = self.sides[name], span(offset, len(data))
        if self.cached(name, block):
            self.present(name, block, frame)
            line = side.lines[frame]
            line.data[offset : offset + len(data)] = data
            line.mask |= ALL if self.platform.write_back == "line" else mask
        else:
            whole = bytearray(LINE)
            whole[offset : offset + len(data)] = data
            side.post(frame, whole, mask)

    def clean(self, name: str, block: Block, drop: bool, what: str) -> None:
        """Flush one line: post its dirty words; the line stays clean, or is dropped as well."""
        frame = self.reach(name, block, False, what)
        side = self.sides[name]
        line = side.lines.get(frame)
        if line is None:
            return
        self._post_dirty(name, frame, line)
        if drop:
            del side.lines[frame]

    def _post_dirty(self, name: str, frame: int, line: Line) -> None:
        side = self.sides[name]
        if not line.mask:
            return
        if frame in side.posted and side.posted[frame].mask & line.mask:
            self.drain(name, frame)
        side.post(frame, line.data, line.mask)
        line.mask = 0

    def discard(self, name: str, block: Block, keep: bool | None, what: str) -> None:
        """Invalidate one line.  H6: dirty words are thrown away, or written back (`keep`; None: as hardware
        likes)."""
        frame = self.reach(name, block, False, what)
        line = self.sides[name].lines.get(frame)
        if keep is None:
            keep = {"discard": False, "write_back": True}.get(self.platform.invalidate)
            keep = self.chance.random() < 0.5 if keep is None else keep
        if line is None:
            return
        if keep:
            self._post_dirty(name, frame, line)
        del self.sides[name].lines[frame]

    def settle(self, name: str) -> None:
        """Fence: everything that the agent posted arrives, lines in any order."""
        frames = list(self.sides[name].posted)
        self.chance.shuffle(frames)
        for frame in frames:
            self.drain(name, frame)

    def at_memory(self, name: str, block: Block, offset: int, change: Callable[[int], int], what: str) -> int:
        """An atomic: on memory, in one step, after the agent's own posted word has drained; the old value."""
        frame = self.reach(name, block, True, what)
        posted = self.sides[name].posted.get(frame)
        if posted is not None and posted.mask & span(offset, WORD):
            self.drain(name, frame)
        memory = self.memory(frame)
        old = int.from_bytes(memory[offset : offset + WORD], "little")
        memory[offset : offset + WORD] = (change(old) % 2**64).to_bytes(WORD, "little")
        return old

    # -- quiet ---------------------------------------------------------------------------------------------

    def quiet(self, frame: int) -> bool:
        """No cache holds the line, nothing is on its way to it, no translation leads to it."""
        sides = self.sides.values()
        return not any(s.holds(frame) or any(f == frame for f, _ in s.tlb.values()) for s in sides)

    def hush(self, frame: int) -> None:
        """The driver makes a frame quiet: translations are shot down, lines and posted words leave, in
        order."""
        for name, side in self.sides.items():
            side.tlb = {b: e for b, e in side.tlb.items() if e[0] != frame}
            if frame in side.posted:
                self.drain(name, frame)
            if frame in side.lines:
                self.evict(name, frame)

    # -- the adversary -------------------------------------------------------------------------------------

    def steps(self) -> Iterator[Step]:
        """Every spontaneous step that is possible now, in a fixed order."""
        for name, side in self.sides.items():
            for block, (frame, _) in side.tlb.items():
                if frame not in side.lines and frame not in side.posted and self.cached(name, block):
                    yield lambda name=name, block=block: self.fill(name, block)  # type: ignore[misc]
            for frame, line in side.lines.items():
                if not (line.mask and frame in side.posted):
                    yield lambda name=name, frame=frame: self.evict(name, frame)  # type: ignore[misc]
            for frame in side.posted:
                yield lambda name=name, frame=frame: self.drain(name, frame)  # type: ignore[misc]
        for key, region in self.regions.items():
            for name, side in self.sides.items():
                if self._index(name) in region.mapped:
                    for number in range(region.span // LINE):
                        block = (key, number)
                        if block not in side.tlb and block not in self.frozen:
                            yield lambda n=name, b=block: self.translate(n, b)  # type: ignore[misc]

    def interfere(self) -> None:
        """Before a software step: the adversary does as many steps as it likes."""
        while self.chance.random() < self.hazards:
            possible = list(self.steps())
            if not possible:
                return
            self.chance.choice(possible)()

    def zero(self, frame: int) -> None:
        """Scrub one line of memory."""
        np.frombuffer(self.memory(frame), np.uint8)[:] = 0


__all__ = ["Fault", "Hardware"]
