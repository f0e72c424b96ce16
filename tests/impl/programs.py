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


def flood(agent: shmem.Agent, to: str, slot: int) -> None:
    """Send for ever."""
    agent.send(to, 9)
    while True:
        agent.send(to, slot)


def meet_for_ever(agent: shmem.Agent, members: list[str], flavour: str = "central") -> None:
    """Pass a barrier for ever."""
    team = agent.team("t", members, flavour)
    agent.send("host", 9)
    while True:
        agent.barrier(team)


def when_told(agent: shmem.Agent, slot: int) -> tuple[str, float]:
    """How a wait ended, and when, on the clock that all processes share."""
    agent.send("host", 9)
    try:
        agent.wait(slot, timeout=60)
    except shmem.ShmemError as error:
        return type(error).__name__, time.monotonic()
    return "done", time.monotonic()


def maintain_for_ever(agent: shmem.Agent, r: shmem.SharedMemoryRegion) -> None:
    """Write, publish and look again, for ever."""
    agent.map(r, "rw")
    agent.send("host", 9)
    k = 0
    while True:
        k += 1
        agent.copy_in(r, k.to_bytes(8, "little"))
        agent.copy_out(r, 0, 8)
        agent.atomic_add(r, 8, 1)


def flags_of_mapping(agent: shmem.Agent, r: shmem.SharedMemoryRegion) -> list[str]:
    """What the kernel says of this process's mapping of a region."""
    address, inside = agent.map(r, "rw").host_address, False
    with open("/proc/self/smaps") as file:
        for line in file:
            first = line.split()[0]
            if "-" in first and ":" not in first:
                low, high = (int(x, 16) for x in first.split("-"))
                inside = low <= address < high
            if line.startswith("VmFlags") and inside:
                return line.split()[1:]
    return []


def barred_to(agent: shmem.Agent, slot: int, senders: list[str]) -> None:
    agent.grant(slot, senders)


def when_driver_lost(agent: shmem.Agent, owner: str | None = None) -> tuple[str, float]:
    """Use everything until an error says why not, and when."""
    if owner is not None:
        agent.send(owner, 9)
    try:
        while True:
            r = agent.alloc(4096)
            agent.map(r)
            agent.copy_in(r, b"data")
            try:
                agent.wait(1, timeout=0.001)
            except shmem.TimedOut:
                pass
            agent.unmap(r)
            agent.free(r)
    except shmem.ShmemError as error:
        return type(error).__name__, time.monotonic()


def read_when_told(agent: shmem.Agent, r: shmem.SharedMemoryRegion) -> bytes:
    """Read once before, so that a line may sit in the cache, and again after a notification; no invalidate."""
    agent.map(r, "r")
    agent.read(r, 0, 8)
    agent.send("host", 9)
    agent.wait(7)
    return agent.read(r, 0, 8)


def maintain_beside(agent: shmem.Agent, r: shmem.SharedMemoryRegion) -> None:
    """Write and publish for ever, beside the host that owns the region."""
    agent.map(r, "rw")
    while True:
        agent.copy_in(r, b"data")
        agent.atomic_add(r, 8, 1)
        time.sleep(0.0005)
