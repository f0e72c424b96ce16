"""What devices run in these tests: functions at the top level of a module, since they travel by name."""

import os
import time
from typing import Any

import numpy as np

import shmem


def nothing(agent: shmem.Agent) -> str:
    return agent.name


def receive(agent: shmem.Agent, r: shmem.SharedMemoryRegion, n: int) -> bytes:
    agent.map(r, "r")
    agent.wait(7, timeout=10)
    agent.invalidate(r)
    return agent.read(r, 0, n)


def fail(agent: shmem.Agent) -> None:
    raise LookupError("on purpose")


def sleep(agent: shmem.Agent, seconds: float) -> None:
    time.sleep(seconds)


def echo(agent: shmem.Agent, rounds: int) -> None:
    for _ in range(rounds):
        agent.wait(1, timeout=20)
        agent.send("host", 2)


def send_many(agent: shmem.Agent, to: str, slot: int, count: int) -> None:
    for _ in range(count):
        agent.send(to, slot)


def add_many(agent: shmem.Agent, r: shmem.SharedMemoryRegion, count: int) -> None:
    agent.map(r, "rw")
    for _ in range(count):
        agent.atomic_add(r, 0, 1)


def outcome(agent: shmem.Agent, method: str, *arguments: Any) -> str:
    """The name of the error of a call, or "done"."""
    try:
        getattr(agent, method)(*arguments)
    except shmem.ShmemError as error:
        return type(error).__name__
    return "done"


def mapped_outcome(agent: shmem.Agent, r: shmem.SharedMemoryRegion, rights: str, method: str, *rest: Any) -> str:
    agent.map(r, rights)
    return outcome(agent, method, r, *rest)


def barriers(agent: shmem.Agent, members: list[str], flavour: str, r: shmem.SharedMemoryRegion, n: int) -> bool:
    """In each round every member writes its round number and sees everybody's after the barrier."""
    agent.map(r, "rw")
    team = agent.team("t", members, flavour)
    me = members.index(agent.name)
    good = True
    for k in range(1, n + 1):
        agent.write(r, 64 * me, k.to_bytes(8, "little"))
        agent.barrier(team, r, timeout=20)
        seen = [int.from_bytes(agent.read(r, 64 * i, 8), "little") for i in range(len(members))]
        good = good and all(value in (k, k + 1) for value in seen)
    return good


def arrive_and_leave(agent: shmem.Agent, members: list[str], flavour: str = "central") -> str:
    team = agent.team("t", members, flavour)
    agent.send("host", 9)
    return outcome(agent, "barrier", team)


def die_inside(agent: shmem.Agent) -> None:
    os.kill(os.getpid(), 9)


def read_for_ever(agent: shmem.Agent, regions: list[shmem.SharedMemoryRegion], seconds: float) -> int:
    """Read regions by their handles while they move; every byte must be the region's own number."""
    for r in regions:
        agent.map(r, "r")
    agent.send("host", 4)
    until, bad = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        for i, r in enumerate(regions):
            bad += agent.read(r) != bytes([i + 1]) * r.size
    return bad


def waits(agent: shmem.Agent, slot: int) -> str:
    agent.send("host", 9)
    return outcome(agent, "wait", slot, 20)


def view_sum(agent: shmem.Agent, r: shmem.SharedMemoryRegion) -> float:
    agent.map(r, "r")
    agent.invalidate(r)
    with agent.view(r, None, "r", np.float32) as v:
        return float(v.sum())
