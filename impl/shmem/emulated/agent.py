"""An agent on emulated memory: the same methods as on coherent memory, each one a turn and a step of the
machine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from shmem import layout
from shmem.agent import Agent
from shmem.arenas import out_of_range
from shmem.driver.ops import handle_of
from shmem.driver.records import Agent as Record
from shmem.driver.records import Region
from shmem.emulated.lines import Block
from shmem.emulated.machine import Job, Machine
from shmem.emulated.notify import EmulatedSlots
from shmem.emulated.turns import Strand
from shmem.errors import (
    Frozen,
    InvalidArgument,
    NotMapped,
    PeerLost,
    ReadOnly,
    RegionBusy,
    ShmemError,
)
from shmem.handles import AddressMapping, SharedMemoryRegion, View, as_bytes
from shmem.memory import Range, _mode, region_of, warn_partial

T = TypeVar("T")
LINE = layout.LINE


class EmulatedAgent(EmulatedSlots, Agent):
    """One agent; `machine` is shared by all of them."""

    def __init__(self, machine: Machine, record: Record) -> None:
        self.machine = machine
        self.record = record
        self.name, self.index, self.incarnation = record.name, record.index, record.incarnation
        self.platform = machine.platform.name
        self.multicast = machine.platform.multicast
        self.sticky = machine.board.sticky
        self._latched: list[ShmemError] = []
        self._closed = False
        self._last: Strand | None = None
        self.interrupt = self.raise_latched
        machine.hardware.add(self.name)

    # -- one step ------------------------------------------------------------------------------------------

    def _step(
        self,
        what: str,
        do: Callable[[], T],
        ready: Callable[[], bool] | None = None,
        timeout: float | None = None,
    ) -> T:
        def run() -> T:
            self.raise_latched()
            self._check_living(what)
            self.machine.interfere()
            with self.machine.service.lock:
                return do()

        able = None if ready is None else lambda: bool(self._latched) or self._dead() or ready()
        return self.machine.turns.call(f"{what} by {self.name}", run, able, timeout)

    def _dead(self) -> bool:
        return self.name in self.machine.hardware.dead

    def _check_living(self, what: str) -> None:
        if self._dead():
            raise PeerLost(f"{what} by {self.name}", "this agent has died", "use another one")

    def wake(self) -> None:
        """Nobody sleeps on words here."""

    def _wake_all(self) -> None:
        """Nobody sleeps on words here."""

    # -- control plane -------------------------------------------------------------------------------------

    def alloc(
        self,
        size: int,
        align: int = layout.LINE,
        window: tuple[int, int] | None = None,
        flags: int = 0,
        acl: Mapping[str, str] | None = None,
        purpose: str = "",
    ) -> SharedMemoryRegion:
        """See `Agent.alloc`."""

        def do() -> SharedMemoryRegion:
            m = self.machine
            region = m.service.alloc(self.record, size, align, window, flags, acl, purpose)
            region.frames = list(range(region.start, region.start + region.span, LINE))
            m.hardware.regions[region.key] = region
            m.hardware.frames |= dict(zip(m.blocks(region), region.frames, strict=True))
            return region_of(handle_of(region))

        return self._step("alloc", do)

    def free(self, region: SharedMemoryRegion, force: bool = False) -> None:
        """See `Agent.free`."""

        def do() -> None:
            m, record = self.machine, self.machine.region(region, "free")
            blocks = m.blocks(record)
            may = bool(m.service.right_of(self.record, record) & layout.WRITE)
            if may and (m.copying(blocks) or m.hardware.frozen & set(blocks)):
                raise RegionBusy(f"free of {region}", "it is being copied or moved", "wait for that")
            m.service.free(self.record, region.id, region.generation, force)

        self._step("free", do)

    def map(self, region: SharedMemoryRegion, rights: str = "rw") -> AddressMapping:
        """See `Agent.map`."""

        def do() -> AddressMapping:
            bits = _rights(region, rights)
            self.machine.service.map(self.record, region.id, region.generation, bits)
            return AddressMapping(self, region, rights)

        return self._step("map", do)

    def unmap(self, region: SharedMemoryRegion, agent: str | None = None) -> None:
        """See `Agent.unmap`."""

        def do() -> None:
            m, record = self.machine, self.machine.region(region, "unmap")
            target = next((a for a in m.service.agents.values() if a.name == (agent or self.name)), None)
            if target is None:
                raise InvalidArgument(f"unmap of {region} from {agent}", "there is no such agent", "name one")
            blocks = m.blocks(record)
            may = target.name == self.name or m.service.right_of(self.record, record) & layout.WRITE
            if target.index in record.mapped and may and m.copying(blocks, target.name):
                raise RegionBusy(f"unmap of {region} from {target.name}", "it copies there", "wait for its copy")
            m.service.unmap(self.record, target, region.id, region.generation)
            if not m.manual:
                for block in blocks:
                    m.hardware.sides[target.name].tlb.pop(block, None)

        self._step("unmap", do)

    def compact(self) -> dict[str, int]:
        """See `Agent.compact`."""

        def do() -> dict[str, int]:
            arenas = self.machine.service.arenas.values()
            return self.machine.service.compact([a for a in arenas if a.acl.get(self.record.key, 0) & layout.WRITE])

        return self._step("compact", do)

    # -- accesses ------------------------------------------------------------------------------------------

    def _range(self, region: SharedMemoryRegion, action: str, offset: int, length: int | None) -> tuple[Region, int]:
        record = self.machine.region(region, action)
        n = record.size - offset if length is None else length
        if offset < 0 or n < 0 or offset + n > record.size:
            raise out_of_range(region, action, offset, n)
        return record, n

    def _lines(self, record: Region, offset: int, length: int) -> Iterator[tuple[Block, int, int, int]]:
        """(block, offset in it, bytes, position) of each line of a range; hardware may act between two
        lines."""
        done = 0
        while done < length:
            line, at = divmod(offset + done, LINE)
            n = min(LINE - at, length - done)
            if done:
                self.machine.hardware.interfere()
            yield (record.key, line), at, n, done
            done += n

    def _what(self, action: str, region: SharedMemoryRegion) -> str:
        return f"{action} of {region} by {self.name}"

    def read(self, region: SharedMemoryRegion, offset: int = 0, length: int | None = None) -> bytes:
        """See `Agent.read`."""

        def do() -> bytes:
            record, n = self._range(region, "read", offset, length)
            what, load = self._what("read", region), self.machine.hardware.load
            return b"".join(load(self.name, b, at, k, what) for b, at, k, _ in self._lines(record, offset, n))

        return self._step("read", do)

    def write(self, region: SharedMemoryRegion, offset: int, data: Any) -> None:
        """See `Agent.write`."""
        raw = bytes(as_bytes(data))

        def do() -> None:
            record, n = self._range(region, "write", offset, len(raw))
            what = self._what("write", region)
            for block, at, k, done in self._lines(record, offset, n):
                self.machine.hardware.store(self.name, block, at, raw[done : done + k], what)

        self._step("write", do)

    def view(
        self,
        region: SharedMemoryRegion,
        range: Range = None,
        mode: str = "r",
        dtype: npt.DTypeLike = np.uint8,
    ) -> View:
        """A private copy: a read now, and at the end ("w") a write of the bytes that differ."""
        offset, length = range if range is not None else (0, region.size)
        before = self.read(region, offset, length)
        if _mode(mode):
            self.check_writable(region)
        return copied_view(self, region, offset, before, mode, dtype)

    def check_writable(self, region: SharedMemoryRegion) -> None:
        """ReadOnly where a view for writing could not be written back."""
        self._step("view", lambda: self._writable(region))

    def _writable(self, region: SharedMemoryRegion) -> None:
        if not self.machine.region(region, "view").mapped.get(self.index, 0) & layout.WRITE:
            raise ReadOnly(self._what("view", region), f"{self.name} has mapped it for reading", 'map it "rw"')

    def flush(self, region: SharedMemoryRegion, offset: int = 0, length: int | None = None, drop: bool = False) -> None:
        """See `Agent.flush`."""

        def one(block: Block, what: str) -> None:
            self.machine.hardware.clean(self.name, block, drop, what)

        self._over_lines("flush", region, offset, length, one)

    def invalidate(
        self, region: SharedMemoryRegion, offset: int = 0, length: int | None = None, keep: bool | None = None
    ) -> None:
        """See `Agent.invalidate`; `keep` decides what becomes of dirty words where the platform leaves it
        open."""

        def one(block: Block, what: str) -> None:
            self.machine.hardware.discard(self.name, block, keep, what)

        self._over_lines("invalidate", region, offset, length, one)

    def _over_lines(
        self, action: str, region: SharedMemoryRegion, offset: int, length: int | None,
        one: Callable[[Block, str], None],
    ) -> None:  # fmt: skip
        def do() -> None:
            record, n = self._range(region, action, offset, length)
            warn_partial(region, action, offset, n)
            for block, _, _, _ in self._lines(record, offset, n):
                one(block, self._what(action, region))

        self._step(action, do)

    def fence(self) -> None:
        """See `Agent.fence`."""
        self._step("fence", lambda: self.machine.hardware.settle(self.name))

    def _atomic(self, op: int, action: str, region: SharedMemoryRegion, offset: int, value: int, old: int) -> int:
        def change(found: int) -> int:
            return found + value if op == 0 else value if op == 1 or found == old else found

        def do() -> int:
            record, _ = self._range(region, action, offset, 8)
            if offset % 8:
                raise out_of_range(region, action, offset, 8)
            block = (record.key, offset // LINE)
            return self.machine.hardware.at_memory(self.name, block, offset % LINE, change, self._what(action, region))

        return self._step(action, do)

    # -- copies --------------------------------------------------------------------------------------------

    def copy_start(  # type: ignore[override]
        self, source: SharedMemoryRegion, target: SharedMemoryRegion, source_offset: int = 0,
        target_offset: int = 0, length: int | None = None,
    ) -> Job:  # fmt: skip
        """See `Agent.copy_start`."""
        n = min(source.size - source_offset, target.size - target_offset) if length is None else length

        def do() -> Job:
            a, _ = self._range(source, "copy_start", source_offset, n)
            b, _ = self._range(target, "copy_start", target_offset, n)
            if a is b and source_offset < target_offset + n and target_offset < source_offset + n:
                raise InvalidArgument(f"copy inside {source}", "the two ranges overlap", "choose others")
            for record, handle in ((a, source), (b, target)):
                if self.index not in record.mapped:
                    raise NotMapped(self._what("copy_start", handle), "it is not mapped", "map it first")
            if not b.mapped[self.index] & layout.WRITE:
                raise ReadOnly(self._what("copy_start", target), "it is mapped for reading", 'map it "rw"')
            job = Job(self.name)
            ends = (a, source_offset), (b, target_offset)
            for record, at in ends:
                touched = {(record.key, line) for line in range(at // LINE, -(-(at + n) // LINE))}
                if touched & self.machine.hardware.frozen:
                    raise Frozen(f"copy by {self.name}", "the driver is moving a line of it", "try again later")
            done = 0
            while done < n:
                (i, at), (j, to) = divmod(source_offset + done, LINE), divmod(target_offset + done, LINE)
                k = min(8 - at % 8, 8 - to % 8, n - done)
                job.pieces.append(((a.key, i), at, (b.key, j), to, k))
                done += k
            self.machine.jobs.append(job)
            return job

        return self._step("copy_start", do)

    def copy_wait(self, copy: Any = None, timeout: float | None = None) -> None:
        """See `Agent.copy_wait`."""

        def do() -> None:
            m = self.machine
            for job in [job for job in m.jobs if job.owner == self.name and copy in (None, job)]:
                m.finish(job)
                m.jobs.remove(job)

        self._step("copy_wait", do)

    # -- addresses and life --------------------------------------------------------------------------------

    def _host_address(self, region: SharedMemoryRegion) -> int:
        memory = self.machine.hardware.memory(self.machine.frame(region, 0))
        return int(np.frombuffer(memory, np.uint8).ctypes.data)

    def _physical_address(self, region: SharedMemoryRegion) -> int:
        return self.machine.frame(region, 0)

    def translate(self, region: SharedMemoryRegion, device_address: int, rights: str = "r") -> int:
        """See `Agent.translate`."""

        def do() -> int:
            offset = device_address - region.device_address
            record, _ = self._range(region, "translate", offset, 1)
            block = (record.key, offset // LINE)
            frame = self.machine.hardware.reach(self.name, block, "w" in rights, self._what("translate", region))
            return frame + offset % LINE

        return self._step("translate", do)

    def starting(self, task: Any) -> None:
        """A strand for the function; it begins when it is drawn, after this device's earlier functions."""
        before, task.strand = self._last, self.machine.turns.new(self.name)
        task.strand.ready = lambda: before is None or before.ended
        self._last = task.strand

    @contextlib.contextmanager
    def running(self, task: Any) -> Iterator[None]:
        """The function's turns."""
        try:
            self.machine.turns.begin(task.strand)
            yield
        finally:
            self.machine.turns.end(task.strand)

    def holding(self, task: Any, timeout: float | None) -> None:
        """The host's program waits until a function has ended; others go on meanwhile."""
        self.machine.turns.call(task.what, lambda: None, lambda: task.strand.ended, timeout)

    def die(self) -> None:
        """The fault `die`: no further call; what its cache and buffer hold arrives or is lost."""
        with self.machine.service.lock:
            self.machine.service.died(self.record)

    def close(self) -> None:
        """The agent's program is over."""
        self._closed = True


def copied_view(
    agent: Any, region: SharedMemoryRegion, offset: int, before: bytes, mode: str, dtype: npt.DTypeLike
) -> View:
    """A view that is a private copy: what has changed is written at the end, each run of bytes at once."""
    array = np.frombuffer(bytearray(before), dtype=np.uint8).view(dtype)
    array.flags.writeable = _mode(mode)

    def close(view: View) -> None:
        if not _mode(mode):
            return
        after = array.view(np.uint8)
        differs = np.flatnonzero(after != np.frombuffer(before, np.uint8))
        for run in np.split(differs, np.flatnonzero(np.diff(differs) > 1) + 1):
            if run.size:
                agent.write(region, offset + int(run[0]), after[run[0] : run[-1] + 1].tobytes())

    return View(array, close)


def _rights(region: SharedMemoryRegion, rights: str) -> int:
    if rights not in ("r", "w", "rw"):
        raise InvalidArgument(f"map of {region}", f"rights {rights!r}", 'say "r" or "rw"')
    return layout.rights_of(rights)
