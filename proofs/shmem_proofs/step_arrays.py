"""Many states at once: terms over arrays of states, to see where a damaged action takes other steps than the original.

Axis 0 is a row (a state with arguments), then one axis per argument place of the function that is updated, then one
per nesting of quantifiers.  What does not depend on an axis has length 1 there, so nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shmem_model.language import BOOL, Action, Function, LanguageError, Term
from shmem_model.language import terms as t
from shmem_model.readers.concrete import Concrete
from shmem_model.readers.scope import Scope

Array = NDArray[Any]
States = Mapping[Function, Array]
"""Every state function with its values: the first axis numbers the states."""

FORMALS = 5
AXES = 1 + FORMALS + 8
"""Rows, the most argument places that a function has, the deepest nesting of quantifiers."""


@dataclass(frozen=True)
class Calls:
    """Calls of one action: the number of the state and, by parameter, the arguments."""

    rows: Array
    arguments: list[Array]

    def __len__(self) -> int:
        return len(self.rows)

    def only(self, chosen: Array | slice) -> Calls:
        """Some of the calls."""
        return Calls(self.rows[chosen], [values[chosen] for values in self.arguments])


class StepArrays:
    """A scope whose steps are taken from many states together."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.functions = scope.machine.state
        self.sizes = {f: tuple(scope.size(sort) for sort in f.arguments) for f in scope.machine.functions}
        self.platform = {f: self._platform(f) for f in scope.machine.platform}

    def _platform(self, function: Function) -> Array:
        values = [self.scope.platform_value(function, place) for place in self.scope.places(function)]
        return np.array(values, dtype=_kind(function)).reshape(self.sizes[function])

    def start(self) -> States:
        """The start state, as an array of one."""
        initial = Concrete(self.scope).initial()
        return {f: np.array(initial[f], dtype=_kind(f)).reshape(1, *self.sizes[f]) for f in self.functions}

    # ------------------------------------------------------------------ steps

    def calls(self, action: Action, rows: range) -> Calls:
        """These states with all arguments, state by state."""
        sizes = [self.scope.size(p.sort) for p in action.parameters]
        grid = np.indices((len(rows), *sizes), dtype=np.int32).reshape(1 + len(sizes), -1)
        return Calls(grid[0] + np.int32(rows.start), list(grid[1:]))

    def answers(self, action: Action, states: States, calls: Calls, skip: int = 0) -> Array:
        """For every call the number of the first condition that does not hold, or -1 where the step can be taken.

        The first `skip` conditions are known to hold.
        """
        answers = np.full(len(calls), -1, dtype=np.int16)
        left = np.arange(len(calls))
        for number, condition in list(enumerate(action.conditions))[skip:]:
            if not len(left):
                break
            holds = self.holds(condition.holds, action, states, calls.only(left))
            answers[left[~holds]] = number
            left = left[holds]
        return answers

    def holds(self, term: Term, action: Action, states: States, calls: Calls) -> Array:
        """In which calls a Boolean term over the action's parameters holds."""
        value = self.value(term, states, calls.rows, self._environment(action, calls.arguments))
        assert value.dtype == np.bool_
        return np.broadcast_to(value.reshape(value.shape[0]), (len(calls),))

    def new_value(self, action: Action, function: Function, states: States, calls: Calls) -> Array:
        """What a function is after the steps."""
        update, rows = action.updates.get(function), calls.rows
        if update is None:
            return states[function][rows]
        env = self._environment(action, calls.arguments)
        for place, (formal, size) in enumerate(zip(function.formals, self.sizes[function], strict=True), 1):
            elements = np.arange(size)
            env[formal] = _along(elements.astype(np.bool_) if formal.sort is BOOL else elements, place)
        value = self.value(update.body, states, rows, env)
        shape = (len(rows), *self.sizes[function])
        return np.broadcast_to(value.reshape(value.shape[: len(shape)]), shape)

    def _environment(self, action: Action, arguments: list[Array]) -> dict[Term, Array]:
        """Boolean arguments become Booleans: a mask of numbers would select rows by number."""
        pairs = zip(action.parameters, arguments, strict=True)
        return {p: _along(values.astype(np.bool_) if p.sort is BOOL else values, 0) for p, values in pairs}

    # ------------------------------------------------------------------ terms

    def value(self, term: Term, states: States, rows: Array, env: Mapping[Term, Array]) -> Array:
        """The value of a term in the rows' states, over all axes that it depends on."""

        def inner(part: Term) -> Array:
            return self.value(part, states, rows, env)

        match term:
            case t.Truth():
                return _along(np.array([term.value]), 0)
            case t.Element():
                return _along(np.array([term.index]), 0)
            case t.Parameter() | t.Formal() | t.Bound():
                return env[term]
            case t.Apply():
                return self._cell(term, states, rows, [inner(part) for part in term.parts])
            case t.Not():
                return ~inner(term.fields[0])
            case t.And() | t.Or():
                join = np.logical_and if isinstance(term, t.And) else np.logical_or
                return _reduce(join, [inner(part) for part in term.parts])
            case t.Implies():
                return ~inner(term.fields[0]) | inner(term.fields[1])
            case t.Same():
                return inner(term.fields[0]) == inner(term.fields[1])
            case t.Ite():
                return np.where(*(inner(part) for part in term.parts))
            case t.Forall() | t.Exists():
                return self._quantified(term, states, rows, env)
        raise LanguageError(f"arrays of states do not know terms of type {type(term).__name__}")

    def _cell(self, term: t.Apply, states: States, rows: Array, places: list[Array]) -> Array:
        whole = [_index(place) for place in places]
        if term.function in self.platform:
            table = self.platform[term.function]
            return table[tuple(whole)] if whole else _along(table.reshape(1), 0)
        return states[term.function][(_along(rows, 0), *whole)]

    def _quantified(self, term: t.Forall | t.Exists, states: States, rows: Array, env: Mapping[Term, Array]) -> Array:
        axis = 1 + FORMALS + sum(isinstance(variable, t.Bound) for variable in env)
        if term.variable.sort is BOOL:
            raise LanguageError(f"quantifiers range over sorts of elements: {term}")
        elements = _along(np.arange(self.scope.size(term.variable.sort)), axis)
        body = self.value(term.body, states, rows, {**env, term.variable: elements})
        reduce = np.all if isinstance(term, t.Forall) else np.any
        return np.asarray(reduce(body, axis=axis, keepdims=True))


