"""Emulated memory: forgetting a step fails and replays, doing it right never fails, every hazard can be
commanded."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import shmem
from shmem_suite.pitfalls import PITFALLS, holds
from tests.impl import programs

pytestmark = pytest.mark.filterwarnings("ignore::shmem.PartialLineWarning")


@pytest.mark.parametrize("name", PITFALLS)
def test_the_wrong_protocol_fails_and_replays_from_its_seed(name: str) -> None:
    failing = next((seed for seed in range(300) if not holds(name, seed, right=False)), None)
    assert failing is not None, "300 seeds did not find it"
    assert not holds(name, failing, right=False)


# A thousand and a hundred thousand seeds: `shmem verify --only 'pitfalls/*'`, with `--full`.
@pytest.mark.parametrize("name", PITFALLS)
def test_the_right_protocol_never_fails(name: str) -> None:
    assert [seed for seed in range(40) if not holds(name, seed, right=True)] == []


@pytest.mark.parametrize("name", ["P-1", "P-6"])
def test_a_run_is_the_same_with_threads_and_with_processes(name: str) -> None:
    failing = next(seed for seed in range(300) if not holds(name, seed, right=False))
    assert not holds(name, failing, right=False, agents="processes")
    assert holds(name, failing, right=True, agents="processes")


@pytest.fixture
def scripted() -> Iterator[shmem.System]:
    """No adversary: hardware does what it is told."""
    with shmem.System(
        platform="pcie", devices=2, memory="emulated", agents="threads", pool=1 << 20, extent=1 << 16,
        driver="manual",
    ) as s:  # fmt: skip
        yield s


def dev(s: shmem.System, i: int = 0) -> Any:
    """The agent of a device, driven by the test."""
    return s.devices[i].agent  # type: ignore[attr-defined]


def shared(s: shmem.System, size: int = 64) -> shmem.SharedMemoryRegion:
    """A region that the host and dev0 have mapped."""
    r = s.host.alloc_broadcast(size, ["dev0"])
    s.host.map(r)
    dev(s).map(r)
    return r


def test_write_stays_in_the_cache_until_flush_drain_or_evict(scripted: shmem.System) -> None:
    r, hw = shared(scripted), scripted.hardware
    scripted.host.write(r, 8, b"12345678")
    frame = hw.frame(r, 0)
    state = hw.state()
    assert {w for _, f, w in state["dirty"] if f == frame} == set(range(8)), "the whole line is dirty"
    assert state["memory"][frame, 1] == 0
    scripted.host.flush(r)
    assert hw.state()["dirty"] == set()
    assert hw.state()["memory"][frame, 1] == 0, "a flush is only posted"
    assert dev(scripted).read(r, 8, 8) == bytes(8)
    hw.drain("host", r)
    assert hw.state()["memory"][frame, 1] == int.from_bytes(b"12345678", "little")
    assert dev(scripted).read(r, 8, 8) == bytes(8), "its own clean line is old"
    dev(scripted).invalidate(r)
    assert dev(scripted).read(r, 8, 8) == b"12345678"


def test_write_back_by_line_overwrites_neighbours_and_masked_does_not() -> None:
    for platform, survives in (("pcie", False), ("soc", True)):
        with shmem.System(platform=platform, devices=1, memory="emulated", agents="threads") as s:
            r = shared(s)
            s.host.read(r, 0, 8)
            s.host.write(r, 0, b"A" * 8)
            dev(s).write(r, 8, b"B" * 8)
            for agent in (dev(s), s.host):
                agent.flush(r)
                agent.fence()
            s.host.invalidate(r)
            assert (s.host.read(r, 8, 8) == b"B" * 8) is survives


def test_invalidate_of_a_dirty_line_throws_it_away_or_writes_it_back() -> None:
    for keep in (False, True):
        with shmem.System(platform="weakest", devices=1, memory="emulated", agents="threads") as s:
            r = shared(s)
            s.host.write(r, 0, b"A" * 8)
            s.host.invalidate(r, keep=keep)  # type: ignore[call-arg]
            s.host.fence()
            assert (s.host.read(r, 0, 8) == b"A" * 8) is keep


def test_unmap_leaves_the_translation_until_shootdown(scripted: shmem.System) -> None:
    r = shared(scripted)
    dev(scripted).read(r, 0, 8)
    scripted.host.unmap(r, "dev0")
    assert dev(scripted).read(r, 0, 8) == bytes(8)
    scripted.hardware.shootdown("dev0", r)
    with pytest.raises(shmem.NotMapped):
        dev(scripted).read(r, 0, 8)
    with pytest.raises(shmem.InvalidArgument):
        scripted.hardware.shootdown("dev0", r)


def test_freed_frames_wait_in_quarantine_until_they_are_quiet(scripted: shmem.System) -> None:
    r, hw = shared(scripted), scripted.hardware
    scripted.host.write(r, 0, b"secret!!")
    frame = hw.frame(r, 0)
    for agent in ("host", "dev0"):
        scripted.host.unmap(r, agent)
    scripted.host.free(r)
    with pytest.raises(shmem.StaleHandle):
        scripted.host.read(r)
    with pytest.raises(shmem.RegionBusy):
        hw.scrub(frame)
    hw.shootdown("host", r)
    with pytest.raises(shmem.RegionBusy):
        hw.scrub(frame)
    hw.evict("host", frame)
    hw.scrub(frame)
    new = shared(scripted)
    assert hw.frame(new, 0) == frame
    assert scripted.host.read(new) == bytes(64)


def test_migrate_needs_a_frozen_quiet_line_and_keeps_what_it_holds(scripted: shmem.System) -> None:
    r, hw = shared(scripted), scripted.hardware
    scripted.host.write(r, 0, b"12345678")
    scripted.host.flush(r)
    with pytest.raises(shmem.RegionBusy):
        hw.migrate(r)
    hw.freeze(r)
    with pytest.raises(shmem.RegionBusy):
        hw.migrate(r)
    with pytest.raises(shmem.Frozen):
        dev(scripted).read(r)
    old = hw.frame(r, 0)
    hw.shootdown("host", r)
    hw.drain("host", r)
    hw.evict("host", r)
    new = hw.migrate(r)
    assert new != old
    hw.unfreeze(r)
    assert dev(scripted).read(r, 0, 8) == b"12345678"
    hw.scrub(old)


def test_compaction_by_itself_keeps_contents_and_handles() -> None:
    with shmem.System(platform="pcie", devices=1, memory="emulated", agents="threads", seed=3) as s:
        every = [shared(s) for _ in range(12)]
        for i, r in enumerate(every):
            s.host.write(r, 0, bytes([i]) * 64)
            s.host.flush(r)
            s.host.fence()
        for r in every[::2]:
            for agent in ("host", "dev0"):
                s.host.unmap(r, agent)
            s.host.free(r)
        assert s.host.compact()["moved"] > 0
        for i, r in list(enumerate(every))[1::2]:
            dev(s).invalidate(r)
            assert dev(s).read(r) == bytes([i]) * 64


def test_atomics_act_on_memory_and_leave_the_cache_alone(scripted: shmem.System) -> None:
    r = shared(scripted)
    assert scripted.host.read(r, 0, 8) == bytes(8)
    assert dev(scripted).atomic_add(r, 0, 5) == 0
    assert scripted.host.read(r, 0, 8) == bytes(8)
    assert scripted.host.compare_swap(r, 0, 5, 9) == 5
    assert scripted.host.atomic_swap(r, 0, 1) == 9


def test_a_copy_goes_word_by_word_and_holds_both_ends(scripted: shmem.System) -> None:
    a, b = shared(scripted), shared(scripted)
    scripted.host.write(a, 0, b"12345678" * 8)
    scripted.host.flush(a)
    scripted.host.fence()
    copy = scripted.host.copy_start(a, b)
    with pytest.raises(shmem.RegionBusy):
        scripted.host.unmap(b)
    scripted.hardware.copy_step("host")
    assert dev(scripted).read(b) == b"12345678" + bytes(56)
    scripted.host.copy_wait(copy)
    dev(scripted).invalidate(b)
    assert dev(scripted).read(b) == b"12345678" * 8
    scripted.host.unmap(b)


def test_a_view_is_a_private_copy_written_at_the_end(scripted: shmem.System) -> None:
    r = shared(scripted, 128)
    with scripted.host.view(r, (0, 128), "w", np.uint32) as v:
        v[3] = 7
        assert scripted.host.read(r, 12, 4) == bytes(4)
    assert scripted.host.read(r, 12, 4) == (7).to_bytes(4, "little")
    assert {f for _, f, _ in scripted.hardware.state()["dirty"]} == {scripted.hardware.frame(r, 0)}


def test_global_barrier_drops_clean_lines_and_leaves_dirty_ones(scripted: shmem.System) -> None:
    r, hw = shared(scripted, 128), scripted.hardware
    dev(scripted).read(r)
    dev(scripted).write(r, 64, b"x")
    scripted.host.gb_begin(r, ["dev0"])
    hw.gb_ack("host", "dev0", r, 0)
    hw.gb_ack("host", "dev0", r, 1)
    scripted.host.gb_end(r)
    assert {f for a, f in hw.state()["valid"] if a == "dev0"} == {hw.frame(r, 1)}
    with pytest.raises(shmem.InvalidArgument):
        scripted.host.gb_end(r)


def test_death_is_told_and_what_was_left_may_be_lost(scripted: shmem.System) -> None:
    r, hw = shared(scripted), scripted.hardware
    dev(scripted).write(r, 0, b"unpublished")
    dev(scripted).die()
    with pytest.raises(shmem.PeerLost):
        dev(scripted).read(r)
    assert hw.state()["dead"] == {"dev0"}
    with pytest.raises(shmem.RegionBusy):
        hw.reclaim("dev0", r)
    hw.lose("dev0", r)
    hw.shootdown("dev0", r)
    hw.reclaim("dev0", r)
    assert {a for a, _ in hw.state()["mapped"]} == {"host"}
    scripted.host.grant(3, ["dev0"])
    with pytest.raises(shmem.PeerLost):
        scripted.host.wait(3)


def test_nobody_can_go_on_is_a_deadlock_and_a_timeout_is_virtual(scripted: shmem.System) -> None:
    with pytest.raises(shmem.Deadlock, match="wait of slot 1 by host"):
        scripted.host.wait(1)
    with pytest.raises(shmem.TimedOut):
        scripted.host.wait(1, timeout=3600)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("flavour", ["central", "dissemination"])
def test_barriers_separate_rounds(seed: int, flavour: str) -> None:
    members = ["host", "dev0", "dev1"]
    with shmem.System(platform="weakest", devices=2, memory="emulated", agents="threads", seed=seed) as s:
        r = s.host.alloc_broadcast(64 * 3, ["dev0", "dev1"])
        tasks = [d.run(rounds, members, flavour, r) for d in s.devices]
        assert rounds(s.host, members, flavour, r)
        assert all(t.result() for t in tasks)


def rounds(agent: shmem.Agent, members: list[str], flavour: str, r: shmem.SharedMemoryRegion) -> bool:
    """Each member writes its line, and after two barriers has seen everybody's."""
    agent.map(r, "rw")
    team, me, good = agent.team("t", members, flavour), members.index(agent.name), True
    for k in range(1, 4):
        agent.write(r, 64 * me, k.to_bytes(8, "little"))
        agent.flush(r, 64 * me, 64)
        agent.barrier(team)
        agent.invalidate(r)
        good = good and all(agent.read(r, 64 * i, 8) == k.to_bytes(8, "little") for i in range(3))
        agent.barrier(team)
    return good


