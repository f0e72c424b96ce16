"""Copy mode and shared mode behind one interface, and a request/response channel on top.

All of it uses the calls of an agent only, so it runs on coherent and on emulated memory alike.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from shmem.agent import Agent
from shmem.errors import InvalidArgument, TimedOut
from shmem.handles import SharedMemoryRegion, View
from shmem.layout import LINE, WORD
from shmem.platforms import PLATFORMS, Link
from shmem.waiting import Limit

MODES = ("copy", "shared", "auto")


class Fetched:
    """Data of a region for reading; a context manager that gives an array, or `close`.

    `mode` is how it was fetched: `"copy"` (the array is a private buffer that the copy engine filled) or
    `"shared"` (the array is the region itself)."""

    def __init__(self, transfer: Transfer, mode: str, view: View, buffer: SharedMemoryRegion | None) -> None:
        self.mode = mode
        self._transfer = transfer
        self._view = view
        self._buffer = buffer

    def close(self) -> None:
        """Give the view, and in copy mode the buffer, back."""
        self._view.close()
        if self._buffer is not None:
            self._transfer._spare.setdefault(self._buffer.size, []).append(self._buffer)
            self._buffer = None

    def __enter__(self) -> npt.NDArray[Any]:
        return self._view.__enter__()

    def __exit__(self, *_: object) -> None:
        self.close()


class Transfer:
    """How one agent reads what others publish: `mode` is `"copy"`, `"shared"` or `"auto"`.

    `auto` asks the link-cost model of the platform (or `link`): copy = setup + n / link + reads * n / local,
    shared = reads * (n / link + lines * line). It is a stated model, not a measurement. Copy buffers come
    from the same pool as all regions (`shmem ls` shows them) and are used again; `close` frees them."""

    def __init__(self, agent: Agent, mode: str = "auto", link: Link | None = None) -> None:
        if mode not in MODES:
            raise InvalidArgument(f"transfer in mode {mode!r}", f"there are {', '.join(MODES)}", "choose one")
        self.agent = agent
        self.mode = mode
        if link is None and agent.platform not in PLATFORMS:
            raise InvalidArgument(
                f"transfer on the platform {agent.platform}",
                "its link costs are not known here",
                "pass link=",
            )
        self.link = link or PLATFORMS[agent.platform].link
        self._spare: dict[int, list[SharedMemoryRegion]] = {}

    def choose(self, size: int, reads: int = 1) -> str:
        """`"copy"` or `"shared"` for data of that size that will be read so often."""
        return self.link.cheaper(size, reads) if self.mode == "auto" else self.mode

    def fetch(
        self,
        region: SharedMemoryRegion,
        range: tuple[int, int] | None = None,
        reads: int = 1,
        dtype: npt.DTypeLike = np.uint8,
        timeout: float | None = None,
    ) -> Fetched:
        """The published bytes of a (mapped) region; `reads`: how often you are going to read them.  Call it
        after having been notified."""
        offset, length = range if range is not None else (0, region.size)
        mode = self.choose(length, reads)
        if mode == "shared":
            first = offset // LINE * LINE
            self.agent.invalidate(region, first, min(-(-(offset + length) // LINE) * LINE, region.size) - first)
            return Fetched(self, mode, self.agent.view(region, (offset, length), "r", dtype), None)
        buffer = self._buffer(length)
        copy = self.agent.copy_start(region, buffer, offset, 0, length)
        self.agent.copy_wait(copy, timeout)
        self.agent.invalidate(buffer)
        return Fetched(self, mode, self.agent.view(buffer, (0, length), "r", dtype), buffer)

    def _buffer(self, size: int) -> SharedMemoryRegion:
        spare = self._spare.get(size)
        if spare:
            return spare.pop()
        buffer = self.agent.alloc(size, acl={self.agent.name: "rw"}, purpose="copy buffer")
        self.agent.map(buffer, "rw")
        return buffer

    def close(self) -> None:
        """Free the copy buffers that are not in use."""
        for buffers in self._spare.values():
            for buffer in buffers:
                self.agent.unmap(buffer)
                self.agent.free(buffer)
        self._spare.clear()

    def __enter__(self) -> Transfer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_TAIL, _HEAD, _ENTRIES = 0, LINE, 2 * LINE


class Ring:
    """One direction of a channel: one producer, one consumer, messages of at most `size` bytes, in order.

    How many messages there are is counted in memory by atomics; notifications only wake, so it does not
    matter whether slots count or coalesce. The producer publishes (write, flush, fence) before it counts; the
    consumer invalidates after it has seen the count."""

    def __init__(
        self,
        agent: Agent,
        region: SharedMemoryRegion,
        base: int,
        depth: int,
        size: int,
        peer: str,
        slots: tuple[int, int],
    ) -> None:
        self.agent, self.region, self.base = agent, region, base
        self.depth, self.size, self.peer = depth, size, peer
        self.arrivals, self.credits = slots
        self.done = 0
        self.limit = 0

    @staticmethod
    def space(depth: int, size: int) -> int:
        """Memory that a ring needs."""
        return _ENTRIES + depth * (LINE + -(-size // LINE) * LINE)

    def _entry(self, number: int) -> int:
        return self.base + _ENTRIES + number % self.depth * (LINE + -(-self.size // LINE) * LINE)

    def put(self, data: bytes, timeout: float | None = None) -> None:
        """Send a message; waits while the ring is full."""
        if len(data) > self.size:
            raise InvalidArgument(f"a message of {len(data)} bytes", f"the channel takes {self.size}", "split it")
        limit = Limit(timeout)
        while self.done - self.limit >= self.depth:  # step: put_start
            self.limit = self.agent.atomic_add(self.region, self.base + _HEAD, 0)  # step: put_look
            if self.done - self.limit >= self.depth:
                self._sleep(self.credits, limit)  # step: put_wait
        at = self._entry(self.done)
        self.agent.write(self.region, at, len(data).to_bytes(WORD, "little"))  # step: put_length
        if data:
            self.agent.write(self.region, at + LINE, data)  # step: put_data
        self.agent.flush(self.region, at, LINE + -(-len(data) // LINE) * LINE)  # step: put_flush
        self.agent.fence()  # step: put_fence
        self.done += 1
        self.agent.atomic_swap(self.region, self.base + _TAIL, self.done)  # step: put_count
        self.agent.send(self.peer, self.arrivals)  # step: put_notify

    def get(self, timeout: float | None = None) -> bytes:
        """Receive the next message; waits for it."""
        limit = Limit(timeout)
        while self.done == self.limit:
            self.limit = self.agent.atomic_add(self.region, self.base + _TAIL, 0)  # step: get_look
            if self.done == self.limit:
                self._sleep(self.arrivals, limit)  # step: get_wait
        at = self._entry(self.done)
        self.agent.invalidate(self.region, at, LINE)  # step: get_drop
        n = int.from_bytes(self.agent.read(self.region, at, WORD), "little")  # step: get_length
        data = b""
        if n:
            self.agent.invalidate(self.region, at + LINE, -(-n // LINE) * LINE)  # step: get_drop
            data = self.agent.read(self.region, at + LINE, n)  # step: get_data
        self.done += 1
        self.agent.atomic_swap(self.region, self.base + _HEAD, self.done)  # step: get_count
        self.agent.send(self.peer, self.credits)  # step: get_notify
        return data

    def _sleep(self, slot: int, limit: Limit) -> None:
        left = limit.left_ns()
        if left == 0:
            raise TimedOut(
                f"message on {self.region} with {self.peer}", f"none came in {limit.timeout} s", "call again"
            )
        self.agent.wait(slot, None if left < 0 else left / 1e9)


class Channel:
    """Requests one way, responses the other: a ring each, in one region that both agents have mapped "rw".

    The client calls `call` (or `request` and `response`, several under way), the server `receive` and
    `reply`. One thread on each side; for more, make more channels. `slots`: four numbers, the same on both
    sides.

        r = host.alloc_broadcast(shmem.Channel.space(8, 256), ["dev0"])
        client = shmem.Channel(host, r, "dev0", "client", 8, 256)
    """

    def __init__(
        self,
        agent: Agent,
        region: SharedMemoryRegion,
        peer: str,
        role: str,
        depth: int = 8,
        size: int = 4096,
        slots: tuple[int, int, int, int] = (252, 253, 254, 255),
    ) -> None:
        need = Channel.space(depth, size)
        if role not in ("client", "server") or depth < 1 or size < 1 or region.size < need:
            raise InvalidArgument(
                f"a channel of depth {depth} and size {size} in {region} as {role}",
                f"roles are client and server, and it needs {need} bytes",
                "ask Channel.space for the size",
            )
        half = Ring.space(depth, size)
        there = Ring(agent, region, 0, depth, size, peer, (slots[0], slots[1]))
        back = Ring(agent, region, half, depth, size, peer, (slots[2], slots[3]))
        self.role = role
        self._out, self._in = (there, back) if role == "client" else (back, there)

    @staticmethod
    def space(depth: int = 8, size: int = 4096) -> int:
        """Bytes of the region that such a channel needs."""
        return 2 * Ring.space(depth, size)

    def request(self, data: bytes, timeout: float | None = None) -> None:
        """Client: send a request; waits while `depth` are unanswered."""
        self._out.put(data, timeout)

    def response(self, timeout: float | None = None) -> bytes:
        """Client: the next response, in the order of the requests."""
        return self._in.get(timeout)

    def call(self, data: bytes, timeout: float | None = None) -> bytes:
        """Client: send a request and wait for its response."""
        self._out.put(data, timeout)
        return self._in.get(timeout)

    def receive(self, timeout: float | None = None) -> bytes:
        """Server: the next request."""
        return self._in.get(timeout)

    def reply(self, data: bytes, timeout: float | None = None) -> None:
        """Server: answer the oldest request that has no answer yet."""
        self._out.put(data, timeout)


__all__ = ["Channel", "Fetched", "Transfer"]
