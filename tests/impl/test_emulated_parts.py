"""What the parts of emulated memory do one by one: lines, slots, barriers, views, copies, and the edges of ranges."""

from __future__ import annotations

import ctypes
import warnings
from typing import Any

import pytest

import shmem
from shmem.emulated.agent import copied_view
from shmem.emulated.board import Barrier
from shmem.emulated.lines import ALL, span, words
from shmem.layout import LINE
from tests.impl.emulating import dev, shared, system

quiet = pytest.mark.filterwarnings("ignore::shmem.PartialLineWarning")
WORD = b"12345678"
OUTSIDE = "the region has"
RAMP = bytes(range(1, 193))


def side(s: shmem.System, name: str) -> Any:
    """What an agent's hardware holds."""
    return s.hardware.hardware.sides[name]


# -- lines and hardware --------------------------------------------------------------------------------------


def test_a_mask_has_one_bit_for_each_byte_of_a_line() -> None:
    assert span(0, LINE) == ALL
    assert words(1) == [0]
    assert words(ALL) == list(range(8))
    assert words(1 << LINE) == [], "what lies behind the line is no word of it"


def test_an_alloc_without_flags_has_none(automatic: shmem.System) -> None:
    assert automatic.host.alloc(LINE).flags == 0


def test_uncached_regions_never_enter_a_cache(manual: shmem.System) -> None:
    kept = shared(manual)
    plain = shared(manual, flags=shmem.UNCACHED)
    for r in (kept, plain):
        manual.host.read(r)
    assert set(side(manual, "host").lines) == {manual.hardware.frame(kept, 0)}
    manual.host.write(plain, 0, RAMP[:LINE])
    manual.host.fence()
    assert dev(manual).read(plain) == RAMP[:LINE]


def test_what_the_system_took_back_reads_as_a_line_of_zeros(manual: shmem.System) -> None:
    shared(manual)
    assert manual.driver is not None
    ends = [e.end for a in manual.driver.service.arenas.values() for e in a.extents]
    for end in ends:
        assert bytes(manual.hardware.hardware.memory(end)) == bytes(LINE)


def test_a_frozen_line_cannot_be_written_through_a_translation_for_reading(manual: shmem.System) -> None:
    r = shared(manual)
    dev(manual).unmap(r)
    dev(manual).map(r, "r")
    dev(manual).read(r)
    dev(manual).map(r, "rw")
    manual.hardware.freeze(r)
    with pytest.raises(shmem.Frozen):
        dev(manual).write(r, 0, WORD)
    assert dev(manual).read(r, 0, 8) == bytes(8)


@quiet
def test_where_the_platform_leaves_it_open_invalidate_keeps_some_dirty_lines_and_drops_others() -> None:
    with system(platform="weakest", seed=1, hazards=0) as s:
        r = shared(s, 64 * LINE)
        s.host.write(r, 0, b"\1" * (64 * LINE))
        s.host.invalidate(r)
        s.host.fence()
        assert set(s.host.read(r)) == {0, 1}


def test_a_death_without_a_seed_always_loses_what_was_not_published(automatic: shmem.System) -> None:
    r = shared(automatic, 64 * LINE)
    dev(automatic).write(r, 0, b"\1" * (64 * LINE))
    dev(automatic).die()
    assert automatic.host.read(r) == bytes(64 * LINE)


def test_a_forced_free_takes_translations_of_that_region_only(automatic: shmem.System) -> None:
    gone, stays = shared(automatic), shared(automatic)
    for r in (gone, stays):
        dev(automatic).read(r)
    automatic.host.free(gone, force=True)
    assert set(side(automatic, "dev0").tlb) == {(stays.key, 0)}


def test_unmap_of_the_driver_takes_the_translation_with_it(automatic: shmem.System) -> None:
    r = shared(automatic)
    dev(automatic).read(r)
    dev(automatic).unmap(r)
    with pytest.raises(shmem.NotMapped):
        dev(automatic).read(r)


def test_compaction_moves_only_what_the_caller_may_write(automatic: shmem.System) -> None:
    first, second = dev(automatic).alloc(LINE), dev(automatic).alloc(LINE)
    dev(automatic).free(first)
    assert automatic.host.compact()["moved"] == 0
    assert dev(automatic).compact()["moved"] == 1
    dev(automatic).free(second)


# -- slots, teams and barriers -------------------------------------------------------------------------------


