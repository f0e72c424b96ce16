"""Partial evaluation: terms of the language as closures that yield nodes of a bit graph.

Variables (parameters, formals, bound variables) live in slots of one environment list and always hold an index, so
whatever does not depend on the state folds away while a closure runs, and whatever depends on no variable either
folds away when it is made.  `reads` and `free` of a compiled term are bit sets of the state functions that its value
was read from and of the slots that it mentions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

from shmem_model.language import BOOL, Function, LanguageError, Sort, Term
from shmem_model.language import terms as t
from shmem_model.readers.bits import FALSE, TRUE, Bits, Value
from shmem_model.readers.scope import Scope

CONSTANT, SLOT, CODE = 0, 1, 2
ANSWER = "answer"  # in a property of steps: what the action returns
Run = Callable[[], Value]


class Compiled(NamedTuple):
    """A term made ready: a constant, a slot of the environment, or code."""

    kind: int
    value: int
    run: Run
    reads: int
    free: int


def _constant(value: Value, reads: int = 0) -> Compiled:
    assert isinstance(value, int)
    return Compiled(CONSTANT, value, lambda: value, reads, 0)


class Partial:
    """The cells of all functions in a scope, and terms compiled to closures over them."""

    def __init__(self, scope: Scope, bits: Bits) -> None:
        self.scope = scope
        self.bits = bits
        self.cells: dict[Function, list[Value]] = {}
        self.fixed: set[Function] = set()  # functions that never change: their values fold at once
        self.uniform: dict[Function, int] = {}  # functions that have one known value everywhere, so far
        self.mark: dict[Function, int] = {}  # the bit of a function in `reads`
        self.env: list[int] = []
        self.overlay: dict[tuple[Function, int], Value] = {}  # values after a step, for `after`
        self.answer: Value | None = None  # what the step returns, for the parameter named `answer`
        self._slots: dict[Term, int] = {}
        self._memo: dict[tuple[Term, bool], Compiled] = {}

    def add_function(self, function: Function, cells: list[Value], fixed: bool) -> None:
        """Introduce a function with the values of its cells."""
        self.cells[function] = cells
        self.mark[function] = 0 if fixed else 1 << len(self.mark)
        if fixed:
            self.fixed.add(function)
        first = cells[0]
        if isinstance(first, int) and cells.count(first) == len(cells):
            self.uniform[function] = first

    def disturb(self, functions: set[Function]) -> None:
        """Some cells of these functions are no longer known: forget what was folded because of them."""
        broken = [self.mark[function] for function in functions if self.uniform.pop(function, None) is not None]
        if broken:
            reads = sum(broken)
            self._memo = {key: made for key, made in self._memo.items() if not made.reads & reads}

    def slot(self, variable: Term) -> int:
        """The place of a variable in the environment."""
        found = self._slots.get(variable)
        if found is None:
            found = self._slots[variable] = len(self.env)
            self.env.append(0)
        return found

    def strides(self, function: Function) -> list[int]:
        """What each argument counts for in the number of a cell (the last one counts 1)."""
        result, step = [], 1
        for sort in reversed(function.arguments):
            result.append(step)
            step *= self.scope.size(sort)
        return result[::-1]

    def compile(self, term: Term, later: bool = False) -> Compiled:
        """The term as a closure; `later`: its value after the step that `overlay` describes."""
        key = (term, later)
        found = self._memo.get(key)
        if found is None:
            maker = _MAKERS.get(type(term))
            if maker is None:
                raise LanguageError(f"the explorer does not know terms of type {type(term).__name__}")
            found = self._memo[key] = maker(self, term, later)
        return found

    # ------------------------------------------------------------------ leaves

    def _truth(self, term: Term, later: bool) -> Compiled:
        return _constant(TRUE if term is t.TRUE else FALSE)

    def _element(self, term: Term, later: bool) -> Compiled:
        assert isinstance(term, t.Element)
        return _constant(term.index)

    def _variable(self, term: Term, later: bool) -> Compiled:
        if isinstance(term, t.Parameter) and term.name == ANSWER:
            return Compiled(CODE, 0, self._answer, 0, 0)
        slot, env = self.slot(term), self.env
        return Compiled(SLOT, slot, lambda: env[slot], 0, 1 << slot)

    def _answer(self) -> Value:
        if self.answer is None:
            raise LanguageError("the claim mentions the answer of an action that returns none")
        return self.answer

    def _after(self, term: Term, later: bool) -> Compiled:
        return self.compile(term.fields[0], True)

    def _apply(self, term: Term, later: bool) -> Compiled:
        assert isinstance(term, t.Apply)
        function = term.function
        if function not in self.cells:
            raise LanguageError(f"scope {self.scope.name}: function {function.name} is not part of the machine")
        if function in self.uniform and not (later and function not in self.fixed):
            return _constant(self.uniform[function], self.mark[function])
        arguments = [self.compile(part, later) for part in term.fields[1:]]
        reads, free = self.mark[function], 0
        for made in arguments:
            reads, free = reads | made.reads, free | made.free
        if any(made.kind == CODE for made in arguments):
            return Compiled(CODE, 0, self._look_up(function, arguments, later), reads, free)
        base, places = 0, []
        for step, made in zip(self.strides(function), arguments, strict=True):
            if made.kind == CONSTANT:
                base += step * made.value
            else:
                places.append((step, made.value))
        if not places and function in self.fixed:
            return _constant(self.cells[function][base])
        if later and function not in self.fixed:
            return Compiled(CODE, 0, self._overlaid(function, base, places), reads, free)
        return Compiled(CODE, 0, self._cell(self.cells[function], base, places), reads, free)

    def _cell(self, cells: list[Value], base: int, places: Sequence[tuple[int, int]]) -> Run:
        env = self.env
        if not places:
            return lambda: cells[base]
        (s0, p0), *rest = places
        if not rest:
            return lambda: cells[base + s0 * env[p0]]
        (s1, p1), *rest = rest
        if not rest:
            return lambda: cells[base + s0 * env[p0] + s1 * env[p1]]
        if len(rest) == 1:
            s2, p2 = rest[0]
            return lambda: cells[base + s0 * env[p0] + s1 * env[p1] + s2 * env[p2]]
        return lambda: cells[base + sum([s * env[p] for s, p in places])]

    def _overlaid(self, function: Function, base: int, places: Sequence[tuple[int, int]]) -> Run:
        env, cells = self.env, self.cells[function]

        def run() -> Value:
            index = base + sum([s * env[p] for s, p in places])
            found = self.overlay.get((function, index))
            return cells[index] if found is None else found

        return run

    def _look_up(self, function: Function, arguments: list[Compiled], later: bool) -> Run:
        """A function at places that depend on the state: a choice among all its cells that may be meant."""
        steps, cells, bits = self.strides(function), self.cells[function], self.bits
        sizes = [self.scope.size(sort) for sort in function.arguments]
        choose = self._chooser(function.result)

        def run() -> Value:
            result: Value | None = None
            choices = [self._cases(made, sort, n) for made, sort, n in zip(arguments, function.arguments, sizes, strict=True)]
            for combination in product(*choices):
                index = sum(step * place for step, (place, _) in zip(steps, combination, strict=True))
                found = self.overlay.get((function, index)) if later else None
                value = cells[index] if found is None else found
                condition = bits.conj([condition for _, condition in combination])
                result = value if result is None else choose(condition, value, result)
            assert result is not None
            return result

        return run

    def _cases(self, made: Compiled, sort: Sort, size: int) -> list[tuple[int, int]]:
        """The elements that an argument can be, each with its condition."""
        value = made.run()
        if sort is BOOL and isinstance(value, int) and value > 1:
            value = (value,)
        if isinstance(value, int):
            return [(value, TRUE)]
        cases = [(i, self.bits.equal(value, i)) for i in range(size)]
        return [(i, condition) for i, condition in cases if condition != FALSE]

    def _chooser(self, sort: Sort) -> Callable[[int, Value, Value], Value]:
        return self.bits.ite if sort is BOOL else self.bits.choose  # type: ignore[return-value]

    # ------------------------------------------------------------------ connectives

    def _not(self, term: Term, later: bool) -> Compiled:
        made = self.compile(term.fields[0], later)
        if made.kind == CONSTANT:
            return _constant(made.value ^ 1, made.reads)
        run = made.run
        return Compiled(CODE, 0, lambda: run() ^ 1, made.reads, made.free)  # type: ignore[operator]

    def _and(self, term: Term, later: bool) -> Compiled:
        return self._junction(term.fields, later, 0)

    def _or(self, term: Term, later: bool) -> Compiled:
        return self._junction(term.fields, later, 1)

    def _implies(self, term: Term, later: bool) -> Compiled:
        premise, conclusion = term.fields
        return self._junction((t.negation(premise), conclusion), later, 1)

    def _junction(self, terms: Sequence[Term], later: bool, decisive: int) -> Compiled:
        """Conjunction (decided by 0) or disjunction (decided by 1)."""
        parts, reads, free = [], 0, 0
        for term in terms:
            made = self.compile(term, later)
            if made.kind == CONSTANT and made.value == decisive:
                return _constant(decisive, made.reads)
            reads |= made.reads
            if made.kind != CONSTANT:
                parts.append(made)
                free |= made.free
        if not parts:
            return _constant(decisive ^ 1, reads)
        if len(parts) == 1:
            return parts[0]._replace(reads=reads)
        parts.sort(key=lambda made: made.reads != 0)  # what the state does not matter for comes first
        return Compiled(CODE, 0, self._join([made.run for made in parts], decisive), reads, free)

    def _join(self, runs: list[Run], decisive: int) -> Run:
        join, other = (self.bits.disj, 0) if decisive else (self.bits.conj, 1)

        def run() -> Value:
            open_ = []
            for part in runs:
                node = part()
                if node == decisive:
                    return decisive
                if node != other:
                    open_.append(node)
            if len(open_) < 2:
                return open_[0] if open_ else other
            return join(open_)  # type: ignore[arg-type]

        return run

    def _quantifier(self, term: Term, later: bool) -> Compiled:
        assert isinstance(term, t.Forall | t.Exists)
        made = self.compile(term.body, later)
        slot = self.slot(term.variable)
        if not made.free >> slot & 1:
            return made
        env, inner, decisive = self.env, made.run, int(isinstance(term, t.Exists))
        elements = range(self.scope.size(term.variable.sort))
        join, other = (self.bits.disj, 0) if decisive else (self.bits.conj, 1)

        def run() -> Value:
            open_ = []
            for env[slot] in elements:
                node = inner()
                if node == decisive:
                    return decisive
                if node != other:
                    open_.append(node)
            return join(open_) if open_ else other  # type: ignore[arg-type]

        return Compiled(CODE, 0, run, made.reads, made.free & ~(1 << slot))

    def _ite(self, term: Term, later: bool) -> Compiled:
        condition = self.compile(term.fields[0], later)
        if condition.kind == CONSTANT:
            made = self.compile(term.fields[1 if condition.value else 2], later)
            return made._replace(reads=made.reads | condition.reads)
        then, otherwise = self.compile(term.fields[1], later), self.compile(term.fields[2], later)
        test, yes, no, choose = condition.run, then.run, otherwise.run, self._chooser(term.sort)

        def run() -> Value:
            node = test()
            if node == TRUE:
                return yes()
            return no() if node == FALSE else choose(node, yes(), no())  # type: ignore[arg-type]

        reads = condition.reads | then.reads | otherwise.reads
        return Compiled(CODE, 0, run, reads, condition.free | then.free | otherwise.free)

    def _same(self, term: Term, later: bool) -> Compiled:
        left, right = (self.compile(part, later) for part in term.fields)
        if left.kind == CONSTANT and right.kind == CONSTANT:
            return _constant(int(left.value == right.value), left.reads | right.reads)
        a, b, bits = left.run, right.run, self.bits
        run: Run
        if CODE not in (left.kind, right.kind):
            run = lambda: 1 if a() == b() else 0  # noqa: E731
        elif term.fields[0].sort is BOOL:
            run = lambda: bits.same(a(), b())  # type: ignore[arg-type]  # noqa: E731
        else:
            run = lambda: bits.equal(a(), b())  # noqa: E731
        return Compiled(CODE, 0, run, left.reads | right.reads, left.free | right.free)


_MAKERS: dict[type[Term], Callable[[Partial, Term, bool], Compiled]] = {
    t.Truth: Partial._truth,
    t.Element: Partial._element,
    t.Parameter: Partial._variable,
    t.Formal: Partial._variable,
    t.Bound: Partial._variable,
    t.After: Partial._after,
    t.Apply: Partial._apply,
    t.Not: Partial._not,
    t.And: Partial._and,
    t.Or: Partial._or,
    t.Implies: Partial._implies,
    t.Forall: Partial._quantifier,
    t.Exists: Partial._quantifier,
    t.Ite: Partial._ite,
    t.Same: Partial._same,
}
