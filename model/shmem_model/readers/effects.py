"""Where an update can change its function at all.

Updates give the whole new function, but most say "what it was, except here".  `alternatives` reads off where "here"
is, as a list of conjunctions: outside all of them the function keeps its value.  A conjunct that names an argument
(`x1.same(f)`) fixes that place, so only a handful of cells needs to be looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from shmem_model.language import FALSE, TRUE, Function, Term, Update, conj, disj
from shmem_model.language import terms as t
from shmem_model.readers.bits import Value
from shmem_model.readers.cells import CODE, CONSTANT, Compiled, Run
from shmem_model.readers.partial import Partial


def change(body: Term, old: Term) -> Term:
    """A condition without which `body` is `old`."""
    if body is old:
        return FALSE
    match body:
        case t.Ite():
            condition, then, otherwise = body.fields
            return disj(conj(condition, change(then, old)), conj(t.negation(condition), change(otherwise, old)))
        case t.Or() | t.And():
            keeper = next((part for part in body.fields if _keeps(part, old)), None)
            if keeper is not None:
                others = [part for part in body.fields if part is not keeper]
                if isinstance(body, t.And):
                    others = [t.negation(part) for part in others]
                return disj(*others, change(keeper, old))
    return TRUE


def _keeps(term: Term, old: Term) -> bool:
    """The term is `old` except here and there."""
    if isinstance(term, t.Ite):
        return any(_keeps(part, old) for part in term.fields[1:])
    return term is old or (isinstance(term, t.And | t.Or) and any(_keeps(part, old) for part in term.fields))


def alternatives(term: Term, positive: bool = True) -> Iterator[tuple[Term, ...]]:
    """The term as a disjunction of conjunctions, as far as that takes no multiplying out."""
    while isinstance(term, t.Not):
        term, positive = term.fields[0], not positive
    if isinstance(term, t.Or if positive else t.And):
        for part in term.fields:
            yield from alternatives(part, positive)
    elif isinstance(term, t.Truth):
        if term.value == positive:
            yield ()
    else:
        yield tuple(_conjuncts(term, positive))


def _conjuncts(term: Term, positive: bool = True) -> Iterator[Term]:
    while isinstance(term, t.Not):
        term, positive = term.fields[0], not positive
    if isinstance(term, t.And if positive else t.Or):
        for part in term.fields:
            yield from _conjuncts(part, positive)
    else:
        yield term if positive else t.negation(term)


class Effect:
    """One update of an action, ready to be applied again and again."""

    def __init__(self, partial: Partial, update: Update) -> None:
        self.function = update.function
        body = partial.compile(update.body)
        self.reads = body.reads | partial.mark[self.function]
        self.run = body.run
        self.idle = body.kind == CONSTANT and partial.uniform.get(self.function) == body.value
        self._searches: list[_Search] = []
        if not self.idle:
            formals = self.function.formals
            where = change(update.body, self.function(*formals))
            self._searches = [_Search(partial, self.function, parts) for parts in alternatives(where)]
            for search in self._searches:
                self.reads |= search.reads

    def values(self) -> Iterator[tuple[int, Value]]:
        """Cells that may change, with their new values, for the parameters in the environment."""
        if len(self._searches) == 1:
            for index in self._searches[0].cells():
                yield index, self.run()
            return
        seen: set[int] = set()
        for search in self._searches:
            for index in search.cells():
                if index not in seen:
                    seen.add(index)
                    yield index, self.run()


class _Search:
    """The cells of a function for which some conjuncts can hold."""

    def __init__(self, partial: Partial, function: Function, conjuncts: tuple[Term, ...]) -> None:
        self.env = partial.env
        self.reads = 0
        slots = [partial.slot(formal) for formal in function.formals]
        fixed: dict[int, Run] = {}
        tests: list[tuple[int, Run]] = []
        for conjunct in conjuncts:
            place = _fixes(partial, conjunct, function)
            if place is not None and place[0] not in fixed:
                fixed[place[0]] = place[1].run
                self.reads |= place[1].reads
                continue
            made = partial.compile(conjunct)
            self.reads |= made.reads
            last = max((i for i, slot in enumerate(slots) if made.free >> slot & 1), default=-1)
            tests.append((last, made.run))
        self.start = [run for last, run in tests if last < 0]
        self.levels = []
        for i, (slot, sort, step) in enumerate(zip(slots, function.arguments, partial.strides(function), strict=True)):
            size = range(partial.scope.size(sort))
            self.levels.append((slot, step, fixed.get(i), size, [run for last, run in tests if last == i]))

    def cells(self) -> Iterator[int]:
        """Numbers of the cells; meanwhile the formals stand in the environment."""
        if all(run() != 0 for run in self.start):
            yield from self._descend(0, 0)

    def _descend(self, depth: int, index: int) -> Iterator[int]:
        if depth == len(self.levels):
            yield index
            return
        slot, step, fixed, elements, tests = self.levels[depth]
        env = self.env
        for place in elements if fixed is None else (fixed(),):
            assert isinstance(place, int)
            env[slot] = place
            for run in tests:
                if run() == 0:
                    break
            else:
                yield from self._descend(depth + 1, index + step * place)


def _fixes(partial: Partial, conjunct: Term, function: Function) -> tuple[int, Compiled] | None:
    """`formal = something known without the state`: the formal's position and that something."""
    if isinstance(conjunct, t.Same):
        for this, other in (conjunct.fields, conjunct.fields[::-1]):
            if isinstance(this, t.Formal) and not isinstance(other, t.Formal):
                made = partial.compile(other)
                if made.kind != CODE and this in function.formals:
                    return this.fields[2], made
    return None