def test_nobody_sends_to_itself(automatic: shmem.System) -> None:
    with pytest.raises(shmem.NotPermitted):
        automatic.host.send("host", 1)
    assert automatic.host.pending(1) == 0


def test_a_sticky_slot_holds_one_notification_of_each_sender_and_gives_all_at_once() -> None:
    with system(platform="weakest") as s:
        assert dev(s)._counted("host", 1) == 0
        for i, n in ((0, 2), (1, 3)):
            dev(s, i).send("host", 1, n)
        assert s.hardware.board.pending["host", 1] == {"dev0": 1, "dev1": 1}
        s.host.wait(1)
        assert s.host.pending(1) == 0
        assert s.host._upto(1) == {"dev0": 2, "dev1": 3}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("members", "flavour"), [(["host", "host"], "central"), (["host", "dev0"], "tree"), (["host", "dev9"], "central")]
)
def test_teams_name_known_members_once_and_a_known_flavour(
    automatic: shmem.System, members: list[str], flavour: str
) -> None:
    with pytest.raises(shmem.InvalidArgument):
        automatic.host.team("t", members, flavour)


def test_a_barrier_is_complete_in_epochs_that_everybody_reached() -> None:
    barrier = Barrier("t", ("a", "b"))
    assert barrier.complete(0)
    barrier.arrived["a"] = 1
    assert not barrier.complete(1)
    barrier.arrived["b"] = 1
    assert barrier.complete(1)


def test_the_driver_answers_a_global_barrier_for_everybody(automatic: shmem.System) -> None:
    r = shared(automatic, 2 * LINE)
    dev(automatic).read(r)
    automatic.host.gb_begin(r, ["dev0"])
    automatic.host.gb_end(r)
    assert not side(automatic, "dev0").lines


def test_a_system_that_has_ended_has_closed_its_agents() -> None:
    with system() as s:
        agent = dev(s)
        assert not agent._closed
    assert agent._closed


# -- ranges and views ----------------------------------------------------------------------------------------


@quiet
def test_ranges_cross_lines_and_end_with_the_region(automatic: shmem.System) -> None:
    r = shared(automatic, 192)
    automatic.host.write(r, 0, RAMP)
    automatic.host.write(r, 40, RAMP[:100])
    want = RAMP[:40] + RAMP[:100] + RAMP[140:]
    assert automatic.host.read(r) == want
    assert automatic.host.read(r, 8) == want[8:]
    assert automatic.host.read(r, 33, 130) == want[33:163]
    for offset in (0, 192):
        assert automatic.host.read(r, offset, 0) == b""


@pytest.mark.parametrize(("offset", "length"), [(-1, 1), (-1, None), (8, -1), (0, 65), (60, 8), (-2, -2), (65, 0)])
def test_ranges_outside_of_the_region_are_refused(automatic: shmem.System, offset: int, length: int | None) -> None:
    r = shared(automatic)
    with pytest.raises(shmem.InvalidArgument, match=OUTSIDE):
        automatic.host.read(r, offset, length)
    with pytest.raises(shmem.InvalidArgument, match=OUTSIDE):
        automatic.host.flush(r, offset, length)


def test_only_ranges_that_share_a_line_with_other_bytes_are_warned_about(automatic: shmem.System) -> None:
    r = shared(automatic, 100)
    for call in (automatic.host.flush, automatic.host.invalidate):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call(r)
            call(r, 0, 64)
            call(r, 64)
            call(r, 8, 0)
        for part in ((0, 8), (8, 56), (60, 40)):
            with pytest.warns(shmem.PartialLineWarning):
                call(r, *part)


def test_atomics_end_with_the_region(automatic: shmem.System) -> None:
    r, odd = shared(automatic), shared(automatic, 15)
    assert automatic.host.atomic_add(r, 56, 1) == 0
    for region, offset in ((r, 57), (r, 64), (odd, 8)):
        with pytest.raises(shmem.InvalidArgument):
            automatic.host.atomic_add(region, offset, 1)


def test_a_view_shows_its_range_or_everything(automatic: shmem.System) -> None:
    r = shared(automatic, 128)
    automatic.host.write(r, 0, RAMP[:128])
    with automatic.host.view(r) as v:
        assert bytes(v) == RAMP[:128]
    with automatic.host.view(r, (8, 72)) as v:
        assert bytes(v) == RAMP[8:80]


