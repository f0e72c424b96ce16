"""Traces: shortest runs as a list of steps with names, arguments and changed cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shmem_model.readers.ground import Ground
from shmem_model.readers.packed import Packed, PackedAction


@dataclass(frozen=True)
class Step:
    """One step: the action, its arguments (index and shown name by parameter), what it answered and changed."""

    action: str
    arguments: dict[str, int]
    shown: dict[str, str]
    changes: dict[str, tuple[str, str]]
    answer: str | None = None

    def __str__(self) -> str:
        arguments = ", ".join(f"{name}={value}" for name, value in self.shown.items())
        returned = "" if self.answer is None else f" -> {self.answer}"
        changed = "; ".join(f"{cell}: {old} to {new}" for cell, (old, new) in self.changes.items())
        return f"{self.action}({arguments}){returned}" + (f"   [{changed}]" if changed else "")


@dataclass(frozen=True)
class Trace:
    """A run from the start state; `states` are packed, one more than there are steps."""

    steps: tuple[Step, ...]
    states: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        return "\n".join(f"{i:3} {step}" for i, step in enumerate(self.steps, 1))

    def as_json(self) -> list[dict[str, Any]]:
        """The steps as plain data."""
        return [
            {
                "action": s.action,
                "args": s.shown,
                "answer": s.answer,
                "changes": {c: list(p) for c, p in s.changes.items()},
            }
            for s in self.steps
        ]


def cell_name(ground: Ground, position: int) -> str:
    """The cell to which a bit of the packed state belongs, as text."""
    bit = ground.variables[position]
    names = []
    rest = bit.cell
    for step, sort in zip(ground.partial.strides(bit.function), bit.function.arguments, strict=True):
        names.append(ground.scope.label(sort, rest // step))
        rest %= step
    return f"{bit.function.name}({', '.join(names)})" if names else bit.function.name


def shown_value(ground: Ground, position: int, state: int) -> str:
    """The value in a packed state of the cell to which a bit belongs, as text."""
    bit = ground.variables[position]
    places = []
    rest = bit.cell
    for step in ground.partial.strides(bit.function):
        places.append(rest // step)
        rest %= step
    return ground.scope.label(bit.function.result, ground.value(state, bit.function, places))


def describe(packed: Packed, action: PackedAction, before: int, after: int) -> Step:
    """A step between two packed states."""
    ground, one = packed.ground, action.source
    changes = {}
    difference = before ^ after
    for position in range(packed.width):
        if difference >> position & 1:
            old, new = (shown_value(ground, position, state) for state in (before, after))
            changes[cell_name(ground, position)] = (old, new)
    names = [parameter.name for parameter in one.action.parameters]
    arguments = dict(zip(names, one.arguments, strict=True))
    return Step(one.action.name, arguments, ground.label(one), changes, _answer(packed, action, before))


def _answer(packed: Packed, action: PackedAction, state: int) -> str | None:
    one = action.source
    if one.returns is None or one.action.returns is None:
        return None
    sort = one.action.returns.sort
    nodes = (one.returns,) if isinstance(one.returns, int) else one.returns
    if isinstance(one.returns, int) and sort.name != "Bool":
        return packed.ground.scope.label(sort, one.returns)
    value = sum(packed.holds(node, state) << i for i, node in enumerate(nodes))
    return packed.ground.scope.label(sort, value)
