"""kill -9 in the middle of something: survivors have a typed error in less than a second, or go on.

A figure is the time from just before the kill to the error, on the monotonic clock that all processes share.
The median of several deaths is judged; a single one may be late on a loaded machine, but never by much.
"""

from __future__ import annotations

import os
import random
import signal
import statistics
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import shmem
from tests.impl import programs
from tests.impl.daemons import daemon
from tests.impl.patience import running, until

pytestmark = pytest.mark.usefixtures("nothing_left")
DEATHS = pytest.mark.parametrize("deaths", [3, pytest.param(40, marks=pytest.mark.slow)])
MEDIAN, WORST = 1.0, 15.0
PAIR = ["host", "dev0"]
Survive = Callable[[], object]


def judged(name: str, delays: list[float], record: Callable[[str, object], None]) -> None:
    """State the figures, and judge them."""
    median, worst = statistics.median(delays), max(delays)
    figure = f"{name}: {len(delays)} deaths, told after {median * 1e3:.2f} ms (median), {worst * 1e3:.2f} ms at most"
    record("figure", figure)
    print(figure)
    assert median < MEDIAN, figure
    assert worst < WORST, figure


def told_when(survive: Survive) -> float:
    """When a call was answered by a typed error; it must not go on for ever."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            survive()
        except shmem.PeerLost:
            return time.monotonic()
    raise AssertionError("the survivor was never told")


def sender(s: shmem.System) -> Survive:
    """It dies inside `send`; the host waits for it."""
    s.host.grant(3, ["dev0"])
    s.devices[0].run(programs.flood, "host", 3)
    return lambda: s.host.wait(3, timeout=60)


def waiter(s: shmem.System) -> Survive:
    """It dies inside `wait`; the host waits for its function."""
    task = s.devices[0].run(programs.waits, 1)
    return lambda: task.result(60)


def member(flavour: str) -> Callable[[shmem.System], Survive]:
    """It dies around or inside a barrier; the host is a member, too."""

    def start(s: shmem.System) -> Survive:
        s.devices[0].run(programs.meet_for_ever, PAIR, flavour)
        team = s.host.team("t", PAIR, flavour)
        return lambda: s.host.barrier(team, timeout=60)

    return start


def worker(s: shmem.System) -> Survive:
    """It dies while it uses memory; the host waits for its function, and its own memory is as it was."""
    r = s.host.alloc_broadcast(4096, ["dev0"])
    task = s.devices[0].run(programs.maintain_for_ever, r)
    return lambda: task.result(60)


def engine(s: shmem.System) -> Survive:
    """It is stopped, so that its engine never answers the global barrier, and dies then."""
    r = s.host.alloc_broadcast(4096, ["dev0"])
    s.host.map(r)
    s.devices[0].run(programs.waits, 1)

    def survive() -> None:
        s.host.gb_begin(r, ["dev0"])
        s.host.gb_end(r, timeout=60)

    s.host.wait(9, timeout=30)
    os.kill(s.devices[0].pid, signal.SIGSTOP)
    return survive


CASES = {
    "sender": sender, "waiter": waiter, "member": member("central"), "dissemination": member("dissemination"),
    "worker": worker, "engine": engine,
}  # fmt: skip


@DEATHS
@pytest.mark.parametrize("case", CASES)
def test_death_of_a_device_is_told_in_time(
    case: str, deaths: int, record_property: Callable[[str, object], None]
) -> None:
    choose, delays = random.Random(7), []
    with ThreadPoolExecutor(1) as pool:
        for _ in range(deaths):
            with shmem.System(platform="soc", devices=1) as s:
                mine = s.host.alloc(4096)
                s.host.map(mine)
                s.host.write(mine, 0, b"mine" * 1024)
                survive, pid = CASES[case](s), s.devices[0].pid
                if case != "engine":
                    s.host.wait(9, timeout=30)
                told = pool.submit(told_when, survive)
                time.sleep(choose.uniform(0.001, 0.03))
                killed = time.monotonic()
                os.kill(pid, signal.SIGKILL)
                delays.append(told.result(60) - killed)
                assert s.host.read(mine) == b"mine" * 1024
                assert until(lambda pid=pid: not running(pid))  # type: ignore[misc]
    judged(case, delays, record_property)


@DEATHS
def test_death_of_a_device_is_told_to_another_device(
    deaths: int, record_property: Callable[[str, object], None]
) -> None:
    delays = []
    for _ in range(deaths):
        with shmem.System(platform="soc", devices=2) as s:
            s.devices[1].run(programs.barred_to, 3, ["dev0"]).result(30)
            task = s.devices[1].run(programs.when_told, 3)
            s.host.wait(9, timeout=30)
            killed = time.monotonic()
            os.kill(s.devices[0].pid, signal.SIGKILL)
            name, when = task.result(60)
            assert name == "PeerLost"
            delays.append(when - killed)
    judged("device of device", delays, record_property)


@DEATHS
def test_death_of_the_daemon_is_told_in_time(
    deaths: int, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """At random points of a host and a device that allocate, map, send, wait and free: both are told."""
    choose, delays, pids = random.Random(8), [], []
    for k in range(deaths):
        folder = tmp_path / str(k)
        folder.mkdir()
        with daemon(folder) as (process, path), shmem.connect(path, devices=1) as s:
            pids.append(s.devices[0].pid)
            kept = s.host.alloc(4096)
            s.host.map(kept)
            s.host.write(kept, 0, b"kept" * 1024)
            task = s.devices[0].run(programs.when_driver_lost, s.host.name)
            s.host.wait(9, timeout=30)
            mine: list[tuple[str, float]] = []
            thread = threading.Thread(target=lambda s=s, mine=mine: mine.append(programs.when_driver_lost(s.host)))  # type: ignore[misc]
            thread.start()
            time.sleep(choose.uniform(0.001, 0.05))
            killed = time.monotonic()
            process.kill()
            thread.join(60)
            for name, when in [*mine, task.result(60)]:
                assert name == "DriverLost"
                delays.append(when - killed)
            assert s.host.read(kept) == b"kept" * 1024, "memory that is mapped stays readable"
            assert until(lambda folder=folder: os.listdir(folder) == []), "the socket stayed"  # type: ignore[misc]
    assert len(delays) == 2 * deaths
    assert until(lambda: not any(map(running, pids)))
    judged("daemon", delays, record_property)
