"""Adapters: the one shape in which an implementation is driven, whatever it is written in.

An adapter is a plain object, no subclass of anything.  It has one method for each action of the machine that the
implementation has, under the machine's name, with the keyword arguments of `SIGNATURES`.  Agents, regions, slots and
teams are the names that the `World` gives; lines count inside of a region, words inside of a line, frames from the
start of the pool; values are small numbers.

A method returns what the action returns (`RESULTS`).  It raises an exception whose class has the name of a refusal or
fault (`NotMapped`, `StaleHandle`, ...), of whatever module; it raises `WouldBlock`, at once, where the call would have
to wait for somebody else.  Any other exception is a failure of the implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

REFUSALS = (
    "StaleHandle", "InvalidArgument", "NotPermitted", "PeerLost", "RegionBusy", "Fragmented", "OutOfMemory",
)  # fmt: skip
FAULTS = ("NotMapped", "ReadOnly", "Frozen")
WAITS = "WouldBlock"

_ACCESS = ("agent", "region", "line", "word")
_LINE = ("agent", "region", "line")

SIGNATURES: Mapping[str, tuple[str, ...]] = {
    # software: what every implementation has, as far as it has the thing at all
    "alloc": ("agent", "region"),
    "free": ("agent", "region"),
    "map": ("agent", "region", "writable"),
    "unmap": ("agent", "of", "region"),
    "read": _ACCESS,
    "write": (*_ACCESS, "value"),
    "flush": (*_LINE, "drop"),
    "invalidate": _LINE,
    "fence": ("agent",),
    "send": ("agent", "slot"),
    "wait": ("agent", "slot"),
    "poll": ("agent", "slot"),
    "arrive": ("agent", "team"),
    "leave": ("agent", "team"),
    "gb_begin": ("agent", "team", "region"),
    "gb_end": ("agent", "team", "region"),
    "atomic_add": (*_ACCESS, "value"),
    "atomic_swap": (*_ACCESS, "value"),
    "compare_swap": (*_ACCESS, "old", "new"),
    "copy_start": (*_ACCESS, "to_region", "to_line", "to_word"),
    "copy_wait": ("agent",),
    # hardware, driver and faults: only where they can be commanded
    "fill": _LINE,
    "evict": ("agent", "frame"),
    "drain": ("agent", "frame"),
    "translate": _LINE,
    "lose": ("agent", "frame"),
    "copy_step": (*_ACCESS, "to_region", "to_line", "to_word"),
    "shootdown": _LINE,
    "scrub": ("frame",),
    "freeze": ("region", "line"),
    "migrate": ("region", "line", "frame"),
    "unfreeze": ("region", "line"),
    "gb_ack": ("agent", "team", "region", "member", "line"),
    "reclaim": _LINE,
    "die": ("agent",),
}
"""The keyword arguments of each method.

`unmap(agent, of, region)`: the agent removes the mapping of another (or its own).  `gb_ack(agent, ..., member, ...)`:
the member's engine answers the agent that began.  Where the platform leaves open what an invalidate does with dirty
words, an adapter that can choose takes `keep` as well.
"""

RESULTS: Mapping[str, str] = {
    "alloc": "the frames of its lines, in order, as a list of numbers; None where that is unknown",
    "read": "the word, a number",
    "poll": "whether there was a notification, a bool",
    "atomic_add": "the value before, a number",
    "atomic_swap": "the value before, a number",
    "compare_swap": "the value before, a number",
}
"""What the methods return that return something; all others return None."""


class WouldBlock(Exception):
    """Raised by an adapter: the call would wait for somebody else (fence, wait, leave, gb_end, copy_wait)."""


@dataclass(frozen=True)
class RegionOf:
    """A handle: `lines` lines of the world's words; `rights` by agent ("rw", "r" or ""); live and mapped at the start,
    or a handle that `alloc` is still to give."""

    lines: int = 1
    rights: Mapping[str, str] = field(default_factory=dict)
    live: bool = True
    mapped: bool = True


@dataclass(frozen=True)
class SlotOf:
    """A notification slot: to whom it belongs, and who was granted to send to it."""

    receiver: str
    senders: tuple[str, ...]


@dataclass(frozen=True)
class World:
    """The small world that an adapter is to build before the first call; everything in it can be written as JSON.

    `agents` run programs; with `engines` each of them has a copy engine of its own.  `windows` says in which frames
    (first, and one past the last) a region may lie; without an entry it may lie anywhere.  Slots are `sticky` or
    `counting` (`notify`).
    """

    name: str
    agents: tuple[str, ...]
    regions: Mapping[str, RegionOf]
    slots: Mapping[str, SlotOf] = field(default_factory=dict)
    teams: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cached: tuple[str, ...] = ()
    write_back: str = "line"
    invalidate: str = "discard"
    notify: str = "sticky"
    multicast: bool = False
    words: int = 2
    values: int = 2
    frames: int = 1
    windows: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    engines: bool = False

    def as_json(self) -> dict[str, Any]:
        """The world as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> World:
        """The world that `as_json` wrote."""
        plain: dict[str, Any] = dict(data)
        plain["regions"] = {name: RegionOf(**region) for name, region in data["regions"].items()}
        plain["slots"] = {
            name: SlotOf(slot["receiver"], tuple(slot["senders"])) for name, slot in data["slots"].items()
        }
        plain["teams"] = {name: tuple(members) for name, members in data["teams"].items()}
        plain["windows"] = {name: (first, end) for name, (first, end) in data["windows"].items()}
        for key in ("agents", "cached"):
            plain[key] = tuple(data[key])
        return cls(**plain)


Factory = Callable[[World], Any]
"""Makes an adapter for a world, in its start state; `close()` is called at the end if the adapter has it.

A world that the implementation cannot be (two regions, counting slots) is declined by raising NotImplementedError
with the reason; it is then reported as not run.
"""


def capabilities(adapter: Any) -> frozenset[str]:
    """The actions that an adapter has: its attribute `capabilities`, or the names of `SIGNATURES` that are methods."""
    told = getattr(adapter, "capabilities", None)
    if told is None:
        return frozenset(name for name in SIGNATURES if callable(getattr(adapter, name, None)))
    unknown = sorted(set(told) - set(SIGNATURES))
    if unknown:
        raise ValueError(f"the adapter's capabilities name {', '.join(unknown)}, which are no actions of the machine")
    return frozenset(told)
