"""Odd numbers, closed systems and scarce resources: an error of one line, never a hang, a leak or a wrong count."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shmem
from shmem import layout, waiting
from tests.impl.daemons import ENVIRONMENT

HUGE = [2**63 - 1, 2**63, 2**64, 2**70, -1, -(2**63), -(2**70)]
Use = Callable[[shmem.Agent, shmem.SharedMemoryRegion, int], Any]
RANGES: dict[str, Use] = {
    "read at": lambda a, r, n: a.read(r, n, 8),
    "read so many": lambda a, r, n: a.read(r, 0, n),
    "write": lambda a, r, n: a.write(r, n, b"12345678"),
    "view": lambda a, r, n: a.view(r, (n, 8)),
    "view so many": lambda a, r, n: a.view(r, (0, n)),
    "flush": lambda a, r, n: a.flush(r, n, 64),
    "invalidate": lambda a, r, n: a.invalidate(r, 0, n),
    "atomic_add": lambda a, r, n: a.atomic_add(r, n, 1),
    "copy": lambda a, r, n: a.copy(r, r, n, 0, 8),
    "translate": lambda a, r, n: a.translate(r, n),
    "alloc": lambda a, r, n: a.alloc(n if n != 2**63 - 1 else 0),
    "alloc aligned": lambda a, r, n: a.alloc(64, align=n),
    "alloc in a window": lambda a, r, n: a.alloc(64, window=(n, n)),
}
SLOTS: dict[str, Use] = {
    "send": lambda a, r, n: a.send("dev0", n),
    "send_batch": lambda a, r, n: a.send_batch("dev0", [1, n]),
    "wait": lambda a, r, n: a.wait(n, 0),
    "wait_any": lambda a, r, n: a.wait_any([1, n], 0),
    "poll": lambda a, r, n: a.poll(n),
    "pending": lambda a, r, n: a.pending(n),
    "on": lambda a, r, n: a.on(n, print),
    "fileno": lambda a, r, n: a.fileno(n),
    "grant": lambda a, r, n: a.grant(n, ["dev0"]),
    "send so many": lambda a, r, n: a.send("dev0", 1, n if n != 2**63 - 1 else 0),
}


@pytest.mark.parametrize("number", HUGE)
@pytest.mark.parametrize("use", [*RANGES, *SLOTS])
def test_a_number_that_makes_no_sense_is_refused(threads: shmem.System, use: str, number: int) -> None:
    host = threads.host
    r = host.alloc(4096)
    host.map(r)
    with pytest.raises((shmem.InvalidArgument, shmem.OutOfMemory, shmem.Fragmented)):
        (RANGES | SLOTS)[use](host, r, number)
    assert threads.devices[0].agent.pending(1) == 0, "nothing was sent"  # type: ignore[attr-defined]
    assert host.read(r) == bytes(4096)


@pytest.mark.parametrize(
    "acl", [{}, {"nobody": "rw"}, {"host": "x"}, {"host": ["r"]}, [("host", "rw")], "host", {7: "r"}]
)
@pytest.mark.parametrize("before", [False, True])
def test_a_list_that_makes_no_sense_is_refused(threads: shmem.System, acl: Any, before: bool) -> None:
    if before:
        threads.host.free(threads.host.alloc(64))
    with pytest.raises(shmem.InvalidArgument):
        threads.host.alloc(64, acl=acl)


@pytest.mark.parametrize("window", [("a", "b"), (1,), "ab", 7, (-5, 10), (9, 3)])
def test_a_window_that_makes_no_sense_is_refused(threads: shmem.System, window: Any) -> None:
    with pytest.raises(shmem.InvalidArgument):
        threads.host.alloc(64, window=window)


def test_a_timeout_that_is_no_number_is_refused_and_a_huge_one_is_none(threads: shmem.System) -> None:
    with pytest.raises(shmem.InvalidArgument, match="nan"):
        threads.host.wait(1, float("nan"))
    assert [waiting.nanoseconds(t) for t in (float("inf"), 1e300, None, -5, 1)] == [-1, -1, -1, 0, 10**9]
    threads.devices[0].agent.send("host", 1)  # type: ignore[attr-defined]
    assert threads.host.wait(1, float("inf")) == "dev0"
    with pytest.raises(shmem.InvalidArgument, match="no slot was named"):
        threads.host.wait_any([], 0)


@pytest.mark.parametrize(
    "option", [{"devices": -1}, {"devices": 32}, {"devices": 2**40}, {"devices": "x"}, {"pool": -1}, {"extent": 0}]
)
def test_a_system_that_cannot_be_is_refused_at_once(option: dict[str, Any], nothing_left: None) -> None:
    with pytest.raises(shmem.InvalidArgument, match="a System with"):
        shmem.System(**option)


def test_a_closed_system_says_so(nothing_left: None) -> None:
    s = shmem.System(devices=1, agents="threads")
    host, r = s.host, s.host.alloc(64)
    host.map(r)
    s.close()
    s.close()
    uses: list[Callable[[], Any]] = [
        lambda: host.alloc(64), lambda: host.free(r), lambda: host.map(r), lambda: host.on(1, print),
        lambda: host.fileno(1), lambda: host.compact(), lambda: host.team("t", ["host"]), lambda: host.grant(1, []),
        lambda: host.read(r), lambda: host.view(r), lambda: s.__enter__(),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(shmem.ShmemError, match="closed"):
            use()
    assert [t.name for t in threading.enumerate() if t.name.startswith("shmem-notify")] == []


def test_a_closed_view_says_so(threads: shmem.System) -> None:
    r = threads.host.alloc(64)
    threads.host.map(r)
    view = threads.host.view(r)
    view.close()
    with pytest.raises(shmem.InvalidArgument, match="closed"), view:
        pass
    with pytest.raises(KeyError), threads.host.view(r):
        raise KeyError("of the program")
    threads.host.unmap(r)
    threads.host.free(r)


@pytest.mark.parametrize("path", ["/nonexistent", "/x" * 100, "/x\0y", ""])
def test_an_address_that_cannot_be_is_one_line(path: str, nothing_left: None) -> None:
    with pytest.raises(shmem.DriverLost, match="nobody answers"):
        shmem.connect(path)


def test_a_signal_during_wait_runs_its_handler_and_the_wait_goes_on(threads: shmem.System) -> None:
    got: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: got.append(number))
    main = threading.main_thread().ident
    assert main is not None
    timers = [threading.Timer(0.02 * i, signal.pthread_kill, (main, signal.SIGUSR1)) for i in range(1, 4)]
    timers.append(threading.Timer(0.1, threads.devices[0].agent.send, ("host", 1)))  # type: ignore[attr-defined]
    try:
        for timer in timers:
            timer.start()
        assert threads.host.wait(1, 20) == "dev0"
    finally:
        for timer in timers:
            timer.join()
        signal.signal(signal.SIGUSR1, before)
    assert got == [signal.SIGUSR1] * 3


def test_two_threads_on_one_agent_take_every_notification_once(threads: shmem.System) -> None:
    device, host, taken = threads.devices[0].agent, threads.host, []  # type: ignore[attr-defined, var-annotated]

    def take() -> None:
        for _ in range(200):
            taken.append(host.wait(1, 20))

    both = [threading.Thread(target=take) for _ in range(2)]
    for thread in both:
        thread.start()
    for _ in range(400):
        device.send("host", 1)
    for thread in both:
        thread.join()
    assert (len(taken), host.pending(1)) == (400, 0)


SCARCE = """
import gc, os, resource, shmem
resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
before = len(os.listdir("/proc/self/fd"))
try:
    with shmem.System(devices=2) as s:
        s.host.alloc(64)
