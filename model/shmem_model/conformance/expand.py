"""Which steps of the machine a call of an adapter stands for.

A call names lines of regions, slots and teams; the machine's action also names the block, the frame, the token, the
epoch or the engine.  Those are found here, in the machine's current state: one call gives one or more *ways*, and a
way is a list of steps (a region of several lines is mapped, unmapped, freed line by line).

The i-th line of a live region is its i-th block.  A call for which the machine has nothing to say (of a dead agent, on
a handle that was never given) gives no way: it is never made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

from shmem_model.conformance.adapter import SIGNATURES, World
from shmem_model.conformance.relation import TOKENS, Relation
from shmem_model.language import Function
from shmem_model.machine import vocabulary as m
from shmem_model.readers.concrete import Call
from shmem_model.readers.quick import Quick

Arguments = Mapping[str, Any]
Way = list[Call]


class View:
    """The machine's current state, asked with the names of a world."""

    def __init__(self, relation: Relation, quick: Quick) -> None:
        self.relation, self.quick = relation, quick
        scope = relation.scope
        self.place = {f: {p: i for i, p in enumerate(scope.places(f))} for f in scope.machine.state}
        self.blocks, self.frames = range(scope.size(m.Block)), range(relation.world.frames)
        self.everybody = range(scope.size(m.Agent))
        self._index: dict[str, dict[str, int]] = {}
        for key, names in (
            ("agent", relation.agents), ("of", relation.agents), ("member", relation.agents), ("slot", relation.slots),
            ("region", relation.regions), ("to_region", relation.regions), ("team", relation.teams),
        ):  # fmt: skip
            self._index[key] = {name: i for i, name in enumerate(names)}

    def on(self, function: Function, *place: int) -> int:
        """The value of a function at a place."""
        return self.quick.cells(function)[self.place[function][place]]

    def number(self, kw: Arguments, key: str) -> int:
        """The element that an argument names."""
        names = self._index.get(key)
        return int(kw[key]) if names is None else names[kw[key]]

    def lines(self, region: int) -> list[int]:
        """The blocks of a region, in the order of its lines."""
        return [b for b in self.blocks if self.on(m.part_of, b, region)]

    def known(self, region: int) -> bool:
        """The handle has been given out (and perhaps has been freed since)."""
        return bool(self.on(m.retired, region) or self.lines(region))

    def block(self, kw: Arguments, region: str = "region", line: str = "line") -> int:
        """The block of a line; of a handle that was freed, one that is not its any more."""
        lines = self.lines(self.number(kw, region))
        return lines[kw[line]] if lines else 0

    def home(self, block: int) -> int:
        """The frame in which a block lives (0 where it lives nowhere)."""
        return next((f for f in self.frames if self.on(m.at, block, f)), 0)

    def through(self, agent: int, block: int) -> list[int]:
        """The frames to which the agent's access may go: by its translations, or where the block lives."""
        held = [f for f in self.frames if self.on(m.tlb, agent, block, f)]
        return held or [self.home(block)]

    def unused(self) -> list[int]:
        """Blocks that can be given out."""
        live = {b for b in self.blocks for r in range(len(self.relation.regions)) if self.on(m.part_of, b, r)}
        old = {b for a, b, f in self.place[m.tlb] if self.on(m.tlb, a, b, f)}
        return [b for b in self.blocks if b not in live and b not in old]

    def speaks(self, action: str, kw: Arguments) -> bool:
        """The machine has something to say of this call now."""
        actor = kw.get("agent") if action not in ("evict", "drain", "lose", "reclaim", "shootdown", "gb_ack") else None
        if action in ("fill", "translate"):
            actor = None
        if actor is not None and self.on(m.dead, self.number(kw, "agent")):
            return False
        if action.startswith("gb_") and kw["agent"] in self.relation.world.teams[kw["team"]]:
            return False  # whether the writer's own engine has to answer it is left to the implementation
        if action == "alloc":
            return not self.known(self.number(kw, "region"))
        software = self.relation.scope.machine.actions[action].group == "software"
        there = self.known if software else self.lines  # only programs hold on to handles that were freed
        return all(there(self.number(kw, key)) for key in ("region", "to_region") if key in kw)


