"""The worlds of `mutant_scopes`, explored: what each action does there, and where a damaged one does otherwise."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shmem_model.language import Action, Function, Machine
from shmem_model.machine import MACHINE
from shmem_proofs.mutant_scopes import World
from shmem_proofs.mutants import Mutant
from shmem_proofs.step_arrays import Array, Calls, StepArrays, explored

PREFIXES = (200, 2000)
"""A difference is looked for in so many states first: most mutants show early."""


@dataclass(frozen=True)
class Difference:
    """Where a mutant first shows: after how many steps, in which call; `answers` if only the answer differs."""

    depth: int
    call: str
    effect: str
    answers: bool = False

    def __str__(self) -> str:
        return f"after {self.depth} steps {self.call} {self.effect}"


class Explored:
    """A world with all states within its depth, and the original actions' answers and effects there."""

    def __init__(self, world: World, machine: Machine = MACHINE) -> None:
        self.world = world
        self.arrays = StepArrays(world.scope(machine))
        self.actions = self.arrays.scope.machine.actions
        self._answers: dict[str, Array] = {}
        self._taken: dict[str, Calls] = {}
        self._new: dict[tuple[str, Function], Array] = {}

    @cached_property
    def _explored(self) -> tuple[Any, list[int]]:
        return explored(self.arrays, self.world.depth)

    @property
    def states(self) -> Any:
        """All states, breadth first."""
        return self._explored[0]

    @property
    def ends(self) -> list[int]:
        """How many states lie within each depth."""
        return self._explored[1]

    def difference(self, mutant: Mutant) -> Difference | None:
        """The first state in which the damaged action does not do what the original does."""
        if mutant.original.name not in self.actions:
            return None
        return self._other_answer(mutant) if mutant.function is None else self._other_effect(mutant, mutant.function)

    def _other_answer(self, mutant: Mutant) -> Difference | None:
        """Another set of steps, or (second choice) another answer where no step is taken."""
        answer = None
        for rows in self._stretches():
            calls = self.arrays.calls(mutant.original, rows)
            per_state = len(calls) // len(rows)
            old = self._answer(mutant.original)[rows.start * per_state : rows.stop * per_state]
            new = self._new_answers(mutant, calls, old)
            different = np.flatnonzero((old < 0) != (new < 0))
            if len(different):
                return self._told(mutant, calls, int(different[0]), old, new)
            if answer is None:
                answer = self._renamed(mutant, calls, old, new)
        return answer

    def _renamed(self, mutant: Mutant, calls: Calls, old: Array, new: Array) -> Difference | None:
        """The first call with an answer of another name."""
        names = _names(mutant.original), _names(mutant.action)
        table = {name: number for number, name in enumerate(sorted({*names[0], *names[1]}))}
        codes = [np.array([table[name] for name in some]) for some in names]  # the last one stands for -1: done
        different = np.flatnonzero(codes[0][old] != codes[1][new])
        return self._told(mutant, calls, int(different[0]), old, new) if len(different) else None

    def _told(self, mutant: Mutant, calls: Calls, at: int, old: Array, new: Array) -> Difference:
        before, after = _names(mutant.original)[old[at]], _names(mutant.action)[new[at]]
        effect = f"answers {after!r} instead of {before!r}"
        same_steps = (old[at] < 0) == (new[at] < 0)
        return Difference(
            self._depth(int(calls.rows[at])), self._call(mutant.original, calls, at), effect, bool(same_steps)
        )

    def _new_answers(self, mutant: Mutant, calls: Calls, old: Array) -> Array:
        """The damaged action's answers; what fails before the damaged condition fails as before."""
        pairs = zip(mutant.original.conditions, mutant.action.conditions, strict=False)
        place = next((i for i, (one, other) in enumerate(pairs) if one is not other), len(mutant.action.conditions))
        reached = np.flatnonzero((old < 0) | (old >= place))
        new = old.copy()
        new[reached] = self.arrays.answers(mutant.action, self.states, calls.only(reached), skip=place)
        return new

    def _stretches(self) -> list[range]:
        """The states in stretches, breadth first."""
        ends = [*(end for end in PREFIXES if end < self.ends[-1]), self.ends[-1]]
        return [range(start, end) for start, end in zip([0, *ends], ends, strict=False)]

    def _other_effect(self, mutant: Mutant, function: Function) -> Difference | None:
        """Another new value of the function, after the steps that the action takes."""
        calls, old = self._steps(mutant.original), self._new_value(mutant.original, function)
        for rows in self._stretches():
            part = slice(*np.searchsorted(calls.rows, [rows.start, rows.stop]))
            some = calls.only(part)
            if len(some):
                new = self.arrays.new_value(mutant.action, function, self.states, some)
                different = np.argwhere(old[part] != new)
                if len(different):
                    return self._changed(mutant, function, some, old[part], new, different[0].tolist())
        return None

    def _changed(
        self, mutant: Mutant, function: Function, calls: Calls, old: Array, new: Array, where: list[int]
    ) -> Difference:
        at, *place = where
        values = " instead of ".join(self._label(function.result, value[at, *place]) for value in (new, old))
        cell = ", ".join(self._label(sort, i) for sort, i in zip(function.arguments, place, strict=True))
        effect = f"makes {function.name}({cell}) {values}"
        return Difference(self._depth(int(calls.rows[at])), self._call(mutant.original, calls, at), effect)

    def figures(self) -> dict[str, Any]:
        """What is pinned of the world: states by depth, answers by action, and a digest of every step."""
        actions = {}
        for action in self.actions.values():
            names = np.array(_names(action))
            counts = Counter(dict(zip(*np.unique(names[self._answer(action)], return_counts=True), strict=True)))
            answers = {str(name): int(count) for name, count in sorted(counts.items())}
            actions[action.name] = {"answers": answers, "digest": self._digest(action)}
        return {"states": self.ends, "actions": actions}

    def _digest(self, action: Action) -> str:
        """Stands for every call of the action, its answer and its effect, in every state."""
        digest = hashlib.sha256()
        for values in self.states.values():
            digest.update(values.astype(np.uint8).tobytes())
        digest.update(self._answer(action).astype("<i2").tobytes())
        for function in sorted(action.updates, key=lambda f: f.name):
            digest.update(np.ascontiguousarray(self._new_value(action, function), dtype=np.uint8).tobytes())
        return digest.hexdigest()[:16]

    # ------------------------------------------------------------------ the original, computed once

    def _answer(self, action: Action) -> Array:
        if action.name not in self._answers:
            calls = self.arrays.calls(action, range(self.ends[-1]))
            self._answers[action.name] = self.arrays.answers(action, self.states, calls)
        return self._answers[action.name]

    def _steps(self, action: Action) -> Calls:
        if action.name not in self._taken:
            calls = self.arrays.calls(action, range(self.ends[-1]))
            self._taken[action.name] = calls.only(self._answer(action) < 0)
        return self._taken[action.name]

    def _new_value(self, action: Action, function: Function) -> Array:
        key = action.name, function
        if key not in self._new:
            self._new[key] = self.arrays.new_value(action, function, self.states, self._steps(action))
        return self._new[key]

    # ------------------------------------------------------------------ words

    def _depth(self, row: int) -> int:
        return sum(row >= end for end in self.ends)

    def _call(self, action: Action, calls: Calls, at: int) -> str:
        pairs = zip(action.parameters, calls.arguments, strict=True)
        shown = (f"{p.name}={self._label(p.sort, values[at])}" for p, values in pairs)
        return f"{action.name}({', '.join(shown)})"

    def _label(self, sort: Any, index: Any) -> str:
        return self.arrays.scope.label(sort, int(index))


def _names(action: Action) -> list[str]:
    """What the action answers for each failing condition, and last (for -1) that it is done."""
    return [f"{c.kind} {c.name}" for c in action.conditions] + ["done"]
