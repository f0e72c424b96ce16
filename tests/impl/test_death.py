"""kill -9 anywhere: survivors get a typed error or go on, and nothing is left behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import shmem
from tests.impl import programs
from tests.impl.daemons import ENVIRONMENT, daemon


def until(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether something becomes true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


def running(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] != "Z"
    except OSError:
        return False


@pytest.mark.usefixtures("nothing_left")
def test_a_system_leaves_nothing_behind() -> None:
    pids: list[int] = []
    for _ in range(2):
        with shmem.System(devices=2) as s:
            r = s.host.alloc_broadcast(4096, ["dev0", "dev1"])
            s.host.map(r)
            pids += [d.pid for d in s.devices]
            assert [d.run(programs.nothing).result(10) for d in s.devices] == ["dev0", "dev1"]
    assert until(lambda: not any(map(running, pids)))


def test_wait_is_told_when_every_sender_is_dead(system: shmem.System) -> None:
    system.host.grant(5, ["dev0"])
    system.devices[0].run(programs.send_many, "host", 5, 2).result(10)
    system.devices[0].kill()
    system.host.wait(5, timeout=10)
    system.host.wait(5, timeout=10)  # what it has sent is there
    with pytest.raises(shmem.PeerLost, match="dev0"):
        system.host.wait(5, timeout=10)


def test_kill_of_a_sleeping_waiters_peer_wakes_it(system: shmem.System) -> None:
    task = system.devices[0].run(programs.waits, 3)
    system.host.wait(9, timeout=10)
    # dev0 waits for a slot that only dev1 may send to
    other = system.devices[0]
    assert not task.done()
    system.devices[1].kill()
    system.host.send("dev0", 3)
    assert task.result(10) == "done"
    assert other.alive


def test_kill_inside_a_barrier_is_told_to_all(system: shmem.System) -> None:
    members = ["host", "dev0", "dev1"]
    task = system.devices[0].run(programs.arrive_and_leave, members)
    system.host.wait(9, timeout=10)
    team = system.host.team("t", members)
    system.devices[1].kill()
    with pytest.raises(shmem.PeerLost, match="dev1"):
        system.host.barrier(team, timeout=10)
    assert task.result(10) == "PeerLost"


def test_a_device_that_dies_ends_its_tasks_and_holds_nothing(system: shmem.System) -> None:
    r = system.host.alloc(64, acl={"host": "rw", "dev0": "rw"})
    assert system.devices[0].run(programs.mapped_outcome, r, "rw", "write", 0, b"x").result(10) == "done"
    with pytest.raises(shmem.RegionBusy):
        system.host.free(r)
    seat = system.host.peer("dev0")
    task = system.devices[0].run(programs.die_inside)
    with pytest.raises(shmem.PeerLost, match="has died"):
        task.result(10)
    assert until(lambda: not system.host._is_alive(seat.index, seat.incarnation))
    system.host.free(r)
    with pytest.raises(shmem.PeerLost):
        system.devices[0].run(programs.nothing)


HOST = """
import sys, time, shmem
from tests.impl import programs
if __name__ == "__main__":
    s = shmem.System(devices=2, memory=sys.argv[1])
    tasks = [d.run(programs.waits, 1) for d in s.devices] + [s.devices[0].run(programs.sleep, 60)]
    s.host.wait(9)
    print(*[d.pid for d in s.devices], flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("memory", ["coherent", "emulated"])
def test_kill_of_a_host_leaves_no_process_and_no_name(tmp_path: Path, memory: str) -> None:
    script = tmp_path / "host.py"
    script.write_text(HOST)
    process = subprocess.Popen(
        [sys.executable, str(script), memory], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT
    )
    assert process.stdout is not None
    pids = [int(p) for p in process.stdout.readline().split()]
    assert len(pids) == 2
    process.kill()
    process.wait(10)
    process.stdout.close()
    assert until(lambda: not any(map(running, pids))), "devices outlived their host"
    assert f"@shmem-{process.pid}-" not in Path("/proc/net/unix").read_text()


def test_kill_of_the_daemon_is_told_and_leaves_no_file(tmp_path: Path) -> None:
    with daemon(tmp_path) as (process, path), shmem.connect(path, devices=1) as s:
        r = s.host.alloc(64)
        s.host.map(r)
        task = s.devices[0].run(programs.waits, 1)
        s.host.wait(9, timeout=10)
        process.send_signal(signal.SIGKILL)
        with pytest.raises(shmem.DriverLost):
            s.host.wait(1, timeout=10)
        assert task.result(10) == "DriverLost"
        with pytest.raises(shmem.DriverLost):
            s.host.alloc(64)
        s.host.write(r, 0, b"still mapped")
        assert s.host.read(r, 0, 12) == b"still mapped"
        assert until(lambda: os.listdir(tmp_path) == []), "the socket of a killed daemon stayed"


def test_a_stopped_daemon_leaves_no_file_and_a_new_one_takes_over_an_old_socket(tmp_path: Path) -> None:
    with daemon(tmp_path):
        pass
    assert until(lambda: os.listdir(tmp_path) == [])
    import socket

    stale = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    stale.bind(str(tmp_path / "driver.sock"))
    stale.close()
    with daemon(tmp_path) as (_, path), shmem.connect(path) as s:
        assert s.host.alloc(64).size == 64


# A process without threads that forks victims on demand, so that each costs milliseconds.
NURSERY = """
import os, signal, sys
import shmem
from shmem.system import join
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
def victim(path, seed):
    import random
    choose = random.Random(seed)
    agent = join(path, None, "device", None, None, {})
    shared = None
    while True:
        r = agent.alloc(choose.choice([64, 4096, 70000]), acl={agent.name: "rw", "host": "r"})
        agent.map(r)
        agent.write(r, 0, b"v" * r.size)
        agent.send("host", 1)
        with agent.view(r, None, "w") as v:
            v[:] = 3
        agent.send_batch("host", (2, 3, 4))
        if choose.random() < 0.5:
            team = agent.team("g", ["host", agent.name])
            for blocks in (lambda: agent.barrier(team, timeout=0.002), lambda: agent.wait(5, timeout=0.002)):
                try:
                    blocks()
                except shmem.ShmemError:
                    pass
        if choose.random() < 0.7:
            del v
            agent.unmap(r)
            agent.free(r)
        agent.compact()
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        try:
            victim(sys.argv[1], int(line))
        finally:
            os._exit(1)
    print(child, flush=True)
"""


@pytest.mark.parametrize("kills", [25, pytest.param(250, marks=pytest.mark.slow)])
def test_kill_at_random_points_changes_nothing_for_the_others(tmp_path: Path, kills: int) -> None:
    choose = random.Random(1)
    with daemon(tmp_path) as (process, path), shmem.connect(path) as s:
        nursery = subprocess.Popen(
            [sys.executable, "-c", NURSERY, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=ENVIRONMENT,
        )  # fmt: skip
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        mine = s.host.alloc(5000)
        s.host.map(mine)
        s.host.write(mine, 0, bytes(range(250)) * 20)
        files = len(os.listdir(f"/proc/{process.pid}/fd")) if os.getuid() == 0 else 0
        for k in range(kills):
            nursery.stdin.write(f"{k}\n")
            nursery.stdin.flush()
            pid = int(nursery.stdout.readline())
            time.sleep(choose.uniform(0.001, 0.04))
            os.kill(pid, signal.SIGKILL)
            assert s.host.read(mine) == bytes(range(250)) * 20
        told: dict[str, object] = {}

        def settled() -> bool:
            nonlocal told
            told = s.host.link.call("describe")[0]
            return sum(a["alive"] for a in told["agents"]) == 1  # type: ignore[attr-defined]

        assert until(settled)
        assert process.poll() is None
        r = s.host.alloc(1 << 20)
        s.host.free(r)
        after = len(os.listdir(f"/proc/{process.pid}/fd")) if os.getuid() == 0 else 0
        assert after - files < 40 * 32, "descriptors of the dead stay in the driver"
        nursery.stdin.close()
        nursery.stdout.close()
        nursery.wait(10)


def test_a_driver_that_ends_before_it_is_rung_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with shmem.System(platform="pcie", devices=0) as s:
        assert s.driver is not None
        server, thread = s.driver.server, s.driver.thread
        ring = server._ring

        def late() -> None:
            os.eventfd_write(server._wake, 1)  # the loop is awake already, sees the flag and ends
            thread.join(10)
            ring()

        monkeypatch.setattr(server, "_ring", late)
