"""The data plane without a compiler: the four types of `_core` in Python, correct and slower.

What Python cannot do is bought from the kernel through `ctypes`:

- a full fence is `membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED)`, whose entry executes one (membarrier(2), and
`smp_mb` in the kernel's `membarrier_global_expedited`); where it is missing, a byte through a pipe; - an
indivisible read-modify-write is a plain one under a record lock of the file behind the mapping (the kernel
drops it when its holder dies) and a lock of this process; - every send wakes: skipping the system call would
need the ordering that is missing here.

All processes of one driver use the same of the two; the driver refuses a mixture.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import threading
from typing import Any

import numpy as np

from shmem import layout as at

_libc = ctypes.CDLL(None, use_errno=True)
# System call numbers: asm/unistd.h of the architecture.
_FUTEX, _MEMBARRIER = {"x86_64": (202, 324), "aarch64": (98, 283)}.get(platform.machine(), (-1, -1))
_WAIT, _WAKE = 0, 1
_GLOBAL_EXPEDITED = 2
_serial = threading.RLock()
_pipe: list[int] = []
LAYOUT = at.SLOTS * 1000 + at.MAX_AGENTS


class _Timespec(ctypes.Structure):
    _fields_ = (("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long))


def fence() -> None:
    """A full memory fence."""
    if _MEMBARRIER >= 0 and _libc.syscall(_MEMBARRIER, _GLOBAL_EXPEDITED, 0, 0) == 0:
        return
    with _serial:
        if not _pipe:
            _pipe.extend(os.pipe2(os.O_CLOEXEC))
        os.write(_pipe[1], b"x")
        os.read(_pipe[0], 1)


class Words:
    """Words of a shared mapping; see `_core.Words`."""

    def __init__(self, buffer: Any, writable: bool = True) -> None:
        self._bytes = np.frombuffer(buffer, dtype=np.uint8)
        if writable and not self._bytes.flags.writeable:
            raise BufferError("the mapping is read-only")
        self.writable = writable
        self.size = self._bytes.nbytes
        file = getattr(buffer, "file", -1)
        self.file = os.dup(file) if file >= 0 else -1
        self._wide = self._bytes[: self.size // 8 * 8].view(np.uint64)
        self._narrow = self._bytes[: self.size // 4 * 4].view(np.uint32)
        self.address = int(self._bytes.ctypes.data)

    def __del__(self) -> None:
        if getattr(self, "file", -1) >= 0:
            os.close(self.file)

    def _index(self, offset: int, width: int, writing: bool = False) -> int:
        if offset < 0 or offset % width or offset > self.size - width:
            raise IndexError(f"no {width} byte word at {offset} of {self.size}")
        if writing and not self.writable:
            raise TypeError("these words are read-only")
        return offset // width

    def load(self, offset: int) -> int:
        """Load the 64-bit word at a byte offset."""
        value = int(self._wide[self._index(offset, 8)])
        fence()
        return value

    def load32(self, offset: int) -> int:
        """Load the 32-bit word at a byte offset."""
        value = int(self._narrow[self._index(offset, 4)])
        fence()
        return value

    def store(self, offset: int, value: int) -> None:
        """Store a 64-bit word."""
        index = self._index(offset, 8, writing=True)
        fence()
        self._wide[index] = value & 0xFFFFFFFFFFFFFFFF
        fence()

    def store32(self, offset: int, value: int) -> None:
        """Store a 32-bit word."""
        index = self._index(offset, 4, writing=True)
        fence()
        self._narrow[index] = value & 0xFFFFFFFF
        fence()

    def _locked(self, offset: int, width: int) -> _Locked:
        return _Locked(self.file, offset, width)

    def add(self, offset: int, value: int) -> int:
        """Add to a 64-bit word; answer the old value."""
        with self._locked(offset, 8):
            old = self.load(offset)
            self.store(offset, old + value)
            return old

    def add32(self, offset: int, value: int) -> int:
        """Add to a 32-bit word; answer the old value."""
        with self._locked(offset, 4):
            old = self.load32(offset)
            self.store32(offset, old + value)
            return old

    def cas(self, offset: int, old: int, value: int) -> int:
        """Compare and swap; answer the old value."""
        with self._locked(offset, 8):
            found = self.load(offset)
            if found == old & 0xFFFFFFFFFFFFFFFF:
                self.store(offset, value)
            return found

    def publish(self, offset: int, state: int, *fields: int) -> None:
        """Publish a table entry under its sequence lock."""
        before = self.load32(offset + at.E_SEQ)
        self.store32(offset + at.E_SEQ, before + 1)  # step: publish_odd
        self.store32(offset + at.E_STATE, state)  # step: publish_state
        for i, value in enumerate(fields):
            self.store(offset + at.E_GENERATION + 8 * i, value)  # step: publish_field
        self.store32(offset + at.E_SEQ, before + 2)  # step: publish_even

    def zero(self, offset: int, length: int) -> None:
        """Zero a range of bytes."""
        if not self.writable or offset < 0 or length < 0 or offset + length > self.size:
            raise IndexError("no such bytes, or they are read-only")
        self._bytes[offset : offset + length] = 0
        fence()

    def wake(self, offset: int) -> None:
        """Wake everybody who sleeps on the 32-bit word."""
        self._index(offset, 4)
        _libc.syscall(_FUTEX, ctypes.c_void_p(self.address + offset), _WAKE, 0x7FFFFFFF, None, None, 0)

    def wait(self, offset: int, seen: int, timeout_ns: int, spin_ns: int) -> bool:
        """Sleep while the word has a value; False if the time is over.  Never spins: waking always costs
        here."""
        self._index(offset, 4)
        limit = None
        if timeout_ns >= 0:
            limit = ctypes.byref(_Timespec(timeout_ns // 1_000_000_000, timeout_ns % 1_000_000_000))
        word = ctypes.c_void_p(self.address + offset)
        done = _libc.syscall(_FUTEX, word, _WAIT, ctypes.c_uint32(seen), limit, None, 0)
        return done == 0 or ctypes.get_errno() != errno.ETIMEDOUT

    def bytes_at(self, offset: int, length: int) -> bytes:
        """Copy bytes out."""
        return self._bytes[offset : offset + length].tobytes()

    def put(self, offset: int, data: Any) -> None:
        """Copy bytes in."""
        new = np.frombuffer(data, dtype=np.uint8)
        self._bytes[offset : offset + new.nbytes] = new


class _Locked:
    """A record lock on the word's bytes, and the lock of this process."""

    def __init__(self, file: int, offset: int, width: int) -> None:
        self.where = (file, width, offset)

    def __enter__(self) -> None:
        _serial.acquire()
        file, width, offset = self.where
        try:
            if file >= 0:
                fcntl.lockf(file, fcntl.LOCK_EX, width, offset)
        except BaseException:
            _serial.release()
            raise

    def __exit__(self, *_: object) -> None:
        file, width, offset = self.where
        try:
            if file >= 0:
                fcntl.lockf(file, fcntl.LOCK_UN, width, offset)
        finally:
            _serial.release()


