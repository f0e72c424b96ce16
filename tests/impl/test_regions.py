"""Regions: alloc, map, access, free, and every refusal and fault by its name."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import shmem
from tests.impl import programs


def shared(s: shmem.System, size: int = 4096, **options: object) -> shmem.SharedMemoryRegion:
    """A region that the host writes and dev0 reads."""
    return s.host.alloc(size, acl={"host": "rw", "dev0": "r"}, **options)  # type: ignore[arg-type]


def test_a_hand_over_to_another_process(system: shmem.System) -> None:
    r = shared(system)
    system.host.map(r, "rw")
    task = system.devices[0].run(programs.receive, r, 11)
    system.host.copy_in(r, b"hello there")
    system.host.send("dev0", 7)
    assert task.result(10) == b"hello there"


def test_alloc_gives_zeroed_aligned_memory_and_three_addresses(threads: shmem.System) -> None:
    r = threads.host.alloc(100, align=4096)
    m = threads.host.map(r)
    assert threads.host.read(r) == bytes(100)
    assert m.physical_address % 4096 == 0
    assert m.host_address % 64 == 0
    assert m.device_address == r.device_address
    with threads.host.view(r, (0, 8), "r") as v:
        assert v.ctypes.data == m.host_address
    assert threads.host.translate(r, m.device_address + 10) == m.physical_address + 10


def test_alloc_respects_windows_of_the_platform() -> None:
    with shmem.System(platform="a3", devices=0, pool=4 << 20, extent=1 << 20) as s:
        for low, high in shmem.PLATFORMS["a3"].windows:
            r = s.host.alloc(4096, window=(low, high))
            assert low <= s.host.map(r).physical_address < high - 4095
        with pytest.raises(shmem.InvalidArgument, match="window"):
            s.host.alloc(64, window=(0, 4096))


@pytest.mark.parametrize(("size", "align", "flags"), [(0, 64, 0), (-1, 64, 0), (64, 3, 0), (64, 0, 0), (64, 64, 64)])
def test_alloc_refuses_nonsense(threads: shmem.System, size: int, align: int, flags: int) -> None:
    with pytest.raises(shmem.InvalidArgument):
        threads.host.alloc(size, align=align, flags=flags)


def test_alloc_tells_fragmented_from_out_of_memory() -> None:
    with shmem.System(devices=0, pool=1 << 20, extent=1 << 20, compaction=None) as s:
        regions = [s.host.alloc(1 << 17) for _ in range(8)]
        with pytest.raises(shmem.OutOfMemory):
            s.host.alloc(64)
        for r in regions[::2]:
            s.host.free(r)
        with pytest.raises(shmem.Fragmented):
            s.host.alloc(1 << 18)
        with pytest.raises(shmem.OutOfMemory):
            s.host.alloc(1 << 20)
        assert s.host.compact() == {"moved": 4, "bytes": 1 << 19, "pinned": 0}
        assert s.host.alloc(1 << 19).size == 1 << 19


def test_a_failed_alloc_leaves_no_trace(threads: shmem.System) -> None:
    assert threads.driver is not None
    before = threads.driver.service.describe()
    for size, acl in ((1 << 40, None), (64, {"host": "r"}), (64, {"nobody": "rw"})):
        with pytest.raises(shmem.Refusal):
            threads.host.alloc(size, acl=acl)
    after = threads.driver.service.describe()
    assert {k: before[k] for k in before if k != "arenas"} == {k: after[k] for k in after if k != "arenas"}
    assert all(not a["regions"] for a in after["arenas"])


def test_map_follows_the_access_control_list(threads: shmem.System) -> None:
    r = shared(threads)
    dev0, dev1 = (d.agent for d in threads.devices)  # type: ignore[attr-defined]
    with pytest.raises(shmem.NotPermitted, match='only "r"'):
        dev0.map(r, "rw")
    with pytest.raises(shmem.NotPermitted, match="no right"):
        dev1.map(r, "r")
    with pytest.raises(shmem.NotMapped):
        dev0.read(r)
    dev0.map(r, "r")
    assert dev0.read(r, 0, 8) == bytes(8)
    with pytest.raises(shmem.ReadOnly):
        dev0.write(r, 0, b"x")
    with pytest.raises(shmem.ReadOnly):
        dev0.atomic_add(r, 0, 1)
    with pytest.raises(shmem.ReadOnly):
        dev0.view(r, None, "w")


def test_faults_reach_the_host_by_name(system: shmem.System) -> None:
    r = shared(system)
    run = system.devices[0].run
    assert run(programs.outcome, "read", r).result(10) == "NotMapped"
    assert run(programs.mapped_outcome, r, "r", "write", 0, b"x").result(10) == "ReadOnly"
    assert run(programs.outcome, "read", r, 4090, 10).result(10) == "InvalidArgument"
    assert system.devices[1].run(programs.outcome, "map", r).result(10) == "NotPermitted"


@pytest.mark.parametrize(("offset", "length"), [(-1, 4), (0, 4097), (4096, 1), (4000, 200), (2**62, 1)])
def test_accesses_stay_inside_of_the_region(threads: shmem.System, offset: int, length: int) -> None:
    r = threads.host.alloc(4096)
    threads.host.map(r)
    for call in (
        lambda: threads.host.read(r, offset, length),
        lambda: threads.host.write(r, offset, b"x" * min(length, 5000)),
        lambda: threads.host.view(r, (offset, length), "w"),
        lambda: threads.host.flush(r, offset, length),
    ):
        with pytest.raises(shmem.InvalidArgument):
            call()


def test_free_is_refused_while_mapped_and_names_the_holders(threads: shmem.System) -> None:
    r = shared(threads)
    dev0 = threads.devices[0].agent  # type: ignore[attr-defined]
    dev0.map(r, "r")
    with pytest.raises(shmem.RegionBusy, match="dev0 maps it r"):
        threads.host.free(r)
    with pytest.raises(shmem.NotPermitted):
        dev0.free(r)
    threads.host.unmap(r, "dev0")
    with pytest.raises(shmem.NotMapped):
        dev0.read(r)
    threads.host.free(r)
    with pytest.raises(shmem.StaleHandle):
        dev0.read(r)
    with pytest.raises(shmem.StaleHandle):
        threads.host.free(r)


def test_unmap_is_refused_while_a_view_is_open(threads: shmem.System) -> None:
    r = shared(threads)
    threads.host.map(r)
    view = threads.host.view(r, None, "w")
    with pytest.raises(shmem.RegionBusy, match="view"):
        threads.host.unmap(r)
    assert threads.host.read(r, 0, 1) == b"\0"
    view.close()
    threads.host.unmap(r)
    with pytest.raises(shmem.InvalidArgument, match="not mapped"):
        threads.host.unmap(r)


def test_a_stale_handle_never_reaches_another_regions_data(threads: shmem.System) -> None:
    h = threads.host
    old = h.alloc(64)
    h.map(old)
    h.write(old, 0, b"secret!!")
    h.unmap(old)
    h.free(old)
    new = h.alloc(64)
    h.map(new)
    assert (new.id, h.read(new)) == (old.id, bytes(64)), "reused and scrubbed"
    for call in (h.read, h.flush, h.invalidate, h.view, h.free, h.map):
        with pytest.raises(shmem.StaleHandle):
            call(old)


def test_free_by_force_closes_the_handle_and_quarantines_the_memory(threads: shmem.System) -> None:
    h = threads.host
    r = h.alloc(64)
    h.map(r)
    view = h.view(r, None, "w")
    h.free(r, force=True)
    with pytest.raises(shmem.StaleHandle):
        h.read(r)
    assert view.array is not None
    view.array[:] = 7  # still its own memory
    other = h.alloc(64)
    h.map(other)
    assert h.read(other) == bytes(64)
    view.close()
    again = [h.alloc(64) for _ in range(3)]
    assert r.id in {x.id for x in again}


def test_an_array_that_outlives_its_view_keeps_the_memory(threads: shmem.System) -> None:
    h = threads.host
    r = h.alloc(64)
    h.map(r)
    with h.view(r, None, "w") as array:
        array[:] = 5
    with pytest.raises(ValueError, match="read-only"):
        array[:] = 6
    h.unmap(r)
    h.free(r)
    fresh = h.alloc(64)
    assert fresh.id != r.id
    assert array.sum() == 5 * 64
    del array
    gc.collect()
    assert r.id in {h.alloc(64).id, h.alloc(64).id}


def test_views_are_the_shared_memory(system: shmem.System) -> None:
    r = system.host.alloc(4000, acl={"host": "rw", "dev0": "r"})
    system.host.map(r)
    with system.host.view(r, None, "w", np.float32) as v:
        v[:] = 0.5
    system.host.flush(r)
    system.host.fence()
    assert system.devices[0].run(programs.view_sum, r).result(10) == 500.0


def test_flush_of_a_part_of_a_line_names_the_neighbours(threads: shmem.System) -> None:
    r = threads.host.alloc(256)
    threads.host.map(r)
    with pytest.warns(shmem.PartialLineWarning, match=r"bytes 64-69, 80-127"):
        threads.host.flush(r, 70, 10)


def test_copy_moves_memory_to_memory_and_holds_both_ends(threads: shmem.System) -> None:
    h = threads.host
    a, b = h.alloc(1 << 16), h.alloc(1 << 16)
    h.map(a)
    with pytest.raises(shmem.NotMapped):
        h.copy_start(a, b)
    h.map(b)
    h.write(a, 0, bytes(range(256)) * 256)
    h.copy(a, b, 1, 0, 1000, timeout=10)
    assert h.read(b, 0, 1001) == (bytes(range(256)) * 4)[1:1001] + b"\0"
    with pytest.raises(shmem.InvalidArgument, match="overlap"):
        h.copy(a, a, 0, 100, 200)


def test_atomics_lose_nothing_between_processes(system: shmem.System) -> None:
    r = system.host.alloc_broadcast(64, ["dev0", "dev1"])
    system.host.map(r)
    tasks = [d.run(programs.add_many, r, 5000) for d in system.devices]
    for _ in range(5000):
        system.host.atomic_add(r, 0, 1)
    for task in tasks:
        task.result(20)
    assert system.host.atomic_swap(r, 0, 5) == 15000
    assert system.host.compare_swap(r, 0, 6, 9) == 5
    assert system.host.compare_swap(r, 0, 5, 9) == 5
    assert system.host.read(r, 0, 8) == (9).to_bytes(8, "little")


def test_secure_memory_has_an_arena_of_its_own_and_is_not_dumped(threads: shmem.System) -> None:
    h = threads.host
    plain, secret = h.alloc(64), h.alloc(64, flags=shmem.SECURE)
    assert plain.id // 4096 != secret.id // 4096
    address = h.map(secret).host_address
    lines = iter(open("/proc/self/smaps"))
    for line in lines:
        head = line.split("-")
        if len(head) > 1 and line.split()[0].count("-") == 1 and ":" not in line.split()[0]:
            low, high = (int(x, 16) for x in line.split()[0].split("-"))
            inside = low <= address < high
        if line.startswith("VmFlags") and inside:
            assert " dd" in line, "the mapping is in core dumps"
            break
    else:
        pytest.fail("the mapping was not found")


def test_compact_moves_regions_and_keeps_what_handles_show(system: shmem.System) -> None:
    h = system.host
    acl = {"host": "rw", "dev0": "r"}
    every = [h.alloc(4096, acl=acl) for _ in range(64)]
    kept = every[1::2]
    for i, r in enumerate(kept):
        h.map(r)
        h.write(r, 0, bytes([i + 1]) * 4096)
    before = h.map(kept[-1]).physical_address
    pinned = h.view(kept[3], None, "r")
    task = system.devices[0].run(programs.read_for_ever, kept, 1.0)
    h.wait(4, timeout=10)
    for r in every[::2]:
        h.free(r)
    done = h.compact()
    assert done["moved"] > 0
    assert pinned.array is not None
    assert pinned.array.tobytes() == bytes([4]) * 4096
    assert h.map(kept[-1]).physical_address < before
    for _ in range(20):
        extra = [h.alloc(64, acl=acl) for _ in range(40)]
        for r in extra[::2] + extra[1::2]:
            h.free(r)
        h.compact()
    assert task.result(20) == 0
    pinned.close()


def test_an_idle_driver_compacts_above_the_threshold() -> None:
    with shmem.System(devices=0, pool=1 << 20, extent=1 << 20, compaction=0.3) as s:
        assert s.driver is not None
        regions = [s.host.alloc(1 << 16) for _ in range(16)]
        for r in regions[::2]:
            s.host.free(r)
        for _ in range(100):
            arena = s.driver.service.describe()["arenas"][0]
            if arena["fragmentation"] == 0.0:
                break
            import time

            time.sleep(0.05)
        assert arena["fragmentation"] == 0.0


def test_compact_moves_regions_to_earlier_extents(threads: shmem.System) -> None:
    h = threads.host
    regions = [h.alloc(1 << 18) for _ in range(12)]
    for i, r in enumerate(regions):
        h.map(r)
        h.write(r, 5, bytes([i]) * 100)
    for r in regions[:3] + regions[5:7]:
        h.unmap(r)
        h.free(r)
    kept = regions[3:5] + regions[7:]
    h.compact()
    assert [h.read(r, 5, 100) for r in kept] == [bytes([i]) * 100 for i in (3, 4, 7, 8, 9, 10, 11)]
    with h.view(kept[-1], (5, 100), "r") as v:
        assert v.tobytes() == bytes([11]) * 100
    assert h.alloc(1 << 20).size == 1 << 20


def test_a_view_that_somebody_still_exports_keeps_its_memory(system: shmem.System) -> None:
    r = system.host.alloc(4096)
    system.host.map(r)
    view = system.host.view(r, (0, 64), "w")
    assert view.array is not None
    export = view.array.data
    view.close()
    with pytest.raises(shmem.RegionBusy):
        system.host.free(r)
    system.host.free(r, force=True)
    other = system.host.alloc(4096)
    export[0] = 7
    system.host.map(other)
    assert system.host.read(other, 0, 1) == b"\0", "the old memory was not given out"
