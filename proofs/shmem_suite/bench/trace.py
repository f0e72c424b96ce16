"""How many events of a trace are checked per second on one core, and what memory a trace ten times as long needs."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from shmem_model.conformance.traces import check_file, compiled
from shmem_suite.bench.measure import Bench, Row, one_core, ratio, take_turns
from shmem_suite.errors import SuiteError

UNIT = "events/s"
EVENTS = 500_000
_MEASURE = (
    "import resource, sys\nfrom pathlib import Path\nfrom shmem_model.conformance.traces import check_file\n"
    "assert check_file(Path(sys.argv[1]), fast=sys.argv[2] == 'fast').answer == 'clean'\n"
    "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
)


def lines(count: int) -> Iterator[str]:
    """A clean trace of about so many events: a host hands lines to three devices in turn, and takes them back."""
    agents = ["host", "dev0", "dev1", "dev2"]
    platform = {"write_back": "line", "invalidate": "discard", "cached": agents}
    yield json.dumps({"shmem_trace": 1, "platform": platform, "agents": agents, "complete": agents}) + "\n"
    numbers: dict[str, int] = defaultdict(int)

    def event(agent: str, action: str, where: str, **more: Any) -> str:
        found = {"agent": agent, "n": numbers[agent], "action": action, **more, "where": where}
        numbers[agent] += 1
        return json.dumps(found) + "\n"

    region, upto = [0, 1], dict.fromkeys(agents[1:], 0)
    yield event("host", "alloc", "host.py:9", region=region, range=[0, 65536])
    for turn in range(count // 9):
        device, place = agents[1 + turn % 3], [64 * (turn % 1000), 8]
        value = turn.to_bytes(8, "little").hex()
        upto[device] += 1
        yield event("host", "write", f"host.py:{turn % 5 + 10}", region=region, range=place, value=value)
        yield event("host", "flush", "host.py:20", region=region, range=place)
        yield event("host", "fence", "host.py:21")
        yield event("host", "send", "host.py:22", to=device, slot=1, count=upto[device])
        yield event(device, "wait", "dev.py:5", slot=1, upto={"host": upto[device]})
        yield event(device, "invalidate", "dev.py:6", region=region, range=place)
        yield event(device, "read", "dev.py:7", region=region, range=place, value=value)
        yield event(device, "send", "dev.py:8", to="host", slot=2, count=upto[device])
        yield event("host", "wait", "host.py:30", slot=2, upto=upto)


def _rate(path: Path, fast: bool) -> float:
    begin = time.perf_counter()
    found = check_file(path, fast=fast)
    if found.answer != "clean":
        raise SuiteError(f"the trace of the benchmark is {found.answer}; a speed without answers says nothing")
    return found.events / (time.perf_counter() - begin)


def _memory(path: Path, fast: bool) -> float:
    line = [sys.executable, "-c", _MEASURE, str(path), "fast" if fast else "plain"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SuiteError(f"the memory of a check could not be measured: {done.stderr.strip().splitlines()[-1]}")
    return int(done.stdout) / 1024


def run(rounds: int, tell: Callable[[str], None], events: int = EVENTS) -> Bench:
    """Check a trace with both engines, and one ten times as long for its memory."""
    fast = compiled.available()
    with tempfile.TemporaryDirectory(prefix="shmem-bench-") as folder, one_core():
        short, long = Path(folder) / "short.jsonl", Path(folder) / "long.jsonl"
        for path, count in ((short, events), (long, 10 * events)):
            tell(f"writing a trace of {count} events")
            with path.open("w", encoding="utf-8") as file:
                file.writelines(lines(count))
        if fast:
            _rate(short, True)  # it compiles at the first time

        def plain() -> Mapping[str, float]:
            return {"plain": _rate(short, False)}

        def compiled_() -> Mapping[str, float]:
            return {"compiled": _rate(long, True)}

        values = take_turns([plain, compiled_] if fast else [plain], rounds, tell)
        memory = {name: _memory(path, fast) for name, path in (("short", short), ("long", long))}
    rows = [Row(name, found, UNIT) for name, found in values.items()]
    rows += [Row(f"memory of the {name} trace", (found,), "MiB") for name, found in memory.items()]
    ratios = {"memory_ten_times_as_long": memory["long"] / memory["short"]}
    notes = [] if fast else ["compiled is not measured: numba is not installed"]
    faster = ratio(rows, "compiled", "plain")
    ratios |= {} if faster is None else {"compiled_vs_plain": faster}
    return Bench("trace", tuple(rows), ratios, tuple(notes), f"{events} and {10 * events} events")
