"""What one agent's side of the hardware holds: cached lines, posted words, translations."""

from __future__ import annotations

from dataclasses import dataclass, field

from shmem.layout import LINE, WORD

ALL = (1 << LINE) - 1
"""The mask of a whole line: one bit for each byte."""
Block = tuple[int, int]
"""A line of a region: key of the handle, number of the line."""


@dataclass
class Line:
    """A line in a cache or write buffer; `mask` says which bytes are dirty (or posted)."""

    data: bytearray
    mask: int = 0


@dataclass
class Side:
    """Cache, write buffer and translation cache of one agent."""

    cached: bool
    lines: dict[int, Line] = field(default_factory=dict)
    """Frame -> the line in the cache."""
    posted: dict[int, Line] = field(default_factory=dict)
    """Frame -> what is on its way to it."""
    tlb: dict[Block, tuple[int, bool]] = field(default_factory=dict)
    """Block -> its frame, and whether it may be written."""

    def holds(self, frame: int) -> bool:
        """Whether anything of the frame is here."""
        return frame in self.lines or frame in self.posted

    def post(self, frame: int, data: bytes | bytearray, mask: int) -> None:
        """Send bytes of a line on their way."""
        line = self.posted.setdefault(frame, Line(bytearray(LINE)))
        merge(line.data, data, mask)
        line.mask |= mask


def span(offset: int, length: int) -> int:
    """The mask of bytes inside a line."""
    return ((1 << length) - 1) << offset


def merge(target: bytearray | memoryview, source: bytes | bytearray, mask: int) -> None:
    """Copy the bytes of the mask."""
    if mask == ALL:
        target[:LINE] = source
        return
    for i in range(LINE):
        if mask >> i & 1:
            target[i] = source[i]


def words(mask: int) -> list[int]:
    """The words that have a byte in the mask."""
    return [w for w in range(LINE // WORD) if mask >> (w * WORD) & 0xFF]


def value(data: bytes | bytearray | memoryview, word: int) -> int:
    """A word of a line as a number."""
    return int.from_bytes(bytes(data[word * WORD : word * WORD + WORD]), "little")
