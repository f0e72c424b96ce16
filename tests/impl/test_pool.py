"""Freed regions wait in a pool by size: the next alloc of that size is quick, and nobody can tell otherwise."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import shmem
from shmem.driver.records import Arena
from tests.impl.daemons import ENVIRONMENT, daemon

EXTENT = 1 << 16


@pytest.fixture
def small() -> Iterator[shmem.System]:
    """A host whose memory is one extent."""
    with shmem.System(devices=1, agents="threads", pool=EXTENT, extent=EXTENT, compaction=None) as s:
        yield s


def arena_of(s: shmem.System) -> Arena:
    """The only arena."""
    assert s.driver is not None
    (arena,) = s.driver.service.arenas.values()
    return arena


def place(s: shmem.System, r: shmem.SharedMemoryRegion) -> int:
    with s.host.map(r, "r") as mapping:
        return mapping.physical_address


def test_the_next_alloc_of_a_size_is_the_same_memory_scrubbed_under_a_new_handle(small: shmem.System) -> None:
    host = small.host
    first = host.alloc(4096, purpose="first")
    host.map(first)
    host.write(first, 0, b"secret!!")
    was = place(small, first)
    host.map(first)
    host.unmap(first)
    host.free(first)
    second = host.alloc(4090, flags=shmem.UNCACHED)
    assert place(small, second) == was
    assert (second.id, second.size, second.flags) == (first.id, 4090, shmem.UNCACHED)
    assert second.generation == first.generation + 1
    assert second.device_address != first.device_address
    host.map(second)
    assert host.read(second) == bytes(4090)
    with pytest.raises(shmem.StaleHandle):
        host.read(first)
    with pytest.raises(shmem.StaleHandle):
        host.free(first)
    (record,) = arena_of(small).regions.values()
    assert (record.purpose, record.flags) == ("", shmem.UNCACHED)


def fill_and_empty(s: shmem.System) -> None:
    every = [s.host.alloc(4096) for _ in range(EXTENT // 4096)]
    for r in every:
        s.host.free(r)


def test_another_size_finds_all_of_it_coalesced(small: shmem.System) -> None:
    fill_and_empty(small)
    assert arena_of(small).pooled == EXTENT
    whole = small.host.alloc(EXTENT)
    small.host.free(whole)
    assert arena_of(small).space.holes() == [(place_of_all(small), EXTENT)]


def place_of_all(s: shmem.System) -> int:
    return arena_of(s).extents[0].start


def test_without_coalescing_the_pool_that_is_found(small: shmem.System, monkeypatch: pytest.MonkeyPatch) -> None:
    """Red twin of the test above: who looks at the holes alone does not see the pool."""
    fill_and_empty(small)
    monkeypatch.setattr(Arena, "space", property(lambda arena: arena.free_list))
    with pytest.raises((shmem.Fragmented, shmem.OutOfMemory)):
        small.host.alloc(EXTENT)


def test_memory_with_another_list_is_never_taken(small: shmem.System) -> None:
    with shmem.System(devices=1, agents="threads") as s:
        mine = s.host.alloc(4096)
        s.host.free(mine)
        other = s.host.alloc(4096, acl={"host": "rw", "dev0": "r"})
        assert other.id != mine.id
        with pytest.raises(shmem.NotPermitted):
            s.devices[0].agent.map(s.host.alloc(4096))  # type: ignore[attr-defined]
        s.devices[0].agent.map(other, "r")  # type: ignore[attr-defined]


def test_a_region_in_use_does_not_come_to_the_pool(small: shmem.System) -> None:
    r = small.host.alloc(4096)
    small.host.map(r)
    with small.host.view(r) as array:
        small.host.free(r, force=True)
        assert arena_of(small).pooled == 0
        assert small.host.alloc(4096).id != r.id
        del array


@pytest.mark.parametrize(("kept", "noticed"), [(2, True), (EXTENT, False)])
def test_a_fragmented_arena_is_noticed_through_the_pool(
    kept: int, noticed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shmem.System(devices=0, pool=EXTENT, extent=EXTENT) as s:
        assert s.driver is not None
        told: list[bool] = []
        monkeypatch.setattr(s.driver.service, "wants_compaction", lambda: told.append(True))
        every = [s.host.alloc(4096) for _ in range(EXTENT // 4096)]
        for i, r in enumerate(every[:-1]):
            if i % kept != 1:
                s.host.free(r)
        assert bool(told) is noticed


LOOP = """
import sys, shmem
with shmem.connect(sys.argv[1]) as s:
    print("go", flush=True)
    while True:
        for r in [s.host.alloc(4096) for _ in range(20)]:
            s.host.free(r)
"""


def test_a_process_that_is_killed_while_it_allocates_leaves_nothing(tmp_path: Path) -> None:
    chance = random.Random(1)
    with daemon(tmp_path) as (_, path), shmem.connect(path) as s:
        mine = s.host.alloc(64)
        s.host.map(mine)
        s.host.write(mine, 0, b"mine....")
        before, _ = s.host.link.call("describe")
        for _ in range(5):
            line = [sys.executable, "-c", LOOP, path]
            with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as other:
                assert other.stdout is not None
                other.stdout.readline()
                time.sleep(chance.uniform(0.001, 0.05))
                other.kill()
        for _ in range(100):
            after, _ = s.host.link.call("describe")
            if [a["name"] for a in after["agents"] if a["alive"]] == ["host"] and len(after["arenas"]) == 1:
                break
            time.sleep(0.05)
        assert (after["reserved"], len(after["arenas"])) == (before["reserved"], 1)
        assert s.host.read(mine, 0, 8) == b"mine...."


@pytest.mark.parametrize("size", [0, -64, True, 2**63, 1.5, "64", None])
def test_odd_sizes_after_a_free_are_refused_as_ever(small: shmem.System, size: object) -> None:
    small.host.free(small.host.alloc(64))
    with pytest.raises(shmem.ShmemError):
        small.host.alloc(size)  # type: ignore[arg-type]


@pytest.mark.parametrize("option", [{"flags": 64}, {"flags": "x"}, {"align": 3}, {"align": "x"}, {"acl": {"host": []}}])
def test_odd_options_after_a_free_are_refused_as_ever(small: shmem.System, option: dict[str, object]) -> None:
    small.host.free(small.host.alloc(64))
    with pytest.raises(shmem.ShmemError):
        small.host.alloc(64, **option)  # type: ignore[arg-type]