def test_a_view_for_writing_needs_the_right_to_write(manual: shmem.System) -> None:
    r = shared(manual)
    dev(manual).unmap(r)
    dev(manual).map(r, "r")
    with dev(manual).view(r, None, "r") as v:
        assert bytes(v) == bytes(LINE)
    with pytest.raises(shmem.ReadOnly):
        dev(manual).view(r, None, "w")
    dev(manual).unmap(r)
    assert dev(manual).read(r, 0, 8) == bytes(8), "the translation is still there"
    with pytest.raises(shmem.ReadOnly):
        dev(manual).view(r, None, "w")


def test_a_view_writes_each_run_of_changed_bytes_at_once() -> None:
    written: list[tuple[int, bytes]] = []

    class Writer:
        def write(self, region: Any, offset: int, data: bytes) -> None:
            written.append((offset, data))

    region: Any = None
    with copied_view(Writer(), region, 100, bytes(32), "w", "u1") as v:
        v[3:5], v[6], v[10:14] = 1, 2, (3, 4, 5, 6)
    assert written == [(103, b"\1\1"), (106, b"\2"), (110, b"\3\4\5\6")]
    written.clear()
    with copied_view(Writer(), region, 100, bytes(32), "w", "u1"):
        pass
    assert written == []


# -- copies and addresses ------------------------------------------------------------------------------------


def filled(s: shmem.System, size: int) -> shmem.SharedMemoryRegion:
    """A shared region with a ramp of bytes in memory."""
    r = shared(s, size)
    s.host.write(r, 0, RAMP[:size])
    s.host.flush(r)
    s.host.fence()
    s.host.invalidate(r)
    return r


@pytest.mark.parametrize(
    ("at", "to", "n"), [(3, 0, 21), (0, 5, 21), (3, 6, 30), (61, 7, 9), (4, 8, None), (8, 68, None)]
)
def test_a_copy_moves_pieces_inside_of_words_and_nothing_else(
    manual: shmem.System, at: int, to: int, n: int | None
) -> None:
    a, b = filled(manual, 128), shared(manual, 192 if n or at == 4 else 96)
    copy: Any = manual.host.copy_start(a, b, at, to, n)
    n = min(128 - at, b.size - to) if n is None else n
    assert all(x % 8 + k <= 8 and y % 8 + k <= 8 for _, x, _, y, k in copy.pieces)
    manual.host.copy_wait(copy)
    assert manual.host.read(b) == bytes(to) + RAMP[at : at + n] + bytes(b.size - to - n)


def test_copies_inside_a_region_may_touch_and_not_overlap(manual: shmem.System) -> None:
    r = filled(manual, 64)
    for at, to in ((0, 32), (32, 0)):
        manual.host.copy_wait(manual.host.copy_start(r, r, at, to, 32))
    assert manual.host.read(r) == RAMP[:32] * 2
    for at, to in ((0, 31), (31, 0)):
        with pytest.raises(shmem.InvalidArgument, match="overlap"):
            manual.host.copy_start(r, r, at, to, 32)


def test_a_copy_minds_frozen_lines_of_its_own_range_only(manual: shmem.System) -> None:
    a, b = shared(manual, 192), shared(manual, 192)
    manual.hardware.freeze(a, 1)
    manual.host.copy_wait(manual.host.copy_start(a, b, 0, 0, 64))
    manual.host.copy_wait(manual.host.copy_start(a, b, 128, 0, 64))
    for at, n in ((63, 2), (64, 1), (127, 1), (100, 64)):
        with pytest.raises(shmem.Frozen):
            manual.host.copy_start(a, b, at, 0, n)


def test_addresses_lead_to_the_first_line_and_translate_to_each_byte(automatic: shmem.System) -> None:
    r, hw = filled(automatic, 128), automatic.hardware
    m = automatic.host.map(r)
    assert m.physical_address == hw.frame(r, 0)
    assert ctypes.string_at(m.host_address, 128) == RAMP[:128]
    for offset in (0, 6, 70, 127):
        found = automatic.host.translate(r, r.device_address + offset)
        assert found == hw.frame(r, offset // LINE) + offset % LINE
    for offset in (-1, 128):
        with pytest.raises(shmem.InvalidArgument, match=OUTSIDE):
            automatic.host.translate(r, r.device_address + offset)
