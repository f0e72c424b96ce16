"""Giving out 4 KiB and taking it back, scrubbed, with access-control list and handle, against peers with less."""

from __future__ import annotations

import contextlib
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import shmem
from shmem_suite.bench import iceoryx
from shmem_suite.bench.ipc import UNIT, Contender, cores, on_core
from shmem_suite.bench.measure import Bench, Row, ratio, take_turns

SIZE = 4096
TIMES = 20_000
_SLOWER = 20
RATIOS = {
    "vs_iceoryx2": ("shmem, driver in this process", "iceoryx2, loan and drop"),
    "vs_shared_memory": ("shmem, driver in this process", "shared_memory, create and unlink"),
    "daemon_vs_shared_memory": ("shmem, through the daemon", "shared_memory, create and unlink"),
}


@contextlib.contextmanager
def daemon() -> Iterator[str]:
    """A driver daemon of our own, at an abstract address; ended afterwards."""
    address = f"@shmem-bench-{secrets.token_hex(6)}"
    line = [sys.executable, "-m", "shmem", "driver", "--socket", address]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield address
        finally:
            process.terminate()


def run(rounds: int, tell: Callable[[str], None], times: int = TIMES) -> Bench:
    """Every contender in turn, each pair of calls on memory of the same size."""
    notes = [f"iceoryx2 is not run: {iceoryx.missing()}"] if iceoryx.missing() else []
    with ExitStack() as close:
        address = close.enter_context(daemon())  # before this thread is kept on one core
        close.enter_context(on_core(cores()[0]))
        contenders = [_ours(close, times), _daemon(close, address, max(1, times // _SLOWER))]
        if not iceoryx.missing():
            contenders.append(_loans(close, times))
        contenders.append(lambda: _shared_memory(max(1, times // _SLOWER)))
        values = take_turns(contenders, rounds, tell)
    rows = tuple(Row(name, found, UNIT) for name, found in values.items())
    named = {key: ratio(rows, *names) for key, names in RATIOS.items()}
    ratios = {key: value for key, value in named.items() if value is not None}
    return Bench("alloc", rows, ratios, tuple(notes), f"{SIZE} bytes given out and taken back, {times:,} times a round")


def _pairs(agent: Any, acl: Mapping[str, str], times: int) -> float:
    alloc, free = agent.alloc, agent.free
    begin = time.perf_counter()
    for _ in range(times):
        free(alloc(SIZE, acl=acl))
    return time.perf_counter() - begin


def _ours(close: ExitStack, times: int) -> Contender:
    system = close.enter_context(shmem.System("coherent", devices=1))
    acl = {"host": "rw", "dev0": "r"}
    return lambda: {"shmem, driver in this process": _pairs(system.host, acl, times) / times * 1e6}


def _daemon(close: ExitStack, address: str, times: int) -> Contender:
    system = close.enter_context(shmem.connect(address, devices=1))
    acl = {system.host.name: "rw", system.devices[0].name: "r"}
    return lambda: {"shmem, through the daemon": _pairs(system.host, acl, times) / times * 1e6}


def _loans(close: ExitStack, times: int) -> Contender:
    place = iceoryx.Place()
    close.callback(place.close)
    held: list[Any] = [iceoryx.Node(place.folder, place.prefix)]
    close.callback(held.clear)
    held.insert(0, held[0].publisher("alloc", SIZE))

    def loans() -> Mapping[str, float]:
        loan = held[0].loan_slice_uninit
        begin = time.perf_counter()
        for _ in range(times):
            loan(SIZE).delete()
        return {"iceoryx2, loan and drop": (time.perf_counter() - begin) / times * 1e6}

    return loans


def _shared_memory(times: int) -> Mapping[str, float]:
    begin = time.perf_counter()
    for _ in range(times):
        memory = SharedMemory(create=True, size=SIZE)
        memory.close()
        memory.unlink()
    return {"shared_memory, create and unlink": (time.perf_counter() - begin) / times * 1e6}
