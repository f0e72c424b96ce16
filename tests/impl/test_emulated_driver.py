"""What the driver of emulated memory does: hushing, moving, death, and what it refuses; every step commanded."""

from __future__ import annotations

from typing import Any

import pytest

import shmem
from shmem.layout import LINE
from tests.impl.emulating import dev, shared, system

pytestmark = pytest.mark.filterwarnings("ignore::shmem.PartialLineWarning")
WORD = b"12345678"


def sides(s: shmem.System) -> Any:
    """What each agent's hardware holds."""
    return s.hardware.hardware.sides


def freed(s: shmem.System, r: shmem.SharedMemoryRegion) -> None:
    """Unmapped by everybody, and freed."""
    for name in ("host", "dev0"):
        s.host.unmap(r, name)
    s.host.free(r)


@pytest.mark.parametrize("wrong", [{"driver": "x"}, *({"hazards": h} for h in (-0.5, -1, 1, 1.5))])
def test_an_unknown_driver_or_chance_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(shmem.InvalidArgument):
        system(**wrong)
    with system(hazards=0):
        pass


def test_lines_are_those_that_the_region_has(manual: shmem.System) -> None:
    r, hw = shared(manual, LINE + 8), manual.hardware
    assert r.flags == 0
    assert hw.frame(r, 1) == hw.frame(r, 0) + LINE
    for line in (-1, 2, 3):
        with pytest.raises(shmem.InvalidArgument, match="it has 2"):
            hw.frame(r, line)


def test_a_command_without_a_line_is_about_the_first(manual: shmem.System) -> None:
    r, hw = shared(manual, 3 * LINE), manual.hardware
    hw.translate("dev0", r)
    assert [line for _, line in sides(manual)["dev0"].tlb] == [0]
    hw.fill("dev0", r)
    assert list(sides(manual)["dev0"].lines) == [hw.frame(r, 0)]
    manual.host.gb_begin(r, ["dev0"])
    hw.gb_ack("host", "dev0", r)
    hw.gb_ack("host", "dev0", r, 1)
    with pytest.raises(shmem.InvalidArgument, match="it has answered"):
        hw.gb_ack("host", "dev0", r, 0)


def test_an_engine_takes_its_own_words_only(manual: shmem.System) -> None:
    a, b, hw = shared(manual), shared(manual), manual.hardware
    manual.host.copy_start(a, b)
    with pytest.raises(shmem.InvalidArgument, match="nothing to do"):
        hw.copy_step("dev0")
    with pytest.raises(shmem.InvalidArgument, match="nothing to do"):
        hw.copy_step("host", 8)
    hw.copy_step("host", 7)


def test_an_engine_that_is_done_is_left_alone() -> None:
    with system(seed=3, hazards=0.9) as s:
        a, b = shared(s), shared(s)
        s.host.write(a, 0, WORD * 8)
        s.host.flush(a)
        s.host.fence()
        s.host.copy_start(a, b)
        for _ in range(60):
            s.host.poll(1)
        assert s.hardware.jobs == []
        dev(s).invalidate(b)
        assert dev(s).read(b) == WORD * 8


def test_only_what_the_driver_moves_is_frozen_for_a_copy(manual: shmem.System) -> None:
    a, b, hw = shared(manual, 3 * LINE), shared(manual, 3 * LINE), manual.hardware
    hw.freeze(a, 2)
    manual.host.copy_wait(manual.host.copy_start(a, b, 0, 0, 2 * LINE))
    with pytest.raises(shmem.Frozen):
        manual.host.copy_start(a, b, LINE, 0, LINE + 1)


def test_a_frozen_line_is_not_written_through_an_old_translation_for_reading(manual: shmem.System) -> None:
    r = manual.host.alloc(LINE, acl={"host": "rw", "dev0": "rw"})
    dev(manual).map(r, "r")
    assert dev(manual).read(r, 0, 8) == bytes(8)
    dev(manual).map(r, "rw")
    manual.hardware.freeze(r)
    assert dev(manual).read(r, 0, 8) == bytes(8)
    with pytest.raises(shmem.Frozen):
        dev(manual).write(r, 0, WORD)


def test_freed_lines_are_hushed_before_they_are_given_out(automatic: shmem.System) -> None:
    r, other, hw = shared(automatic), shared(automatic), automatic.hardware
    frame = hw.frame(r, 0)
    automatic.host.write(r, 0, WORD)
    dev(automatic).read(r)
    automatic.host.read(other)
    freed(automatic, r)
    new = shared(automatic)
    assert hw.frame(new, 0) == frame
    for side in sides(automatic).values():
        assert not side.holds(frame)
        assert frame not in [to for to, _ in side.tlb.values()]
    assert list(sides(automatic)["host"].tlb) == [hw.block(other, 0)]
    assert automatic.host.read(new) == bytes(LINE)


