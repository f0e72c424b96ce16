"""Wrong protocols that work most of the time, each next to the right one (numbers: list of pitfalls of the
domain).

A protocol is a function of a system and of whether it is to be done right; it answers whether what was read
is what was written.  Device parts are at the top level, so that they run in processes too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import shmem
from shmem.driver.records import Arena
from shmem.driver.records import Region as Record
from shmem.emulated.machine import EmulatedService

Region = shmem.SharedMemoryRegion
OLD, NEW = bytes(8), b"new data"


def warm(agent: shmem.Agent, r: Region) -> None:
    """Map, and read once, so that a line may sit in the cache; then tell the host."""
    agent.map(r, "rw")
    agent.read(r, 0, 8)
    agent.send("host", 1)


def read_after_notification(agent: shmem.Agent, r: Region, how: str) -> bytes:
    """Wait for slot 7 and read; invalidate before the wait (`early`), after it (`late`), or not."""
    warm(agent, r)
    if how == "early":
        agent.invalidate(r)
    agent.wait(7)
    if how == "late":
        agent.invalidate(r)
    return agent.read(r, 0, 8)


def hand_over(s: shmem.System, reader: str, write: Callable[[shmem.Agent, Region], None]) -> bool:
    """The host writes and notifies; whether the device reads what it wrote."""
    r = s.host.alloc_broadcast(64, ["dev0"])
    s.host.map(r)
    task = s.devices[0].run(read_after_notification, r, reader)
    s.host.wait(1)
    write(s.host, r)
    return bool(task.result() == NEW)


def written_right(host: shmem.Agent, r: Region) -> None:
    """Write, flush, fence, notify."""
    host.write(r, 0, NEW)
    host.flush(r)
    host.fence()
    host.send("dev0", 7)


def without_flush(host: shmem.Agent, r: Region) -> None:
    """What is written stays in the cache."""
    host.write(r, 0, NEW)
    host.fence()
    host.send("dev0", 7)


def flush_after_notify(host: shmem.Agent, r: Region) -> None:
    """The notification comes first."""
    host.write(r, 0, NEW)
    host.send("dev0", 7)
    host.flush(r)
    host.fence()


def without_fence(host: shmem.Agent, r: Region) -> None:
    """The flush is only posted."""
    host.write(r, 0, NEW)
    host.flush(r)
    host.send("dev0", 7)


def p1(s: shmem.System, right: bool) -> bool:
    """P-1: write and notify without flush."""
    return hand_over(s, "late", written_right if right else without_flush)


def p2(s: shmem.System, right: bool) -> bool:
    """P-2: wait and read without invalidate."""
    return hand_over(s, "late" if right else "never", written_right)


def p3(s: shmem.System, right: bool) -> bool:
    """P-3: invalidate before the wait: the line may be filled again in between."""
    return hand_over(s, "late" if right else "early", written_right)


def p4(s: shmem.System, right: bool) -> bool:
    """P-4: flush after the notification."""
    return hand_over(s, "late", written_right if right else flush_after_notify)


def p4b(s: shmem.System, right: bool) -> bool:
    """A flush is only posted: without fence the notification overtakes it."""
    return hand_over(s, "late", written_right if right else without_fence)


def produce_beside(agent: shmem.Agent, r: Region, offset: int) -> None:
    """Publish at an offset, with its line, and tell the host."""
    agent.map(r, "rw")
    agent.write(r, offset, NEW)
    agent.flush(r, offset // 64 * 64, 64)
    agent.fence()
    agent.send("host", 2)


def p5(s: shmem.System, right: bool) -> bool:
    """P-5: the host invalidates a line in which it has dirty bytes of its own."""
    r = s.host.alloc_broadcast(128, ["dev0"])
    s.host.map(r)
    s.host.write(r, 0, b"my own..")
    if right:
        s.host.flush(r, 0, 64)
        s.host.fence()
    s.devices[0].run(produce_beside, r, 64 if right else 32)
    s.host.wait(2)
    s.host.invalidate(r, 64 if right else 0, 64)
    return s.host.read(r, 0, 8) == b"my own.." and s.host.read(r, 64 if right else 32, 8) == NEW


def raise_flag(agent: shmem.Agent, r: Region, offset: int) -> None:
    """Publish a flag, with its line, and tell the host."""
    agent.map(r, "rw")
    agent.write(r, offset, NEW)
    agent.flush(r, offset // 64 * 64, 64)
    agent.fence()
    agent.send("host", 2)


def p6(s: shmem.System, right: bool) -> bool:
    """P-6: two flags on one line, two writers: whole-line write-back undoes the other's."""
    r = s.host.alloc_broadcast(128, ["dev0"])
    s.host.map(r)
    task = s.devices[0].run(raise_flag, r, 64 if right else 8)
    s.host.write(r, 0, NEW)
    s.host.flush(r, 0, 64)
    s.host.fence()
    s.host.wait(2)
    task.result()
    s.host.invalidate(r)
    return s.host.read(r, 0, 8) == NEW and s.host.read(r, 64 if right else 8, 8) == NEW


