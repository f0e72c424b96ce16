"""What a notification costs its sender, singly and in batches, while the receiver is awake; and what waiting costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack

from shmem_suite.bench import serving
from shmem_suite.bench.ipc import Ours, cores, on_core
from shmem_suite.bench.measure import Bench, Row, ratio, take_turns

UNIT = "ns"
BATCHES = 500
SECONDS = 0.3
"""A wait that sleeps so long, and one of a tenth of it, take the same processor time."""
_SINGLE, _BATCHED, _COUNTED = "single", f"batched, {serving.MANY} slots", f"one send, n={serving.MANY}"


def run(rounds: int, tell: Callable[[str], None], batches: int = BATCHES, seconds: float = SECONDS) -> Bench:
    """Each form in turn."""
    here, there = cores()
    with ExitStack() as close, on_core(here):
        ours = Ours(close, there)
        values = take_turns(
            [
                lambda: _sending(ours, _SINGLE, _singly, batches),
                lambda: _sending(ours, _BATCHED, _batched, batches),
                lambda: _sending(ours, _COUNTED, _counted, batches),
                lambda: _waiting(ours, seconds / 10),
                lambda: _waiting(ours, seconds),
            ],
            rounds,
            tell,
        )
    rows = tuple(Row(name, found, "CPU us" if name.startswith("a wait") else UNIT) for name, found in values.items())
    named = {"batched_vs_single": ratio(rows, _SINGLE, _BATCHED), "counted_vs_single": ratio(rows, _SINGLE, _COUNTED)}
    ratios = {key: value for key, value in named.items() if value is not None}
    return Bench("notify", rows, ratios, (), f"a notification of {batches * serving.MANY:,} a round")


def _singly(ours: Ours) -> None:
    send = ours.host.send
    for slot in range(serving.MANY):
        send("dev0", slot)


def _batched(ours: Ours, slots: tuple[int, ...] = tuple(range(serving.MANY))) -> None:
    ours.host.send_batch("dev0", slots)


def _counted(ours: Ours) -> None:
    ours.host.send("dev0", serving.MANY - 1, serving.MANY)


def _sending(ours: Ours, name: str, form: Callable[[Ours], None], batches: int) -> Mapping[str, float]:
    """The sender's time for each notification, and the time until the receiver has taken each."""
    total = batches * serving.MANY
    task = ours.device.run(serving.count, total)
    ours.host.wait(serving.ANSWER, serving.TIMEOUT)
    begin = time.perf_counter()
    for _ in range(batches):
        form(ours)
    sent = time.perf_counter()
    ours.host.wait(serving.ANSWER, serving.TIMEOUT)
    seen = time.perf_counter()
    task.result()
    found = {name: (sent - begin) / total * 1e9}
    return found if name == _COUNTED else found | {f"{name}, until taken": (seen - begin) / total * 1e9}


def _waiting(ours: Ours, seconds: float) -> Mapping[str, float]:
    return {f"a wait of {seconds:g} s": ours.device.run(serving.sleep, seconds).result() * 1e6}
