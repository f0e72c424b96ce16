"""The symbolic reader: machine terms as Z3 terms.

Sorts become uninterpreted sorts, so a proof covers any number of elements.  A step is read by substitution: a term
"after the step" is the term with every state function replaced by its update, so there are no frame axioms to forget.
Binders get fresh Z3 constants, so nothing can be captured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import z3

from shmem_model.language import BOOL, Action, Function, LanguageError, Machine, Sort, Term
from shmem_model.language import terms as t

Reader = Callable[[Function, tuple[Any, ...]], Any]
Env = Mapping[Term, Any]


class Universe:
    """The Z3 sorts and functions of a machine, in a context of its own (names never clash between universes)."""

    def __init__(self, machine: Machine, suffix: str = "", share: Universe | None = None) -> None:
        self.machine = machine
        self.context: Any = share.context if share else z3.Context()
        self.sorts: dict[Sort, Any] = dict(share.sorts) if share else {BOOL: z3.BoolSort(self.context)}
        for sort in machine.sorts:
            self.sorts.setdefault(sort, z3.DeclareSort(sort.name, self.context))
        self.functions: dict[Function, Any] = {}
        for function in machine.functions:
            if share and function.layer == "platform":
                self.functions[function] = share.functions[function]
            else:
                self.functions[function] = self._declare(function, suffix)
        self._fresh = 0

    def _declare(self, function: Function, suffix: str) -> Any:
        arguments = [self.sorts[sort] for sort in function.arguments]
        return z3.Function(function.name + suffix, *arguments, self.sorts[function.result])

    def constant(self, name: str, sort: Sort) -> Any:
        """A constant of a sort, for a parameter or a free variable."""
        return z3.Const(name, self.sorts[sort])

    def variable(self, name: str, sort: Sort) -> Any:
        """A fresh variable for a quantifier."""
        self._fresh += 1
        return z3.Const(f"{name}!{self._fresh}", self.sorts[sort])

    def now(self, function: Function, arguments: tuple[Any, ...]) -> Any:
        """The reader of the state before the step."""
        return self.functions[function](*arguments)

    def then(self, action: Action, env: Env, reads: Reader | None = None) -> Reader:
        """The reader of the state after a step of the action with its parameters as in `env`."""
        before = reads or self.now

        def read(function: Function, arguments: tuple[Any, ...]) -> Any:
            update = action.updates.get(function)
            if update is None:
                return before(function, arguments)
            inner: dict[Term, Any] = {**env, **dict(zip(function.formals, arguments, strict=True))}
            return self.term(update.body, inner, before)

        return read

    def term(self, term: Term, env: Env, now: Reader, then: Reader | None = None) -> Any:
        """The Z3 term: variables from `env`, state functions from `now`, those under `after` from `then`."""
        found = env.get(term)
        if found is not None:
            return found
        inner = lambda part: self.term(part, env, now, then)
        match term:
            case t.Truth():
                return z3.BoolVal(term.value, self.context)
            case t.Apply():
                return now(term.function, tuple(inner(part) for part in term.parts))
            case t.Not():
                return z3.Not(inner(term.fields[0]))
            case t.And():
                return z3.And(*[inner(part) for part in term.fields])
            case t.Or():
                return z3.Or(*[inner(part) for part in term.fields])
            case t.Implies():
                return z3.Implies(inner(term.fields[0]), inner(term.fields[1]))
            case t.Same():
                return inner(term.fields[0]) == inner(term.fields[1])
            case t.Ite():
                return z3.If(*[inner(part) for part in term.fields])
            case t.Forall() | t.Exists():
                return self._quantified(term, env, now, then)
            case t.After() if then is not None:
                return self.term(term.fields[0], env, then)
        raise LanguageError(f"the symbolic reader does not know {type(term).__name__}: {term}")

    def _quantified(self, term: t.Forall | t.Exists, env: Env, now: Reader, then: Reader | None) -> Any:
        chain = []
        kind = type(term)
        body: Term = term
        inner = dict(env)
        while isinstance(body, kind):
            fresh = self.variable(body.variable.name, body.variable.sort)
            inner[body.variable] = fresh
            chain.append(fresh)
            body = body.body
        make = z3.ForAll if kind is t.Forall else z3.Exists
        return make(chain, self.term(body, inner, now, then))
