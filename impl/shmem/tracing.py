"""The event trace of a running system: JSON Lines, one event for each action, of all agents in one file.

A traced agent has its methods wrapped; one that is not traced has nothing added, so a trace that is off costs
nothing. Every event is one `write` to a file opened for appending. Order between agents comes from the edges
that events carry (`count` and `upto` of notifications, epochs of barriers), never from clocks or from the
order of lines.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import sys
import threading
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

from shmem.errors import ShmemError
from shmem.handles import SharedMemoryRegion, View, as_bytes
from shmem.platforms import Platform

_DIGEST_ABOVE = 64
_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def start(path: str, platform: Platform, cached: bool, agents: list[str]) -> None:
    """Begin a trace: its first line says on what platform whose events follow."""
    head = {
        "shmem_trace": 1,
        "platform": {
            "name": platform.name,
            "write_back": platform.write_back,
            "invalidate": platform.invalidate,
            "slots": platform.slots,
            "cached": agents if cached else [],
            "multicast": platform.multicast,
        },
        "agents": agents,
        "complete": agents,
    }
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(head) + "\n")


def attach(agent: Any, path: str) -> None:
    """Trace an agent from now on."""
    tracer = _Tracer(agent, os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC))
    names = "alloc free map unmap read write view flush invalidate fence poll gb_begin gb_end copy_start"
    for name in [*names.split(), "copy_wait", "compact", "arrive", "leave"]:
        tracer.wrap(name, getattr(tracer, f"on_{name}", tracer.on_any))
    tracer.wrap("_wait", tracer.on_wait)
    tracer.wrap("_atomic", tracer.on_atomic)
    tracer.wrap_sends()
    tracer.wrap_forms()
    tracer.wrap_close()


def note_death(path: str, name: str) -> None:
    """Write the event of an agent whose process was killed, after the last one that it could write itself.

    What it did last may not have been written any more: `cut`.
    """
    with open(path, "rb") as file:
        mine = sum(json.loads(line).get("agent") == name for line in file if line.endswith(b"\n"))
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    os.write(fd, (json.dumps({"agent": name, "n": mine, "action": "die", "cut": True}) + "\n").encode())
    os.close(fd)


def value_of(data: Any) -> str:
    """Bytes as hex, or a digest of many."""
    raw = bytes(as_bytes(data))
    return raw.hex() if len(raw) <= _DIGEST_ABOVE else f"sha256:{hashlib.sha256(raw).hexdigest()}"


caller: ContextVar[str | None] = ContextVar("caller", default=None)
"""The line of a program in another process, for which a call is made here."""


def where() -> str | None:
    """The line of the program that made the call."""
    told = caller.get()
    if told is not None:
        return told
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_PACKAGE) and "contextlib" not in name:
            return f"{os.path.basename(name)}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return None


def _region(region: SharedMemoryRegion) -> list[int]:
    return [region.id, region.generation]


def _range(region: SharedMemoryRegion, offset: int = 0, length: int | None = None) -> list[int]:
    return [offset, region.size - offset if length is None else length]


Event = dict[str, Any]


class _Tracer:
    """Writes one agent's events."""

    def __init__(self, agent: Any, fd: int) -> None:
        self.agent = agent
        self.fd = fd
        self.number = 0
        self.emulated = hasattr(agent, "machine")
        self.lock = threading.Lock()
        # Two threads that send to one slot must not tell the same count; emulated calls are in turn anyway.
        self.sending: Any = contextlib.nullcontext() if self.emulated else threading.Lock()

    def emit(self, event: Event) -> None:
        with self.lock:
            if self.fd < 0:
                return  # the agent has left
            whole = {"agent": self.agent.name, "n": self.number} | event
            self.number += 1
            os.write(self.fd, (json.dumps(whole) + "\n").encode())

    def wrap(self, name: str, describe: Callable[..., list[Event]]) -> None:
        plain = getattr(self.agent, name)

        @functools.wraps(plain)
        def traced(*args: Any, **kwargs: Any) -> Any:
            at = where()
            try:
                result = plain(*args, **kwargs)
            except ShmemError as error:
                self.emit(self.failed(name.lstrip("_"), error, args) | {"where": at})
                raise
            for event in describe(name, result, *args, **kwargs):
                self.emit(event | {"where": at})
            return result

        setattr(self.agent, name, traced)

    def failed(self, action: str, error: ShmemError, args: tuple[Any, ...]) -> Event:
        """The event of a refusal or fault."""
        place = {"region": _region(args[0])} if args and isinstance(args[0], SharedMemoryRegion) else {}
        return {"action": action, **place, "error": type(error).__name__}

    def wrap_sends(self) -> None:
        """Each notification is one event, also those of a batch."""
        one, many = self.agent.send, self.agent.send_batch

        def traced(call: Callable[[], None], to: str, slots: tuple[int, ...]) -> None:
            at = where()
            with self.sending:
                try:
                    call()
                except ShmemError as error:
                    self.emit({"action": "send", "to": to, "error": type(error).__name__, "where": at})
                    raise
                for i, slot in enumerate(slots):
                    count = self.agent._counted(to, slot) - slots[i + 1 :].count(slot)
                    self.emit({"action": "send", "to": to, "slot": slot, "count": count, "where": at})

        def send(to: str, slot: int, n: int = 1) -> None:
            traced(lambda: one(to, slot, n), to, (slot,) * n)

        def send_batch(to: str, slots: Any) -> None:
            numbers = tuple(slots)
            traced(lambda: many(to, numbers), to, numbers)

        self.agent.send_batch = send_batch
        if not self.emulated:  # there a single send is a batch of one
            self.agent.send = send

    def wrap_forms(self) -> None:
        """What is taken by a callback, and the barrier that has no split phase."""
        on, barrier = self.agent.on, self.agent.barrier

        def traced_on(slot: int, callback: Callable[[str], None] | None) -> None:
            def heard(sender: str) -> None:
                for event in self.on_wait("wait", (slot, sender)):
                    self.emit(event)
                if callback is not None:
                    callback(sender)

            on(slot, heard if callback is not None else None)

        def traced_barrier(team: Any, *regions: SharedMemoryRegion, timeout: float | None = None) -> None:
            if self.emulated or team.flavour != "dissemination":
                barrier(team, *regions, timeout=timeout)
                return
            at, again = where(), team.inside
            leave: Event = {"action": "leave", "team": team.name, "where": at}
            try:
                barrier(team, *regions, timeout=timeout)
            except ShmemError as error:
                leave["error"] = type(error).__name__
                raise
            finally:
                if not again:
                    arrive: Event = {"action": "arrive", "team": team.name, "epoch": team.epoch, "where": at}
                    self.emit(arrive | {"members": list(team.members)})
                self.emit(leave | {"epoch": team.epoch})

        self.agent.on, self.agent.barrier = traced_on, traced_barrier

    def wrap_close(self) -> None:
        """The file goes with the agent; `die` is its last event."""
        close, die = self.agent.close, self.agent.die
        dead: list[bool] = []

        def traced_close() -> None:
            close()
            with self.lock:
                fd, self.fd = self.fd, -1
            if fd >= 0:
                os.close(fd)

        def traced_die() -> None:
            if not dead:
                dead.append(True)
                self.emit({"action": "die"})
            die()

        self.agent.close, self.agent.die = traced_close, traced_die

    # -- one method for each form of event: (name of the method, its result, its arguments) ----------------

    def on_any(self, name: str, result: Any, *args: Any, **kwargs: Any) -> list[Event]:
        event: Event = {"action": name}
        if args and isinstance(args[0], SharedMemoryRegion):
            event["region"] = _region(args[0])
        return [event]

    def on_alloc(self, name: str, result: SharedMemoryRegion, *args: Any, **kwargs: Any) -> list[Event]:
        return [{"action": name, "region": _region(result), "range": _range(result)}]

    def on_map(self, name: str, result: Any, region: SharedMemoryRegion, rights: str = "rw") -> list[Event]:
        return [{"action": name, "region": _region(region), "rights": rights}]

    def on_unmap(self, name: str, result: Any, region: SharedMemoryRegion, agent: str | None = None) -> list[Event]:
        return [{"action": name, "region": _region(region), "of": agent or self.agent.name}]

    def on_read(
        self, name: str, result: bytes, region: SharedMemoryRegion, offset: int = 0, length: int | None = None
    ) -> list[Event]:
        place = {"region": _region(region), "range": _range(region, offset, length)}
        return [{"action": "read", **place, "value": value_of(result)}]

    def on_write(self, name: str, result: None, region: SharedMemoryRegion, offset: int, data: Any) -> list[Event]:
        raw = as_bytes(data)
        place = {"region": _region(region), "range": [offset, len(raw)]}
        return [{"action": "write", **place, "value": value_of(raw)}]

    def on_view(
        self,
        name: str,
        result: View,
        region: SharedMemoryRegion,
        range: Any = None,
        mode: str = "r",
        *_: Any,
        **__: Any,
    ) -> list[Event]:
        if self.emulated:
            return []  # its reads and writes are events of their own
        offset, length = range if range is not None else (0, region.size)
        place = {"region": _region(region), "range": [offset, length]}
        array, close = result.array, result._close

        def closed(view: View) -> None:
            if mode != "r" and array is not None:
                self.emit({"action": "write", **place, "value": value_of(array), "where": where()})
            if close is not None:
                close(view)

        value = value_of(array)
        del array
        array = result.array if mode != "r" else None
        result._close = closed
        return [{"action": "read", **place, "value": value}]

    def on_flush(
        self, name: str, result: None, region: SharedMemoryRegion, offset: int = 0, length: int | None = None,
        **kwargs: Any,
    ) -> list[Event]:  # fmt: skip
        event: Event = {"action": name, "region": _region(region), "range": _range(region, offset, length)}
        return [event | {key: value for key, value in kwargs.items() if value}]

    on_invalidate = on_flush

    def on_poll(self, name: str, result: bool, slot: int) -> list[Event]:
        return [{"action": "poll", "slot": slot, "got": result, "upto": self.agent._upto(slot)}]

    def on_wait(self, name: str, result: tuple[int, str], *args: Any, **kwargs: Any) -> list[Event]:
        slot, sender = result
        return [{"action": "wait", "slot": slot, "from": sender, "upto": self.agent._upto(slot)}]

    def on_atomic(
        self,
        name: str,
        result: int,
        op: int,
        action: str,
        region: SharedMemoryRegion,
        offset: int,
        value: int,
        old: int,
    ) -> list[Event]:
        event = {
            "action": action,
            "region": _region(region),
            "range": [offset, 8],
            "operand": value,
            "value": result,
        }
        return [event | ({"old": old} if op == 2 else {})]

    def on_arrive(self, name: str, result: int, team: Any, *regions: SharedMemoryRegion) -> list[Event]:
        return [{"action": "arrive", "team": team.name, "epoch": result, "members": list(team.members)}]

    def on_leave(self, name: str, result: None, team: Any, *args: Any, **kwargs: Any) -> list[Event]:
        if self.emulated:
            epoch = self.agent.machine.board.barriers[team.key].left[self.agent.name]
        else:
            epoch = team.epoch
        return [{"action": "leave", "team": team.name, "epoch": epoch}]

    def on_gb_begin(self, name: str, result: None, region: SharedMemoryRegion, agents: Iterable[str]) -> list[Event]:
        return [{"action": name, "region": _region(region), "agents": list(agents)}]

    def on_copy_start(
        self,
        name: str,
        result: Any,
        source: SharedMemoryRegion,
        target: SharedMemoryRegion,
        source_offset: int = 0,
        target_offset: int = 0,
        length: int | None = None,
    ) -> list[Event]:
        n = min(source.size - source_offset, target.size - target_offset) if length is None else length
        return [
            {
                "action": name, "region": _region(source), "range": [source_offset, n],
                "target": _region(target), "target_range": [target_offset, n],
            }
        ]  # fmt: skip
