"""Named scopes: the small worlds in which the machine is explored from end to end, and what was counted there.

Each scope keeps to one concern and to the actions that it needs, so that its space stays bounded and small enough.
The counts in `scopes_pinned.json` are compared with every exploration: a machine that does less, or more, shows there
even if no theorem minds.  `python -m shmem_model.scopes --pin [NAME...]` explores and rewrites them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shmem_model.language import LanguageError
from shmem_model.machine import PROFILES, Profile
from shmem_model.readers.explorer import Exploration, explore
from shmem_model.readers.scope import Scope
from shmem_model.readers.setting import Setting

PINNED = Path(__file__).with_name("scopes_pinned.json")
SIZES = ("small", "medium", "large", "huge")
"""Up to 10^5 states, up to 10^6, up to 10^7, more."""


@dataclass(frozen=True)
class NamedScope:
    """A setting with a name, a sentence, and how large its space is."""

    name: str
    sentence: str
    size: str
    setting: Setting

    def scope(self) -> Scope:
        """The machine in this setting."""
        return self.setting.scope(self.name)


_CACHES = ("fill", "evict", "drain", "read", "write", "flush", "invalidate", "fence")
_HARDWARE = ("fill", "evict", "write", "flush", "drain")
_DIRECT = ("read", "write", "drain", "fence")
_LINES = ("alloc", "free", "scrub", "map", "unmap", "translate", "shootdown")
_MOVES = ("freeze", "migrate", "unfreeze", "translate", "shootdown", "scrub")
_DEATH = ("die", "lose", "reclaim", "translate", "shootdown")
_BARRIER = ("arrive", "leave")
_GLOBAL = ("gb_begin", "gb_ack", "gb_end")
_ATOMICS = ("atomic_add", "atomic_swap", "compare_swap")
_COPIES = ("copy_start", "copy_step", "copy_wait")
_MASKED = Profile("masked", write_back="masked", invalidate="discard")
_WRITES_BACK = Profile("writes-back", invalidate="write_back")
_DOORBELL = Profile("doorbell", invalidate="discard", slots="counting")
_ALONE = Setting(agents=1, receivers=(0,), teams=((0,),))
_TWO = Setting(translated=True)
_THREE = Setting(agents=3, teams=((0, 1, 2),), translated=True)
_ENGINE = Setting(agents=3, engines=1, words=2, translated=True)

_ALL = (
    NamedScope("caches", "two caching agents and one word", "small", _TWO.but(actions=_CACHES)),
    NamedScope(
        "caches-either-invalidate",
        "an invalidate may discard or write back",
        "small",
        _TWO.but(actions=_CACHES, profile=PROFILES["weakest"]),
    ),
    NamedScope(
        "caches-invalidate-writes-back",
        "an invalidate acts as a flush",
        "small",
        _TWO.but(actions=_CACHES, profile=_WRITES_BACK),
    ),
    NamedScope(
        "caches-masked",
        "dirty bytes only are written back; one agent has no cache",
        "large",
        _TWO.but(actions=_CACHES, words=2, cached=(0,), profile=_MASKED),
    ),
    NamedScope(
        "caches-two-words",
        "whole lines of two words are written back",
        "large",
        _TWO.but(actions=_CACHES, words=2),
    ),
    NamedScope("uncached", "a cache beside an agent without one", "small", _TWO.but(actions=_CACHES, cached=(0,))),
    NamedScope(
        "coherent",
        "no caches at all, stores still wait in buffers; slots count",
        "small",
        _TWO.but(actions=(*_DIRECT, "send", "wait", "poll"), profile=PROFILES["coherent"], tokens=2),
    ),
    NamedScope(
        "sticky-slot",
        "notifications through an event register",
        "medium",
        _TWO.but(actions=(*_CACHES, "send", "wait", "poll")),
    ),
    NamedScope(
        "counting-slot",
        "notifications through a doorbell that counts to two",
        "large",
        _TWO.but(actions=(*_CACHES, "send", "wait"), profile=_DOORBELL, tokens=2),
    ),
    NamedScope(
        "two-slots",
        "a slot in either direction",
        "medium",
        _TWO.but(
            actions=("fill", "write", "flush", "drain", "fence", "send", "wait", "poll"), receivers=(0, 1), tokens=2
        ),
    ),
    NamedScope(
        "barrier-two-teams",
        "two teams of three and two agents, epochs used again, agents die",
        "small",
        _THREE.but(teams=((0, 1, 2), (0, 1)), epochs=2, actions=(*_BARRIER, "die")),
    ),
    NamedScope(
        "barrier-three",
        "three agents without caches hand data over by a barrier, and die",
        "medium",
        _THREE.but(epochs=2, cached=(), actions=(*_BARRIER, "die", "write", "drain", "fence")),
    ),
    NamedScope(
        "barrier-cached",
        "two agents hand over lines in caches by a barrier",
        "medium",
        _TWO.but(actions=(*_CACHES, *_BARRIER)),
    ),
    NamedScope(
        "global-barrier",
        "two agents ask for each other's lines, and die",
        "medium",
        _TWO.but(actions=(*_GLOBAL, *_HARDWARE, "fence", "invalidate", "die")),
    ),
    NamedScope(
        "global-barrier-multicast",
        "three agents, one message reaches all",
        "medium",
        _THREE.but(cached=(0, 1), profile=PROFILES["soc"], actions=(*_GLOBAL, *_HARDWARE)),
    ),
    NamedScope(
        "global-barrier-three",
        "three agents, one message each",
        "huge",
        _THREE.but(cached=(0, 1), actions=(*_GLOBAL, *_HARDWARE, "fence")),
    ),
    NamedScope(
        "atomics",
        "atomics beside caches",
        "small",
        _TWO.but(actions=(*_CACHES, "atomic_add", "compare_swap")),
    ),
    NamedScope(
        "atomics-two-words",
        "atomics on one word hand over another",
        "small",
        _TWO.but(words=2, cached=(0,), actions=(*_ATOMICS, *_DIRECT)),
    ),
    NamedScope(
        "copies",
        "a copy engine works for an agent without a cache",
        "large",
        _ENGINE.but(cached=(), actions=(*_COPIES, *_DIRECT)),
    ),
    NamedScope(
        "copies-two-engines",
        "two engines for two agents that die",
        "small",
        _ENGINE.but(agents=4, engines=2, cached=(), actions=(*_COPIES, "die")),
    ),
    NamedScope(
        "translation",
        "lines mapped, unmapped and shot down; one agent may only read",
        "small",
        Setting(actions=(*_HARDWARE, "map", "unmap", "translate", "shootdown", "read"), rights={(1, 0): "r"}),
    ),
    NamedScope(
        "lines-alone",
        "one agent allocates, uses, frees and allocates again",
        "small",
        _ALONE.but(regions=2, frames=2, actions=(*_LINES, *_CACHES)),
    ),
    NamedScope(
        "lines-reused",
        "a frame is given to the next region",
        "small",
        Setting(regions=2, frames=2, actions=(*_LINES, "fill", "evict")),
    ),
    NamedScope(
        "lines-reused-data",
        "a frame is given to the next region while caches and buffers hold lines, and agents die",
        "medium",
        Setting(regions=2, cached=(0,), actions=(*_LINES, *_HARDWARE, "lose", "die")),
    ),
    NamedScope(
        "lines-given-back",
        "three agents, three lines of three regions (wider than 64 bits)",
        "medium",
        Setting(
            agents=3,
            regions=3,
            blocks=3,
            frames=3,
            lines=(0, 1, 2),
            actions=("free", "scrub", "unmap", "translate", "shootdown"),
        ),
    ),
    NamedScope(
        "compaction-alone",
        "a line of one agent moves to and fro",
        "small",
        _ALONE.but(frames=2, actions=(*_MOVES, *_HARDWARE, "read")),
    ),
    NamedScope(
        "compaction",
        "a line moves while two agents, one with a cache, use it",
        "medium",
        Setting(frames=2, cached=(0,), actions=(*_MOVES, *_HARDWARE)),
    ),
    NamedScope(
        "compaction-cached",
        "a line moves while two caching agents use it",
        "large",
        Setting(frames=2, actions=(*_MOVES, *_HARDWARE)),
    ),
    NamedScope(
        "compaction-two-lines",
        "two lines of three agents move among five frames (wider than 64 bits)",
        "small",
        Setting(agents=3, blocks=2, frames=5, lines=(0, 0), actions=_MOVES),
    ),
    NamedScope(
        "death",
        "agents with caches die, their lines are lost or arrive late, the driver reclaims",
        "small",
        Setting(actions=(*_DEATH, *_HARDWARE)),
    ),
    NamedScope(
        "death-notified",
        "agents die while others wait for their notifications",
        "small",
        Setting(cached=(), actions=(*_DEATH, "write", "drain", "fence", "send", "wait", "poll")),
    ),
    NamedScope(
        "death-two-slots",
        "caching agents notify each other, invalidate, and die",
        "large",
        Setting(receivers=(0, 1), actions=(*_DEATH, *_HARDWARE, "fence", "invalidate", "send", "wait")),
    ),
)
SCOPES: Mapping[str, NamedScope] = {one.name: one for one in _ALL}
REFEREED = ("caches", "coherent", "death", "compaction", "sticky-slot", "death-two-slots")
"""Scopes on which an independent explorer counts, too; the last one has more than 10^6 states."""
MEASURED = "death-two-slots"
"""The scope on which engines are compared."""


def named(name: str) -> NamedScope:
    """The scope of that name; LanguageError with the known names if there is none."""
    if name not in SCOPES:
        raise LanguageError(f"there is no scope {name!r}; there are: {', '.join(SCOPES)}")
    return SCOPES[name]


def counts(found: Exploration) -> dict[str, Any]:
    """What is pinned of an exploration."""
    sizes = {"states": found.states, "transitions": found.transitions, "depth": found.depth}
    return {**sizes, "per_action": dict(found.per_action)}


def pinned() -> dict[str, dict[str, Any]]:
    """The pinned counts by scope."""
    result: dict[str, dict[str, Any]] = json.loads(PINNED.read_text())
    return result


def pin(names: Sequence[str]) -> None:
    """Explore the scopes and write down their counts."""
    known = pinned() if PINNED.exists() else {}
    for name in names:
        found = explore(named(name).scope())
        known[name] = counts(found)
        print(f"{name}: {found.states:,} states, {found.transitions:,} transitions, {found.seconds:.1f} s", flush=True)
    ordered = {name: known[name] for name in SCOPES if name in known}
    PINNED.write_text(json.dumps(ordered, indent=1) + "\n")


def main() -> None:
    """The command line of this module."""
    parser = argparse.ArgumentParser(prog="python -m shmem_model.scopes", description="Pin the counts of named scopes.")
    parser.add_argument("--pin", nargs="*", metavar="NAME", required=True, help="scopes to explore (default: all)")
    pin(parser.parse_args().pin or list(SCOPES))


if __name__ == "__main__":
    main()