_FIELDS = (at.E_GENERATION, at.E_OFFSET, at.E_SIZE, at.E_EXTENT)


class Access:
    """One agent's checked way into one region; see `_core.Access`."""

    def __init__(
        self,
        extent: Words,
        number: int,
        table: Words,
        entry: int,
        generation: int,
        rights: Words,
        right: int,
        pins: Words,
        pin: int,
    ) -> None:
        self._extent, self._table, self._entry, self._generation = extent, table, entry, generation
        self._number = number
        self._rights, self._right, self._pins, self._pin = rights, right, pins, pin

    def _look(self) -> tuple[int, list[int]] | None:
        for _ in range(100_000):
            before = self._table.load32(self._entry + at.E_SEQ)  # step: enter_seq
            state = self._table.load32(self._entry + at.E_STATE)  # step: enter_state
            found = [self._table.load(self._entry + e) for e in _FIELDS]  # step: enter_field
            if before % 2 == 0 and before == self._table.load32(self._entry + at.E_SEQ):  # step: enter_again
                return state, found
        return None

    def _enter(self, offset: int, length: int, writing: bool) -> tuple[int, int]:
        self._pins.add(self._pin, 1)  # step: enter_pin
        code, place = self._judge(offset, length, writing)
        if code != at.OK:
            self._pins.add(self._pin, -1)  # step: leave_pin
        return code, place

    def _judge(self, offset: int, length: int, writing: bool) -> tuple[int, int]:
        entry = self._look()
        if entry is None:
            return at.TORN, 0
        state, (generation, place, size, number) = entry
        right = self._rights.load(self._right)  # step: accept
        tests = (
            (generation != self._generation or state not in (at.LIVE, at.FROZEN), at.STALE),
            (offset < 0 or length < 0 or offset + length > size, at.RANGE),
            (right >> 2 != generation or not right & at.READ, at.NOT_MAPPED),
            (writing and not right & at.WRITE, at.READ_ONLY),
            (state == at.FROZEN, at.IS_FROZEN),
            (number != self._number, at.MOVED),
            (place + size > self._extent.size, at.TORN),
        )
        return next((code for wrong, code in tests if wrong), at.OK), place

    def read(self, offset: int, length: int) -> bytes | int:
        """Bytes of the region, or a code."""
        code, place = self._enter(offset, length, False)
        if code != at.OK:
            return code
        data = self._extent.bytes_at(place + offset, length)  # step: inside
        self._pins.add(self._pin, -1)
        return data

    def write(self, offset: int, data: Any) -> int:
        """Write bytes; answer a code."""
        code, place = self._enter(offset, memoryview(data).nbytes, True)
        if code == at.OK:
            self._extent.put(place + offset, data)
            self._pins.add(self._pin, -1)
        return code

    def atomic(self, op: int, offset: int, value: int, old: int) -> int:
        """Add (0), swap (1) or compare and swap (2) a word; its old value, or a negative code."""
        if offset % 8:
            return -at.RANGE
        code, place = self._enter(offset, 8, True)
        if code != at.OK:
            return -code
        where = place + offset
        with self._extent._locked(where, 8):
            found = self._extent.load(where)
            if op == 0:
                self._extent.store(where, found + value)
            elif op == 1 or found == old:
                self._extent.store(where, value)
        self._pins.add(self._pin, -1)
        return found

    def check(self, offset: int, length: int, writing: bool) -> int:
        """The code that an access would answer."""
        code, _ = self._enter(offset, length, writing)
        if code == at.OK:
            self._pins.add(self._pin, -1)
        return code

    def pin(self, offset: int, length: int, writing: bool) -> int:
        """Pin the region for a view: its place in the extent, or a negative code."""
        code, place = self._enter(offset, length, writing)
        return place if code == at.OK else -code

    def unpin(self, by: int) -> None:
        """End a pin."""
        self._pins.add(self._pin, -by)


