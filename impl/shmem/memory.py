"""Coherent memory: views are the shared memory, and maintenance is the fences that the platform needs."""

from __future__ import annotations

import sys
import threading
import warnings
import weakref
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

import numpy as np
import numpy.typing as npt

from shmem import layout
from shmem.arenas import Arenas, out_of_range
from shmem.errors import InvalidArgument, ShmemError, TimedOut
from shmem.handles import AddressMapping, SharedMemoryRegion, View, as_bytes
from shmem.link import Link, LocalLink
from shmem.words import fence as full_fence

Range = tuple[int, int] | None
"""(offset, length) in bytes; None is the whole region."""


class PartialLineWarning(UserWarning):
    """A flush or invalidate covers a cache line partly; the rest of the line is treated the same."""


class Copy:
    """A copy under way, from `copy_start`; it holds both ends until it is over."""

    def __init__(self, what: str, future: Future[None]) -> None:
        self.what = what
        self.future = future

    def done(self) -> bool:
        """Whether the engine has finished."""
        return self.future.done()


class Memory:
    """The part of an agent that deals with regions."""

    name: str
    link: Link
    _latched: list[ShmemError]

    def _open_memory(self) -> None:
        self.memory = Arenas(self.link, self.name)
        self._engine: ThreadPoolExecutor | None = None
        self._copies: list[Copy] = []
        self._lingering: dict[int, weakref.ref[Any]] = {}
        self._lock = threading.Lock()

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
        """Memory of `size` bytes, zeroed, at a multiple of `align` (and of a line), inside the physical
        `window`.

        `acl` says who may map it and how (`{"host": "rw", "dev0": "r"}`; without it: this agent alone).
        Flags: SECURE, NO_COMPACT, UNCACHED. Refusals: InvalidArgument, Fragmented, OutOfMemory."""
        link = self.link
        if link.__class__ is LocalLink and size.__class__ is int:
            if self._latched:
                link.before()
            agent, service = link.client.agent, link.service
            if agent is not None:
                with link.lock:
                    r = None
                    if align == 64 and window is None:
                        r = service.alloc_again(agent, size, flags, acl, purpose)
                    if r is not None:
                        pass
                    elif window is None and align.__class__ is flags.__class__ is int and (acl is None or _is_acl(acl)):
                        r = service.alloc(agent, size, align, window, flags, acl, purpose)
                if r is not None:
                    return SharedMemoryRegion(r.id, r.generation, size, r.device_address, flags, r.owner)
        told, _ = self.link.call(
            "alloc", size=size, align=align, window=list(window) if isinstance(window, tuple) else window, flags=flags,
            acl=dict(acl) if isinstance(acl, Mapping) else acl, purpose=purpose,
        )  # fmt: skip
        return region_of(told)

    def alloc_broadcast(
        self, size: int, agents: Iterable[str], rights: str = "rw", **options: Any
    ) -> SharedMemoryRegion:
        """A region for this agent ("rw") and all the named ones (`rights`); options as for `alloc`."""
        acl = dict.fromkeys(agents, rights) | {self.name: "rw"}
        return self.alloc(size, acl=acl, **options)

    def free(self, region: SharedMemoryRegion, force: bool = False) -> None:
        """Give a region back; its handle is stale from now on.  RegionBusy where somebody has it mapped,
        unless `force`: then their accesses answer StaleHandle, and the memory waits in quarantine until they
        are done."""
        link = self.link
        if link.__class__ is LocalLink and link.client.agent is not None:
            if self._latched:
                link.before()
            with link.lock:
                link.service.free(link.client.agent, region.id, region.generation, force)
        else:
            link.call("free", region=region.id, generation=region.generation, force=force)
        if region.key in self.memory._accesses:
            self.memory.forget(region)

    def map(self, region: SharedMemoryRegion, rights: str = "rw") -> AddressMapping:
        """Enter a region into this agent's page table, "r" or "rw".  NotPermitted where its list does not
        allow it."""
        if rights not in ("r", "w", "rw"):
            raise InvalidArgument(f"map of {region}", f"rights {rights!r}", 'say "r" or "rw"')
        told, fds = self.link.call("map", region=region.id, generation=region.generation, rights=rights)
        with self._lock:
            self.memory.attach(told, fds)
        return AddressMapping(self, region, rights)  # type: ignore[arg-type]

    def unmap(self, region: SharedMemoryRegion, agent: str | None = None) -> None:
        """Take a region out of a page table: this agent's, or another's where this agent may write it.
        RegionBusy where a view, copy or access is open."""
        self.link.call("unmap", region=region.id, generation=region.generation, agent=agent or self.name)

    def compact(self) -> dict[str, int]:
        """Slide regions together (in the arenas that this agent may write); how many moved, how many were
        pinned."""
        told, _ = self.link.call("compact")
        return told

    # -- accesses ------------------------------------------------------------------------------------------

    def read(self, region: SharedMemoryRegion, offset: int = 0, length: int | None = None) -> bytes:
        """Bytes of the region.  One aligned word is read at once, more may be seen in parts (H10)."""
        n = region.size - offset if length is None else length
        access = self.memory._accesses.get(region.key)
        try:
            data = access.read(offset, n) if access is not None else layout.IS_FROZEN
        except OverflowError:
            raise out_of_range(region, "read", offset, n) from None
        if data.__class__ is bytes:
            return data
        data = self.memory.again(region, "read", lambda access: access.read(offset, n))
        if isinstance(data, int):
            raise self.memory.failure(data, region, "read", offset, n)
        return data  # type: ignore[no-any-return]

    def write(self, region: SharedMemoryRegion, offset: int, data: Any) -> None:
        """Store bytes (anything with a buffer) at an offset."""
        access = self.memory._accesses.get(region.key)
        if data.__class__ is not bytes:
            data = as_bytes(data)
        try:
            code = access.write(offset, data) if access is not None else layout.IS_FROZEN
        except OverflowError:
            raise out_of_range(region, "write", offset, len(data)) from None
        if code:
            code = self.memory.again(region, "write", lambda access: access.write(offset, data))
            if code:
                raise self.memory.failure(code, region, "write", offset, len(data))

    def view(
        self,
        region: SharedMemoryRegion,
        range: Range = None,
        mode: str = "r",
        dtype: npt.DTypeLike = np.uint8,
    ) -> View:
        """An array over a range, for reading ("r") or for reading and writing ("w"); see `View`."""
        offset, length = range if range is not None else (0, region.size)
        writing = _mode(mode)
        access: Any = self.memory._accesses.get(region.key)
        try:
            place = access.pin(offset, length, writing) if access is not None else -layout.IS_FROZEN
        except OverflowError:
            raise out_of_range(region, "view", offset, length) from None
        if place < 0:
            place = self.memory.again(region, "view", lambda access: access.pin(offset, length, writing))
            if place < 0:
                raise self.memory.failure(-place, region, "view", offset, length)
            access = self.memory.access(region, "view")
        export = self.memory.bytes_of(region, place, offset, length)
        try:
            array: npt.NDArray[Any] = np.frombuffer(export if writing else export.toreadonly(), dtype)
        except ValueError as error:
            access.unpin(1)
            raise InvalidArgument(
                f"view of {length} bytes as {np.dtype(dtype)}", str(error), "choose a fitting range"
            ) from error
        return View(array, lambda view: self._end_view(view, access, export, writing))

    def _end_view(self, view: View, access: Any, export: memoryview, writing: bool) -> None:
        array, view.array = view.array, None
        if array is not None and sys.getrefcount(array) > 2:
            # Somebody still holds the array: its memory must not move or be given out before it is gone.
            if writing:
                array.flags.writeable = False
            self._linger(array, access)
            return
        del array
        try:
            export.release()
        except BufferError:  # another array made from this one
            self._linger(export, access)
            return
        access.unpin(1)

    def _linger(self, array: Any, access: Any) -> None:
        """The pin of a view becomes that of an array, for as long as there is the array."""
        access.unpin(1 - layout.LINGER)
        held = self._lingering

        def gone(reference: weakref.ref[Any]) -> None:
            del held[id(reference)]
            access.unpin(layout.LINGER)

        reference = weakref.ref(array, gone)
        held[id(reference)] = reference

    def flush(self, region: SharedMemoryRegion, offset: int = 0, length: int | None = None, drop: bool = False) -> None:
        """Post the dirty lines of a range for memory (`drop`: and drop them).  Complete after `fence`."""
        self._maintain(region, "flush", offset, length)

    def invalidate(self, region: SharedMemoryRegion, offset: int = 0, length: int | None = None) -> None:
        """Drop the lines of a range, so that the next read comes from memory.  Unflushed writes of them are
        lost."""
        self._maintain(region, "invalidate", offset, length)

    def _maintain(self, region: SharedMemoryRegion, action: str, offset: int, length: int | None) -> None:
        n = region.size - offset if length is None else length
        try:
            code = self.memory.access(region, action).check(offset, n, False)
        except OverflowError:
            raise out_of_range(region, action, offset, n) from None
        if code:
            code = self.memory.again(region, action, lambda access: access.check(offset, n, False))
            if code:
                raise self.memory.failure(code, region, action, offset, n)
        if offset % layout.LINE or (offset + n) % layout.LINE:
            warn_partial(region, action, offset, n)
        full_fence()

    def fence(self) -> None:
        """Wait until this agent's own flushes and stores have reached memory; nobody else's."""
        full_fence()

    # -- atomics -------------------------------------------------------------------------------------------

    def atomic_add(self, region: SharedMemoryRegion, offset: int, value: int) -> int:
        """Add to the 64-bit word at `offset` (a multiple of 8), modulo 2**64; its old value."""
        return self._atomic(0, "atomic_add", region, offset, value, 0)

    def atomic_swap(self, region: SharedMemoryRegion, offset: int, value: int) -> int:
        """Replace the word; its old value."""
        return self._atomic(1, "atomic_swap", region, offset, value, 0)

    def compare_swap(self, region: SharedMemoryRegion, offset: int, old: int, value: int) -> int:
        """Replace the word if it is `old`; its old value."""
        return self._atomic(2, "compare_swap", region, offset, value, old)

    def _atomic(self, op: int, action: str, region: SharedMemoryRegion, offset: int, value: int, old: int) -> int:
        access = self.memory.access(region, action)
        try:
            found: int = access.atomic(op, offset, value, old)
        except OverflowError:
            raise out_of_range(region, action, offset, 8) from None
        if found < 0:
            found = self.memory.again(region, action, lambda access: access.atomic(op, offset, value, old))
        if found < 0:
            raise self.memory.failure(-found, region, action, offset, 8)
        return found

    # -- copies --------------------------------------------------------------------------------------------

    def copy_start(
        self, source: SharedMemoryRegion, target: SharedMemoryRegion, source_offset: int = 0,
        target_offset: int = 0, length: int | None = None,
    ) -> Copy:  # fmt: skip
        """Ask the copy engine to copy a range from memory to memory; returns at once.  Until `copy_wait` both
        ends stay mapped, and neither may be relied on."""
        n = min(source.size - source_offset, target.size - target_offset) if length is None else length
        if source == target and source_offset < target_offset + n and target_offset < source_offset + n:
            raise InvalidArgument(
                f"copy of {n} bytes inside {source}", "the two ranges overlap", "choose ranges that do not"
            )
        ends = [(source, source_offset, False), (target, target_offset, True)]
        pinned: list[Any] = []
        views: list[memoryview] = []
        try:
            for region, offset, writing in ends:
                pin = _Pin(offset, n, writing)
                place = self.memory.again(region, "copy_start", pin)
                if place < 0:
                    raise self.memory.failure(-place, region, "copy_start", offset, n)
                pinned.append(self.memory.access(region, "copy_start"))
                views.append(self.memory.bytes_of(region, place, offset, n))
        except ShmemError:
            for access in pinned:
                access.unpin(1)
            raise
        if self._engine is None:
            self._engine = ThreadPoolExecutor(1, "shmem-copy-engine")
        copy = Copy(f"copy of {n} bytes from {source} to {target}", self._engine.submit(_move, views, pinned))
        self._copies = [c for c in self._copies if not c.done()] + [copy]
        return copy

    def copy_wait(self, copy: Copy | None = None, timeout: float | None = None) -> None:
        """Wait until a copy (or all of this agent's) is over; TimedOut leaves it under way."""
        for one in [copy] if copy is not None else list(self._copies):
            try:
                one.future.result(timeout)
            except FutureTimeout:
                raise TimedOut(one.what, f"it is not over after {timeout} s", "wait again") from None
        full_fence()

    def copy(
        self, source: SharedMemoryRegion, target: SharedMemoryRegion, source_offset: int = 0,
        target_offset: int = 0, length: int | None = None, timeout: float | None = None,
    ) -> None:  # fmt: skip
        """`copy_start` and `copy_wait`."""
        self.copy_wait(self.copy_start(source, target, source_offset, target_offset, length), timeout)

    # -- addresses -----------------------------------------------------------------------------------------

    def _host_address(self, region: SharedMemoryRegion) -> int:
        self.memory.access(region, "host_address")
        return self.memory.host_address(region)

    def _physical_address(self, region: SharedMemoryRegion) -> int:
        self.memory.access(region, "physical_address")
        return self.memory.entry(region, layout.E_PHYSICAL)

    def translate(self, region: SharedMemoryRegion, device_address: int, rights: str = "r") -> int:
        """What the device's page table makes of an address: the physical one, or the fault of an access
        there."""
        offset = device_address - region.device_address
        if not 0 <= offset < region.size:
            raise out_of_range(region, "translate", offset, 1)
        code = self.memory.access(region, "translate").check(offset, 1, "w" in rights)
        if code:
            raise self.memory.failure(code, region, "translate", offset, 1)
        return self._physical_address(region) + offset


