"""The explorer's engine for middling spaces: generated NumPy code over columns of 64-bit words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shmem_model.readers.bits import TRUE
from shmem_model.readers.engine_python import compile_source
from shmem_model.readers.graph import Graph, sorted_graph
from shmem_model.readers.packed import Packed
from shmem_model.readers.tree import Branch, decision_tree
from shmem_model.readers.wordcode import NUMPY, WORD, WordCode
from shmem_model.readers.wordset import Words, WordSet

CHUNK = 1 << 14
"""States that are expanded together: few enough to stay in the processor's cache."""


class NumpyEngine:
    """A level is a list of columns, one array of 64-bit words for each word of the state."""

    name = "numpy"
    compile_seconds = 0.0

    def __init__(self, packed: Packed, keep_graph: bool = False) -> None:
        self.packed = packed
        self.words = max(1, -(-packed.width // WORD))
        self.fired: NDArray[np.int64] = np.zeros(len(packed.actions), np.int64)
        self.known = WordSet(self.words)
        self.edges: list[tuple[Words, list[tuple[int, NDArray[Any], Words]]]] | None = [] if keep_graph else None
        self.first = columns([packed.initial], self.words)
        self.known.insert(self.first)
        self._select = Selector(packed)
        self._expand = successors(packed, keep_graph)

    @property
    def states(self) -> int:
        """How many different states have been found."""
        return self.known.size

    def expand(self, level: Words) -> Words:
        """The states first reached from this level."""
        found: list[Words] = []
        for part in chunks(level):
            out: list[tuple[int, NDArray[Any], Words]] = []
            self._expand(*part, out)
            if not out:
                continue
            for number, _, reached in out:
                self.fired[number] += len(reached[0])
            if self.edges is not None:
                self.edges.append((part, out))
            reached = tuple(np.concatenate([target[w] for _, _, target in out]) for w in range(self.words))
            if self.words == 1:
                reached = (_distinct(reached[0]),)
            new = self.known.insert(reached)
            found.append(tuple(column[new] for column in reached))
        if not found:
            return tuple(column[:0] for column in level)
        return tuple(np.concatenate([part[w] for part in found]) for w in range(self.words))

    def where(self, level: Words, node: int) -> list[int]:
        """The states of a level in which a node holds."""
        return integers(self._select(level, node))

    def count(self, level: Words) -> int:
        """How many states a level has."""
        return len(level[0])

    def contains(self, level: Words, state: int) -> bool:
        """The level has this state."""
        wanted = columns([state], self.words)
        return bool(np.logical_and.reduce([column == word for column, word in zip(level, wanted, strict=True)]).any())

    def graph(self) -> Graph:
        """All states and transitions found so far."""
        return sorted_graph(
            self.packed.initial,
            (
                (
                    integers(source),
                    [
                        (number, None if index is None else index.tolist(), integers(target))
                        for number, index, target in out
                    ],
                )
                for source, out in self.edges or []
            ),
        )


def _distinct(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = np.sort(values)
    keep = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=keep[1:])
    return values[keep]


def columns(states: list[int], words: int) -> Words:
    """Packed ints as columns."""
    last = (1 << WORD) - 1
    return tuple(np.array([state >> WORD * w & last for state in states], np.uint64) for w in range(words))


def integers(level: Words) -> list[int]:
    """Columns as packed ints."""
    result = level[0].tolist()
    for w, column in enumerate(level[1:], 1):
        result = [state | high << WORD * w for state, high in zip(result, column.tolist(), strict=True)]
    return result


def chunks(level: Words, size: int = CHUNK) -> Iterator[Words]:
    """A level in pieces."""
    for start in range(0, len(level[0]), size):
        yield tuple(column[start : start + size] for column in level)


def spread(truth: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """All ones where it is true, zero elsewhere."""
    return np.negative(truth.astype(np.uint64))


def _names(code: WordCode) -> dict[str, Any]:
    constants = {name: np.uint64(value) for value, name in code.constants.items()}
    return {**constants, "spread": spread, "nonzero": np.flatnonzero}


class Selector:
    """Picks the states of a level in which a node holds; the code for a node is made once."""

    def __init__(self, packed: Packed) -> None:
        self.packed = packed
        self._made: dict[tuple[int, int], Callable[..., Any]] = {}

    def __call__(self, level: Words, node: int) -> Words:
        """The states of a level in which the node holds, as columns."""
        if node < 2:
            return level if node else tuple(column[:0] for column in level)
        key = node, len(level)
        if key not in self._made:
            self._made[key] = self._make(*key)
        found = []
        for part in chunks(level):
            held = self._made[key](*part)
            assert held.dtype == np.bool_, "a mask must be Boolean, an integer array would index"
            found.append(tuple(column[held] for column in part))
        return tuple(np.concatenate([part[w] for part in found]) for w in range(len(level))) if found else level

    def _make(self, node: int, words: int) -> Callable[..., Any]:
        code = WordCode(self.packed, NUMPY)
        code.words = words
        lines = [f"def where({_arguments(code)}):"]
        for shared in _shared(self.packed, node):
            lines.append(f"  n{shared} = {code.truth(shared)}")
            code.names[shared] = f"n{shared}"
        lines.append(f"  return {code.truth(node)}")
        return compile_source("\n".join(lines), "where", _names(code))


def _shared(packed: Packed, node: int) -> list[int]:
    from shmem_model.readers.pycode import PythonCode

    return PythonCode(packed).shared([node])


def _arguments(code: WordCode) -> str:
    return ", ".join(f"s{w}" for w in range(code.words))


def successors(packed: Packed, positions: bool) -> Callable[..., None]:
    """A function of the columns of a level that appends, for each action, its number, the positions of the states in
    which it is enabled (None unless asked for), and columns of their successors to its last argument."""
    printer = _Printer(WordCode(packed, NUMPY), positions)
    printer.print_branch(decision_tree(packed), 1)
    head = [f"def expand({_arguments(printer.code)}, out):"]
    if positions:
        head.append("  here = arange(len(s0))")
    names = _names(printer.code) | {"arange": np.arange}
    return compile_source("\n".join([*head, "  pass", *printer.lines]), "expand", names)


class _Printer:
    """Prints the decision tree: the columns of the states in a branch are `s0, s1, ...` while it is dealt with."""

    def __init__(self, code: WordCode, positions: bool) -> None:
        self.code = code
        self.where = "here" if positions else "None"
        self.columns = [f"s{w}" for w in range(code.words)] + (["here"] if positions else [])
        self.lines: list[str] = []

    def print_branch(self, branch: Branch, depth: int) -> None:
        """The tests of the branch are made already."""
        pad = "  " * depth
        for action, rest in branch.leaves:
            inner = self._narrow(rest, depth) if rest != TRUE else pad
            first, successor = self.code.successor(action)
            self.lines += [f"{inner}{line}" for line in first]
            self.lines.append(f"{inner}out.append(({action.number}, {self.where}, ({', '.join(successor)},)))")
            if rest != TRUE:
                self._widen(depth)
        for part in branch.branches:
            self._narrow(self.code.packed.bits.conj(part.tests), depth)
            self.print_branch(part, depth + 1)
            self._widen(depth)

    def _narrow(self, test: int, depth: int) -> str:
        """Go on with the states in which the test holds; what follows is indented by the answer."""
        pad = "  " * depth
        self.lines.append(f"{pad}i = nonzero({self.code.truth(test)})")
        self.lines.append(f"{pad}if len(i):")
        self.lines.append(f"{pad}  all{depth} = ({', '.join(self.columns)},)")
        self.lines += [f"{pad}  {column} = {column}[i]" for column in self.columns]
        return pad + "  "

    def _widen(self, depth: int) -> None:
        """Back to the states around."""
        self.lines.append(f"{'  ' * depth}  ({', '.join(self.columns)},) = all{depth}")
