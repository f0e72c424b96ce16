"""Who waits sleeps: no CPU is used, by nobody; and what was sent before a form of waiting is set up is heard."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import shmem
from tests.impl import programs
from tests.impl.daemons import daemon
from tests.impl.patience import cpu_ns

ASLEEP = 0.5
SHARE = 0.04
"""A spin before each sleep is tens of microseconds; whoever polls or spins on uses a core, or a good part of it."""


def stop(pid: int) -> None:
    """Stop a process, and see that all its threads have stopped: the signal itself says nothing of when."""
    os.kill(pid, signal.SIGSTOP)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        states = [path.read_text().rpartition(")")[2].split()[0] for path in Path(f"/proc/{pid}/task").glob("*/stat")]
        if set(states) == {"T"}:
            return
        time.sleep(0.002)
    pytest.fail(f"process {pid} did not stop in 20 s")


@pytest.fixture
def busy() -> Iterator[shmem.System]:
    """A system of whose devices one is stopped, so that nothing that waits for it ends."""
    with shmem.System(platform="soc", devices=2) as s:
        r = s.host.alloc_broadcast(4096, ["dev0", "dev1"])
        s.host.map(r)
        stop(s.devices[1].pid)
        yield s
        os.kill(s.devices[1].pid, signal.SIGCONT)


def all_of(s: shmem.System, seconds: float) -> dict[str, Callable[[], object]]:
    """Every call that can wait."""
    r = s.host.alloc_broadcast(64, ["dev0", "dev1"])
    s.host.map(r)
    s.host.gb_begin(r, ["dev1"])
    team, other = (s.host.team(f"t-{flavour}", ["host", "dev1"], flavour) for flavour in ("central", "dissemination"))
    task = s.devices[0].run(programs.sleep, 60 * seconds)
    return {
        "wait": lambda: s.host.wait(1, timeout=seconds),
        "wait_any": lambda: s.host.wait_any(range(20), timeout=seconds),
        "wait_all": lambda: s.host.wait_all([1, 2], timeout=seconds),
        "gb_end": lambda: s.host.gb_end(r, timeout=seconds),
        "barrier": lambda: s.host.barrier(team, timeout=seconds),
        "dissemination": lambda: s.host.barrier(other, timeout=seconds),
        "result": lambda: task.result(seconds),
    }


def test_a_waiting_thread_uses_no_cpu(busy: shmem.System) -> None:
    used = {}
    for name, call in all_of(busy, ASLEEP).items():
        before = time.thread_time()
        with pytest.raises(shmem.TimedOut):
            pytest.fail(f"{name} answered {call()}")
        used[name] = time.thread_time() - before
    print({name: f"{seconds * 1e3:.2f} ms" for name, seconds in used.items()})
    assert {name: seconds for name, seconds in used.items() if seconds > SHARE * ASLEEP} == {}


def test_nobody_uses_cpu_while_all_wait(tmp_path: Path) -> None:
    """A daemon, a host with a callback and a descriptor, and a device: all their threads."""
    with daemon(tmp_path) as (process, path), shmem.connect(path, devices=1) as s:
        s.devices[0].run(programs.waits, 1)
        s.host.wait(9, timeout=30)
        s.host.on(5, lambda sender: None)
        s.host.fileno(6)
        pids = {"daemon": process.pid, "device": s.devices[0].pid, "host": os.getpid()}
        if os.getuid() != 0:
            del pids["daemon"]  # it lets nobody but root look into it
        best = dict.fromkeys(pids, 1.0)
        for _ in range(3):  # what is left of the start may still run at first
            before = {name: cpu_ns(pid) for name, pid in pids.items()}
            time.sleep(ASLEEP)
            best = {name: min(best[name], (cpu_ns(pid) - before[name]) / 1e9) for name, pid in pids.items()}
            if max(best.values()) < SHARE * ASLEEP:
                break
        print({name: f"{seconds * 1e3:.3f} ms" for name, seconds in best.items()})
        assert {name: seconds for name, seconds in best.items() if seconds > SHARE * ASLEEP} == {}


def test_a_callback_registered_after_the_send_still_fires(system: shmem.System) -> None:
    """P-14, the interrupt form; the sender has ended long before."""
    system.devices[0].run(programs.send_many, "host", 6, 2).result(30)
    heard: list[str] = []
    done = threading.Event()
    system.host.on(6, lambda sender: (heard.append(sender), len(heard) == 2 and done.set())[0])
    assert done.wait(30)
    assert heard == ["dev0", "dev0"]


def test_a_descriptor_made_after_the_send_is_readable(system: shmem.System) -> None:
    """P-14, the polling form."""
    system.devices[0].run(programs.send_many, "host", 6, 1).result(30)
    assert select.select([system.host.fileno(6)], [], [], 30)[0]
    assert system.host.poll(6)


@pytest.mark.parametrize("rounds", [100, pytest.param(20_000, marks=pytest.mark.slow)])
def test_a_form_of_waiting_set_up_during_the_send_misses_nothing(threads: shmem.System, rounds: int) -> None:
    """P-14 as a race: the callback comes and goes while somebody sends."""
    heard = threading.Semaphore(0)
    device = threads.devices[0].agent  # type: ignore[attr-defined]
    for k in range(rounds):
        sender = threading.Thread(target=device.send, args=("host", 7)) if k % 10 == 0 else None
        if sender is not None:
            sender.start()
        else:
            device.send("host", 7)
        threads.host.on(7, lambda _: heard.release())
        assert heard.acquire(timeout=30), f"round {k}: never heard"
        threads.host.on(7, None)
        if sender is not None:
            sender.join()
    assert not threads.host.poll(7)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="not run: only one core is usable here")
@pytest.mark.parametrize("apart", [True, False])
def test_who_is_kept_on_a_core_of_its_own_spins_and_who_shares_one_does_not(apart: bool) -> None:
    before = os.sched_getaffinity(0)
    here, there = sorted(before)[:2]
    try:
        os.sched_setaffinity(0, {here})
        with shmem.System(platform="pcie", devices=1) as s:
            os.sched_setaffinity(s.devices[0].pid, {there if apart else here})
            s.devices[0].run(programs.send_many, "host", 1, 1).result(30)
            s.host.wait(1, timeout=30)
            with pytest.raises(shmem.TimedOut):
                s.host.wait(1, timeout=0.01)
            assert (s.host.spin_ns > 0) is apart
    finally:
        os.sched_setaffinity(0, before)
