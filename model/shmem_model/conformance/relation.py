"""A `World` of an adapter as a scope of the machine: the same small world, told to both.

Elements are numbered in the order in which the world names them.  Every agent that runs a program comes first, then
(with `engines`) a copy engine for each.  Blocks are addresses: the lines of regions that are live at the start take
the first ones, and there is one block more than frames, so that a line can be freed and another one allocated while
an old translation of the first is still about.
"""

from __future__ import annotations

from collections.abc import Iterator

from shmem_model.conformance.adapter import World
from shmem_model.language import Function, Machine
from shmem_model.machine import MACHINE
from shmem_model.machine import vocabulary as m
from shmem_model.readers.scope import Scope, Table

TOKENS = 4
"""So many notifications can be pending at one time."""


class Relation:
    """What a world's names stand for in its scope."""

    def __init__(self, world: World, machine: Machine = MACHINE) -> None:
        self.world = world
        self.agents = list(world.agents)
        self.regions = list(world.regions)
        self.slots = list(world.slots)
        self.teams = list(world.teams)
        self.epochs = 2 * len(self.teams) + 1
        """A team has two uses of its barrier at one time: one that is collecting, and one that is being left."""
        self.start: list[tuple[str, int]] = list(_lines(world))
        """(region, line) of each block at the start."""
        self.frames: list[int] = []
        """The frame of each of them: the lowest that the region's window and the earlier ones leave."""
        for name, _ in self.start:
            first, end = world.windows.get(name, (0, world.frames))
            self.frames.append(min(set(range(first, end)).difference(self.frames)))
        self.scope = self._scope(machine)

    def engine(self, agent: int) -> int:
        """The copy engine of an agent."""
        return len(self.agents) + agent

    def _scope(self, machine: Machine) -> Scope:
        names = [*self.agents, *(f"engine of {agent}" for agent in self.agents if self.world.engines)]
        sizes = {
            m.Agent: len(names),
            m.Region: len(self.regions),
            m.Block: self.world.frames + 1,
            m.Frame: self.world.frames,
            m.Word: self.world.words,
            m.Value: self.world.values,
            m.Slot: max(1, len(self.slots)),
            m.Token: TOKENS,
            m.Team: max(1, len(self.teams)),
            m.Epoch: self.epochs,
        }
        labels = {
            m.Agent: tuple(names), m.Region: tuple(self.regions), m.Slot: tuple(self.slots), m.Team: tuple(self.teams),
        }  # fmt: skip
        return Scope(self.world.name, machine, sizes, self._platform(), self._start(), labels)

    def _right(self, agent: int, region: int, right: str) -> bool:
        if agent >= len(self.agents):
            return False
        return right in self.world.regions[self.regions[region]].rights.get(self.agents[agent], "")

    def _fits(self, region: int, frame: int) -> bool:
        first, end = self.world.windows.get(self.regions[region], (0, self.world.frames))
        return first <= frame < end

    def _platform(self) -> dict[Function, Table]:
        world, count = self.world, len(self.agents)
        slots, teams = list(world.slots.values()), list(world.teams.values())
        return {
            m.cached: lambda a: a < count and self.agents[a] in world.cached,
            m.line_write_back: world.write_back == "line",
            m.may_discard: world.invalidate in ("discard", "either"),
            m.may_write_back: world.invalidate in ("write_back", "either"),
            m.counting: world.notify == "counting",
            m.multicast: world.multicast,
            m.may_read: lambda a, r: self._right(a, r, "r"),
            m.may_write: lambda a, r: self._right(a, r, "w"),
            m.fits: self._fits,
            m.receiver: lambda s: self.agents.index(slots[s].receiver) if slots else 0,
            m.may_send: lambda a, s: bool(slots) and a < count and self.agents[a] in slots[s].senders,
            m.member: lambda g, a: bool(teams) and a < count and self.agents[a] in teams[g],
            m.engine: lambda a: a >= count,
            m.serves: lambda e, a: e - count == a,
            m.zero: 0,
            m.total: lambda v, w: (v + w) % world.values,
        }

    def _start(self) -> dict[Function, Table]:
        region = [self.regions.index(name) for name, _ in self.start]
        live = range(len(region))

        def maps(a: int, b: int, right: str) -> bool:
            return b in live and self.world.regions[self.start[b][0]].mapped and self._right(a, region[b], right)

        return {
            m.part_of: lambda b, r: b in live and region[b] == r,
            m.at: lambda b, f: b in live and self.frames[b] == f,
            m.available: lambda f: f not in self.frames,
            m.mapped: lambda a, b: maps(a, b, "r"),
            m.mapped_writable: lambda a, b: maps(a, b, "w"),
            m.cur: lambda a, b, w: b in live,
            m.pub: lambda a, b, w: b in live,
        }


def _lines(world: World) -> Iterator[tuple[str, int]]:
    for name, region in world.regions.items():
        if region.live:
            yield from ((name, line) for line in range(region.lines))
