"""Long runs: no notification is lost, and memory stays in order while regions come, go and move."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest

import shmem
from shmem.driver.records import Arena
from tests.impl import programs


@pytest.fixture
def cores() -> Iterator[set[int]]:
    """The cores of this process, set back afterwards."""
    before = os.sched_getaffinity(0)
    yield before
    os.sched_setaffinity(0, before)


@pytest.mark.parametrize("count", [10_000, pytest.param(5_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("number", [2, 1])
def test_no_wake_up_is_lost(cores: set[int], number: int, count: int) -> None:
    """Two senders against one receiver whose waits time out at odd moments; on two cores, and all on one."""
    if len(cores) < number:
        pytest.skip(f"not run: this needs {number} cores")
    os.sched_setaffinity(0, set(sorted(cores)[:number]))
    with shmem.System(platform="pcie", devices=2) as s:
        tasks = [d.run(programs.send_many, "host", 3, count) for d in s.devices]
        wait, left = s.host.wait, 2 * count
        while left:
            try:
                wait(3, timeout=0.00002 if left % 257 == 0 else 60)
                left -= 1
            except shmem.TimedOut:
                wait(3, timeout=60)
                left -= 1
        for task in tasks:
            task.result(60)
        assert not s.host.poll(3)
        assert s.host.pending(3) == 0


def in_order(arena: Arena) -> None:
    """No overlap, alignment, full coalescing: by intervals, independent of the allocator's own lists."""
    taken = sorted((r.start, r.span, r.align) for r in [*arena.regions.values(), *arena.quarantine])
    gaps = []
    for extent in arena.extents:
        at = extent.start
        for start, span, align in taken:
            if extent.start <= start < extent.end:
                assert start >= at, "two regions overlap"
                assert start % align == 0
                if start > at:
                    gaps.append((at, start - at))
                at = start + span
        assert at <= extent.end
        if at < extent.end:
            gaps.append((at, extent.end - at))
    assert arena.space.holes() == sorted(gaps), "free space is not what is left over, fully coalesced"


@pytest.mark.parametrize("steps", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_memory_stays_in_order_while_regions_move_under_readers(steps: int) -> None:
    choose = random.Random(11)
    acl = {"host": "rw", "dev0": "r"}
    with shmem.System(devices=1, extent=1 << 20, pool=8 << 20, compaction=0.5) as s:
        h = s.host
        kept = [h.alloc(choose.randrange(64, 9000), acl=acl, align=64 << choose.randrange(4)) for _ in range(24)]
        fill = [h.alloc(choose.randrange(64, 20000), acl=acl) for _ in range(24)]
        for i, r in enumerate(kept):
            h.map(r)
            h.write(r, 0, bytes([i + 1]) * r.size)
        task = s.devices[0].run(programs.read_for_ever, kept, 1.0 if steps < 10**6 else 10.0)
        h.wait(4, timeout=20)
        live: list[shmem.SharedMemoryRegion] = fill
        assert s.driver is not None
        arena = next(iter(s.driver.service.arenas.values()))
        for step in range(steps):
            draw = choose.random()
            if draw < 0.5 and len(live) < 400:
                size = int(2 ** choose.uniform(6, 14))
                try:
                    live.append(h.alloc(size, align=64 << choose.randrange(3), acl=acl))
                except (shmem.Fragmented, shmem.OutOfMemory):
                    h.compact()
            elif live:
                h.free(live.pop(choose.randrange(len(live))))
            if step % 5000 == 0:
                h.compact()
            if step % 2500 == 0:
                with s.driver.service.lock:
                    in_order(arena)
                for i, r in enumerate(kept):
                    assert h.read(r) == bytes([i + 1]) * r.size
        assert task.result(60) == 0


def test_secure_memory_above_the_limit_is_a_typed_error() -> None:
    if os.getuid() == 0:
        pytest.skip("not run: root may lock any amount (CAP_IPC_LOCK); covered as another uid below")
    import resource

    soft = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    with (
        shmem.System(devices=0, extent=soft + 4096) as s,
        pytest.raises(shmem.OutOfMemory, match="RLIMIT_MEMLOCK"),
    ):
        s.host.alloc(64, flags=shmem.SECURE)


def test_secure_memory_above_the_limit_is_a_typed_error_for_another_uid() -> None:
    if os.getuid() != 0:
        pytest.skip("not run: taking on another uid needs root")
    from tests.impl.daemons import in_child

    def work() -> str:
        import resource

        resource.setrlimit(resource.RLIMIT_MEMLOCK, (1 << 16, 1 << 16))
        with shmem.System(devices=0, extent=1 << 20) as s:
            before = s.driver.service.describe()["reserved"]  # type: ignore[union-attr]
            try:
                s.host.alloc(64, flags=shmem.SECURE)
            except shmem.OutOfMemory as error:
                after = s.driver.service.describe()["reserved"]  # type: ignore[union-attr]
                return f"{'RLIMIT_MEMLOCK' in str(error)} {before == after}"
        return "no error"

    assert in_child(65534, work) == "True True"
