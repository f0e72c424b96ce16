"""The worlds of the lock-step test: together they have every platform choice, and let every action be taken."""

from __future__ import annotations

from collections.abc import Mapping

from shmem_model.conformance.adapter import RegionOf, SlotOf, World

_AGENTS = ("host", "dev0", "dev1")
_ALL = {"host": "rw", "dev0": "rw", "dev1": "r"}
_SOME = {"host": "rw", "dev0": "r"}
_SLOTS = {"s0": SlotOf("dev0", ("host", "dev1")), "s1": SlotOf("host", ("dev0",)), "s2": SlotOf("dev1", ("host",))}
_TEAMS = {"all": _AGENTS, "pair": ("host", "dev0"), "devices": ("dev0", "dev1"), "last": ("dev1",)}
_REGIONS = {
    "a": RegionOf(1, _ALL),
    "b": RegionOf(1, _ALL, live=False),
    "c": RegionOf(2, _ALL, live=False),
    "d": RegionOf(1, _ALL, live=False),
    "x": RegionOf(1, _SOME),
    "y": RegionOf(1, _SOME, live=False),
}
_WINDOWS = {**dict.fromkeys("abcd", (0, 4)), **dict.fromkeys("xy", (4, 6))}


def _world(name: str, **choices: object) -> World:
    common = {
        "agents": _AGENTS, "regions": _REGIONS, "slots": _SLOTS, "teams": _TEAMS, "cached": _AGENTS, "words": 2,
        "values": 4, "frames": 6, "windows": _WINDOWS, "engines": True,
    }  # fmt: skip
    return World(name=name, **{**common, **choices})  # type: ignore[arg-type]


WORLDS: Mapping[str, World] = {
    world.name: world
    for world in (
        _world("line-sticky"),
        _world("line-counting-either", invalidate="either", notify="counting", multicast=True),
        _world("masked-sticky", write_back="masked", multicast=True),
        _world("masked-counting-writes-back", write_back="masked", invalidate="write_back", notify="counting"),
        _world("one-without-a-cache", cached=("host", "dev1"), notify="counting"),
        _world("nobody-has-a-cache", cached=(), notify="counting", multicast=True),
    )
}
