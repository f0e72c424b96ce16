"""A round trip of 64 bytes between two processes, on two cores and on one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing import Pipe
from typing import Any

import shmem
from shmem_suite.bench import iceoryx, serving
from shmem_suite.bench.ends import BareWord, End, PipeEnd, bare_page
from shmem_suite.bench.measure import Bench, Row, ratio, take_turns
from shmem_suite.bench.worker import Worker

UNIT = "us"
ROUND_TRIPS = 5_000
_SLEEPING = 20
"""Contenders that sleep on each message take so many times longer, and are asked so many times less often."""
RATIOS = {
    "vs_iceoryx2": ("shmem", "iceoryx2, polling"),
    "vs_pipe": ("shmem", "pipe"),
    "vs_bare_word": ("shmem", "bare word"),
    "flushing_vs_bare_word": ("shmem, flush and invalidate", "bare word"),
    "one_core_vs_pipe": ("shmem, one core", "pipe, one core"),
}


def cores() -> tuple[int, int]:
    """A core for this process and one for the other (the same one where there is no other)."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[0], allowed[-1]


@contextmanager
def on_core(core: int) -> Iterator[None]:
    """Keep this thread on a core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Ours:
    """A system of a host and a device, and two regions for the messages."""

    def __init__(self, close: ExitStack, core: int, platform: str = "coherent") -> None:
        self.system = close.enter_context(shmem.System(platform, devices=1))
        self.device, self.host = self.system.devices[0], self.system.host
        self.there = self.host.alloc(64, acl={"host": "rw", "dev0": "r"})
        self.back = self.host.alloc(64, acl={"host": "r", "dev0": "rw"})
        self.host.map(self.there, "rw")
        self.host.map(self.back, "r")
        self.device.run(serving.open_regions, self.there, self.back).result()
        self.device.run(serving.use_core, core).result()

    def trips(self, ask: Any, serve: Any, rounds: int) -> float:
        """Seconds for so many round trips."""
        task = self.device.run(serve, self.there, self.back, rounds)
        took: float = ask(self.host, self.there, self.back, rounds)
        task.result()
        return took


def run(rounds: int, tell: Callable[[str], None], trips: int = ROUND_TRIPS) -> Bench:
    """Every contender in turn; medians of the rounds."""
    here, there = cores()
    notes = [] if here != there else ["only one core is usable: nothing can spin, everything sleeps"]
    if iceoryx.missing():
        notes.append(f"iceoryx2 is not run: {iceoryx.missing()}")
    with ExitStack() as close, on_core(here):
        contenders = _contenders(close, here, there, trips)
        values = take_turns(contenders, rounds, tell)
    rows = tuple(Row(name, found, UNIT) for name, found in values.items())
    named = {key: ratio(rows, *names) for key, names in RATIOS.items()}
    ratios = {key: value for key, value in named.items() if value is not None}
    return Bench("ipc", rows, ratios, tuple(notes), f"64 bytes there and back, {trips:,} times a round")


Contender = Callable[[], Mapping[str, float]]


def _contenders(close: ExitStack, here: int, there: int, trips: int) -> list[Contender]:
    page = bare_page()
    close.callback(os.close, page)
    near, far = Pipe()
    worker = Worker(there, (page, far.fileno()))
    close.callback(worker.close)
    worker.call("open", "bare word", page)
    worker.call("open", "pipe", far.fileno())
    far.close()
    few = max(1, trips // _SLEEPING)
    found = _ours(close, here, there, trips, few)
    pipe = PipeEnd(os.dup(near.fileno()))
    near.close()
    ends: dict[str, tuple[str, End, int]] = {"pipe": ("pipe", pipe, few)}
    if here != there:
        ends["bare word"] = ("bare word", BareWord(page), trips)
        if not iceoryx.missing():
            ends["iceoryx2, polling"] = ("iceoryx2", connect_iceoryx(close, worker), trips)
    for name, (kind, end, times) in ends.items():
        close.callback(end.close)
        found.append(partial(_theirs, name, kind, end, worker, times))
    found.append(partial(_pinned, worker, pipe, here, there, few))
    return found


def _ours(close: ExitStack, here: int, there: int, trips: int, few: int) -> list[Contender]:
    ours = Ours(close, there)

    def plain() -> Mapping[str, float]:
        return {"shmem": ours.trips(serving.ask, serving.serve, trips) / trips * 1e6}

    def flushing() -> Mapping[str, float]:
        took = ours.trips(serving.ask_flushing, serving.serve_flushing, trips)
        return {"shmem, flush and invalidate": took / trips * 1e6}

    def one_core() -> Mapping[str, float]:
        ours.device.run(serving.use_core, here).result()
        try:
            return {"shmem, one core": ours.trips(serving.ask, serving.serve, few) / few * 1e6}
        finally:
            ours.device.run(serving.use_core, there).result()

    return [plain, flushing, one_core] if here != there else [one_core]


def connect_iceoryx(close: ExitStack, worker: Worker, size: int = 64) -> iceoryx.Iceoryx:
    """Both ends of iceoryx2, for messages of up to `size` bytes."""
    place = iceoryx.Place()
    close.callback(place.close)
    end = iceoryx.Iceoryx(place.folder, place.prefix, True, size)
    worker.call("open", "iceoryx2", place.folder, place.prefix, False)
    return end


def _theirs(name: str, kind: str, end: End, worker: Worker, trips: int) -> Mapping[str, float]:
    worker.start(kind, "serve", trips)
    took = end.ask(trips)
    worker.answer()
    return {name: took / trips * 1e6}


def _pinned(worker: Worker, pipe: PipeEnd, here: int, there: int, trips: int) -> Mapping[str, float]:
    worker.call("core", here)
    try:
        return _theirs("pipe, one core", "pipe", pipe, worker, trips)
    finally:
        worker.call("core", there)
