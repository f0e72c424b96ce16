"""Partial evaluation: terms of the language as closures that yield nodes of a bit graph.

`cells` says what a compiled term is and reads variables and functions; here are connectives and quantifiers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shmem_model.language import BOOL, LanguageError, Term
from shmem_model.language import terms as t
from shmem_model.readers.bits import FALSE, TRUE, Value
from shmem_model.readers.cells import CODE, CONSTANT, Cells, Compiled, Run, constant


class Partial(Cells):
    """Terms of every kind, compiled to closures over the cells."""

    def _make(self, term: Term, later: bool) -> Compiled:
        maker = _MAKERS.get(type(term))
        if maker is None:
            raise LanguageError(f"the explorer does not know terms of type {type(term).__name__}")
        return maker(self, term, later)

    # ------------------------------------------------------------------ connectives

    def _not(self, term: Term, later: bool) -> Compiled:
        made = self.compile(term.fields[0], later)
        if made.kind == CONSTANT:
            return constant(made.value ^ 1, made.reads)
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
                return constant(decisive, made.reads)
            reads |= made.reads
            if made.kind != CONSTANT:
                parts.append(made)
                free |= made.free
        if not parts:
            return constant(decisive ^ 1, reads)
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
            return constant(int(left.value == right.value), left.reads | right.reads)
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
