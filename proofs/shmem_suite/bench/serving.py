"""What the device of a benchmark runs: functions at the top level of a module, since they travel by name."""

from __future__ import annotations

import os
import time

from shmem import Agent, SharedMemoryRegion, TimedOut
from shmem_suite.bench.ends import MESSAGE, SIZE

PAGE = 4096
ASK, ANSWER, MANY = 1, 2, 64
TIMEOUT = 60.0


def use_core(agent: Agent, core: int) -> None:
    """Stay on a core from now on."""
    os.sched_setaffinity(0, {core})


def open_regions(agent: Agent, there: SharedMemoryRegion, back: SharedMemoryRegion | None) -> None:
    """Map what will be read and written."""
    agent.map(there, "r")
    if back is not None:
        agent.map(back, "rw")


def serve(agent: Agent, there: SharedMemoryRegion, back: SharedMemoryRegion, rounds: int) -> None:
    """Answer round trips of 64 bytes, on memory that is coherent."""
    for _ in range(rounds):
        agent.wait(ASK, TIMEOUT)
        agent.read(there, 0, SIZE)
        agent.write(back, 0, MESSAGE)
        agent.send("host", ANSWER)


def ask(agent: Agent, there: SharedMemoryRegion, back: SharedMemoryRegion, rounds: int) -> float:
    """The other end of `serve`; seconds."""
    begin = time.perf_counter()
    for _ in range(rounds):
        agent.write(there, 0, MESSAGE)
        agent.send("dev0", ASK)
        agent.wait(ANSWER, TIMEOUT)
        agent.read(back, 0, SIZE)
    return time.perf_counter() - begin


def serve_flushing(agent: Agent, there: SharedMemoryRegion, back: SharedMemoryRegion, rounds: int) -> None:
    """As `serve`, right on every platform: flush and fence before sending, invalidate before reading."""
    for _ in range(rounds):
        agent.wait(ASK, TIMEOUT)
        agent.invalidate(there)
        agent.read(there, 0, SIZE)
        agent.write(back, 0, MESSAGE)
        agent.flush(back)
        agent.fence()
        agent.send("host", ANSWER)


def ask_flushing(agent: Agent, there: SharedMemoryRegion, back: SharedMemoryRegion, rounds: int) -> float:
    """The other end of `serve_flushing`; seconds."""
    begin = time.perf_counter()
    for _ in range(rounds):
        agent.write(there, 0, MESSAGE)
        agent.flush(there)
        agent.fence()
        agent.send("dev0", ASK)
        agent.wait(ANSWER, TIMEOUT)
        agent.invalidate(back)
        agent.read(back, 0, SIZE)
    return time.perf_counter() - begin


def take_over(agent: Agent, region: SharedMemoryRegion, rounds: int, size: int, touch: bool) -> int:
    """Take hand-overs as arrays (reading a byte of each page); a sum of what was read."""
    total = 0
    for _ in range(rounds):
        agent.wait(ASK, TIMEOUT)
        agent.invalidate(region, 0, size)
        with agent.view(region, (0, size)) as array:
            total += int(array[::PAGE].sum()) if touch else int(array[0])
        del array
        agent.send("host", ANSWER)
    return total


def hand_over(agent: Agent, region: SharedMemoryRegion, rounds: int, size: int) -> float:
    """The other end of `take_over`: mark, flush, tell, wait for the answer; seconds."""
    begin = time.perf_counter()
    for turn in range(rounds):
        agent.write(region, 0, bytes([turn & 255]) * 8)
        agent.flush(region, 0, size)
        agent.fence()
        agent.send("dev0", ASK)
        agent.wait(ANSWER, TIMEOUT)
    return time.perf_counter() - begin


def count(agent: Agent, notifications: int) -> None:
    """Take so many notifications of the slots below `MANY`, staying awake, and say so."""
    slots = range(MANY)
    agent.send("host", ANSWER)
    while notifications:
        for slot in slots:
            notifications -= agent.poll(slot)
    agent.send("host", ANSWER)


def sleep(agent: Agent, seconds: float) -> float:
    """Wait for what never comes; seconds of processor time that it took once asleep."""
    before = time.process_time()
    try:
        agent.wait(ASK, seconds)
    except TimedOut:
        return time.process_time() - before
    raise AssertionError("nobody sends to this slot")