def test_an_error_on_an_emulated_device_is_raised_at_the_hosts_next_call() -> None:
    with shmem.System(devices=1, memory="emulated", agents="threads", seed=1) as s:
        s.devices[0].run(programs.fail)
        with pytest.raises(shmem.DeviceError, match="on purpose"):
            s.host.wait(1)


@pytest.mark.parametrize("seed", range(6))
def test_functions_of_one_device_run_one_after_the_other(seed: int) -> None:
    with shmem.System(devices=2, memory="emulated", agents="threads", seed=seed) as s:
        first = s.devices[0].run(programs.waits, 1)
        second = s.devices[0].run(programs.nothing)
        s.host.wait(9)
        s.host.send("dev0", 1)
        assert (second.result(), first.result()) == ("dev0", "done")


def test_coherent_memory_has_no_hardware_to_command(threads: shmem.System) -> None:
    with pytest.raises(shmem.InvalidArgument, match="emulated"):
        _ = threads.hardware


def test_hand_over_programs_run_on_both_memories() -> None:
    for memory in ("coherent", "emulated"):
        with warnings.catch_warnings(), shmem.System(devices=1, memory=memory, seed=5) as s:
            r = s.host.alloc(4096, acl={"host": "rw", "dev0": "r"})
            s.host.map(r)
            task = s.devices[0].run(programs.receive, r, 11)
            s.host.copy_in(r, b"hello there")
            s.host.send("dev0", 7)
            assert task.result() == b"hello there"
