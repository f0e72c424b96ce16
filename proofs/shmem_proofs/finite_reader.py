"""The finite reader: machine terms in a scope as Z3 terms without quantifiers.

Every cell of a state is a Z3 constant of its own (Booleans, and bit vectors for elements, so no sort is
declared and no name can clash), quantifiers are expanded, and what is known is computed at once: a value is
an int where it is known and a Z3 term where it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any

import z3

from shmem_model.language import BOOL, Function, LanguageError, Sort, Term
from shmem_model.language import terms as t
from shmem_model.readers.scope import Scope

Value = Any
"""An int (the index of an element; Booleans as 0 and 1), or a Z3 term."""
Place = tuple[int, ...]
Cell = tuple[Function, Place]
Cells = Mapping[Cell, Value]
Env = dict[Term, Value]


class FiniteReader:
    """Reads terms in one scope, into a Z3 context of its own."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.context = z3.Context()
        self.platform: dict[Cell, Value] = {
            (f, place): scope.platform_value(f, place) for f in scope.machine.platform for place in scope.places(f)
        }

    # ------------------------------------------------------------------ values

    def _bits(self, sort: Sort) -> int:
        return max(1, (self.scope.size(sort) - 1).bit_length())

    def symbol(self, name: str, sort: Sort) -> Value:
        """A Z3 constant that stands for an element of the sort (see `in_range`)."""
        if sort is BOOL:
            return z3.Bool(name, self.context)
        return z3.BitVec(name, self._bits(sort), self.context)

    def in_range(self, symbol: Value, sort: Sort) -> Value:
        """The symbol stands for an element."""
        size = self.scope.size(sort)
        if sort is BOOL or size == 1 << self._bits(sort):
            return 1
        return z3.ULT(symbol, z3.BitVecVal(size, symbol.sort()))

    def as_term(self, value: Value, sort: Sort) -> Any:
        """A value as a Z3 term, also where it is known."""
        if not isinstance(value, int):
            return value
        if sort is BOOL:
            return z3.BoolVal(value == 1, self.context)
        return z3.BitVecVal(value, self._bits(sort), self.context)

    def read(self, model: Any, value: Value) -> int:
        """The index that a value has in a model."""
        if isinstance(value, int):
            return value
        found = model.eval(value, model_completion=True)
        return found.as_long() if z3.is_bv(found) else int(z3.is_true(found))

    def conj(self, values: Iterable[Value]) -> Value:
        """All of them hold; what is known decides as early as it can."""
        return self._join(values, 0, z3.And)

    def disj(self, values: Iterable[Value]) -> Value:
        """At least one of them holds."""
        return self._join(values, 1, z3.Or)

    def _join(self, values: Iterable[Value], decisive: int, make: Callable[..., Any]) -> Value:
        left = []
        for value in values:
            if not isinstance(value, int):
                left.append(value)
            elif value == decisive:
                return decisive
        return 1 - decisive if not left else left[0] if len(left) == 1 else make(*left)

    def negation(self, value: Value) -> Value:
        """It does not hold."""
        return 1 - value if isinstance(value, int) else z3.Not(value)

    def same(self, left: Value, right: Value, sort: Sort) -> Value:
        """Both are the same element."""
        if isinstance(left, int) and isinstance(right, int):
            return int(left == right)
        return self.as_term(left, sort) == self.as_term(right, sort)

    def choose(self, condition: Value, then: Value, otherwise: Value, sort: Sort) -> Value:
        """If-then-else."""
        if isinstance(condition, int):
            return then if condition else otherwise
        if isinstance(then, int) and isinstance(otherwise, int) and then == otherwise:
            return then
        return z3.If(condition, self.as_term(then, sort), self.as_term(otherwise, sort))

    # ------------------------------------------------------------------ terms

    def value(self, term: Term, env: Env, now: Cells, then: Cells | None = None) -> Value:
        """The value of a term: variables from `env`, cells from `now`, those under `after` from `then`."""
        found = env.get(term)
        if found is not None:
            return found
        read = _READS.get(type(term))
        if read is None:
            raise LanguageError(f"the finite reader does not know {type(term).__name__}: {term}")
        return read(self, term, env, now, then)

    def _truth(self, term: Term, env: Env, now: Cells, then: Cells | None) -> Value:
        return int(term is t.TRUE)

    def _element(self, term: Term, env: Env, now: Cells, then: Cells | None) -> Value:
        return term.fields[2]

    def _not(self, term: Term, env: Env, now: Cells, then: Cells | None) -> Value:
        return self.negation(self.value(term.fields[0], env, now, then))

    def _and(self, term: Term, env: Env, now: Cells, then: Cells | None) -> Value:
        return self.conj(self.value(part, env, now, then) for part in term.fields)

    def _or(self, term: Term, env: Env, now: Cells, then: Cells | None) -> Value:
        return self.disj(self.value(part, env, now, then) for part in term.fields)

    def _implies(self, term: Term, env: Env, now: Cells, then: Cells | None) -> Value:
        premise = self.value(term.fields[0], env, now, then)
        if isinstance(premise, int) and premise == 0:
            return 1
        return self.disj((self.negation(premise), self.value(term.fields[1], env, now, then)))

    def _same(self, term: Term, env: Env, now: Cells, then: Cells | None) -> Value:
        left, right = (self.value(part, env, now, then) for part in term.fields)
        return self.same(left, right, term.fields[0].sort)

    def _ite(self, term: Term, env: Env, now: Cells, then: Cells | None) -> Value:
        condition, yes, no = term.fields
        decided = self.value(condition, env, now, then)
        if isinstance(decided, int):
            return self.value(yes if decided else no, env, now, then)
        first, second = self.value(yes, env, now, then), self.value(no, env, now, then)
        return self.choose(decided, first, second, term.sort)

    def _every(self, term: Term, env: Env, now: Cells, then: Cells | None) -> Value:
        return self.conj(self._instances(term, env, now, then))

    def _some(self, term: Term, env: Env, now: Cells, then: Cells | None) -> Value:
        return self.disj(self._instances(term, env, now, then))

    def _instances(self, term: Term, env: Env, now: Cells, then: Cells | None) -> Iterator[Value]:
        variable, body = term.fields
        for i in range(self.scope.size(variable.sort)):
            yield self.value(body, {**env, variable: i}, now, then)

    def _after(self, term: Term, env: Env, now: Cells, then: Cells | None) -> Value:
        if then is None:
            raise LanguageError(f"`after` is meant for properties of steps: {term}")
        return self.value(term.fields[0], env, then)

    def _apply(self, term: Term, env: Env, now: Cells, then: Cells | None) -> Value:
        function = term.fields[0]
        cells = self.platform if function.layer == "platform" else now
        arguments = tuple([self.value(part, env, now, then) for part in term.fields[1:]])
        for argument in arguments:
            if not isinstance(argument, int):
                return self._look_up(function, arguments, cells)
        return cells[function, arguments]

    def _look_up(self, function: Function, arguments: tuple[Value, ...], cells: Cells) -> Value:
        """A choice among all cells that may be meant."""
        options = [self._options(value, sort) for value, sort in zip(arguments, function.arguments, strict=True)]
        result: Value = None
        for choice in product(*options):
            value = cells[function, tuple(place for place, _ in choice)]
            condition = self.conj(condition for _, condition in choice)
            result = value if result is None else self.choose(condition, value, result, function.result)
        return result

    def _options(self, value: Value, sort: Sort) -> list[tuple[int, Value]]:
        """The elements that an argument may be, each with its condition."""
        if isinstance(value, int):
            return [(value, 1)]
        if sort is BOOL:
            return [(0, z3.Not(value)), (1, value)]
        return [(i, self.same(value, i, sort)) for i in range(self.scope.size(sort))]


_READS: Mapping[type[Term], Callable[[FiniteReader, Term, Env, Cells, Cells | None], Value]] = {
    t.Truth: FiniteReader._truth,
    t.Element: FiniteReader._element,
    t.Apply: FiniteReader._apply,
    t.Not: FiniteReader._not,
    t.And: FiniteReader._and,
    t.Or: FiniteReader._or,
    t.Implies: FiniteReader._implies,
    t.Same: FiniteReader._same,
    t.Ite: FiniteReader._ite,
    t.Forall: FiniteReader._every,
    t.Exists: FiniteReader._some,
    t.After: FiniteReader._after,
}
