"""Barriers: nobody leaves before everybody has arrived, used again and again, and death is told."""

from __future__ import annotations

import pytest

import shmem
from tests.impl import programs

ALL = ["host", "dev0", "dev1"]


def dev(s: shmem.System, i: int = 0) -> shmem.Agent:
    """The agent of a device that is a thread."""
    return s.devices[i].agent  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("flavour", ["central", "dissemination"])
def test_barrier_separates_rounds(system: shmem.System, flavour: str) -> None:
    r = system.host.alloc_broadcast(64 * 3, ["dev0", "dev1"])
    tasks = [d.run(programs.barriers, ALL, flavour, r, 200) for d in system.devices]
    assert programs.barriers(system.host, ALL, flavour, r, 200)
    assert all(task.result(20) for task in tasks)


def test_arrive_and_leave_are_two_steps(threads: shmem.System) -> None:
    h, d = threads.host, dev(threads)
    mine, its = h.team("g", ["host", "dev0"]), d.team("g", ["host", "dev0"])
    with pytest.raises(shmem.InvalidArgument):
        h.leave(mine)
    assert h.arrive(mine) == 1
    with pytest.raises(shmem.InvalidArgument):
        h.arrive(mine)
    with pytest.raises(shmem.TimedOut):
        h.leave(mine, timeout=0.01)
    d.arrive(its)
    h.leave(mine, timeout=1)
    h.arrive(mine)  # the next epoch, although dev0 has not left the first
    d.leave(its, timeout=1)
    d.arrive(its)
    d.leave(its, timeout=1)
    h.leave(mine, timeout=1)
    assert h.arrive(mine) == 3


def test_a_team_is_for_its_members(threads: shmem.System) -> None:
    with pytest.raises(shmem.NotPermitted):
        dev(threads, 1).team("g", ["host", "dev0"])
    with pytest.raises(shmem.InvalidArgument):
        threads.host.team("g", ["host", "nobody"])
    threads.host.team("g", ["host", "dev0"])
    with pytest.raises(shmem.InvalidArgument, match="central"):
        dev(threads).team("g", ["host", "dev0"], "dissemination")


def test_arrive_names_a_dead_member_to_all(threads: shmem.System) -> None:
    teams = [a.team("g", ALL) for a in (threads.host, dev(threads, 0))]
    dev(threads, 1).team("g", ALL)
    threads.host.arrive(teams[0])
    threads.devices[1].kill()
    for agent, team in ((threads.host, teams[0]), (dev(threads), teams[1])):
        for _ in range(2):
            with pytest.raises(shmem.PeerLost, match="dev1"):
                agent.leave(team, timeout=5) if team.inside else agent.barrier(team, timeout=5)


def test_a_member_that_died_after_arriving_has_arrived(threads: shmem.System) -> None:
    teams = [a.team("g", ALL) for a in (threads.host, dev(threads, 0), dev(threads, 1))]
    dev(threads, 1).arrive(teams[2])
    threads.devices[1].kill()
    threads.host.arrive(teams[0])
    dev(threads).arrive(teams[1])
    threads.host.leave(teams[0], timeout=5)
    dev(threads).leave(teams[1], timeout=5)


@pytest.mark.parametrize("platform", ["pcie", "soc"], ids=["software", "multicast"])
def test_global_barrier_is_answered_by_every_engine(platform: str) -> None:
    with shmem.System(platform=platform, devices=2, agents="threads") as s:
        r = s.host.alloc_broadcast(4096, ["dev0", "dev1"])
        s.host.map(r)
        for _ in range(20):
            s.host.global_barrier(r, ["dev0", "dev1"], timeout=10)
        with pytest.raises(shmem.InvalidArgument):
            s.host.gb_end(r)


def test_global_barrier_between_processes_and_with_a_dead_one(system: shmem.System) -> None:
    r = system.host.alloc_broadcast(4096, ["dev0", "dev1"])
    system.host.map(r)
    system.host.global_barrier(r, ["dev0", "dev1"], timeout=10)
    system.host.peer("dev1")
    system.devices[1].kill()
    with pytest.raises((shmem.PeerLost, shmem.InvalidArgument), match="dev1"):
        system.host.global_barrier(r, ["dev0", "dev1"], timeout=10)


SOFTWARE = (
    "alloc free map unmap read write flush invalidate fence send wait poll arrive leave gb_begin gb_end "
    "atomic_add atomic_swap compare_swap copy_start copy_wait die send_batch broadcast wait_any barrier "
    "global_barrier copy compact copy_in copy_out"
).split()
HARDWARE = ("fill evict drain translate lose copy_step shootdown scrub freeze migrate unfreeze gb_ack reclaim").split()


def test_agents_and_hardware_have_a_method_for_every_action() -> None:
    from shmem.emulated.agent import EmulatedAgent
    from shmem.emulated.machine import Machine

    for kind, names in ((shmem.Agent, SOFTWARE), (EmulatedAgent, SOFTWARE), (Machine, HARDWARE)):
        assert [name for name in names if not callable(getattr(kind, name, None))] == []
