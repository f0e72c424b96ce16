"""What is compared after every step: the machine's functions, as plain sets under the world's names.

`TABLE` is the whole of it.  Agents, regions, slots and teams have the world's names, a block is (region, line), frames
and words are numbers.  Not compared: the ghost functions, which an implementation does not have, and values where they
mean nothing (`data` of a line that is not cached, `posted_data` of a word that is not posted).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import compress
from typing import Any

from shmem_model.conformance.relation import Relation
from shmem_model.language import Function
from shmem_model.machine import vocabulary as m
from shmem_model.readers.quick import Quick
from shmem_suite.differential.reference import ReferenceAdapter

State = Mapping[str, Any]
Block = tuple[str, int]
SETS = (
    "valid", "dirty", "posted", "tlb", "tlb_writable", "part_of", "at", "available", "mapped", "mapped_writable",
    "frozen", "dead", "inside", "collecting", "gb_open", "gb_acked", "copying", "retired",
)  # fmt: skip
VALUES = ("data", "posted_data", "memory", "pending")
TABLE: Mapping[str, str] = {
    "valid": "(agent, frame)",
    "dirty": "(agent, frame, word)",
    "data": "(agent, frame, word) -> value, of cached lines",
    "posted": "(agent, frame, word)",
    "posted_data": "(agent, frame, word) -> value, of posted words",
    "memory": "(frame, word) -> value",
    "tlb": "(agent, block, frame)",
    "tlb_writable": "(agent, block, frame)",
    "part_of": "block: a line of a live region",
    "retired": "region: its handle has been freed",
    "at": "(block, frame)",
    "available": "frame",
    "mapped": "(agent, block)",
    "mapped_writable": "(agent, block)",
    "frozen": "block",
    "pending": "slot -> number of notifications",
    "inside": "(team, living agent): it has arrived and not left (`arrived`, `left` up to the names of epochs)",
    "collecting": "team: somebody has arrived and somebody is missing",
    "gb_open": "(agent, team, region)",
    "gb_acked": "(agent, member, block), of live lines, while it is open",
    "copying": "(agent, block, word, block, word), of the engine's work",
    "dead": "agent",
}
"""What is compared, and in which form."""


class MachineSide:
    """The machine's state in that form; `blocks` says which (region, line) a block stands for now."""

    def __init__(self, quick: Quick, relation: Relation, blocks: Mapping[int, Block]) -> None:
        self.quick, self.relation, self.blocks = quick, relation, blocks
        self.places = {f: list(relation.scope.places(f)) for f in quick.scope.machine.state}
        self.index = {place: i for i, place in enumerate(self.places[m.tlb])}
        self.last = len(relation.agents)

    def _true(self, function: Function) -> list[tuple[int, ...]]:
        return list(compress(self.places[function], self.quick.cells(function)))

    def _values(self, function: Function) -> dict[tuple[int, ...], int]:
        return dict(zip(self.places[function], self.quick.cells(function), strict=True))

    def state(self) -> dict[str, Any]:
        """Everything in `TABLE`."""
        a, block = self.relation.agents, self.blocks
        valid, posted = self._true(m.valid), self._true(m.posted)
        data, late = self._values(m.data), self._values(m.posted_data)
        words = range(self.relation.world.words)
        part_of = {(block[b], self.relation.regions[r]) for b, r in self._true(m.part_of)}
        return {
            "valid": {(a[i], f) for i, f in valid},
            "dirty": {(a[i], f, w) for i, f, w in self._true(m.dirty)},
            "data": {(a[i], f, w): data[i, f, w] for i, f in valid for w in words},
            "posted": {(a[i], f, w) for i, f, w in posted},
            "posted_data": {(a[i], f, w): late[i, f, w] for i, f, w in posted},
            "memory": self._values(m.memory),
            "tlb": {(a[i], block[b], f) for i, b, f in self._true(m.tlb)},
            "tlb_writable": {(a[i], block[b], f) for i, b, f in self._true(m.tlb_writable) if i < self.last},
            "part_of": {b for b, _ in part_of},
            "at": {(block[b], f) for b, f in self._true(m.at)},
            "available": {f for (f,) in self._true(m.available)},
            "mapped": {(a[i], block[b]) for i, b in self._true(m.mapped)},
            "mapped_writable": {(a[i], block[b]) for i, b in self._true(m.mapped_writable)},
            "frozen": {block[b] for (b,) in self._true(m.frozen)},
            "dead": {a[i] for (i,) in self._true(m.dead)},
            "retired": {self.relation.regions[r] for (r,) in self._true(m.retired)},
            **self._agreements(),
        }

    def spontaneous(self) -> int:
        """How many steps hardware could take by itself: walks only where there is no entry yet."""
        cells, place = self.quick.cells(m.tlb), self.index
        steps = self.quick.enabled(("fill", "evict", "drain", "translate"))
        return sum(name != "translate" or not cells[place[arguments]] for name, arguments in steps)

    def _agreements(self) -> dict[str, Any]:
        a, teams, block = self.relation.agents, self.relation.teams, self.blocks
        gone = set(self._true(m.left))
        open_ = self._true(m.gb_open)
        asked = {(i, r) for i, _, r in open_}
        live = {place[0]: place[1] for place in self._true(m.part_of)}
        dead = {i for (i,) in self._true(m.dead)}
        pending: dict[str, int] = {}
        for _, s in self._true(m.pending):
            pending[self.relation.slots[s]] = pending.get(self.relation.slots[s], 0) + 1
        return {
            "inside": {
                (teams[g], a[i]) for g, e, i in self._true(m.arrived) if (g, e, i) not in gone and i not in dead
            },
            "collecting": {teams[g] for g, _ in self._true(m.collecting)},
            "gb_open": {(a[i], teams[g], self.relation.regions[r]) for i, g, r in open_},
            "gb_acked": {(a[i], a[c], block[b]) for i, c, b in self._true(m.gb_acked) if (i, live.get(b, -1)) in asked},
            "pending": pending,
            "copying": {(a[e - self.last], block[b], w, block[c], p) for e, b, w, c, p in self._true(m.copying)},
        }


