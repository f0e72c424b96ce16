"""Emulated memory as a whole: hardware, slots and barriers, turns, and the driver's side of them.

`Machine` is what `System.hardware` is: it commands every hazard and driver action by name, and `state()` is
the projection that a differential test compares.  With `driver="manual"` shootdown, scrub, gb_ack and reclaim
happen only on command; otherwise the driver does them by itself.
"""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from shmem.driver.records import Agent, Arena, Region
from shmem.driver.service import Service
from shmem.emulated.board import Board
from shmem.emulated.hardware import Hardware
from shmem.emulated.lines import Block
from shmem.emulated.turns import Turns
from shmem.errors import InvalidArgument, RegionBusy
from shmem.handles import SharedMemoryRegion
from shmem.layout import LINE
from shmem.platforms import Platform

Piece = tuple[Block, int, Block, int, int]
"""Source line and offset, target line and offset, bytes (one word at most)."""


@dataclass(eq=False)
class Job:
    """What a copy engine has still to do for an agent."""

    owner: str
    pieces: list[Piece] = field(default_factory=list)


class EmulatedService(Service):
    """The driver over emulated hardware: memory is given out again only when it is quiet there."""

    hardware: Hardware
    machine: Machine
    manual: bool

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.loose: dict[int, set[int]] = {}
        """Frames that lines were moved away from, waiting for `scrub` (manual)."""

    def in_use(self, region: Region) -> bool:
        """Make a freed region quiet (automatic), or tell that it still waits for `scrub` (manual)."""
        if self.manual:
            return bool(region.frames)
        for frame in region.frames or []:
            self.hardware.hush(frame)
        return False

    def _recycle(self, region: Region) -> None:
        for frame in region.frames or []:
            self.hardware.zero(frame)
            region.arena.space.give(frame, LINE)
        region.arena.spare.append(region.index)

    def close_region(self, region: Region) -> None:
        """End a region: the handle is stale, the lines are nobody's."""
        key = region.key
        self.hardware.regions.pop(key, None)
        for number in range(region.span // LINE):
            self.hardware.frames.pop((key, number), None)
            self.hardware.frozen.discard((key, number))
        for request in self.machine.board.requests.values():  # nobody has to answer for lines that are gone
            request.missing = {(name, block) for name, block in request.missing if block[0] != key}
        super().close_region(region)

    def _move(self, arena: Arena, region: Region, target: int) -> bool:
        """Freeze, make quiet, migrate and unfreeze the whole region."""
        frames, blocks = region.frames or [], self.machine.blocks(region)
        together = frames == list(range(region.start, region.start + region.span, LINE))
        if not together or self.machine.copying(blocks) or self.hardware.frozen & set(blocks):
            return False
        if not super()._move(arena, region, target):  # it asks `in_use`, which makes the frames quiet
            return False
        region.frames = list(range(target, target + region.span, LINE))
        self.hardware.frames |= dict(zip(blocks, region.frames, strict=True))
        return True

    def died(self, agent: Agent) -> None:
        """What the dead left in caches and buffers arrives or is lost, as hardware likes (H11); then it is
        taken back."""
        hardware = self.hardware
        hardware.dead.add(agent.name)
        if self.manual:
            return
        side = hardware.sides[agent.name]
        for frame in [*side.posted, *side.lines]:
            if not side.holds(frame):
                continue
            if hardware.hazards and hardware.chance.random() < 0.5:
                hardware.hush(frame)
            else:
                hardware.lose(agent.name, frame)
        side.tlb.clear()
        self.machine.jobs = [job for job in self.machine.jobs if job.owner != agent.name]
        super().died(agent)


class Machine:
    """The emulated machine: everything that hardware and driver can be told to do."""

    def __init__(
        self, platform: Platform, service: EmulatedService, seed: int | None, hazards: float, driver: str
    ) -> None:
        if driver not in ("automatic", "manual") or not 0 <= hazards < 1:
            raise InvalidArgument(
                f"emulated memory with driver={driver!r}, hazards={hazards}",
                'driver is "automatic" or "manual", hazards is at least 0 and below 1',
                "choose among these",
            )
        self.platform = platform
        self.service = service
        self.hardware = Hardware(service, seed, hazards)
        self.board = Board(self.hardware)
        self.turns = Turns(random.Random(seed))
        self.jobs: list[Job] = []
        service.hardware, service.machine, service.manual = self.hardware, self, driver == "manual"
        self.manual = service.manual

    # -- names ---------------------------------------------------------------------------------------------

    def region(self, handle: SharedMemoryRegion, asked: str) -> Region:
        """The live region of a handle, or StaleHandle."""
        return self.service.find(handle.id, handle.generation, asked)

    def blocks(self, region: Region) -> list[Block]:
        """The lines of a region."""
        return [(region.key, number) for number in range(region.span // LINE)]

    def block(self, handle: SharedMemoryRegion, line: int) -> Block:
        """A line by handle and number; of a freed region too."""
        if not 0 <= line < -(-handle.size // LINE):
            raise InvalidArgument(f"line {line} of {handle}", f"it has {-(-handle.size // LINE)}", "name one")
        return handle.key, line

    def frame(self, handle: SharedMemoryRegion, line: int) -> int:
        """Where a line of a live region is."""
        self.region(handle, "frame")
        return self.hardware.frames[self.block(handle, line)]

    def copying(self, blocks: list[Block], owner: str | None = None) -> bool:
        """Whether a copy engine (of that agent) still reads or writes one of these lines."""
        wanted = set(blocks)
        jobs = [job for job in self.jobs if owner in (None, job.owner)]
        return any(p[0] in wanted or p[2] in wanted for job in jobs for p in job.pieces)

    # -- hardware actions ----------------------------------------------------------------------------------

    def fill(self, agent: str, region: SharedMemoryRegion, line: int = 0) -> None:
        """H1: the line enters the agent's cache."""
        self.hardware.fill(agent, self.block(region, line))

    def evict(self, agent: str, region: SharedMemoryRegion | int, line: int = 0) -> None:
        """H2: the line (or the frame of that address) leaves the agent's cache; dirty bytes are written
        back."""
        self.hardware.evict(agent, self._place(region, line))

    def drain(self, agent: str, region: SharedMemoryRegion | int, line: int = 0) -> None:
        """H4: what the agent posted to the line arrives."""
        self.hardware.drain(agent, self._place(region, line))

    def lose(self, agent: str, region: SharedMemoryRegion | int, line: int = 0) -> None:
        """H11: what a dead agent left of the line is lost."""
        self.hardware.lose(agent, self._place(region, line))

    def translate(self, agent: str, region: SharedMemoryRegion, line: int = 0) -> None:
        """The agent's translation cache walks the page table."""
        self.hardware.translate(agent, self.block(region, line))

    def copy_step(self, agent: str, piece: int = 0) -> None:
        """The agent's copy engine moves one word: the first of those left, or another."""
        for job in self.jobs:
            if job.owner == agent and piece < len(job.pieces):
                self._move_piece(job.pieces.pop(piece))
                return
        raise InvalidArgument(f"copy_step of {agent}", "its engine has nothing to do", "start a copy first")

    def _place(self, region: SharedMemoryRegion | int, line: int) -> int:
        return region if isinstance(region, int) else self.frame(region, line)

    def _move_piece(self, piece: Piece) -> None:
        source, at, target, to, n = piece
        data = bytes(self.hardware.memory(self.hardware.frames[source])[at : at + n])
        self.hardware.memory(self.hardware.frames[target])[to : to + n] = data

    def finish(self, job: Job) -> None:
        """Everything that is left of a copy, in any order."""
        self.hardware.chance.shuffle(job.pieces)
        while job.pieces:
            self._move_piece(job.pieces.pop())

    def interfere(self) -> None:
        """Before a software step the adversary does as many hardware steps as it likes."""
        self.hardware.interfere()
        while self.jobs and self.hardware.chance.random() < self.hardware.hazards:
            job = self.hardware.chance.choice(self.jobs)
            if job.pieces:
                self._move_piece(job.pieces.pop(self.hardware.chance.randrange(len(job.pieces))))
            else:
                self.jobs.remove(job)

    # -- driver actions ------------------------------------------------------------------------------------

    def shootdown(self, agent: str, region: SharedMemoryRegion, line: int = 0) -> None:
        """Empty the agent's translation cache of the line."""
        self.hardware.shootdown(agent, self.block(region, line))

    def scrub(self, frame: int) -> None:
        """Zero a frame in quarantine and make it available, once it is quiet."""
        for arena in self.service.arenas.values():
            for region in arena.quarantine:
                if frame in (region.frames or []):
                    if not self.hardware.quiet(frame):
                        raise RegionBusy(f"scrub of {frame:#x}", "a cache, buffer or translation has it", "drain it")
                    self.hardware.zero(frame)
                    arena.space.give(frame, LINE)
                    region.frames = [f for f in region.frames or [] if f != frame]
                    if not region.frames:
                        arena.quarantine.remove(region)
                        arena.spare.append(region.index)
                    return
            if frame in self.service.loose.get(arena.number, set()):
                if not self.hardware.quiet(frame):
                    raise RegionBusy(f"scrub of {frame:#x}", "a cache, buffer or translation has it", "drain it")
                self.hardware.zero(frame)
                self.service.loose[arena.number].discard(frame)
                arena.space.give(frame, LINE)
                return
        raise InvalidArgument(f"scrub of {frame:#x}", "it is not in quarantine", "free its region first")

    def freeze(self, region: SharedMemoryRegion, line: int = 0) -> None:
        """No new translation of the line until `unfreeze`."""
        self.region(region, "freeze")
        block = self.block(region, line)
        if block in self.hardware.frozen or self.copying([block]):
            raise RegionBusy(f"freeze of line {line} of {region}", "it is frozen or being copied", "wait for that")
        self.hardware.frozen.add(block)

    def migrate(self, region: SharedMemoryRegion, line: int = 0, frame: int | None = None) -> int:
        """Move a quiet frozen line to a free frame (the lowest that fits, or this one); the new frame."""
        record, block = self.region(region, "migrate"), self.block(region, line)
        old = self.hardware.frames[block]
        entries = any(block in side.tlb for side in self.hardware.sides.values())
        if block not in self.hardware.frozen or not self.hardware.quiet(old) or entries:
            raise RegionBusy(f"migrate of line {line} of {region}", "it is not frozen, or not quiet", "freeze first")
        space = record.arena.space
        if frame is None:
            frame = space.take(LINE, LINE, record.window)
            if frame is None:
                raise RegionBusy(f"migrate of {region}", "no frame is free", "free a region")
        else:
            space.take_at(frame, LINE)
        self.hardware.memory(frame)[:] = bytes(self.hardware.memory(old))
        self.hardware.frames[block] = frame
        assert record.frames is not None
        record.frames[line] = frame
        if self.manual:
            self.service.loose.setdefault(record.arena.number, set()).add(old)
        else:
            self.hardware.zero(old)
            space.give(old, LINE)
        return frame

    def unfreeze(self, region: SharedMemoryRegion, line: int = 0) -> None:
        """The line may be translated again."""
        self.region(region, "unfreeze")
        if self.block(region, line) not in self.hardware.frozen:
            raise InvalidArgument(f"unfreeze of line {line} of {region}", "it is not frozen", "freeze it first")
        self.hardware.frozen.discard(self.block(region, line))

    def gb_ack(self, writer: str, member: str, region: SharedMemoryRegion, line: int = 0) -> None:
        """The member's engine answers the writer's global barrier for one line."""
        request, block = self.board.requests.get(writer), self.block(region, line)
        if request is None or (member, block) not in request.missing or member in self.hardware.dead:
            raise InvalidArgument(f"gb_ack of {member} to {writer}", "nobody asked it, or it has answered", "begin one")
        self.board.acknowledge(writer, member, block)

    def reclaim(self, agent: str, region: SharedMemoryRegion) -> None:
        """End a dead agent's mapping of a region, once nothing of it can reach a line of it any more."""
        record = self.region(region, "reclaim")
        side, blocks = self.hardware.sides[agent], self.blocks(record)
        left = any(side.holds(self.hardware.frames[b]) or b in side.tlb for b in blocks)
        if agent not in self.hardware.dead or left or self.copying(blocks, agent):
            raise RegionBusy(f"reclaim of {region} from {agent}", "it lives, or something of it is left", "lose it")
        record.mapped.pop(self.hardware._index(agent), None)

    def state(self, frames: Collection[int] | None = None) -> dict[str, Any]:
        """The projection: the functions of the machine that software and hardware have, under their names.

        `frames`: the physical addresses of the lines whose memory is wanted (default: all that are or were in use)."""
        from shmem.emulated.state import state

        return state(self, frames)