class _Pin:
    """An attempt to pin a range."""

    def __init__(self, offset: int, length: int, writing: bool) -> None:
        self.range = offset, length, writing

    def __call__(self, access: Any) -> int:
        try:
            return int(access.pin(*self.range))
        except OverflowError:
            return -layout.RANGE


def _move(views: list[memoryview], pinned: list[Any]) -> None:
    try:
        source, target = views
        if len(source):
            np.copyto(np.frombuffer(target, np.uint8), np.frombuffer(source, np.uint8))
        full_fence()
    finally:
        views.clear()
        for access in pinned:
            access.unpin(1)


def whole_lines(region: SharedMemoryRegion, offset: int, length: int) -> tuple[int, int]:
    """The range rounded to lines, inside of the region."""
    first = offset // layout.LINE * layout.LINE
    return first, min(-(-(offset + length) // layout.LINE) * layout.LINE, region.size) - first


def _is_acl(acl: Any) -> bool:
    return isinstance(acl, Mapping) and bool(acl) and all(rights in ("r", "w", "rw") for rights in acl.values())


def _mode(mode: str) -> bool:
    if mode not in ("r", "w", "rw"):
        raise InvalidArgument(f"view with mode {mode!r}", "a view is for reading or writing", 'say "r" or "w"')
    return mode != "r"


def warn_partial(region: SharedMemoryRegion, action: str, offset: int, length: int) -> None:
    """Tell that a range covers a line partly, and what else lies there."""
    end = offset + length
    first, last = offset // layout.LINE * layout.LINE, -(-end // layout.LINE) * layout.LINE
    neighbours = [(first, offset), (end, min(last, region.size))]
    parts = [f"{a}-{b - 1}" for a, b in neighbours if a < b]
    if parts and length > 0:
        what = f"{action} of bytes {offset}-{end - 1} of {region}"
        text = f"{what} acts on whole lines: also on bytes {', '.join(parts)}"
        warnings.warn(text, PartialLineWarning, stacklevel=4)


def region_of(told: Mapping[str, Any]) -> SharedMemoryRegion:
    """A handle from the driver's answer."""
    return SharedMemoryRegion(
        told["region"], told["generation"], told["size"], told["device_address"], told["flags"], told["owner"]
    )
