"""Which memory an alloc gets when some was freed: by list, by window; what large ones need, and what is locked."""

from __future__ import annotations

from typing import Any

import pytest

import shmem
from shmem import memfd
from shmem.driver.allocator import Allocator


def physical(s: shmem.System, r: shmem.SharedMemoryRegion) -> int:
    """Where a region of the host begins."""
    with s.host.map(r, "r") as mapping:
        return mapping.physical_address


def test_a_hole_that_fits_exactly_is_taken_at_address_zero_too() -> None:
    space = Allocator()
    space.give(0, 64)
    space.give(128, 128)
    assert space.take(64) == 0


def test_an_alloc_without_a_list_gets_the_seat_and_memory_of_the_like_region_freed_last() -> None:
    with shmem.System(devices=0) as s:
        s.host.alloc(64)
        first = s.host.alloc(64)
        at = physical(s, first)
        s.host.free(first)
        again = s.host.alloc(64)
        assert (again.id, again.generation, physical(s, again)) == (first.id, first.generation + 1, at)


def test_an_alloc_in_a_window_does_not_get_freed_memory_outside_of_it() -> None:
    with shmem.System(devices=0) as s:
        s.host.alloc(64)
        first = s.host.alloc(64)
        at = physical(s, first)
        s.host.free(first)
        assert physical(s, s.host.alloc(64, window=(at + 4096, at + 8192))) >= at + 4096


def test_freed_memory_of_one_list_is_not_given_to_another(threads: shmem.System) -> None:
    threads.host.free(threads.host.alloc(64))
    for acl in ({"host": "rw", "dev0": "r"}, {"host": "rw", "dev1": "r"}) * 2:
        r = threads.host.alloc(64, acl=acl)
        for device in threads.devices:
            agent: Any = device.agent  # type: ignore[attr-defined]
            if agent.name in acl:
                agent.map(r, "r")
                agent.unmap(r)
            else:
                with pytest.raises(shmem.NotPermitted):
                    agent.map(r, "r")
        threads.host.free(r)


def test_an_extent_leaves_room_for_large_alignment() -> None:
    with shmem.System(devices=0, pool=16 << 20, extent=1 << 20) as s:
        s.host.alloc(64)
        assert physical(s, s.host.alloc(2 << 20, align=2 << 20)) % (2 << 20) == 0


def test_a_region_may_be_as_large_as_the_pool() -> None:
    with shmem.System(devices=0, pool=1 << 20, extent=1 << 16) as s:
        assert s.host.alloc(1 << 20).size == 1 << 20


def test_only_memory_for_secrets_is_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    locked: list[int] = []
    monkeypatch.setattr(memfd, "lock", lambda mapping, size: locked.append(size))
    with shmem.System(devices=0, agents="threads", extent=1 << 20) as s:
        s.host.alloc(64)
        assert locked == []
        s.host.alloc(64, flags=shmem.SECURE)
        assert locked == [1 << 20]


def test_a_forced_free_leaves_no_mapping_to_the_next_region_of_its_seat() -> None:
    with shmem.System(devices=0) as s:
        first = s.host.alloc(64)
        s.host.map(first)
        s.host.free(first, force=True)
        again = s.host.alloc(64)
        assert again.id == first.id
        s.host.free(again)


def test_a_handle_of_no_arena_is_stale() -> None:
    with shmem.System(devices=0) as s:
        assert s.driver is not None
        service = s.driver.service
        with pytest.raises(shmem.StaleHandle):
            service.free(service.agent_named("host"), 1 << 30, 1)


def test_unknown_flags_are_refused_where_freed_memory_would_fit() -> None:
    with shmem.System(devices=0) as s:
        s.host.free(s.host.alloc(64))
        with pytest.raises(shmem.InvalidArgument, match="flags 64"):
            s.host.alloc(64, flags=64)
