"""The cells of all functions, and how terms read them: the ground floor of partial evaluation.

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


def constant(value: Value, reads: int = 0) -> Compiled:
    """A known value; `reads` says from which functions it is known."""
    assert isinstance(value, int)
    return Compiled(CONSTANT, value, lambda: value, reads, 0)


class Cells:
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

    def disturb(self, functions: set[Function]) -> int:
        """Some cells of these functions are no longer known: forget what was folded because of them.

        The answer is the set of functions, as in `reads`, whose readers must be compiled anew.
        """
        broken = sum(self.mark[f] for f in functions if self.uniform.pop(f, None) is not None)
        if broken:
            self._memo = {key: made for key, made in self._memo.items() if not made.reads & broken}
        return broken

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
            found = self._memo[key] = self._make(term, later)
        return found

    def _make(self, term: Term, later: bool) -> Compiled:
        """Compile a term of any kind; unknown kinds are an error."""
        raise NotImplementedError

    # ------------------------------------------------------------------ leaves

    def _truth(self, term: Term, later: bool) -> Compiled:
        return constant(TRUE if term is t.TRUE else FALSE)

    def _element(self, term: Term, later: bool) -> Compiled:
        assert isinstance(term, t.Element)
        return constant(term.index)

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
            raise LanguageError(f"scope {self.scope.name}: {function.name} is unknown, or was left out; observe it")
        if function in self.uniform and not (later and function not in self.fixed):
            return constant(self.uniform[function], self.mark[function])
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
            return constant(self.cells[function][base], reads)
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
            choices = [
                self._cases(made, sort, n) for made, sort, n in zip(arguments, function.arguments, sizes, strict=True)
            ]
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