def explored(arrays: StepArrays, depth: int | None = None) -> tuple[States, list[int]]:
    """All states of a scope within so many steps (None: all), breadth first, and how many lie within each depth."""
    level = arrays.start()
    seen = _keys(level)
    levels, ends = [level], [len(seen)]
    while depth is None or len(ends) <= depth:
        found = _merge([level, *_successors(arrays, level)])
        keys = _keys(found)
        _, first = np.unique(keys, return_index=True)
        first = first[~np.isin(keys[first], seen)]
        if not len(first):
            break
        level = {f: values[first] for f, values in found.items()}
        seen = np.concatenate([seen, keys[first]])
        levels.append(level)
        ends.append(len(seen))
    return _merge(levels), ends


def _successors(arrays: StepArrays, level: States) -> Iterator[States]:
    count = _count(level)
    for action in arrays.scope.machine.actions.values():
        calls = arrays.calls(action, range(count))
        calls = calls.only(arrays.answers(action, level, calls) < 0)
        if len(calls):
            yield {f: arrays.new_value(action, f, level, calls) for f in arrays.functions}


def _merge(parts: list[States]) -> States:
    return {f: np.concatenate([part[f] for part in parts]) for f in parts[0]}


def _keys(states: States) -> Array:
    """Each state as one opaque value."""
    flat = np.concatenate([v.reshape(len(v), -1).astype(np.uint8) for v in states.values()], axis=1)
    return np.ascontiguousarray(flat).view(np.dtype((np.void, flat.shape[1]))).ravel()


def _count(states: States) -> int:
    return len(next(iter(states.values())))


def _kind(function: Function) -> type:
    return np.bool_ if function.result is BOOL else np.uint8


def _along(values: Array, axis: int) -> Array:
    """The values along one axis, length 1 along all others."""
    return values.reshape([1] * axis + [-1] + [1] * (AXES - axis - 1))


def _index(values: Array) -> Array:
    """Booleans index like numbers, never as a mask."""
    return values.astype(np.intp)


def _reduce(join: np.ufunc, parts: list[Array]) -> Array:
    result = parts[0]
    for part in parts[1:]:
        result = join(result, part)
    return np.asarray(result)
