"""A trace in the Chrome trace-event format, for Perfetto: written as a stream, in memory that does not grow.

A trace has no clock.  The microseconds here are places in an order that the edges allow, and say nothing of time.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import IO, Any

from shmem_model.conformance.traces.events import described
from shmem_suite.trace_order import Order, Placed

_STEP = 10
"""Microseconds from one event to the next; an event is drawn 8 long."""


def export(order: Order, out: IO[str]) -> int:
    """Write all events and answer how many there were.  Raises `Malformed`, `OSError`."""
    thread = {name: i + 1 for i, name in enumerate(order.agents)}
    out.write('{"displayTimeUnit": "ms", "traceEvents": [\n')
    names = ({"ph": "M", "name": "thread_name", "pid": 1, "tid": i, "args": {"name": n}} for n, i in thread.items())
    out.write(",\n".join(map(json.dumps, names)))
    count = 0
    for placed in order:
        for entry in _entries(placed, count * _STEP, thread[placed.event["agent"]]):
            out.write(",\n" + json.dumps(entry))
        count += 1
    out.write("\n]}\n")
    return count


def _entries(placed: Placed, time: int, thread: int) -> Iterator[dict[str, Any]]:
    found, at = placed.event, {"pid": 1, "tid": thread, "ts": time}
    more = {key: value for key, value in found.items() if key not in ("agent", "action")}
    args = {**more, "line": placed.line, "told": described(found)}
    yield {"ph": "X", "name": found["action"], "cat": "shmem", "dur": _STEP - 2, **at, "args": args}
    at["ts"] = time + 1  # inside of the event, to which a flow is bound
    takes = found["action"] in ("wait", "poll", "leave")
    for mark in placed.takes if takes else placed.gives:
        # A flow ends once, so an arrival begins one for each of the others.
        ends = [name for name in found["members"] if name != found["agent"]] if found["action"] == "arrive" else [""]
        for end in [found["agent"]] if found["action"] == "leave" else ends:
            flow = {"name": "edge", "cat": "shmem", "id": _id("\0".join((*mark, end))), **at}
            yield {"ph": "f", "bp": "e", **flow} if takes else {"ph": "s", **flow}


def _id(text: str) -> int:
    """The same number for both ends of an edge, without remembering them (52 bits: JSON numbers hold that)."""
    data = text.encode()
    return (zlib.crc32(data) << 20) | (zlib.crc32(data[::-1], 1) & 0xFFFFF)
