"""A trace's system as a small world of the machine, in which its events are steps.

Only words that the trace touches are told apart; the rest of a line is one more word, since what happens to any of
its words happens to all.  Rights and mappings are in no trace: everybody may do everything, and everything is mapped
as soon as it is allocated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shmem_model.conformance.adapter import RegionOf, SlotOf, World
from shmem_model.conformance.relation import Relation
from shmem_model.language import Machine
from shmem_model.machine import MACHINE
from shmem_model.machine import vocabulary as m
from shmem_model.readers.scope import Scope

LINE, WORD, VALUES = 64, 8, 256
Event = Mapping[str, Any]
Events = Sequence[Event]


def region_name(handle: Sequence[int]) -> str:
    """A handle as a name."""
    return f"region {handle[0]}.{handle[1]}"


def slot_name(receiver: str, slot: int) -> str:
    """A slot as a name: it belongs to its receiver."""
    return f"{receiver}:{slot}"


class Scene:
    """The world of a trace, and where its bytes are in it."""

    def __init__(self, head: Mapping[str, Any], events: Events) -> None:
        if head["platform"].get("slots") != "counting":
            raise ValueError("only notifications that count are judged")
        self.agents: tuple[str, ...] = tuple(head["agents"])
        self.events = {agent: [e for e in events if e["agent"] == agent] for agent in self.agents}
        used = sorted({(tuple(e["region"]), at) for e in events for at in touched(e)})
        self.place: dict[tuple[tuple[int, ...], int], tuple[int, int]] = {}
        """(handle, byte) -> line and word."""
        count: dict[tuple[tuple[int, ...], int], int] = {}
        for handle, at in used:
            line = at // LINE
            self.place[handle, at] = line, count.get((handle, line), 0)
            count[handle, line] = self.place[handle, at][1] + 1
        self.world = _world(head, events, 1 + max(count.values(), default=0))
        self.relation = Wide(self.world, sum(e["action"] == "send" for e in events))


class Wide(Relation):
    """A relation with so many notifications that none ever lacks a token."""

    def __init__(self, world: World, tokens: int) -> None:
        self.tokens = max(1, tokens)
        super().__init__(world)

    def _scope(self, machine: Machine = MACHINE) -> Scope:
        scope = super()._scope(machine)
        return replace(scope, sizes={**scope.sizes, m.Token: self.tokens})


def touched(event: Event) -> Iterator[int]:
    """Where the words are that an event reads or writes."""
    if event["action"] in ("read", "write", "atomic_add"):
        first, length = event["range"]
        if first % WORD or length % WORD:
            raise ValueError(f"{event['action']} of bytes {first} to {first + length}: only whole words are judged")
        yield from range(first, first + length, WORD)


def covered(event: Event) -> range:
    """The lines of the range of an event."""
    first, length = event["range"]
    return range(first // LINE, -(-(first + length) // LINE))


def _world(head: Mapping[str, Any], events: Events, words: int) -> World:
    agents, platform = tuple(head["agents"]), head["platform"]
    sizes: dict[str, int] = {}
    for e in events:
        if "region" in e:
            name, last = region_name(e["region"]), covered(e).stop if "range" in e else 1
            sizes[name] = max(sizes.get(name, 1), last)
    receivers = {(e["to"], e["slot"]) for e in events if e["action"] == "send"}
    receivers |= {(e["agent"], e["slot"]) for e in events if e["action"] in ("wait", "poll")}
    teams = {e["team"]: tuple(e["members"]) for e in events if e["action"] == "arrive"}
    return World(
        name="trace",
        agents=agents,
        regions={name: RegionOf(n, dict.fromkeys(agents, "rw"), False, False) for name, n in sizes.items()},
        slots={slot_name(to, slot): SlotOf(to, agents) for to, slot in sorted(receivers)},
        teams=teams,
        cached=tuple(platform["cached"]),
        write_back=platform["write_back"],
        invalidate=platform["invalidate"],
        notify="counting",
        words=words,
        values=VALUES,
        frames=sum(sizes.values()) or 1,
    )