def send_three(agent: shmem.Agent, slots: list[int]) -> None:
    """Send to the host, one by one."""
    for slot in slots:
        agent.send("host", slot)


def p15(s: shmem.System, right: bool) -> bool:
    """P-15: three sends to a binary slot, and three waits."""
    s.devices[0].run(send_three, [1, 2, 3] if right else [1, 1, 1])
    try:
        for slot in (1, 2, 3) if right else (1, 1, 1):
            s.host.wait(slot)
    except shmem.Deadlock:
        return False
    return True


def batch_of_two(agent: shmem.Agent, a: Region, b: Region, right: bool) -> None:
    """Publish two regions, and tell the host of both at once."""
    for r in (a, b):
        agent.map(r, "rw")
    agent.write(a, 0, NEW)
    agent.flush(a)
    agent.write(b, 0, NEW)
    if right:
        agent.flush(b)
    agent.fence()
    agent.send_batch("host", [1, 2])
    if not right:
        agent.flush(b)
        agent.fence()


def p21(s: shmem.System, right: bool) -> bool:
    """P-21: a batch is sent before the flush of its later member."""
    a, b = (s.host.alloc_broadcast(64, ["dev0"]) for _ in range(2))
    for r in (a, b):
        s.host.map(r)
    s.devices[0].run(batch_of_two, a, b, right)
    s.host.wait_all([1, 2])
    s.host.invalidate(a)
    s.host.invalidate(b)
    return s.host.read(a, 0, 8) == NEW and s.host.read(b, 0, 8) == NEW


def publish_and_look(agent: shmem.Agent, r: Region, right: bool) -> bytes:
    """Write one's own flag, and read the peer's."""
    agent.map(r, "rw")
    agent.write(r, 64, NEW)
    if right:
        agent.fence()
    return agent.read(r, 0, 8)


def p24(s: shmem.System, right: bool) -> bool:
    """P-24: publish a flag, then look at the peer's: a store buffer lets both see the old one."""
    r = s.host.alloc_broadcast(128, ["dev0"])
    s.host.map(r)
    task = s.devices[0].run(publish_and_look, r, right)
    s.host.write(r, 0, NEW)
    if right:
        s.host.fence()
    seen = s.host.read(r, 64, 8)
    return NEW in (seen, task.result())


class HastyDriver(EmulatedService):
    """P-22: it moves a region without asking caches, buffers and translations to let go of it first."""

    def in_use(self, region: Record) -> bool:
        """It does not look."""
        return False

    def _move(self, arena: Arena, region: Record, target: int) -> bool:
        hush, self.hardware.hush = self.hardware.hush, lambda frame: None  # type: ignore[method-assign]
        try:
            return super()._move(arena, region, target)
        finally:
            self.hardware.hush = hush  # type: ignore[method-assign]


def p22(s: shmem.System, right: bool) -> bool:
    """P-22: compaction while an agent holds a dirty line; the wrong one is the driver, not the program."""
    assert s.driver is not None
    if not right:
        s.driver.service.__class__ = HastyDriver
    hole, r = (s.host.alloc_broadcast(64, ["dev0"]) for _ in range(2))
    s.host.map(r)
    task = s.devices[0].run(read_after_notification, r, "late")
    s.host.wait(1)
    s.host.write(r, 0, NEW)
    s.host.free(hole)
    assert s.host.compact()["moved"] == 1
    s.host.flush(r)
    s.host.fence()
    s.host.send("dev0", 7)
    return bool(task.result() == NEW)


@dataclass(frozen=True)
class Pitfall:
    """A protocol and the platform on which it goes wrong."""

    run: Callable[[shmem.System, bool], bool]
    platform: str = "weakest"


PITFALLS = {
    "P-1": Pitfall(p1), "P-2": Pitfall(p2), "P-3": Pitfall(p3), "P-4": Pitfall(p4), "P-4b": Pitfall(p4b),
    "P-5": Pitfall(p5), "P-6": Pitfall(p6), "P-15": Pitfall(p15), "P-21": Pitfall(p21),
    "P-22": Pitfall(p22), "P-24": Pitfall(p24, "coherent"),
}  # fmt: skip


def holds(name: str, seed: int, right: bool, agents: str = "threads") -> bool:
    """Whether one run of a protocol read what was written."""
    pitfall = PITFALLS[name]
    with shmem.System(
        platform=pitfall.platform, devices=1, memory="emulated", agents=agents, seed=seed, pool=1 << 20,
        extent=1 << 16,
    ) as s:  # fmt: skip
        return pitfall.run(s, right)
