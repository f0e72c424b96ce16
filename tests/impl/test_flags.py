"""The flags of alloc: each one does what it says, in every process that maps the region."""

from __future__ import annotations

from typing import Any

import pytest

import shmem
from tests.impl import programs


@pytest.mark.parametrize("platform", ["weakest", "pcie", "soc"])
def test_uncached_memory_is_in_no_cache(platform: str) -> None:
    """A store waits in the buffer until a fence, and a reader needs no invalidate."""
    with shmem.System(platform=platform, devices=1, memory="emulated", agents="threads") as s:
        host, dev0 = s.host, s.devices[0].agent  # type: ignore[attr-defined]
        acl = {"host": "rw", "dev0": "rw"}
        plain, uncached = host.alloc(64, acl=acl), host.alloc(64, acl=acl, flags=shmem.UNCACHED)
        assert "UNCACHED" in repr(uncached)
        seen = {}
        for r in (plain, uncached):
            host.map(r)
            dev0.map(r)
            assert dev0.read(r, 0, 3) == bytes(3)
            host.write(r, 0, b"new")
            lines = {frame for _, frame, *_ in s.hardware.state()["dirty"]}
            assert (s.hardware.frame(r, 0) in lines) is (r is plain)
            assert dev0.read(r, 0, 3) == bytes(3), "a store is in memory before a fence"
            host.fence()
            seen[r] = dev0.read(r, 0, 3)
        assert seen == {plain: bytes(3), uncached: b"new"}
        with pytest.raises(shmem.InvalidArgument):
            s.hardware.fill("host", uncached)
        assert host.read(uncached, 0, 3) == b"new"


def test_uncached_memory_never_fails_without_flush_and_invalidate() -> None:
    """The hand-over with the fence only: right on uncached memory under every hazard, wrong on cached memory."""

    def arrives(seed: int, flags: int) -> bool:
        with shmem.System(platform="weakest", devices=1, memory="emulated", agents="threads", seed=seed) as s:
            r = s.host.alloc(64, acl={"host": "rw", "dev0": "r"}, flags=flags)
            s.host.map(r)
            task = s.devices[0].run(programs.read_when_told, r)
            s.host.wait(9)
            s.host.write(r, 0, b"new data")
            s.host.fence()
            s.host.send("dev0", 7)
            return bool(task.result() == b"new data")

    assert [seed for seed in range(40) if not arrives(seed, shmem.UNCACHED)] == []
    assert not all(arrives(seed, 0) for seed in range(40))


@pytest.mark.parametrize("memory", ["coherent", "emulated"])
def test_no_compact_keeps_a_region_where_it_is(memory: str) -> None:
    with shmem.System(devices=1, memory=memory, agents="threads", compaction=None, extent=1 << 20) as s:
        host: Any = s.host
        every = [host.alloc(4096, flags=shmem.NO_COMPACT if i % 3 == 0 else 0) for i in range(12)]
        kept = [(i, r) for i, r in enumerate(every) if i % 2 == 1]
        before = {}
        for i, r in kept:
            before[r] = host.map(r).physical_address
            host.copy_in(r, bytes([i]) * 4096)
        for r in every[::2]:
            host.free(r)
        assert host.compact()["moved"] > 0
        for i, r in kept:
            moved = host.map(r).physical_address != before[r]
            assert moved is (i % 3 != 0)
            assert host.copy_out(r) == bytes([i]) * 4096


def test_secure_memory_is_locked_and_dumped_by_no_process_that_maps_it(system: shmem.System) -> None:
    r = system.host.alloc(4096, flags=shmem.SECURE, acl={"host": "rw", "dev0": "rw"})
    plain = system.host.alloc(4096, acl={"host": "rw", "dev0": "rw"})
    for flags in (programs.flags_of_mapping(system.host, r), *mapped(system, r)):
        assert "dd" in flags, "the mapping is in core dumps"
    assert all("dd" not in flags for flags in mapped(system, plain))
    assert system.driver is not None
    (arena,) = [a for a in system.driver.service.arenas.values() if a.secure]
    assert all(region.flags & shmem.SECURE for region in arena.regions.values())


def mapped(system: shmem.System, r: shmem.SharedMemoryRegion) -> list[list[str]]:
    """What the kernel says of a device's mapping."""
    return [system.devices[0].run(programs.flags_of_mapping, r).result(30)]


def test_secure_memory_is_scrubbed_when_it_is_freed(system: shmem.System) -> None:
    r = system.host.alloc(4096, flags=shmem.SECURE)
    system.host.map(r)
    system.host.write(r, 0, b"secret!!" * 512)
    assert system.driver is not None
    (arena,) = [a for a in system.driver.service.arenas.values() if a.secure]
    extent = arena.extents[0]
    assert b"secret!!" in bytes(extent.page.mapping)
    system.host.unmap(r)
    system.host.free(r)
    assert b"secret!!" not in bytes(extent.page.mapping)


@pytest.mark.parametrize("flags", [8, -1, 1 << 40])
def test_flags_that_do_not_exist_are_refused(threads: shmem.System, flags: int) -> None:
    with pytest.raises(shmem.InvalidArgument, match="SECURE, NO_COMPACT and UNCACHED"):
        threads.host.alloc(64, flags=flags)
