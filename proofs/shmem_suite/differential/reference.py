"""The reference implementation on emulated memory as an adapter: every hazard is commanded, so nothing is left open.

A world's words are as far apart as a line allows, and its values are spread over 64 bits so that sums wrap around in
both.  The driver is manual: shootdown, scrub, gb_ack and reclaim happen when they are called.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import shmem
from shmem.layout import LINE, PAGE, WORD
from shmem.platforms import Platform
from shmem_model.conformance.adapter import World, WouldBlock
from shmem_suite.errors import SuiteError

LINES = PAGE // LINE
"""Lines of the smallest extent of memory that the driver makes."""


@contextlib.contextmanager
def _would_block() -> Iterator[None]:
    try:
        yield
    except shmem.TimedOut as error:
        raise WouldBlock(str(error)) from None


class ReferenceAdapter:
    """One system of threads' agents; each method is one action of the machine."""

    def __init__(self, world: World) -> None:
        self.world = world
        platform = Platform(
            "world", write_back=world.write_back, invalidate=world.invalidate, slots=world.notify,
            cached=True, multicast=world.multicast,
        )  # fmt: skip
        groups = _groups(world)
        self.system = shmem.System(
            platform, len(world.agents) - 1, "emulated", agents="threads", driver="manual", seed=None,
            pool=len(groups) * PAGE, extent=PAGE, compaction=None,
        )  # fmt: skip
        self.hardware = self.system.hardware
        agents = [self.system.host, *(device.agent for device in self.system.devices)]  # type: ignore[attr-defined]
        self.agents: dict[str, Any] = dict(zip(world.agents, agents, strict=True))
        self.inside = {agent.name: name for name, agent in self.agents.items()}
        """What the system calls an agent -> what the world calls it."""
        self.apart = (LINE // WORD) // world.words
        self.factor = 2**64 // world.values
        self.handles: dict[str, shmem.SharedMemoryRegion] = {}
        self.address: dict[int, int] = {}
        """Frame -> physical address."""
        for name in self.agents:
            self.hardware.hardware.sides[self.agents[name].name].cached = name in world.cached
        self._grant()
        for names, window in groups.items():
            self._lay_out(names, window)
        self.frame = {address: frame for frame, address in self.address.items()}

    # -- the start -----------------------------------------------------------------------------------------

    def _grant(self) -> None:
        self.slots: dict[str, tuple[str, int]] = {}
        for number, (name, slot) in enumerate(self.world.slots.items()):
            self.slots[name] = slot.receiver, number
            senders = [self.agents[sender].name for sender in slot.senders]
            self.agents[slot.receiver].grant(number, senders)
        self.teams: dict[str, dict[str, Any]] = {}
        for name, members in self.world.teams.items():
            seats = [self.agents[member].name for member in members]
            self.teams[name] = {member: self.agents[member].team(name, seats) for member in members}

    def _lay_out(self, names: tuple[str, ...], window: tuple[int, int]) -> None:
        """An arena of which just the window's frames are free, and the regions of the start in the first of them."""
        first, end = window
        rights = {self.agents[a].name: r for a, r in self.world.regions[names[0]].rights.items() if r}
        owner = next(a for a, r in self.world.regions[names[0]].rights.items() if "w" in r)
        front = self.agents[owner].alloc((end - first) * LINE, acl=rights)
        rest = self.agents[owner].alloc((LINES - (end - first)) * LINE, acl=rights)
        start = self.hardware.frame(front, 0)
        self.address |= {first + i: start + i * LINE for i in range(end - first)}
        for line in range(LINES - (end - first)):  # the rest of the extent is nobody's: nothing to look at
            del self.hardware.hardware.frames[rest.key, line]
        self.agents[owner].free(front)
        for i in range(end - first):
            self.hardware.scrub(start + i * LINE)
        for name in names:
            region = self.world.regions[name]
            if region.live:
                self.alloc(owner, name)
                for agent, right in region.rights.items():
                    if right and region.mapped:
                        self.agents[agent].map(self.handles[name], right)

    # -- software ------------------------------------------------------------------------------------------

    def _handle(self, region: str) -> shmem.SharedMemoryRegion:
        return self.handles[region]

    def _at(self, line: int, word: int) -> int:
        return line * LINE + word * self.apart * WORD

    def alloc(self, agent: str, region: str) -> list[int]:
        """The frames of its lines."""
        spec = self.world.regions[region]
        rights = {self.agents[a].name: r for a, r in spec.rights.items() if r}
        handle = self.agents[agent].alloc(spec.lines * LINE, acl=rights)
        self.handles[region] = handle
        return [self.frame_of(region, line) for line in range(spec.lines)]

    def frame_of(self, region: str, line: int) -> int:
        """Where a line of a live region is."""
        address = self.hardware.frame(self.handles[region], line)
        return {a: f for f, a in self.address.items()}[address]

    def free(self, agent: str, region: str) -> None:
        """See the machine."""
        self.agents[agent].free(self._handle(region))

    def map(self, agent: str, region: str, writable: bool) -> None:
        """See the machine."""
        self.agents[agent].map(self._handle(region), "rw" if writable else "r")

    def unmap(self, agent: str, of: str, region: str) -> None:
        """See the machine."""
        self.agents[agent].unmap(self._handle(region), self.agents[of].name)

    def read(self, agent: str, region: str, line: int, word: int) -> int:
        """The word as a small number."""
        data = self.agents[agent].read(self._handle(region), self._at(line, word), WORD)
        return self._small(int.from_bytes(data, "little"))

    def _small(self, number: int) -> int:
        if number % self.factor:
            raise AssertionError(f"a word holds {number:#x}, which nobody has written")
        return number // self.factor

    def write(self, agent: str, region: str, line: int, word: int, value: int) -> None:
        """See the machine."""
        data = (value * self.factor).to_bytes(WORD, "little")
        self.agents[agent].write(self._handle(region), self._at(line, word), data)

    def flush(self, agent: str, region: str, line: int, drop: bool) -> None:
        """See the machine."""
        self.agents[agent].flush(self._handle(region), line * LINE, LINE, drop=drop)

    def invalidate(self, agent: str, region: str, line: int, keep: bool | None = None) -> None:
        """`keep`: dirty words are written back, where the platform leaves it open."""
        self.agents[agent].invalidate(self._handle(region), line * LINE, LINE, keep=keep)

    def fence(self, agent: str) -> None:
        """See the machine."""
        self.agents[agent].fence()

    def send(self, agent: str, slot: str) -> None:
        """See the machine."""
        to, number = self.slots[slot]
        self.agents[agent].send(self.agents[to].name, number)

    def wait(self, agent: str, slot: str) -> None:
        """See the machine; WouldBlock where the slot is empty."""
        self._receives(agent, slot)
        with _would_block():
            self.agents[agent].wait(self.slots[slot][1], timeout=0)

    def poll(self, agent: str, slot: str) -> bool:
        """Whether there was a notification."""
        self._receives(agent, slot)
        got: bool = self.agents[agent].poll(self.slots[slot][1])
        return got

    def _receives(self, agent: str, slot: str) -> None:
        """Slots of other agents have no name in the implementation: nobody can wait for them."""
        self.agents[agent]._check_living("wait")
        if self.slots[slot][0] != agent:
            raise shmem.NotPermitted(f"wait for {slot} by {agent}", "it is another agent's", "wait for your own")

    def arrive(self, agent: str, team: str) -> None:
        """See the machine, with a fence before it."""
        self.agents[agent].arrive(self._seat(agent, team))

    def leave(self, agent: str, team: str) -> None:
        """See the machine; WouldBlock where somebody is missing."""
        with _would_block():
            self.agents[agent].leave(self._seat(agent, team), timeout=0)

    def _seat(self, agent: str, team: str) -> Any:
        """The team as a member sees it; who is none is refused when it asks for a seat."""
        seat = self.teams[team].get(agent)
        if seat is None:
            members = [self.agents[member].name for member in self.world.teams[team]]
            seat = self.agents[agent].team(team, members)
        return seat

    def gb_begin(self, agent: str, team: str, region: str) -> None:
        """See the machine."""
        members = [self.agents[member].name for member in self.world.teams[team]]
        self.agents[agent].gb_begin(self._handle(region), members)

    def gb_end(self, agent: str, team: str, region: str) -> None:
        """See the machine; WouldBlock where an answer is missing."""
        with _would_block():
            self.agents[agent].gb_end(self._handle(region), timeout=0)

    def atomic_add(self, agent: str, region: str, line: int, word: int, value: int) -> int:
        """The value before."""
        at = self._at(line, word)
        return self._small(self.agents[agent].atomic_add(self._handle(region), at, value * self.factor))

    def atomic_swap(self, agent: str, region: str, line: int, word: int, value: int) -> int:
        """The value before."""
        at = self._at(line, word)
        return self._small(self.agents[agent].atomic_swap(self._handle(region), at, value * self.factor))

    def compare_swap(self, agent: str, region: str, line: int, word: int, old: int, new: int) -> int:
        """The value before."""
        at = self._at(line, word)
        call = self.agents[agent].compare_swap
        return self._small(call(self._handle(region), at, old * self.factor, new * self.factor))

    def copy_start(
        self, agent: str, region: str, line: int, word: int, to_region: str, to_line: int, to_word: int
    ) -> None:
        """See the machine."""
        source, target = self._handle(region), self._handle(to_region)
        self.agents[agent].copy_start(source, target, self._at(line, word), self._at(to_line, to_word), WORD)

    def copy_wait(self, agent: str) -> None:
        """See the machine: the engine finishes first."""
        self.agents[agent].copy_wait()

    # -- hardware, driver and faults -----------------------------------------------------------------------

    def _name(self, agent: str) -> str:
        name: str = self.agents[agent].name
        return name

    def fill(self, agent: str, region: str, line: int) -> None:
        """See the machine."""
        self.hardware.fill(self._name(agent), self._handle(region), line)

    def evict(self, agent: str, frame: int) -> None:
        """See the machine."""
        self.hardware.evict(self._name(agent), self.address[frame])

    def drain(self, agent: str, frame: int) -> None:
        """See the machine."""
        self.hardware.drain(self._name(agent), self.address[frame])

    def translate(self, agent: str, region: str, line: int) -> None:
        """See the machine."""
        self.hardware.translate(self._name(agent), self._handle(region), line)

    def lose(self, agent: str, frame: int) -> None:
        """See the machine."""
        self.hardware.lose(self._name(agent), self.address[frame])

    def copy_step(
        self, agent: str, region: str, line: int, word: int, to_region: str, to_line: int, to_word: int
    ) -> None:
        """See the machine."""
        wanted = (
            (self._handle(region).key, line), self._at(0, word), (self._handle(to_region).key, to_line),
            self._at(0, to_word), WORD,
        )  # fmt: skip
        jobs = [job for job in self.hardware.jobs if job.owner == self._name(agent)]
        pieces = [piece for job in jobs for piece in job.pieces[:1]]
        if wanted not in pieces:
            raise shmem.InvalidArgument(f"copy_step of {agent}", "its engine has no such work", "start a copy")
        job = next(job for job in jobs if job.pieces[:1] == [wanted])
        self.hardware.jobs.remove(job)
        self.hardware.jobs.insert(0, job)
        self.hardware.copy_step(self._name(agent))

    def shootdown(self, agent: str, region: str, line: int) -> None:
        """See the machine."""
        self.hardware.shootdown(self._name(agent), self._handle(region), line)

    def scrub(self, frame: int) -> None:
        """See the machine."""
        self.hardware.scrub(self.address[frame])

    def freeze(self, region: str, line: int) -> None:
        """See the machine."""
        self.hardware.freeze(self._handle(region), line)

    def migrate(self, region: str, line: int, frame: int) -> None:
        """See the machine."""
        try:
            self.hardware.migrate(self._handle(region), line, self.address[frame])
        except ValueError as error:
            raise shmem.RegionBusy(f"migrate to frame {frame}", str(error), "choose a free one") from None

    def unfreeze(self, region: str, line: int) -> None:
        """See the machine."""
        self.hardware.unfreeze(self._handle(region), line)

    def gb_ack(self, agent: str, team: str, region: str, member: str, line: int) -> None:
        """See the machine."""
        self.hardware.gb_ack(self._name(agent), self._name(member), self._handle(region), line)

    def reclaim(self, agent: str, region: str, line: int) -> None:
        """The whole region at once; other lines than the first say nothing of their own."""
        self.hardware.reclaim(self._name(agent), self._handle(region))

    def die(self, agent: str) -> None:
        """See the machine."""
        self.agents[agent].die()

    def close(self) -> None:
        """End the system."""
        self.system.machine.turns.close()  # type: ignore[union-attr]
        self.system.close()


def _groups(world: World) -> dict[tuple[str, ...], tuple[int, int]]:
    """Regions with equal rights share an arena, so they must share a window, and nobody else may."""
    found: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for name, region in world.regions.items():
        found.setdefault(tuple(sorted((a, r) for a, r in region.rights.items() if r)), []).append(name)
    whole = (0, world.frames)
    groups = {tuple(names): world.windows.get(names[0], whole) for names in found.values()}
    windows = [world.windows.get(name, whole) for names in found.values() for name in names]
    spread = sorted(groups.values())
    apart = all(a[1] <= b[0] for a, b in pairwise(spread))
    if not apart or any(window not in spread for window in windows) or len(set(spread)) != len(groups):
        raise SuiteError(
            f"world {world.name}: regions with equal rights share an arena here; give them one window of frames, "
            "and others another one"
        )
    return groups


def make(world: World) -> ReferenceAdapter:
    """The factory: an adapter in the world's start state."""
    return ReferenceAdapter(world)


Make = Callable[[World], Any]
