"""Real and emulated memory are one API: the same calls give the same results, refusals and warnings on both."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

import shmem

SIZE = 207
OFFSETS = (-65, -1, 0, 1, 7, 8, 9, 56, 63, 64, 65, 128, SIZE - 8, SIZE - 7, SIZE - 1, SIZE, SIZE + 1)
LENGTHS = (None, -1, 0, 1, 2, 8, 9, 63, 64, 65, 72, SIZE)
PATTERN = bytes(range(1, SIZE + 1))


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[Any, Any]]:
    """The host's agent over real memory, and over emulated memory whose hardware does nothing by itself."""
    with (
        shmem.System("pcie", devices=1) as real,
        shmem.System("pcie", devices=1, memory="emulated", agents="threads") as emulated,
    ):
        yield real.host, emulated.host


@pytest.fixture
def regions(both: tuple[Any, Any]) -> Iterator[list[tuple[Any, list[shmem.SharedMemoryRegion]]]]:
    """Each agent with two regions, the first filled."""
    made = []
    for agent in both:
        mine = [agent.alloc(SIZE), agent.alloc(SIZE)]
        for region in mine:
            agent.map(region)
        agent.write(mine[0], 0, PATTERN)
        agent.write(mine[1], 0, bytes(SIZE))
        made.append((agent, mine))
    yield made
    for agent, mine in made:
        for region in mine:
            agent.unmap(region)
            agent.free(region)


def outcome(call: Callable[[], Any]) -> tuple[str, Any, list[str]]:
    """How a call ends: its result or the class of its error, and the warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            said: tuple[str, Any] = "done", call()
        except (shmem.ShmemError, ValueError, TypeError) as error:
            said = "error", type(error).__name__
    return *said, [type(one.message).__name__ for one in told]


Call = Callable[[Any, list[shmem.SharedMemoryRegion], int, Any], Any]


def _after(agent: Any, regions: list[shmem.SharedMemoryRegion], result: Any) -> Any:
    agent.flush(regions[0], drop=True)
    agent.flush(regions[1], drop=True)
    agent.fence()
    return result, [agent.read(region) for region in regions]


def _view(mode: str, changes: tuple[int, ...]) -> Call:
    def call(agent: Any, regions: list[shmem.SharedMemoryRegion], offset: int, length: Any) -> Any:
        where = None if (offset, length) == (0, None) else (offset, 8 if length is None else length)
        with agent.view(regions[0], where, mode) as array:
            before = bytes(array)
            for at in changes:
                if at < len(array):
                    array[at] = 255
        return _after(agent, regions, before)

    return call


CALLS: dict[str, Call] = {
    "read": lambda a, r, offset, length: a.read(r[0], offset, length),
    "read from": lambda a, r, offset, length: a.read(r[0], offset),
    "write": lambda a, r, offset, length: _after(a, r, a.write(r[0], offset, b"x" * max(0, length or 0))),
    "flush": lambda a, r, offset, length: a.flush(r[0], offset, length),
    "flush all": lambda a, r, offset, length: a.flush(r[0]),
    "invalidate": lambda a, r, offset, length: a.invalidate(r[0], offset, length),
    "invalidate all": lambda a, r, offset, length: a.invalidate(r[0]),
    "view": _view("r", ()),
    "view, changed": _view("rw", (0, 1, 3, 4, 5, 9)),
    "view, ends changed": _view("rw", (0, 63)),
    "atomic_add": lambda a, r, offset, length: _after(a, r, a.atomic_add(r[0], offset, 3)),
    "atomic_swap": lambda a, r, offset, length: _after(a, r, a.atomic_swap(r[0], offset, 3)),
    "copy": lambda a, r, offset, length: _after(a, r, a.copy(r[0], r[1], offset, 0, length)),
    "copy to": lambda a, r, offset, length: _after(a, r, a.copy(r[0], r[1], 3, offset, length)),
    "copy inside": lambda a, r, offset, length: _after(a, r, a.copy(r[0], r[0], offset, 64, length)),
    "translate": lambda a, r, offset, length: (
        a.translate(r[0], r[0].device_address + offset) - a.translate(r[0], r[0].device_address)
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_ends_alike(name: str, regions: list[tuple[Any, list[shmem.SharedMemoryRegion]]]) -> None:
    for offset, length in product(OFFSETS, LENGTHS):
        found = []
        for agent, mine in regions:
            agent.write(mine[0], 0, PATTERN)
            agent.write(mine[1], 0, bytes(SIZE))
            agent.flush(mine[0])
            agent.flush(mine[1])
            agent.fence()
            found.append(outcome(partial(CALLS[name], agent, mine, offset, length)))
        assert found[0] == found[1], f"{name} at {offset}, {length} bytes"


def test_a_mapping_for_reading_gives_no_view_for_writing(both: tuple[Any, Any]) -> None:
    for agent in both:
        region = agent.alloc(SIZE)
        agent.map(region, "r")
        with agent.view(region) as array, pytest.raises(ValueError, match="read-only"):
            array[0] = 1
        with pytest.raises(shmem.ReadOnly):
            agent.view(region, None, "rw")
        agent.unmap(region)
        with pytest.raises(shmem.NotMapped):
            agent.read(region)
        agent.free(region)


def test_what_lies_side_by_side_is_written_at_once(
    both: tuple[Any, Any], regions: list[tuple[Any, list[shmem.SharedMemoryRegion]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, mine = regions[1]
    written: list[tuple[int, bytes]] = []
    monkeypatch.setattr(agent, "write", lambda region, offset, data: written.append((offset, data)))
    with agent.view(mine[0], (8, 64), "rw") as array:
        array[[0, 1, 3, 4, 5, 9, 63]] = 255
    assert written == [(8, b"\xff" * 2), (11, b"\xff" * 3), (17, b"\xff"), (71, b"\xff")]


def test_who_may_not_write_an_arena_does_not_compact_it(both: tuple[Any, Any]) -> None:
    for agent in both:
        gap, late = agent.alloc(128), agent.alloc(64)
        agent.free(gap)
        assert agent.compact()["moved"] == 1
        assert agent.compact()["moved"] == 0
        agent.free(late)


def test_memory_is_where_its_addresses_say(both: tuple[Any, Any]) -> None:
    for agent in both:
        region = agent.alloc(SIZE)
        mapping = agent.map(region)
        agent.write(region, 0, PATTERN)
        agent.flush(region)
        agent.fence()
        raw = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_uint8 * SIZE).from_address(mapping.host_address))
        assert bytes(raw) == PATTERN
        assert mapping.physical_address == agent.translate(region, region.device_address)
        agent.unmap(region)
        agent.free(region)
