"""Small runs of the real implementation, recorded; the suite uses the recordings that are kept beside this file.

`python -m shmem_suite.tampering.record` makes them anew.  Words are written one at a time and hold small numbers, so
that the machine's values can be the same ones; no more than 60 events each, so that all orders can be searched.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import shmem

RUNS = Path(__file__).with_name("runs")
WORD = 8
LONGEST = 60
Recorded = tuple[dict[str, Any], list[dict[str, Any]]]
"""The first line of a trace, and its events."""


def word(value: int) -> bytes:
    """A word of memory."""
    return value.to_bytes(WORD, "little")


def _give(agent: shmem.Agent, r: shmem.SharedMemoryRegion, at: int, value: int, to: tuple[str, int]) -> None:
    agent.write(r, at, word(value))
    agent.flush(r)
    agent.fence()
    agent.send(*to)


def _take(agent: shmem.Agent, r: shmem.SharedMemoryRegion, at: int, slot: int) -> int:
    agent.wait(slot, 30)
    agent.invalidate(r)
    return int.from_bytes(agent.read(r, at, WORD), "little")


def answer(agent: shmem.Agent, r: shmem.SharedMemoryRegion, rounds: int) -> None:
    """Hand each word back, with one added."""
    agent.map(r)
    for _ in range(rounds):
        _give(agent, r, 64, _take(agent, r, 0, 1) + 1, ("host", 2))


def relay(agent: shmem.Agent, r: shmem.SharedMemoryRegion, to: str) -> None:
    """Hand a word on to the next one."""
    agent.map(r)
    _give(agent, r, 0, _take(agent, r, 0, 1) + 1, (to, 1))


def meet(agent: shmem.Agent, members: list[str], r: shmem.SharedMemoryRegion, c: shmem.SharedMemoryRegion) -> None:
    """Barriers around what everybody writes and reads, an atomic, and a batch at the end."""
    agent.map(r)
    agent.map(c)
    team = agent.team("all", members)
    mine = members.index(agent.name)
    agent.write(r, 64 * mine, word(mine + 1))
    agent.barrier(team, r)
    agent.invalidate(r)
    agent.read(r, 64 * (1 - mine), WORD)
    agent.barrier(team)
    agent.write(r, 64 * mine, word(mine + 5))
    agent.atomic_add(c, 0, mine + 1)
    agent.send_batch("host", [1, 2])


def hand_over(s: shmem.System) -> None:
    """The host hands words to a device and back, twice."""
    r = s.host.alloc_broadcast(128, ["dev0"])
    s.host.map(r)
    task = s.devices[0].run(answer, r, 2)
    for i in range(2):
        _give(s.host, r, 0, 3 * i + 1, ("dev0", 1))
        _take(s.host, r, 64, 2)
    s.host.poll(2)
    task.result(30)


def round_trip(s: shmem.System) -> None:
    """A word goes through three devices and comes back."""
    names = [device.name for device in s.devices]
    r = s.host.alloc_broadcast(64, names)
    s.host.map(r)
    tasks = [d.run(relay, r, to) for d, to in zip(s.devices, [*names[1:], "host"], strict=True)]
    _give(s.host, r, 0, 1, (names[0], 1))
    _take(s.host, r, 0, 1)
    for task in tasks:
        task.result(30)


def meeting(s: shmem.System) -> None:
    """Two devices meet; the host takes what they send, and reads the sum."""
    names = [device.name for device in s.devices]
    r, c = s.host.alloc_broadcast(128, names), s.host.alloc_broadcast(64, names)
    for task in [device.run(meet, names, r, c) for device in s.devices]:
        task.result(30)
    for slot in (1, 1, 2):
        s.host.wait(slot, 30)
    s.host.poll(2)
    s.host.poll(3)
    s.host.map(c)
    s.host.atomic_add(c, 0, 7)


PROGRAMS: Mapping[str, tuple[Callable[[shmem.System], None], str, str, int]] = {
    "hand-over": (hand_over, "coherent", "coherent", 1),
    "hand-over-caches": (hand_over, "pcie", "emulated", 1),
    "round-trip": (round_trip, "coherent", "coherent", 3),
    "round-trip-caches": (round_trip, "pcie", "emulated", 3),
    "meeting": (meeting, "coherent", "coherent", 2),
    "meeting-caches": (meeting, "pcie", "emulated", 2),
}
"""Name -> program, platform, memory, devices."""


def record(name: str, path: Path) -> None:
    """Run a program and record it."""
    program, platform, memory, devices = PROGRAMS[name]
    with warnings.catch_warnings(), shmem.System(platform, memory=memory, devices=devices, trace=path) as s:
        warnings.simplefilter("ignore")
        program(s)


def load(path: Path) -> Recorded:
    """A recorded run."""
    head, *events = (json.loads(line) for line in path.read_text().splitlines())
    return head, events


def lines(run: Recorded) -> list[str]:
    """The lines of a trace, each with its end."""
    return [json.dumps(part) + "\n" for part in (run[0], *run[1])]


def recorded() -> dict[str, Recorded]:
    """The runs that are kept, by name."""
    return {name: load(RUNS / f"{name}.jsonl") for name in PROGRAMS}


def main(folder: Path = RUNS) -> None:
    """Make all of them anew."""
    for name in PROGRAMS:
        path = folder / f"{name}.jsonl"
        record(name, path)
        count = len(load(path)[1])
        if count > LONGEST:
            raise SystemExit(f"{name} has {count} events, more than {LONGEST}; make its program shorter")
        sys.stdout.write(f"{name}: {count} events\n")


if __name__ == "__main__":
    main()
