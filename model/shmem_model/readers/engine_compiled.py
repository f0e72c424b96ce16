"""The explorer's engine for large spaces: generated code compiled by numba (extra `fast`), one core.

States of up to 63 bits live in the hash table themselves; wider ones live in columns and the table holds their numbers.
The first use of a scope compiles for some seconds; the result is kept in the user's cache folder.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shmem_model.readers.compiled_source import BATCH, compiled_source
from shmem_model.readers.engine_numpy import Selector, chunks, columns, integers
from shmem_model.readers.generated import load
from shmem_model.readers.graph import Graph
from shmem_model.readers.packed import Packed
from shmem_model.readers.wordset import Words

_SMALL_TABLE = 1 << 24
FULLEST = 0.75
"""How full the hash table may get before it is doubled."""


class CompiledEngine:
    """A level is a range of the numbers of states, which are counted in the order of their discovery."""

    name = "compiled"

    def __init__(self, packed: Packed, keep_graph: bool = False) -> None:
        if keep_graph:
            raise ValueError("the compiled engine keeps no graph; choose python or numpy")
        self.packed = packed
        self._select = Selector(packed)
        begin = time.perf_counter()
        source, self.words = compiled_source(packed)
        self._code = load(source)
        self.compile_seconds = time.perf_counter() - begin
        self.fired: NDArray[np.int64] = np.zeros(max(1, len(packed.actions)), np.int64)[: len(packed.actions)]
        self._room = BATCH * max(1, len(packed.actions))  # what one batch can yield at most
        self._buffer = tuple(np.empty(self._room, np.uint64) for _ in range(self.words))
        self._order: Words = tuple(np.empty(1 << 20, np.uint64) for _ in range(self.words))
        for column, word in zip(self._order, columns([packed.initial], self.words), strict=True):
            column[0] = word[0]
        self.states = 1
        self._rebuild(1 << 21)
        self.first = (0, 1)

    def _rebuild(self, capacity: int) -> None:
        self._table: NDArray[Any] = np.empty(0, np.uint64)  # let go of the old one first
        self._table = self._code.empty_table(capacity)
        self._code.rebuild(self._order, self.states, self._table)

    def expand(self, level: tuple[int, int]) -> tuple[int, int]:
        """The states first reached from this level."""
        at, end = level
        while at < end:
            self._make_room()
            at, self.states = self._code.expand(
                self._order,
                at,
                end,
                self.states,
                self._table,
                self._buffer,
                self.fired,
                int(FULLEST * len(self._table)),
            )
        return end, self.states

    def _make_room(self) -> None:
        if self.states + self._room > len(self._order[0]):
            # Copied, not resized: resizing would write zeros, and so take up memory that is not needed yet.
            grown = tuple(np.empty(3 * (self.states + self._room) // 2, np.uint64) for _ in self._order)
            for new, old in zip(grown, self._order, strict=True):
                new[: self.states] = old[: self.states]
            self._order = grown
        capacity = len(self._table)
        while self.states + self._room > FULLEST * capacity:
            capacity *= 4 if capacity < _SMALL_TABLE else 2
        if capacity > len(self._table):
            self._rebuild(capacity)

    def _level(self, level: tuple[int, int]) -> Words:
        return tuple(column[level[0] : level[1]] for column in self._order)

    def count(self, level: tuple[int, int]) -> int:
        """How many states a level has."""
        return level[1] - level[0]

    def contains(self, level: tuple[int, int], state: int) -> bool:
        """The level has this state."""
        wanted = columns([state], self.words)
        return any(
            np.logical_and.reduce([column == word for column, word in zip(part, wanted, strict=True)]).any()
            for part in chunks(self._level(level), 1 << 20)
        )

    def where(self, level: tuple[int, int], node: int) -> list[int]:
        """The states of a level in which a node holds."""
        return integers(self._select(self._level(level), node))

    def graph(self) -> Graph:
        """This engine keeps none."""
        raise ValueError("the compiled engine keeps no graph; choose python or numpy")