class AdapterSide:
    """The same of the reference implementation, out of `system.hardware.state()`."""

    def __init__(self, adapter: ReferenceAdapter) -> None:
        self.adapter = adapter
        self.names: dict[tuple[int, int], str] = {}
        """(number, generation) of a handle -> the region's name in the world."""

    def state(self) -> dict[str, Any]:
        """Everything in `TABLE`."""
        ad = self.adapter
        raw = ad.hardware.state(ad.frame)
        self.names = {(h.id, h.generation): name for name, h in ad.handles.items()}
        word = {k * ad.apart: k for k in range(ad.world.words)}
        agent, frame, small = ad.inside, ad.frame, ad._small
        return {
            "valid": {(agent[a], frame[f]) for a, f in raw["valid"]},
            "dirty": {(agent[a], frame[f], word[w]) for a, f, w in raw["dirty"] if w in word},
            "data": {(agent[a], frame[f], word[w]): small(v) for (a, f, w), v in raw["data"].items() if w in word},
            "posted": {(agent[a], frame[f], word[w]) for a, f, w in raw["posted"] if w in word},
            "posted_data": {
                (agent[a], frame[f], word[w]): small(v) for (a, f, w), v in raw["posted_data"].items() if w in word
            },
            "memory": {(frame[f], word[w]): small(v) for (f, w), v in raw["memory"].items() if w in word},
            "tlb": {(agent[a], self._block(b), frame[f]) for a, b, f in raw["tlb"]},
            "tlb_writable": {(agent[a], self._block(b), frame[f]) for a, b, f in raw["tlb_writable"]},
            "part_of": {self._block(b) for b, _ in raw["part_of"] if b[:2] in self.names},
            "at": {(self._block(b), frame[f]) for b, f in raw["at"] if b[:2] in self.names},
            "available": {frame[f] for start, n in raw["available"] for f in range(start, start + n, 64)},
            "mapped": {(agent[a], self._block(b)) for a, b in raw["mapped"]},
            "mapped_writable": {(agent[a], self._block(b)) for a, b in raw["mapped_writable"]},
            "frozen": {self._block(b) for b in raw["frozen"]},
            "dead": {agent[a] for a in raw["dead"]},
            "retired": {name for key, name in self.names.items() if key in raw["retired"]},
            **self._agreements(raw),
        }

    def spontaneous(self) -> int:
        """How many steps the adversary has to choose among."""
        return sum(1 for _ in self.adapter.hardware.hardware.steps())

    def _block(self, block: tuple[int, int, int]) -> Block:
        return self.names[block[:2]], block[2]

    def _agreements(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        ad = self.adapter
        slots = {(ad.agents[to].name, number): name for name, (to, number) in ad.slots.items()}
        teams = {tuple(ad.agents[x].name for x in members): name for name, members in ad.world.teams.items()}
        word = {k * ad.apart: k for k in range(ad.world.words)}
        gone = raw["left"]
        return {
            "inside": {
                (g, ad.inside[a]) for g, e, a in raw["arrived"] if (g, e, a) not in gone and a not in raw["dead"]
            },
            "collecting": {g for g, _ in raw["collecting"]},
            "gb_open": {(ad.inside[a], teams[x], self.names[r]) for a, x, r in raw["gb_open"]},
            "gb_acked": {(ad.inside[a], ad.inside[c], self._block(b)) for a, c, b in raw["gb_acked"]},
            "pending": {slots[s]: n for s, n in raw["pending"].items() if n},
            "copying": {
                (ad.inside[a], self._block(b), word[w], self._block(c), word[p]) for a, b, w, c, p in raw["copying"]
            },
        }


def differences(machine: State, other: State) -> list[str]:
    """In words, where two projections differ: function by function, what only one of them has."""
    told = []
    for name in TABLE:
        one, two = machine[name], other[name]
        if one == two:
            continue
        if isinstance(one, dict):
            keys = sorted(k for k in one.keys() | two.keys() if one.get(k) != two.get(k))
            told += [f"{name}{k}: {one.get(k, '-')} in the machine, {two.get(k, '-')} here" for k in keys]
        else:
            told += [f"{name}{k}: in the machine only" for k in sorted(one - two, key=str)]
            told += [f"{name}{k}: here only" for k in sorted(two - one, key=str)]
    return told
