"""The second reading: machine terms as cvc5 terms, made neither from Z3 terms nor by our own substitution.

What a second solver says is worth more if the question, too, is built a second way.  So this reader
starts from the tree again, and the state after a step is not made by replacing functions in a formula: each
updated function gets a definition of its own (`define-fun` in SMT-LIB), which cvc5 expands.  What an action
does not update has no definition and stays the same symbol, so there are no frame axioms to forget.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import cvc5
from cvc5 import Kind

from shmem_model.language import BOOL, Function, LanguageError, Machine, Property, Sort, Term
from shmem_model.language import terms as t

Symbols = Mapping[Function, Any]
"""What every function is called in one state."""
Env = Mapping[Term, Any]
Definition = tuple[tuple[Any, ...], Any]
"""Variables, and the value in terms of them."""

_CONNECTIVES = {
    t.Not: Kind.NOT,
    t.And: Kind.AND,
    t.Or: Kind.OR,
    t.Implies: Kind.IMPLIES,
    t.Same: Kind.EQUAL,
    t.Ite: Kind.ITE,
}
_QUANTIFIERS = {t.Forall: Kind.FORALL, t.Exists: Kind.EXISTS}


class SecondUniverse:
    """The sorts and functions of a machine as cvc5 knows them; every symbol made is a new one."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.manager = cvc5.TermManager()
        self.sorts: dict[Sort, Any] = {BOOL: self.manager.getBooleanSort()}
        for sort in machine.sorts:
            self.sorts[sort] = self.manager.mkUninterpretedSort(sort.name)
        self.now: Symbols = {f: self._symbol(f, f.name) for f in machine.functions}

    def _symbol(self, function: Function, name: str) -> Any:
        result = self.sorts[function.result]
        if not function.arguments:
            return self.manager.mkConst(result, name)
        arguments = [self.sorts[sort] for sort in function.arguments]
        return self.manager.mkConst(self.manager.mkFunctionSort(arguments, result), name)

    def another_state(self, suffix: str) -> Symbols:
        """Symbols for a second state on the same platform."""
        platform = set(self.machine.platform)
        return {f: s if f in platform else self._symbol(f, f.name + suffix) for f, s in self.now.items()}

    def closed(
        self, claim: Property, env: Env | None = None, now: Symbols | None = None, then: Symbols | None = None
    ) -> Any:
        """A claim, for all values of its variables; of the state `now` (and the other state `then`)."""
        variables: dict[Term, Any] = {v: self.manager.mkVar(self.sorts[v.sort], v.name) for v in claim.variables}
        body = self.term(claim.body, {**(env or {}), **variables}, now or self.now, then)
        if not variables:
            return body
        bound = self.manager.mkTerm(Kind.VARIABLE_LIST, *variables.values())
        return self.manager.mkTerm(Kind.FORALL, bound, body)

    def constants(self, variables: Iterable[t.Parameter], prefix: str) -> dict[Term, Any]:
        """A constant for each parameter or free variable."""
        return {v: self.manager.mkConst(self.sorts[v.sort], prefix + v.name) for v in variables}

    def constant(self, name: str, sort: Sort) -> Any:
        """A constant of a sort."""
        return self.manager.mkConst(self.sorts[sort], name)

    def definition(self, function: Function, body: Term, env: Env, now: Symbols) -> Definition:
        """The function that has this value, in terms of its formals."""
        variables = tuple(self.manager.mkVar(self.sorts[x.sort], x.name) for x in function.formals)
        places: dict[Term, Any] = dict(zip(function.formals, variables, strict=True))
        inner: Env = {**env, **places}
        return variables, self.term(body, inner, now)

    def define(self, solver: Any, definitions: Mapping[Function, Definition], before: Symbols) -> Symbols:
        """Tell a solver the definitions; answers the symbols of the state in which they hold."""
        after = dict(before)
        for function, (variables, body) in definitions.items():
            result = self.sorts[function.result]
            after[function] = solver.defineFun(f"{function.name}*", list(variables), result, body)
        return after

    def term(self, term: Term, env: Env, now: Symbols, then: Symbols | None = None) -> Any:
        """The cvc5 term: variables from `env`, functions from `now`, those under `after` from `then`."""
        found = env.get(term)
        if found is not None:
            return found
        kind = _CONNECTIVES.get(type(term))
        if kind is not None:
            return self.manager.mkTerm(kind, *[self.term(part, env, now, then) for part in term.parts])
        match term:
            case t.Truth():
                return self.manager.mkBoolean(term.value)
            case t.Apply():
                symbol = now[term.function]
                arguments = [self.term(part, env, now, then) for part in term.parts]
                return self.manager.mkTerm(Kind.APPLY_UF, symbol, *arguments) if arguments else symbol
            case t.After() if then is not None:
                return self.term(term.fields[0], env, then)
            case t.Forall() | t.Exists():
                variable = self.manager.mkVar(self.sorts[term.variable.sort], term.variable.name)
                body = self.term(term.body, {**env, term.variable: variable}, now, then)
                bound = self.manager.mkTerm(Kind.VARIABLE_LIST, variable)
                return self.manager.mkTerm(_QUANTIFIERS[type(term)], bound, body)
        raise LanguageError(f"the second reader does not know {type(term).__name__}: {term}")
