"""Scopes: a machine together with sizes, a platform and a start, so that it can be run and explored.

The machine itself knows no sizes.  A scope says how many elements each sort has, what the platform functions are, and
in which state it starts (where that is not the machine's own initial state).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from shmem_model.language import BOOL, Element, Function, LanguageError, Machine, Sort

Table = Callable[..., Any] | Mapping[tuple[int, ...], Any] | int | bool
"""The values of a function: a callable of indices, a mapping from index tuples (missing: false or 0), a constant."""


def look_up(table: Table, indices: tuple[int, ...]) -> int:
    """The value of a table at these indices, as an int (Booleans as 0 and 1)."""
    if callable(table):
        return int(table(*indices))
    if isinstance(table, Mapping):
        return int(table.get(indices, 0))
    return int(table)


@dataclass(frozen=True)
class Scope:
    """A finite instance of a machine.

    `sizes` gives the number of elements of each sort; `names` what to call them (default `Agent0`, ...).
    `platform` gives every platform function; `start` overrides the machine's initial values.
    """

    name: str
    machine: Machine
    sizes: Mapping[Sort, int]
    platform: Mapping[Function, Table]
    start: Mapping[Function, Table] = field(default_factory=dict)
    names: Mapping[Sort, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for sort in self.machine.sorts:
            if self.size(sort) < 1:
                raise LanguageError(f"scope {self.name}: sort {sort} needs at least one element")
        missing = [f.name for f in self.machine.platform if f not in self.platform]
        if missing:
            raise LanguageError(f"scope {self.name}: no value for platform functions {missing}")

    def size(self, sort: Sort) -> int:
        """How many elements the sort has (2 for Bool)."""
        if sort is BOOL:
            return 2
        if sort not in self.sizes:
            raise LanguageError(f"scope {self.name}: no size for sort {sort}")
        return self.sizes[sort]

    def label(self, sort: Sort, index: int) -> str:
        """What to call an element."""
        if sort is BOOL:
            return "yes" if index else "no"
        names = self.names.get(sort, ())
        return names[index] if index < len(names) else f"{sort.name}{index}"

    def element(self, sort: Sort, index: int) -> Element:
        """The element as a term."""
        return Element(self.label(sort, index), sort, index)

    def places(self, function: Function) -> Iterator[tuple[int, ...]]:
        """All index tuples of the function's arguments, in order."""
        return product(*(range(self.size(sort)) for sort in function.arguments))

    def platform_value(self, function: Function, indices: tuple[int, ...]) -> int:
        """The value of a platform function."""
        return look_up(self.platform[function], indices)
