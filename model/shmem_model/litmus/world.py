"""The world of a program: which elements there are, what the platform is like, and the start state.

Regions of the head live in the first frames, the lines of the pool follow.  Each executed `alloc` has a handle and
line addresses of its own (another generation); every (agent, copy) pair has an engine; every slot its own
notifications, every team its own epochs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from shmem_model.language import Element, Function, Sort
from shmem_model.machine import PROFILES
from shmem_model.machine import vocabulary as m
from shmem_model.readers.scope import Table

from . import statements as st
from . import syntax as sx
from .footprint import line_words, used_words
from .inventory import (
    SlotKey,
    SlotUse,
    allocations,
    arrivals,
    barrier_sets,
    copies,
    mentions,
    slot_key,
    slot_uses,
)
from .values import Values, values_of

TOKENS_IN_A_LOOP = 3
"""How many notifications a counting slot holds at most if a loop sends them; more make the answer unknown."""


@dataclass(frozen=True)
class Handle:
    """A region with its generation, and the numbers of its blocks."""

    name: str
    region: sx.Region
    blocks: tuple[int, ...]
    at_start: bool


class World:
    """Elements, platform and start state of one program."""

    def __init__(self, program: sx.Program, ghost: bool = True) -> None:
        self.program = program
        self.ghost = ghost
        self.values: Values = values_of(program)
        self.copies = copies(program)
        self.software = tuple(map(str, program.agents))
        self.agents = (*self.software, *(f"{agent}.{name}" for agent, name in self.copies)) or ("nobody",)
        self.handles = self._handles()
        self.head_blocks = sum(len(h.blocks) for h in self.handles if h.at_start)
        self.blocks = [(h, i) for h in self.handles for i in range(len(h.blocks))]
        used = used_words(program, self.values)
        self.words = [line_words(h.region, i, used[str(h.region.name)], ghost) for h, i in self.blocks]
        self.slots: dict[SlotKey, SlotUse] = slot_uses(program)
        self.counting = self.option("slots") == "counting"
        self.tokens = self._shares([self._tokens(use) for use in self.slots.values()])
        self.teams = [(str(t.name), tuple(map(str, t.members))) for t in program.teams]
        self.teams += [("{" + " ".join(s) + "}", s) for s in barrier_sets(program)]
        again = arrivals(program)
        self.epochs = self._shares([0 if n not in again else 2 if again[n] else 1 for n, _ in self.teams])

    # ------------------------------------------------------------ what the program does

    @cached_property
    def dies(self) -> bool:
        """Some agent may die."""
        return bool(self.program.mortal) or mentions(self.program, st.Die)

    @cached_property
    def moves(self) -> bool:
        """Frames change hands: lines are freed, allocated or moved."""
        return mentions(self.program, st.Free, st.Alloc, st.Compact)

    @cached_property
    def remaps(self) -> bool:
        """Mappings may change, or something may make a translation go away."""
        return self.moves or self.dies or mentions(self.program, st.MapRegion, st.Unmap, st.Shootdown)

    def option(self, name: str) -> str:
        """A choice of the platform: the profile's, unless the program deviates."""
        own = getattr(self.program.platform, name)
        if own is not None:
            return str(own)
        value = getattr(PROFILES[self.program.platform.profile], name)
        return ("yes" if value else "no") if isinstance(value, bool) else str(value)

    def is_cached(self, agent: str) -> bool:
        """The agent has a cache."""
        chosen = self.program.platform.cached
        if chosen is not None:
            return agent in chosen
        return agent in self.software and self.option("cached") == "all"

    # ------------------------------------------------------------ elements

    def _handles(self) -> list[Handle]:
        found: list[Handle] = []
        regions = [(r, 1, True) for r in self.program.regions]
        regions += [(r, times, False) for r, times, _ in allocations(self.program)]
        count = 0
        for region, times, at_start in regions:
            for generation in range(times):
                name = str(region.name) + (f"'{generation + 1}" if generation else "")
                found.append(Handle(name, region, tuple(range(count, count + region.lines)), at_start))
                count += region.lines
        return found

    def _tokens(self, use: SlotUse) -> int:
        if not self.counting:
            return 1
        return use.sends + TOKENS_IN_A_LOOP * use.repeating or 1

    @staticmethod
    def _shares(sizes: list[int]) -> list[range]:
        """Consecutive ranges of elements, one per owner."""
        shares, start = [], 0
        for size in sizes:
            shares.append(range(start, start + size))
            start += size
        return shares

    def place(self, handle: int, index: int) -> tuple[int, int]:
        """The block and the word (as an element) of a word of a region that the program uses."""
        line, offset = divmod(index, self.handles[handle].region.words_per_line)
        block = self.handles[handle].blocks[line]
        return block, self.words[block].index(offset)

    def word_name(self, block: int, word: int) -> str:
        """A word as it is written in programs; where no access names the word, only its line."""
        handle, line = self.blocks[block]
        if word >= len(self.words[block]):
            return f"line {line} of {handle.name}"
        return f"{handle.name}[{line * handle.region.words_per_line + self.words[block][word]}]"

    def handle(self, region: str, generation: int = 0) -> int:
        """The number of a region's handle."""
        found = [i for i, h in enumerate(self.handles) if h.region.name == region]
        return found[min(generation, len(found) - 1)]

    @cached_property
    def names(self) -> Mapping[Sort, tuple[str, ...]]:
        """What to call the elements of each sort."""
        lines = tuple(f"{h.name}.{i}" for h, i in self.blocks)
        pool = tuple(f"pool.{i}" for i in range(int(self.program.pool)))
        return {
            m.Agent: self.agents,
            m.Region: tuple(h.name for h in self.handles) or ("none",),
            m.Block: lines or ("none",),
            m.Frame: (*lines[: self.head_blocks], *pool) or ("none",),
            m.Word: tuple(f"w{i}" for i in range(max(map(len, self.words), default=1))),
            m.Value: self.values.names,
            m.Slot: tuple(f"{agent}:{slot}" for agent, slot in self.slots) or ("none",),
            m.Token: tuple(
                f"{a}:{s}/{i}" for (a, s), r in zip(self.slots, self.tokens, strict=True) for i in range(len(r))
            )
            or ("none",),
            m.Team: tuple(name for name, _ in self.teams) or ("none",),
            m.Epoch: tuple(f"{n}/{i}" for (n, _), r in zip(self.teams, self.epochs, strict=True) for i in range(len(r)))
            or ("none",),
        }

    def element(self, sort: Sort, index: int) -> Element:
        """An element as a term."""
        return Element(self.names[sort][index], sort, index)

    def agent(self, name: str) -> Element:
        """An agent as a term."""
        return self.element(m.Agent, self.agents.index(str(name)))

    def slot_number(self, agent: str, slot: str | int) -> int:
        """The number of a slot."""
        return list(self.slots).index(slot_key(agent, slot))

    def team(self, name: str) -> Element:
        """A team as a term."""
        return self.element(m.Team, [n for n, _ in self.teams].index(str(name)))

    # ------------------------------------------------------------ platform and start

    def right(self, agent: int, region: int) -> str:
        """What the access-control list says: rw, r or nothing."""
        if agent >= len(self.software) or region >= len(self.handles):
            return ""
        rights = self.handles[region].region.rights
        return next((r.right for r in rights if r.agent == self.agents[agent]), "")

    def _serves(self, engine: int, agent: int) -> bool:
        index = engine - len(self.software)
        return 0 <= index < len(self.copies) and self.copies[index][0] == self.agents[agent]

    def _may_send(self, agent: int, slot: int) -> bool:
        if agent >= len(self.software) or slot >= len(self.slots):
            return False
        key = list(self.slots)[slot]
        grants = [g for g in self.program.slots if slot_key(g.receiver, g.slot) == key]
        return not grants or any(self.agents[agent] in g.senders for g in grants)

    def platform(self) -> dict[Function, Table]:
        """Every platform function."""
        receivers = [self.agents.index(agent) for agent, _ in self.slots] or [0]
        write_back, invalidate = self.option("write_back"), self.option("invalidate")
        return {
            m.cached: lambda a: self.is_cached(self.agents[a]),
            m.line_write_back: write_back == "line",
            m.may_discard: invalidate in ("discard", "either"),
            m.may_write_back: invalidate in ("write_back", "either"),
            m.counting: self.counting,
            m.multicast: self.option("multicast") == "yes",
            m.may_read: lambda a, r: "r" in self.right(a, r),
            m.may_write: lambda a, r: "w" in self.right(a, r),
            m.fits: True,
            m.receiver: lambda s: receivers[s],
            m.may_send: self._may_send,
            m.member: lambda g, a: g < len(self.teams) and self.agents[a] in self.teams[g][1],
            m.engine: lambda a: a >= len(self.software),
            m.serves: self._serves,
            m.zero: self.values.index(0),
            m.total: self.values.total,
        }

    def start(self, translated: bool) -> dict[Function, Table]:
        """The start state: regions of the head are mapped for everybody with a right; nothing is cached.

        With `translated` all translations are cached from the start, if nothing in the program could make one go
        away: then to walk the page table early changes nothing that any step could notice.
        """
        live = range(self.head_blocks)
        owner = [self.handles.index(h) for h, _ in self.blocks]

        def may(a: int, b: int, right: str) -> bool:
            return b in live and right in self.right(a, owner[b])

        def walked(a: int, b: int, f: int, right: str) -> bool:
            return translated and not self.remaps and b == f and may(a, b, right)

        first = self._first_values()
        return {
            m.part_of: lambda b, r: b in live and owner[b] == r,
            m.at: lambda b, f: b in live and b == f,
            m.available: lambda f: f not in live,
            m.mapped: lambda a, b: may(a, b, "r"),
            m.mapped_writable: lambda a, b: may(a, b, "w"),
            m.tlb: lambda a, b, f: walked(a, b, f, "r"),
            m.tlb_writable: lambda a, b, f: walked(a, b, f, "w"),
            m.memory: first,
            m.last: first,
            m.cur: lambda a, b, w: b in live,
            m.pub: lambda a, b, w: b in live,
        }

    def _first_values(self) -> dict[tuple[int, ...], int]:
        found: dict[tuple[int, ...], int] = {}
        zero = self.values.index(0)
        for block in range(max(1, len(self.names[m.Frame]), len(self.blocks))):
            for word in range(len(self.names[m.Word])):
                found[block, word] = zero
        for init in self.program.inits:
            handle = self.handles[self.handle(init.region)]
            line, offset = divmod(int(init.index), handle.region.words_per_line)
            block = handle.blocks[line]
            if offset in self.words[block]:
                found[block, self.words[block].index(offset)] = self.values.index(int(init.value))
        return found