def _granted(board: Words, receiver: int, sender: int, slot: int) -> bool:
    return bool(board.load(at.row_of_grants(receiver, sender) + slot // 64 * 8) >> slot % 64 & 1)


def _slot(slot: int) -> int:
    if not 0 <= slot < at.SLOTS:
        raise IndexError(f"no slot {slot}")
    return slot


class Port:
    """Where one agent sends to another; see `_core.Port`."""

    def __init__(self, pair: Words, own: Words, bell: Words, board: Words, receiver: int, sender: int) -> None:
        self._pair, self._bell, self._board, self._pairing = pair, bell, board, (receiver, sender)

    def _ring(self) -> None:
        self._bell.add32(at.BELL, 1)  # step: send_ring
        self._bell.wake(at.BELL)  # step: send_wake

    def send(self, slot: int, n: int) -> bool:
        """Notify a slot n times; False where that is not permitted."""
        if not _granted(self._board, *self._pairing, _slot(slot)):
            return False
        self._pair.add(slot * 8, n)  # step: send_count
        self._ring()
        return True

    def send_many(self, slots: tuple[int, ...]) -> int:
        """Notify several slots with one wake-up; -1, or the first one that is not permitted."""
        for slot in slots:
            if not _granted(self._board, *self._pairing, _slot(slot)):
                return slot
        for slot in slots:
            self._pair.add(slot * 8, 1)  # step: batch_count
        self._ring()
        return -1


class Inbox:
    """The slots of a receiver; see `_core.Inbox`."""

    def __init__(self, own: Words, bell: Words, board: Words, receiver: int) -> None:
        self._own, self._bell, self._board, self._receiver = own, bell, board, receiver
        self._pages: dict[int, Words] = {}

    def connect(self, sender: int, page: Words | None) -> None:
        """Set the page of a sender."""
        if page is None:
            self._pages.pop(sender, None)
        else:
            self._pages[sender] = page

    def _counts(self, sender: int, slot: int) -> tuple[int, int]:
        if not _granted(self._board, self._receiver, sender, slot):
            return 0, 0
        consumed = self._own.load(at.OWN_CONSUMED + (sender * at.SLOTS + slot) * 8)
        sent = self._pages[sender].load(slot * 8)  # step: take_look
        return (sent, consumed) if (sent - consumed) % 2**64 < 2**63 else (0, 0)

    def pending(self, slot: int) -> int:
        """How many notifications are pending."""
        _slot(slot)
        return sum(sent - had for sent, had in (self._counts(s, slot) for s in list(self._pages)))

    def _take(self, slot: int, sticky: bool) -> int:
        taken = -1
        for sender in sorted(self._pages):
            where = at.OWN_CONSUMED + (sender * at.SLOTS + slot) * 8
            while True:  # another thread of this agent may claim one meanwhile, and leave others
                sent, had = self._counts(sender, slot)
                if sent == had:
                    break
                if self._own.cas(where, had, sent if sticky else had + 1) == had:  # step: take_claim
                    taken = sender if taken < 0 else taken
                    break
            if taken >= 0 and not sticky:
                break
        return taken

    def _take_any(self, slots: tuple[int, ...], sticky: bool) -> int:
        for position, slot in enumerate(slots):
            sender = self._take(_slot(slot), sticky)
            if sender >= 0:
                return position * at.MAX_AGENTS + sender
        return -1

    def spin(self, slots: tuple[int, ...], sticky: bool, spin_ns: int) -> int:
        """Take a notification if there is one: position * MAX_AGENTS + sender, or -1."""
        return self._take_any(slots, sticky)

    def sleep(self, slots: tuple[int, ...], sticky: bool, seen: int, timeout_ns: int) -> int:
        """Take a notification, or sleep once; RECHECK or TIMED_OUT where none came."""
        got = self._take_any(slots, sticky)
        if got >= 0:
            return got
        in_time = self._bell.wait(at.BELL, seen, timeout_ns, 0)  # step: wait_sleep
        got = self._take_any(slots, sticky)
        return got if got >= 0 else at.RECHECK if in_time else at.TIMED_OUT
