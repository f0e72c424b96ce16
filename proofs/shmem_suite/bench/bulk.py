"""Handing 64 MiB over without copying, and smaller sizes: shared regions against iceoryx2's loans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial

from shmem_suite.bench import iceoryx, serving
from shmem_suite.bench.ipc import UNIT, Contender, Ours, connect_iceoryx, cores, on_core
from shmem_suite.bench.measure import Bench, Row, ratio, take_turns
from shmem_suite.bench.worker import Worker

SIZES = {"64 KiB": 64 << 10, "64 MiB": 64 << 20}
TIMES = 200
_READ_TIMES = 30
"""How often where a byte of each page is read."""


def run(rounds: int, tell: Callable[[str], None], times: int = TIMES, sizes: Mapping[str, int] = SIZES) -> Bench:
    """Hand each size over in turn; the receiver has an array of it, and in half of the rows reads each page."""
    here, there = cores()
    notes = [f"iceoryx2 is not run: {iceoryx.missing()}"] if iceoryx.missing() else []
    with ExitStack() as close, on_core(here):
        values = take_turns(_contenders(close, there, times, sizes), rounds, tell)
    rows = tuple(Row(name, found, UNIT) for name, found in values.items())
    largest = list(sizes)[-1]
    named = {
        "vs_iceoryx2": ratio(rows, f"shmem, {largest}", f"iceoryx2, {largest}"),
        "vs_iceoryx2_pages_read": ratio(rows, f"shmem, {largest}, pages read", f"iceoryx2, {largest}, pages read"),
        "largest_vs_smallest": ratio(rows, f"shmem, {largest}", f"shmem, {next(iter(sizes))}"),
    }
    ratios = {key: value for key, value in named.items() if value is not None}
    return Bench("bulk", rows, ratios, tuple(notes), f"a region handed over and answered, {times:,} times a round")


def _contenders(close: ExitStack, there: int, times: int, sizes: Mapping[str, int]) -> list[Contender]:
    worker = Worker(there)
    close.callback(worker.close)
    most = max(sizes.values())
    ours = Ours(close, there)
    region = ours.host.alloc(most, align=4096, acl={"host": "rw", "dev0": "r"})
    ours.host.map(region, "rw")
    ours.device.run(serving.open_regions, region, None).result()
    end = None if iceoryx.missing() else connect_iceoryx(close, worker, most)

    def shmem_takes(name: str, size: int, touch: bool, n: int) -> Mapping[str, float]:
        task = ours.device.run(serving.take_over, region, n, size, touch)
        took = serving.hand_over(ours.host, region, n, size)
        task.result()
        return {f"shmem, {name}": took / n * 1e6}

    def iceoryx_takes(name: str, size: int, touch: bool, n: int) -> Mapping[str, float]:
        assert end is not None
        worker.start("iceoryx2", "take_over", n, size, touch)
        took = end.hand_over(n, size)
        worker.answer()
        return {f"iceoryx2, {name}": took / n * 1e6}

    found: list[Contender] = []
    for name, size in sizes.items():
        for touch in (False, True):
            n = min(times, _READ_TIMES) if touch else times
            words = f"{name}, pages read" if touch else name
            found.append(partial(shmem_takes, words, size, touch, n))
            if end is not None:
                found.append(partial(iceoryx_takes, words, size, touch, n))
    return found
