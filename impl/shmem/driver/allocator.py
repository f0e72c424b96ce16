"""Where regions lie: best fit over physical addresses, with full coalescing.

Free memory is a set of holes, kept in three forms: ordered by (size, address) for best fit, and by first and
last address for coalescing in constant time.  No two holes touch, so free space is always maximally
coalesced.  The allocator knows nothing of memory itself; extents are added as holes with gaps between them,
so a block never spans two of them.
"""

from __future__ import annotations

from bisect import bisect_left, insort

from shmem.layout import LINE

Window = tuple[int, int]


def align_up(address: int, align: int) -> int:
    """The first multiple of `align` (a power of two) that is not below the address."""
    return (address + align - 1) & -align


class Allocator:
    """Free physical memory of one arena.  Sizes and addresses are multiples of a line."""

    def __init__(self) -> None:
        self._by_size: list[tuple[int, int]] = []
        self._start: dict[int, int] = {}
        self._end: dict[int, int] = {}
        self.free = 0
        """Bytes free."""

    def take(self, size: int, align: int = LINE, window: Window | None = None) -> int | None:
        """Take `size` bytes from the smallest hole that fits (the lowest of equal ones), or answer None."""
        holes = self._by_size
        at = bisect_left(holes, (size, 0))
        if align <= LINE and window is None:
            if at == len(holes):
                return None
            # The common case, written out: take the lower end of the hole, keep the rest.
            length, start = holes.pop(at)
            del self._start[start]
            self.free -= size
            rest = length - size
            if rest:
                insort(holes, (rest, start + size))
                self._start[start + size] = rest
                self._end[start + length] = start + size
            else:
                del self._end[start + length]
            return start
        for i in range(at, len(holes)):
            length, start = holes[i]
            where = fit(start, length, size, align, window)
            if where is not None:
                del holes[i]
                self._cut(start, length, where, size)
                return where
        return None

    def _cut(self, start: int, length: int, where: int, size: int) -> None:
        """Keep what is left of a hole (already out of the size order) on both sides of a block."""
        end = start + length
        del self._start[start]
        del self._end[end]
        self.free -= size
        if where > start:
            self._keep(start, where - start)
        if where + size < end:
            self._keep(where + size, end - where - size)

    def _keep(self, start: int, size: int) -> None:
        insort(self._by_size, (size, start))
        self._start[start] = size
        self._end[start + size] = start

    def give(self, start: int, size: int) -> None:
        """Give a block back (or add an extent); it melts into the holes that it touches."""
        self.free += size
        holes = self._by_size
        before = self._end.pop(start, None)
        if before is not None:
            del holes[bisect_left(holes, (start - before, before))]
            size += start - before
            start = before
        after = self._start.pop(start + size, None)
        if after is not None:
            del holes[bisect_left(holes, (after, start + size))]
            size += after
        insort(holes, (size, start))
        self._start[start] = size
        self._end[start + size] = start

    def take_at(self, start: int, size: int) -> None:
        """Take exactly these free bytes (compaction chooses its places itself)."""
        for first, length in self.holes():
            if first <= start and start + size <= first + length:
                del self._by_size[bisect_left(self._by_size, (length, first))]
                self._cut(first, length, start, size)
                return
        raise ValueError(f"{size} bytes at {start:#x} are not free")

    def holes(self) -> list[tuple[int, int]]:
        """(start, size) of each hole, in address order."""
        return sorted(self._start.items())

    def largest(self) -> int:
        """Size of the largest hole."""
        return self._by_size[-1][0] if self._by_size else 0

    def free_in(self, window: Window | None) -> int:
        """Bytes free inside a window."""
        if window is None:
            return self.free
        inside = (min(s + n, window[1]) - max(s, window[0]) for s, n in self._start.items())
        return sum(n for n in inside if n > 0)

    def fragmentation(self) -> float:
        """1 - largest hole / all free memory: 0 is one hole, near 1 is dust."""
        return 1.0 - self.largest() / self.free if self.free else 0.0


def fit(start: int, length: int, size: int, align: int, window: Window | None) -> int | None:
    """The lowest place of a block inside a hole and a window that is a multiple of the alignment and of a line."""
    low, high = start, start + length
    if window is not None:
        low, high = max(low, window[0]), min(high, window[1])
    where = align_up(low, max(align, LINE))
    return where if where + size <= high else None
