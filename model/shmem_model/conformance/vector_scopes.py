"""The scopes of which test vectors are made: small worlds that together have every action and every refusal.

*Commanded* scopes are for emulated implementations, whose hardware takes the steps it is told.  *Software* scopes are
for real implementations: hardware does what it wants, and every answer that some hardware would give is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shmem_model.conformance.adapter import RegionOf, SlotOf, World
from shmem_model.conformance.oracle import HIDDEN

TWO, THREE = ("host", "dev0"), ("host", "dev0", "dev1")
_OPEN = {"host": "rw", "dev0": "rw"}
_ONE_WAY = {"host": "rw", "dev0": "r"}
_DATA = {"data": RegionOf(1, _OPEN)}
_SLOT = {"ready": SlotOf("dev0", ("host",))}


@dataclass(frozen=True)
class VectorScope:
    """A world, the actions that are called in it, and whether hardware and driver are commanded."""

    world: World
    actions: tuple[str, ...]
    commanded: bool
    about: str

    @property
    def name(self) -> str:
        """The scope's name."""
        return self.world.name

    @property
    def commands(self) -> tuple[str, ...]:
        """The hidden steps that do not happen by themselves here."""
        return HIDDEN if self.commanded else ()


def _scope(about: str, actions: str, commanded: bool, name: str, **choices: object) -> VectorScope:
    common: dict[str, object] = {"agents": TWO, "regions": _DATA, "cached": TWO, "words": 1, "values": 2, "frames": 1}
    return VectorScope(
        World(name=name, **{**common, **choices}),  # type: ignore[arg-type]
        tuple(actions.split()), commanded, about,
    )  # fmt: skip


_MOVES = "fill evict drain translate"
_SCOPES = (
    _scope("A line in two caches, every hardware step commanded.",
           f"read write flush invalidate fence {_MOVES}", True, "cache-line"),
    _scope("A device with a cache, a host without one.",
           f"read write flush invalidate fence {_MOVES}", True, "half-cached", cached=("dev0",)),
    _scope("Two words of a line; write-back of whole lines takes the neighbour along.",
           "read write flush fill evict translate drain", True, "neighbours", words=2, agents=("host",),
           regions={"data": RegionOf(1, {"host": "rw"})}, cached=("host",)),
    _scope("Dirty words alone are written back.",
           "read write flush invalidate fill evict translate drain", True, "masked", words=2, agents=("host",),
           regions={"data": RegionOf(1, {"host": "rw"})}, cached=("host",), write_back="masked"),
    _scope("Atomics act on memory, whatever the caches hold.",
           "read write atomic_add atomic_swap compare_swap fill evict drain translate", True, "atomics",
           cached=("dev0",)),
    _scope("A sticky slot with two senders, who may die.", "send wait poll die", True, "slot-sticky", agents=THREE,
           slots={"ready": SlotOf("dev0", ("host", "dev1"))}, cached=()),
    _scope("A counting slot with two senders, who may die.", "send wait poll die", True, "slot-counting", agents=THREE,
           slots={"ready": SlotOf("dev0", ("host", "dev1"))}, cached=(), notify="counting"),
    _scope("A collective barrier of three, used again and again.", "arrive leave", True, "barrier", agents=THREE,
           teams={"all": THREE, "pair": TWO}, cached=()),
    _scope("A collective barrier of two, who may die.", "arrive leave die", True, "barrier-death",
           teams={"pair": TWO}, cached=()),
    _scope("The writer's global barrier drops clean lines.", "gb_begin gb_end gb_ack fill translate write", True,
           "global-barrier", teams={"readers": ("dev0",), "host alone": ("host",)}),
    _scope("A line is mapped, freed, scrubbed and given out again.",
           "alloc free map unmap read scrub translate shootdown fill evict", True, "life",
           regions={"old": RegionOf(1, _ONE_WAY), "new": RegionOf(1, _ONE_WAY, live=False)}),
    _scope("A line moves to another frame.", "freeze unfreeze migrate shootdown translate read write", True,
           "migration", frames=2, cached=()),
    _scope("An engine copies a word.", "copy_start copy_step copy_wait write fence drain translate", True, "copies",
           engines=True, regions={"source": RegionOf(1, {"host": "rw"}), "target": RegionOf(1, {"host": "rw"})},
           agents=("host",), cached=(), frames=2),
    _scope("What a dead agent leaves is lost or arrives.", "write die lose evict drain reclaim translate shootdown",
           True, "death", agents=("host", "dev0")),
    _scope("One writes, flushes, fences, notifies; the other waits, invalidates, reads.",
           "read write flush invalidate fence send wait poll", False, "hand-over",
           regions={"data": RegionOf(1, _ONE_WAY)}, slots=_SLOT),
    _scope("Notifications of a real implementation.", "send wait poll", False, "notify", agents=THREE,
           slots={"ready": SlotOf("dev0", ("host", "dev1"))}, cached=THREE),
    _scope("Notifications that count.", "send wait poll", False, "notify-counting", agents=THREE,
           slots={"ready": SlotOf("dev0", ("host", "dev1"))}, cached=THREE, notify="counting"),
    _scope("A collective barrier, hardware hidden.", "arrive leave", False, "rendezvous", agents=TWO,
           teams={"pair": TWO}, cached=()),
    _scope("Mapping and its refusals.", "map unmap read write", False, "rights",
           regions={"data": RegionOf(1, _ONE_WAY)}),
    _scope("Atomics without caches.", "read write atomic_add atomic_swap compare_swap fence", False,
           "coherent-atomics", cached=()),
)  # fmt: skip

SCOPES: Mapping[str, VectorScope] = {scope.name: scope for scope in _SCOPES}

_BOTH = {"ready": SlotOf("dev0", ("host",)), "back": SlotOf("host", ("dev0",))}
_LARGER = (
    _scope("Two lines of two words go back and forth.", "read write flush invalidate fence send wait poll", False,
           "two-lines", regions={"data": RegionOf(2, _OPEN)}, slots=_BOTH, words=2, values=3, frames=2),
    _scope("Three agents with a barrier, notifications and atomics share two regions.",
           "read write flush invalidate fence send wait poll arrive leave atomic_add atomic_swap compare_swap map "
           "unmap",
           False, "workshop", agents=THREE, values=4, frames=2, notify="counting",
           regions={"data": RegionOf(1, dict.fromkeys(THREE, "rw")), "more": RegionOf(1, _OPEN)},
           slots={**_BOTH, "next": SlotOf("dev1", ("host", "dev0"))}, teams={"all": THREE, "pair": TWO},
           windows={"data": (0, 1), "more": (1, 2)}),
)  # fmt: skip
LARGER: Mapping[str, VectorScope] = {scope.name: scope for scope in _LARGER}
"""Larger scopes, in which the kit draws calls; nobody could go through all their transitions."""