except (shmem.ShmemError, OSError) as error:
    said = type(error).__name__
gc.collect()
print(said, len(os.listdir("/proc/self/fd")) - before)
"""
FORK = """
import os, shmem
with shmem.System(devices=1) as s:
    r = s.host.alloc(64)
    s.host.map(r)
    child = os.fork()
    if child == 0:
        os._exit(0 if s.host.read(r, 0, 8) == bytes(8) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    s.host.write(r, 0, b"still me")
    s.host.unmap(r)
    s.host.free(r)
    print("parent goes on", s.devices[0].alive)
"""
UNGUARDED = """
import shmem

def work(agent):
    return 1

with shmem.System(devices=1) as s:
    print(s.devices[0].run(work).result(20))
"""


def test_a_script_that_starts_a_system_when_imported_is_told_how_to_start_it(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(UNGUARDED)
    line = [sys.executable, str(tmp_path / "script.py")]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False, env=ENVIRONMENT)
    assert done.returncode == 1
    assert 'put the start under `if __name__ == "__main__":`' in done.stderr
    (tmp_path / "script.py").write_text(UNGUARDED.replace("with", 'if __name__ == "__main__":\n  with'))
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False, env=ENVIRONMENT)
    assert (done.returncode, done.stdout) == (0, "1\n")


@pytest.mark.parametrize(("program", "said"), [(FORK, "parent goes on True"), (SCARCE, "OSError 0")])
def test_in_a_process_of_its_own(program: str, said: str) -> None:
    line, quiet = [sys.executable, "-c", program], {**ENVIRONMENT, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False, env=quiet)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, said, "")
    assert not any(name.startswith("shmem:") for name in os.listdir("/dev/shm"))


def test_an_entry_that_is_half_written_for_a_while_is_waited_for(system: shmem.System) -> None:
    r = system.host.alloc(4096)
    system.host.map(r)
    arena = next(iter(system.driver.server.service.arenas.values()))  # type: ignore[union-attr]
    at = r.id % layout.REGIONS * layout.ENTRY + layout.E_SEQ
    arena.table.words.add32(at, 1)  # as if the driver had been put aside in the middle
    timer = threading.Timer(0.2, arena.table.words.add32, (at, 1))
    timer.start()
    assert system.host.read(r, 0, 8) == bytes(8)
    timer.join()
