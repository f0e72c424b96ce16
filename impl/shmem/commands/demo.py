"""`shmem demo`: an inference by request and response, and a parameter broadcast, on real processes.

Each is done twice: in copy mode (before), where every side works on private copies, and in shared mode
(after), where everybody works in the region itself. The same bytes arrive in both; what differs is measured.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from shmem import words
from shmem.agent import Agent
from shmem.commands import emit, subcommand
from shmem.handles import SharedMemoryRegion
from shmem.system import System
from shmem.transfer import Transfer

_REQUEST, _RESPONSE, _PARAMETERS, _LOADED = 1, 2, 3, 4


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = subcommand(
        commands, "demo", "Run an inference and a parameter broadcast in copy and in shared mode.",
        "shmem demo --requests 200", command,
    )  # fmt: skip
    parser.add_argument("--requests", type=int, default=200, help="requests of each mode (default 200)")
    parser.add_argument("--size", type=int, default=1 << 20, help="bytes of an input (default 1 MiB)")
    parser.add_argument("--parameters", type=int, default=8 << 20, help="bytes of parameters (default 8 MiB)")
    parser.add_argument("--devices", type=int, default=3, help="devices of the broadcast (default 3)")
    parser.add_argument("--json", metavar="FILE", help="write JSON; - for standard output")


def infer(agent: Agent, inputs: SharedMemoryRegion, outputs: SharedMemoryRegion, mode: str, count: int) -> None:
    """The device: for each request the sum of every block of 1024 numbers of the input."""
    agent.map(inputs, "r")
    agent.map(outputs, "rw")
    with Transfer(agent, mode) as transfer:
        for _ in range(count):
            agent.wait(_REQUEST, timeout=30)
            with transfer.fetch(inputs, dtype=np.float32) as x:
                y = x.reshape(-1, 1024).sum(axis=1)
                del x
            agent.write(outputs, 0, y)
            agent.flush(outputs)
            agent.fence()
            agent.send("host", _RESPONSE)


def load(agent: Agent, parameters: SharedMemoryRegion, mode: str, count: int, answer: int) -> None:
    """A device that takes parameters `count` times; its answers have a slot of their own, since slots of this
    platform coalesce."""
    agent.map(parameters, "r")
    with Transfer(agent, mode) as transfer:
        for _ in range(count):
            agent.wait(_PARAMETERS, timeout=30)
            with transfer.fetch(parameters, dtype=np.uint32) as p:
                assert p[0] == p[-1]
                del p
            agent.send("host", answer)


def measure(work: Callable[[int], None], count: int) -> dict[str, float]:
    """P50 and P99 in microseconds."""
    times = []
    for k in range(count):
        start = time.perf_counter()
        work(k)
        times.append((time.perf_counter() - start) * 1e6)
    cuts = statistics.quantiles(times, n=100)
    return {"p50_us": round(statistics.median(times), 1), "p99_us": round(cuts[98], 1)}


def inference(mode: str, count: int, size: int) -> dict[str, float]:
    """One host, one device, `count` requests of `size` bytes."""
    size = -(-size // 4096) * 4096
    with System(platform="soc", devices=1, compaction=None) as s:
        inputs = s.host.alloc(size, acl={"host": "rw", "dev0": "r"})
        outputs = s.host.alloc(size // 1024, acl={"host": "r", "dev0": "rw"})
        s.host.map(inputs)
        s.host.map(outputs, "r")
        task = s.devices[0].run(infer, inputs, outputs, mode, count)
        own = np.zeros(size // 4, np.float32)

        def request(k: int) -> None:
            if mode == "copy":
                own[:] = k
                s.host.write(inputs, 0, own)
            else:
                with s.host.view(inputs, None, "w", np.float32) as x:
                    x[:] = k
                    del x
            s.host.flush(inputs)
            s.host.fence()
            s.host.send("dev0", _REQUEST)
            s.host.wait(_RESPONSE, timeout=30)
            s.host.invalidate(outputs)
            answer = np.frombuffer(s.host.read(outputs), np.float32)
            assert answer[0] == answer[-1] == 1024.0 * k

        figures = measure(request, count)
        task.result(30)
    return figures


def broadcast(mode: str, count: int, size: int, devices: int) -> dict[str, float]:
    """One host gives `devices` devices new parameters, `count` times."""
    size = -(-size // 4096) * 4096
    with System(platform="soc", devices=devices, compaction=None) as s:
        names = [d.name for d in s.devices]
        parameters = s.host.alloc_broadcast(size, names, "r")
        s.host.map(parameters)
        tasks = [d.run(load, parameters, mode, count, _LOADED + i) for i, d in enumerate(s.devices)]

        def publish(k: int) -> None:
            with s.host.view(parameters, None, "w", np.uint32) as p:
                p[:] = k
                del p
            s.host.global_barrier(parameters, names, timeout=30)
            s.host.broadcast(names, _PARAMETERS)
            s.host.wait_all(range(_LOADED, _LOADED + devices), timeout=30)

        figures = measure(publish, count)
        for task in tasks:
            task.result(30)
    return figures


def command(chosen: argparse.Namespace) -> int:
    """Run both, print a table."""
    rounds = max(20, chosen.requests // 10)
    works: dict[str, Callable[[str], dict[str, float]]] = {
        f"inference, {chosen.size >> 10} KiB": lambda mode: inference(mode, chosen.requests, chosen.size),
        f"broadcast to {chosen.devices}, {chosen.parameters >> 20} MiB": lambda mode: broadcast(
            mode, rounds, chosen.parameters, chosen.devices
        ),
    }
    rows: list[dict[str, Any]] = [
        {"what": what, "copy": work("copy"), "shared": work("shared")} for what, work in works.items()
    ]
    if chosen.json:
        emit(rows, chosen.json)
        return 0
    print(words.TOLD)
    print(f"{'':<28}{'copy P50':>12}{'P99':>10}{'shared P50':>14}{'P99':>10}  (microseconds)")
    for row in rows:
        a, b = row["copy"], row["shared"]
        figures = f"{a['p50_us']:>12.0f}{a['p99_us']:>10.0f}{b['p50_us']:>14.0f}{b['p99_us']:>10.0f}"
        print(f"{row['what']:<28}{figures}  {a['p50_us'] / b['p50_us']:.1f} times faster shared")
    return 0