def test_a_forced_free_hushes_what_is_still_mapped(automatic: shmem.System) -> None:
    r, other, hw = shared(automatic), shared(automatic), automatic.hardware
    frame = hw.frame(r, 0)
    dev(automatic).read(r)
    dev(automatic).read(other)
    automatic.host.free(r, force=True)
    new = automatic.host.alloc(LINE, acl={"host": "rw", "dev0": "rw", "dev1": "rw"})
    assert hw.frame(new, 0) == frame
    assert list(sides(automatic)["dev0"].tlb) == [hw.block(other, 0)]
    with pytest.raises(shmem.StaleHandle):
        dev(automatic).read(r)


def test_a_word_of_which_one_byte_is_written_is_dirty() -> None:
    with system(platform="soc", driver="manual") as s:
        r = shared(s)
        for at in (0, 15, 16):
            s.host.write(r, at, b"x")
        assert {word for _, _, word in s.hardware.state()["dirty"]} == {0, 1, 2}


def test_a_closed_system_cannot_be_entered_again(automatic: shmem.System) -> None:
    automatic.close()
    with pytest.raises(shmem.InvalidArgument, match="it was closed"):
        automatic.__enter__()


def hole(s: shmem.System) -> tuple[shmem.SharedMemoryRegion, shmem.SharedMemoryRegion]:
    """A region behind a hole, and one in front of it."""
    front, gap, behind = shared(s), shared(s, 2 * LINE), shared(s, 2 * LINE)
    freed(s, gap)
    return front, behind


def test_a_moved_region_takes_along_what_its_caches_hold(automatic: shmem.System) -> None:
    front, behind = hole(automatic)
    automatic.host.write(behind, LINE, WORD)
    automatic.host.read(front)
    dev(automatic).read(behind)
    old = [automatic.hardware.frame(behind, i) for i in range(2)]
    assert automatic.host.compact()["moved"] == 1
    assert automatic.hardware.frame(behind, 0) == old[0] - 2 * LINE
    assert [block for side in sides(automatic).values() for block in side.tlb] == [automatic.hardware.block(front, 0)]
    assert not any(side.holds(frame) for side in sides(automatic).values() for frame in old)
    assert dev(automatic).read(behind, LINE, 8) == WORD


@pytest.mark.parametrize("why", ["copied", "frozen", "scattered"])
def test_a_region_that_cannot_move_as_a_whole_stays(automatic: shmem.System, why: str) -> None:
    front, behind = hole(automatic)
    hw = automatic.hardware
    if why == "copied":
        automatic.host.copy_start(front, behind)
    else:
        hw.freeze(behind, 1)
    if why == "scattered":
        hw.migrate(behind, 1)
        hw.unfreeze(behind, 1)
    before = [hw.frame(behind, i) for i in range(2)]
    assert automatic.host.compact()["moved"] == 0
    assert [hw.frame(behind, i) for i in range(2)] == before


def test_who_may_not_write_an_arena_does_not_compact_it(automatic: shmem.System) -> None:
    gap, _ = automatic.host.alloc(LINE), automatic.host.alloc(LINE)
    automatic.host.free(gap)
    assert dev(automatic).compact()["moved"] == 0
    assert automatic.host.compact()["moved"] == 1


def test_a_commanded_driver_moves_nothing_by_itself_and_leaves_caches_alone(manual: shmem.System) -> None:
    gap, behind = shared(manual), shared(manual)
    frame = manual.hardware.frame(gap, 0)
    freed(manual, gap)
    manual.hardware.scrub(frame)
    manual.host.write(behind, 0, WORD)
    assert manual.host.compact() == {"moved": 0, "bytes": 0, "pinned": 1}
    assert manual.hardware.frame(behind, 0) == frame + LINE
    assert manual.hardware.frame(behind, 0) in sides(manual)["host"].lines


def test_a_region_that_may_not_move_says_so_when_it_is_given_out(automatic: shmem.System) -> None:
    gap, _ = automatic.host.alloc(LINE), automatic.host.alloc(LINE, flags=shmem.NO_COMPACT)
    automatic.host.free(gap)
    assert automatic.host.compact()["moved"] == 0


def test_nobody_answers_for_lines_that_are_gone_and_the_others_are_waited_for(manual: shmem.System) -> None:
    gone, kept = shared(manual), shared(manual)
    manual.host.gb_begin(gone, ["dev0"])
    dev(manual).gb_begin(kept, ["host"])
    freed(manual, gone)
    manual.host.gb_end(gone)
    with pytest.raises(shmem.TimedOut):
        dev(manual).gb_end(kept, 1)
    manual.hardware.gb_ack("dev0", "host", kept)
    dev(manual).gb_end(kept)