Expansion = Callable[[View, Arguments], Iterator[Way]]


def _access(name: str, *rest: str) -> Expansion:
    def expand(view: View, kw: Arguments) -> Iterator[Way]:
        a, r, b = view.number(kw, "agent"), view.number(kw, "region"), view.block(kw)
        for f in view.through(a, b):
            yield [(name, (a, r, b, f, *(int(kw[key]) for key in rest)))]

    return expand


def _plain(name: str, *keys: str) -> Expansion:
    def expand(view: View, kw: Arguments) -> Iterator[Way]:
        yield [(name, tuple(view.number(kw, key) for key in keys))]

    return expand


def _lines(name: str, *rest: str) -> Expansion:
    """One step for every line of the region: agent(s), region, block, and the rest."""

    def expand(view: View, kw: Arguments) -> Iterator[Way]:
        r = view.number(kw, "region")
        who = [view.number(kw, key) for key in ("agent", "of") if key in kw]
        tail = tuple(int(kw[key]) for key in rest)
        homes = {b: (view.home(b),) if name == "free" else () for b in view.blocks}
        yield [(name, (*who, r, b, *homes[b], *tail)) for b in view.lines(r) or [0]]

    return expand


def _invalidate(view: View, kw: Arguments) -> Iterator[Way]:
    choices = {"discard": (0,), "write_back": (1,), "either": (0, 1)}[view.relation.world.invalidate]
    if kw.get("keep") is not None:
        choices = (int(kw["keep"]),)
    a, r, b = view.number(kw, "agent"), view.number(kw, "region"), view.block(kw)
    for f, keep in product(view.through(a, b), choices):
        yield [("invalidate", (a, r, b, f, keep))]


def _send(view: View, kw: Arguments) -> Iterator[Way]:
    a, s = view.number(kw, "agent"), view.number(kw, "slot")
    held = [t for t in range(TOKENS) if view.on(m.pending, t, s)]
    idle = [t for t in range(TOKENS) if not any(view.on(m.pending, t, z) for z in range(len(view.relation.slots)))]
    joins = bool(held) and view.relation.world.notify == "sticky"
    yield [("send", (a, s, ((held if joins else idle) or [0])[0]))]


def _take(name: str) -> Expansion:
    def expand(view: View, kw: Arguments) -> Iterator[Way]:
        a, s = view.number(kw, "agent"), view.number(kw, "slot")
        held = [t for t in range(TOKENS) if view.on(m.pending, t, s)]
        got = (int(bool(held)),) if name == "poll" else ()
        yield [(name, (a, s, (held or [0])[0], *got))]

    return expand


def _arrive(view: View, kw: Arguments) -> Iterator[Way]:
    """An implementation may fence before it arrives, or leave that to the program."""
    a, g = view.number(kw, "agent"), view.number(kw, "team")
    under_way = [e for e in range(view.relation.epochs) if view.on(m.collecting, g, e)]
    for e in under_way or range(view.relation.epochs):
        if view.quick.answer("arrive", (a, g, e)).done:
            yield [("arrive", (a, g, e))]
            yield [("fence", (a,)), ("arrive", (a, g, e))]
            return
    yield [("arrive", (a, g, 0))]


def _leave(view: View, kw: Arguments) -> Iterator[Way]:
    a, g = view.number(kw, "agent"), view.number(kw, "team")
    own = [e for e in range(view.relation.epochs) if view.on(m.arrived, g, e, a) and not view.on(m.left, g, e, a)]
    yield [("leave", (a, g, (own or [0])[0]))]


def _copy_start(view: View, kw: Arguments) -> Iterator[Way]:
    a, r, s = view.number(kw, "agent"), view.number(kw, "region"), view.number(kw, "to_region")
    source, target = view.block(kw), view.block(kw, "to_region", "to_line")
    yield [("copy_start", (a, view.relation.engine(a), r, source, kw["word"], s, target, kw["to_word"]))]


def _copy_step(view: View, kw: Arguments) -> Iterator[Way]:
    a, source, target = view.number(kw, "agent"), view.block(kw), view.block(kw, "to_region", "to_line")
    places = (source, view.home(source), kw["word"], target, view.home(target), kw["to_word"])
    yield [("copy_step", (view.relation.engine(a), a, *places))]


