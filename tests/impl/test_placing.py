"""Where regions come to lie, and what a refusal says: which hole, which arena, how much is free and to whom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import shmem
from shmem.driver.allocator import Allocator
from shmem.driver.regions import quiet
from shmem.layout import LINE, REGIONS

EXTENT = 1 << 16


@pytest.fixture
def small() -> Iterator[Any]:
    """A system of two extents at most."""
    with shmem.System("coherent", devices=1, agents="threads", pool=2 * EXTENT, extent=EXTENT, compaction=None) as s:
        yield s


def holes(*sizes: int) -> Allocator:
    """A list of holes of these sizes, a line between each two."""
    space, at = Allocator(), 0
    for size in sizes:
        space.give(at, size)
        at += size + LINE
    return space


def test_the_smallest_hole_that_fits_is_taken_and_of_equal_ones_the_lowest() -> None:
    space = holes(4 * LINE, 2 * LINE, 2 * LINE, LINE)
    assert space.take(2 * LINE) == 5 * LINE
    assert space.take(2 * LINE) == 8 * LINE
    assert space.take(2 * LINE) == 0
    assert space.take(4 * LINE) is None
    assert space.largest() == 2 * LINE
    assert Allocator().largest() == 0


def test_a_hole_at_address_zero_and_one_at_one_line_are_both_found_by_their_size() -> None:
    space = holes(LINE, LINE)
    assert [space.take(LINE), space.take(LINE), space.take(LINE)] == [0, 2 * LINE, None]


@pytest.mark.parametrize(
    ("window", "free"),
    [
        (None, 7), ((0, 10 * LINE), 7), ((LINE, 4 * LINE), 3), ((3 * LINE, 6 * LINE), 2), ((5 * LINE, 6 * LINE), 1),
        ((4 * LINE, 5 * LINE), 0), ((20 * LINE, 30 * LINE), 0),
    ],
)  # fmt: skip
def test_what_is_free_inside_of_a_window(window: tuple[int, int] | None, free: int) -> None:
    assert holes(4 * LINE, 3 * LINE).free_in(window) == free * LINE


def test_a_byte_of_a_hole_inside_of_a_window_counts() -> None:
    assert holes(4 * LINE).free_in((4 * LINE - 1, 5 * LINE)) == 1


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"size": 0}, "at least one byte"), ({"size": -1}, "at least one byte"),
        ({"size": 8, "flags": 64}, "there are SECURE, NO_COMPACT and UNCACHED"),
        ({"size": 8, "align": 48}, "align"), ({"size": 1, "align": 48}, "aligned"), ({"size": 8, "align": 0}, "align"),
    ],
)  # fmt: skip
def test_a_bad_request_says_what_is_wrong_with_it(small: Any, asked: dict[str, int], said: str) -> None:
    with pytest.raises(shmem.InvalidArgument, match=said):
        small.host.alloc(**asked)


def test_who_holds_a_region_is_named_with_rights_and_views(small: Any) -> None:
    r = small.host.alloc_broadcast(LINE, ["dev0"])
    small.host.map(r, "rw")
    small.devices[0].agent.map(r, "r")
    with small.host.view(r), pytest.raises(shmem.RegionBusy) as told:
        small.host.free(r)
    text = str(told.value)
    assert "host maps it rw (1 in use)" in text
    assert "dev0 maps it r;" in text or text.partition("dev0 maps it r")[2][:1] in (";", "\n", ",", " ")
    assert "dev0 maps it r (" not in text


def rights_words(small: Any, r: shmem.SharedMemoryRegion) -> list[int]:
    """What stands where each agent's process looks up its rights to a region."""
    arena = small.driver.service.arenas[r.id // REGIONS]
    return [user.rights.words.load(r.id % REGIONS * 8) for user in arena.users.values()]


def test_rights_stand_in_the_word_of_their_region_as_long_as_it_is_mapped(small: Any) -> None:
    regions = [small.host.alloc(LINE, acl={"host": "rw", "dev0": "r"}) for _ in range(3)]
    for r in regions:
        small.host.map(r, "rw")
        assert set(rights_words(small, r)) - {0} == {r.generation << 2 | 3}
    with small.host.view(regions[1]), pytest.raises(shmem.RegionBusy):
        small.host.unmap(regions[1])
    assert set(rights_words(small, regions[1])) - {0} == {regions[1].generation << 2 | 3}
    small.host.unmap(regions[1])
    assert set(rights_words(small, regions[1])) == {0}
    small.host.free(regions[2], force=True)
    assert set(rights_words(small, regions[2])) == {0}
    assert set(rights_words(small, regions[0])) - {0} == {regions[0].generation << 2 | 3}


def test_a_forced_free_ends_the_mappings_of_all(small: Any) -> None:
    r = small.host.alloc_broadcast(LINE, ["dev0"])
    for agent in (small.host, small.devices[0].agent):
        agent.map(r, "r")
    small.host.free(r, force=True)
    for agent in (small.host, small.devices[0].agent):
        with pytest.raises(shmem.StaleHandle):
            agent.read(r)
    for arena in small.driver.service.arenas.values():
        for user in arena.users.values():
            assert user.rights.words.load(r.id % REGIONS * 8) == 0, "nothing of the mapping is left where clients look"
    new = small.host.alloc_broadcast(LINE, ["dev0"])
    for agent in (small.host, small.devices[0].agent):
        with pytest.raises(shmem.NotMapped):
            agent.read(new)


def test_memory_of_another_agent_is_not_given_out_again(small: Any) -> None:
    """The short way to memory that was freed a moment ago knows the list it was freed under, none given included."""
    dev = small.devices[0].agent
    for _ in range(3):
        small.host.free(small.host.alloc(LINE))
        mine = dev.alloc(LINE)
        with pytest.raises(shmem.NotPermitted):
            small.host.map(mine)
        dev.free(mine)


def test_a_full_pool_says_what_is_free_and_how_it_was_asked(small: Any) -> None:
    kept = [small.host.alloc(EXTENT // 2) for _ in range(4)]
    with pytest.raises(shmem.OutOfMemory) as told:
        small.host.alloc(EXTENT)
    assert f"alloc of {EXTENT} bytes aligned to {LINE}" in str(told.value)
    assert " in (" not in str(told.value)
    assert "0 bytes are free here" in str(told.value)
    for region in (kept[0], kept[2]):
        small.host.free(region)
    with pytest.raises(shmem.Fragmented, match=f"the largest hole has {EXTENT // 2}"):
        small.host.alloc(EXTENT)


def test_a_window_stands_in_the_refusal(small: Any) -> None:
    kept = [small.host.alloc(EXTENT) for _ in range(2)]
    start = small.host.map(kept[0]).physical_address
    window = start, start + 2 * LINE
    with pytest.raises(shmem.OutOfMemory) as told:
        small.host.alloc(LINE, window=window)
    assert f" in {window}" in str(told.value)


def test_a_large_alignment_grows_the_pool_by_as_much_as_it_may_need(small: Any) -> None:
    r = small.host.alloc(LINE, align=EXTENT // 2)
    assert small.host.map(r).physical_address % (EXTENT // 2) == 0
    with shmem.System("coherent", devices=0, agents="threads", pool=1 << 20, extent=1 << 14, compaction=None) as s:
        r = s.host.alloc(LINE, align=1 << 18)
        assert s.host.map(r).physical_address % (1 << 18) == 0


def test_regions_of_one_list_lie_together_and_those_of_another_apart(small: Any) -> None:
    mine, ours = small.host.alloc(LINE), small.host.alloc_broadcast(LINE, ["dev0"])
    again, ours_again = small.host.alloc(LINE), small.host.alloc_broadcast(LINE, ["dev0"])
    at = {r: small.host.map(r).physical_address for r in (mine, ours, again, ours_again)}
    assert abs(at[mine] - at[again]) < EXTENT
    assert abs(at[ours] - at[ours_again]) < EXTENT
    assert abs(at[mine] - at[ours]) >= EXTENT
    with pytest.raises(shmem.NotPermitted):
        small.devices[0].agent.map(again)


def test_memory_that_was_freed_is_given_out_again_under_the_next_generation(small: Any) -> None:
    acl = {"host": "rw", "dev0": "r"}
    r = small.host.alloc(LINE, acl=acl)
    at = small.host.map(r).physical_address
    small.host.write(r, 0, b"x" * LINE)
    small.host.unmap(r)
    small.host.free(r)
    new = small.host.alloc(LINE, acl=acl)
    assert (new.id, new.generation) == (r.id, r.generation + 1)
    assert small.host.map(new).physical_address == at
    assert small.host.read(new) == bytes(LINE)
    other = small.host.alloc(LINE, align=2 * LINE, acl=acl)
    assert small.host.map(other).physical_address % (2 * LINE) == 0


def test_patience_ends() -> None:
    looks: list[int] = []

    def soon() -> bool:
        looks.append(1)
        return len(looks) == 3

    assert quiet(soon, patience=5.0)
    assert not quiet(lambda: False, patience=0.001)
    assert quiet(lambda: True, patience=0)


def test_the_first_region_and_its_successors_have_the_documented_numbers(small: Any) -> None:
    first = small.host.alloc(1)
    assert (first.id, first.generation, first.flags) == (0, 1, 0)
    addresses = [first.device_address]
    addresses += [small.host.alloc(size).device_address for size in (LINE + 1, 1 << 16, LINE)]
    small.host.free(first)
    again = small.host.alloc(1 << 5)
    addresses += [again.device_address, small.host.alloc(LINE, align=2 * LINE).device_address]
    assert (again.id, again.generation) == (0, 2)
    assert addresses == [0x4000_0000_0000 + i * 0x1_0000 for i in range(6)]


def test_memory_of_a_full_arena_comes_back_under_the_next_generation_the_long_way_too(small: Any) -> None:
    first = small.host.alloc(LINE)
    small.host.free(first)
    other = small.host.alloc(LINE, align=2 * LINE)
    assert (other.id, other.generation) == (first.id, 2)


def test_a_region_takes_whole_lines(small: Any) -> None:
    for size in (1, LINE - 1, LINE, LINE + 1, 2 * LINE):
        one, two = small.host.alloc(size, align=LINE), small.host.alloc(LINE)
        at = [small.host.map(r).physical_address for r in (one, two)]
        assert abs(at[1] - at[0]) >= -(-size // LINE) * LINE or at[1] + LINE <= at[0]
        small.host.write(one, 0, b"x" * size)
        assert small.host.read(two) == bytes(LINE)


def test_the_driver_itself_gives_plain_memory_and_frees_nothing_that_is_mapped(small: Any) -> None:
    service, record = small.driver.service, next(iter(small.driver.service.agents.values()))
    region = service.alloc(record, LINE)
    assert region.flags == 0
    service.map(record, region.id, region.generation, 3)
    with pytest.raises(shmem.RegionBusy):
        service.free(record, region.id, region.generation)


def test_a_full_pool_says_that_nothing_is_unused(small: Any) -> None:
    for _ in range(2):
        small.host.alloc(EXTENT)
    with pytest.raises(shmem.OutOfMemory, match=f" 0 of {2 * EXTENT} are unused"):
        small.host.alloc(LINE)


def test_numbers_of_another_list_and_addresses_of_large_memory_that_comes_back(small: Any) -> None:
    acl = {"host": "rw", "dev0": "r"}
    mine, ours = small.host.alloc(LINE), small.host.alloc(EXTENT, acl=acl)
    assert (mine.id, ours.id) == (0, REGIONS)
    small.host.free(ours)
    again = small.host.alloc(EXTENT, acl=acl)
    assert (again.id, again.generation) == (ours.id, 2)
    assert small.host.alloc(LINE).device_address - again.device_address == EXTENT


def test_the_short_way_to_freed_memory_keeps_alignment_and_secrecy(small: Any) -> None:
    acl = {"host": "rw", "dev0": "r"}
    both = [small.host.alloc(LINE, acl=acl) for _ in range(2)]
    at = {r: small.host.map(r).physical_address for r in both}
    odd = next(r for r in both if at[r] % (2 * LINE))
    small.host.unmap(odd)
    small.host.free(odd)
    aligned = small.host.alloc(LINE, align=2 * LINE, acl=acl)
    assert small.host.map(aligned).physical_address % (2 * LINE) == 0
    exact = small.host.alloc(LINE, window=(at[odd], at[odd] + LINE), acl=acl)
    assert small.host.map(exact).physical_address == at[odd]
    secret = small.host.alloc(LINE, flags=shmem.SECURE, acl=acl)
    assert small.driver.service.arenas[secret.id // REGIONS].secure
    small.host.free(secret)
    plain = small.host.alloc(LINE, acl=acl)
    assert not small.driver.service.arenas[plain.id // REGIONS].secure


def one_process(**more: Any) -> shmem.System:
    return shmem.System(**{"devices": 0, "agents": "threads", "compaction": None, **more})


def test_the_pool_is_never_exceeded_and_can_be_used_to_its_last_byte() -> None:
    with one_process(pool=EXTENT + 8192, extent=EXTENT) as s:
        s.host.alloc(EXTENT)
        s.host.alloc(LINE)
        service = s.driver.service  # type: ignore[union-attr]
        assert service.reserved <= service.pool
    with one_process(pool=EXTENT, extent=4096) as s:
        s.host.alloc(EXTENT, align=4096)


def test_a_window_of_the_platform_can_be_used_to_its_end() -> None:
    start = 0x1_0000_0000
    with one_process(platform=shmem.Platform("narrow", windows=((start, start + EXTENT),)), extent=EXTENT) as s:
        assert s.host.map(s.host.alloc(EXTENT)).physical_address == start
        with pytest.raises(shmem.InvalidArgument, match="outside of what the platform"):
            s.host.alloc(LINE, window=(start + EXTENT, start + EXTENT + LINE))


def test_a_window_that_is_smaller_than_the_region_is_a_bad_request(small: Any) -> None:
    at = small.host.map(small.host.alloc(LINE)).physical_address
    with pytest.raises(shmem.InvalidArgument):
        small.host.alloc(2 * LINE, window=(at, at + LINE))