def test_a_global_barrier_drops_the_members_clean_lines_by_itself(automatic: shmem.System) -> None:
    r = shared(automatic, 2 * LINE)
    dev(automatic).read(r)
    dev(automatic).write(r, 0, WORD)
    automatic.host.gb_begin(r, ["dev0"])
    automatic.host.gb_end(r)
    assert list(sides(automatic)["dev0"].lines) == [automatic.hardware.frame(r, 0)]


def left_behind(s: shmem.System) -> shmem.SharedMemoryRegion:
    """dev0 dies with a posted line that is in its cache, too, and with a dirty one; the host and it copy."""
    r, other = shared(s, 2 * LINE), shared(s, 2 * LINE)
    dev(s).write(r, 0, WORD)
    dev(s).flush(r, 0, LINE)
    dev(s).write(r, LINE, WORD)
    s.host.copy_start(r, other, 0, 0, 8)
    dev(s).copy_start(r, other, 8, 8, 8)
    dev(s).die()
    return r


def test_what_the_dead_left_is_lost_where_hardware_does_nothing() -> None:
    for _ in range(12):
        with system() as s:
            r = left_behind(s)
            assert not sides(s)["dev0"].lines
            assert not sides(s)["dev0"].posted
            assert not sides(s)["dev0"].tlb
            assert [job.owner for job in s.hardware.jobs] == ["host"]
            assert s.host.read(r) == bytes(2 * LINE)


def test_what_the_dead_left_is_lost_or_arrives() -> None:
    seen = set()
    for seed in range(40):
        with system(seed=seed, hazards=0.01) as s:
            r = left_behind(s)
            s.host.invalidate(r)
            seen.add((s.host.read(r, 0, 8) == WORD, s.host.read(r, LINE, 8) == WORD))
    assert seen == {(a, b) for a in (False, True) for b in (False, True)}


def test_an_invalidate_throws_away_or_writes_back_where_the_platform_leaves_it_open() -> None:
    seen = set()
    for seed in range(30):
        with system(platform="weakest", seed=seed, hazards=0) as s:
            r = shared(s)
            s.host.write(r, 0, WORD)
            s.host.invalidate(r)
            s.host.fence()
            seen.add(s.host.read(r, 0, 8))
    assert seen == {WORD, bytes(8)}


def test_memory_that_is_not_cached_goes_past_the_cache(manual: shmem.System) -> None:
    r = shared(manual, flags=shmem.UNCACHED)
    manual.host.write(r, 16, WORD)
    assert not sides(manual)["host"].lines
    assert manual.host.read(r, 8, 24) == bytes(8) + WORD + bytes(8)
    manual.host.fence()
    assert dev(manual).read(r) == bytes(16) + WORD + bytes(40)
    manual.host.write(r, 0, WORD * 8)
    assert manual.host.read(r) == WORD * 8
    assert manual.host.atomic_add(r, LINE - 8, 1) == int.from_bytes(WORD, "little")


def test_nobody_notifies_itself_and_a_sticky_slot_is_taken_for_all_its_senders() -> None:
    with system(platform="weakest", driver="manual") as s:
        with pytest.raises(shmem.NotPermitted):
            s.host.send("host", 1)
        for i in range(2):
            dev(s, i).send("host", 1)
        assert s.host.pending(1) == 1
        s.host.wait(1)
        assert not s.host.poll(1)
        assert s.host._upto(1) == {"dev0": 1, "dev1": 1}


@pytest.mark.parametrize(("members", "flavour"), [(["host", "host"], "central"), (["host", "dev0"], "x")])
def test_a_team_has_each_member_once_and_a_known_flavour(
    manual: shmem.System, members: list[str], flavour: str
) -> None:
    with pytest.raises(shmem.InvalidArgument):
        manual.host.team("t", members, flavour)


def test_a_member_that_dies_after_arriving_is_no_loss_and_one_that_dies_before_is(manual: shmem.System) -> None:
    for died_before in (False, True):
        name, members = f"t{died_before}", ["host", "dev1" if died_before else "dev0"]
        mine = manual.host.team(name, members)
        other = dev(manual, int(died_before))
        theirs = other.team(name, members)
        if not died_before:
            other.arrive(theirs)
        manual.host.arrive(mine)
        other.die()
        if died_before:
            with pytest.raises(shmem.PeerLost, match="died before arriving"):
                manual.host.leave(mine)
        else:
            manual.host.leave(mine)


def test_waiting_for_one_of_two_like_copies_leaves_the_other_to_its_engine(manual: shmem.System) -> None:
    a, b = shared(manual), shared(manual)
    manual.host.copy_start(a, b)
    manual.host.copy_wait(manual.host.copy_start(a, b))
    manual.hardware.copy_step("host", 7)
    manual.host.copy_wait()
    with pytest.raises(shmem.InvalidArgument, match="nothing to do"):
        manual.hardware.copy_step("host")
