"""A set of packed states in NumPy arrays: open addressing, many insertions at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = tuple[NDArray[np.uint64], ...]
"""States as columns of 64-bit words, lowest first."""
_MIX = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)


class WordSet:
    """States of `words` 64-bit words; `insert` tells which were new."""

    def __init__(self, words: int, capacity: int = 1 << 12) -> None:
        self.words = words
        self.size = 0
        self._allocate(capacity)

    def _allocate(self, capacity: int) -> None:
        self._columns = tuple(np.empty(capacity, np.uint64) for _ in range(self.words))
        self._owner = np.full(capacity, -1, np.int32)  # who filled the slot; -1: empty
        self._shift = np.uint64(64 - (capacity.bit_length() - 1))
        self._last = np.int64(capacity - 1)

    def _slots(self, states: Words) -> NDArray[np.int64]:
        mixed = states[0] * np.uint64(_MIX[0])
        for i, column in enumerate(states[1:], 1):
            mixed ^= mixed >> np.uint64(29)
            mixed += column * np.uint64(_MIX[i % len(_MIX)])
        if len(states) > 1:
            mixed ^= mixed >> np.uint64(32)
            mixed *= np.uint64(_MIX[0])
        return (mixed >> self._shift).astype(np.int64)

    def insert(self, states: Words) -> NDArray[np.bool_]:
        """Add the states (repetitions allowed); true where a state was added."""
        count = len(states[0])
        while 2 * (self.size + count) > len(self._owner):
            self._grow()
        added: NDArray[np.bool_] = np.zeros(count, np.bool_)
        which: NDArray[Any] = np.arange(count)
        slots = self._slots(states)
        while len(which):
            empty = self._owner[slots] < 0
            claims = np.flatnonzero(empty)
            places = slots[claims]
            self._owner[places] = claims  # of several the last one stays
            won = claims[self._owner[places] == claims]
            for column, state in zip(self._columns, states, strict=True):
                column[slots[won]] = state[won]
            added[which[won]] = True
            self.size += len(won)
            full = ~empty
            empty[won] = False
            other = np.zeros(len(which), np.bool_)
            for column, state in zip(self._columns, states, strict=True):
                other |= column[slots] != state
            other &= full
            slots = np.where(other, (slots + 1) & self._last, slots)
            keep = np.flatnonzero(other | empty)  # those who lost a slot look at it again
            which, slots, states = which[keep], slots[keep], tuple(state[keep] for state in states)
        return added

    def _grow(self) -> None:
        old, filled = self._columns, np.flatnonzero(self._owner >= 0)
        self.size = 0
        self._allocate(4 * len(self._owner))
        for start in range(0, len(filled), 1 << 20):
            part = filled[start : start + (1 << 20)]
            self.insert(tuple(column[part] for column in old))