def _copy_wait(view: View, kw: Arguments) -> Iterator[Way]:
    a = view.number(kw, "agent")
    yield [("copy_wait", (a, view.relation.engine(a)))]


def _at_home(name: str, framed: bool = True) -> Expansion:
    """Hardware and driver steps on a line: (agent, block), with the frame in which it lives."""

    def expand(view: View, kw: Arguments) -> Iterator[Way]:
        a, b = view.number(kw, "agent"), view.block(kw)
        for f in view.through(a, b) if name == "fill" else [view.home(b)]:
            yield [(name, (a, b, f) if framed else (a, b))]

    return expand


def _block(name: str) -> Expansion:
    def expand(view: View, kw: Arguments) -> Iterator[Way]:
        b = view.block(kw)
        yield [(name, (b, view.home(b), kw["frame"]) if name == "migrate" else (b,))]

    return expand


def _gb_ack(view: View, kw: Arguments) -> Iterator[Way]:
    b = view.block(kw)
    who = (view.number(kw, "agent"), view.number(kw, "team"), view.number(kw, "region"), view.number(kw, "member"))
    yield [("gb_ack", (*who, b, view.home(b)))]


EXPANSIONS: Mapping[str, Expansion] = {
    "free": _lines("free"),
    "map": _lines("map", "writable"),
    "unmap": _lines("unmap"),
    "read": _access("read", "word"),
    "write": _access("write", "word", "value"),
    "flush": _access("flush", "drop"),
    "invalidate": _invalidate,
    "fence": _plain("fence", "agent"),
    "send": _send,
    "wait": _take("wait"),
    "poll": _take("poll"),
    "arrive": _arrive,
    "leave": _leave,
    "gb_begin": _plain("gb_begin", "agent", "team", "region"),
    "gb_end": _plain("gb_end", "agent", "team", "region"),
    "atomic_add": _access("atomic_add", "word", "value"),
    "atomic_swap": _access("atomic_swap", "word", "value"),
    "compare_swap": _access("compare_swap", "word", "old", "new"),
    "copy_start": _copy_start,
    "copy_wait": _copy_wait,
    "fill": _at_home("fill"),
    "evict": _plain("evict", "agent", "frame"),
    "drain": _plain("drain", "agent", "frame"),
    "translate": _at_home("translate"),
    "lose": _plain("lose", "agent", "frame"),
    "copy_step": _copy_step,
    "shootdown": _at_home("shootdown", framed=False),
    "scrub": _plain("scrub", "frame"),
    "freeze": _block("freeze"),
    "migrate": _block("migrate"),
    "unfreeze": _block("unfreeze"),
    "gb_ack": _gb_ack,
    "reclaim": _at_home("reclaim"),
    "die": _plain("die", "agent"),
}
"""Every action but `alloc`, whose places the implementation chooses (see `oracle`)."""


def alphabet(world: World, actions: tuple[str, ...]) -> list[tuple[str, dict[str, Any]]]:
    """Every call of these actions with every argument that the world has, in a fixed order."""
    domains: dict[str, list[Any]] = {
        "agent": list(world.agents), "of": list(world.agents), "member": list(world.agents),
        "slot": list(world.slots), "team": list(world.teams), "word": list(range(world.words)),
        "to_word": list(range(world.words)), "frame": list(range(world.frames)), "drop": [False, True],
        "writable": [False, True], "region": list(world.regions), "to_region": list(world.regions),
        "value": list(range(world.values)), "old": list(range(world.values)), "new": list(range(world.values)),
        "line": list(range(max(r.lines for r in world.regions.values()))),
    }  # fmt: skip
    domains["to_line"] = domains["line"]
    calls = []
    for action in actions:
        keys = SIGNATURES[action]
        for values in product(*(domains[key] for key in keys)):
            kw = dict(zip(keys, values, strict=True))
            if all(kw.get(n, 0) < world.regions[kw[r]].lines for r, n in _PAIRS if r in kw):
                calls.append((action, kw))
    return calls


_PAIRS = (("region", "line"), ("to_region", "to_line"))
