"""Terms as Python expressions over lists of cells, for readers that take many single steps in large scopes.

A state is one list per state function: `now_3` after the last step, `old_3` before it.  Whatever the platform decides
is folded away, quantifiers stop at the first element that decides them, and conditions are tested as early as their
variables are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from shmem_model.language import BOOL, Function, LanguageError, Sort, Term
from shmem_model.language import terms as t
from shmem_model.readers.scope import Scope

TRUE, FALSE = "True", "False"
NOW, OLD = "now", "old"
Names = Mapping[Term, str]
UNROLL = 5
"""Quantifiers over at most so many elements are written out."""


class Coder:
    """Writes terms of a scope's machine as Python."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.number = {f: i for i, f in enumerate(scope.machine.state)}
        self.tables: dict[str, tuple[int, ...]] = {}
        self._platform: dict[Function, str | int] = {}
        self._fresh = 0
        for i, function in enumerate(scope.machine.platform):
            self._add_table(function, f"table_{i}")

    def _add_table(self, function: Function, name: str) -> None:
        values = tuple(self.scope.platform_value(function, place) for place in self.scope.places(function))
        if len(set(values)) == 1:
            self._platform[function] = values[0]
        else:
            self._platform[function] = name
            self.tables[name] = values

    # ------------------------------------------------------------------ expressions

    def term(self, term: Term, names: Names, state: str = NOW) -> str:
        """The term as an expression; variables by `names`, cells of the state `state` (under `after`: of `now`)."""
        match term:
            case t.Truth():
                return TRUE if term.value else FALSE
            case t.Element():
                return str(term.index)
            case t.Parameter() | t.Formal() | t.Bound():
                return names[term]
            case t.Apply():
                return self._cell(term, [self.term(part, names, state) for part in term.parts], state)
            case t.After():
                return self.term(term.fields[0], names, NOW)
            case t.Forall():
                return negated(self._exists(term, False, names, state))
            case t.Exists():
                return self._exists(term, True, names, state)
        return self._connective(term, [self.term(part, names, state) for part in term.parts])

    def _connective(self, term: Term, parts: list[str]) -> str:
        match term:
            case t.Not():
                return negated(parts[0])
            case t.And():
                return joined("and", parts)
            case t.Or():
                return joined("or", parts)
            case t.Implies():
                return joined("or", [negated(parts[0]), parts[1]])
            case t.Same():
                return _same(*parts)
            case t.Ite():
                return _choice(*parts)
        raise LanguageError(f"the walker does not know terms of type {type(term).__name__}")

    def _cell(self, term: t.Apply, places: list[str], state: str) -> str:
        function = term.function
        index = self.index(function, places)
        if function in self.number:
            return f"{state}_{self.number[function]}[{index}]"
        if function not in self._platform:
            raise LanguageError(f"scope {self.scope.name}: function {function.name} is not part of the machine")
        table = self._platform[function]
        value = table if isinstance(table, int) else self.tables[table][int(index)] if index.isdigit() else None
        if value is None:
            return f"{table}[{index}]"
        return (FALSE, TRUE)[value] if function.result is BOOL else str(value)

    def index(self, function: Function, places: Sequence[str]) -> str:
        """The number of a cell."""
        code = "0"
        for sort, place in zip(function.arguments, places, strict=True):
            place = {TRUE: "1", FALSE: "0"}.get(place, place)
            code = _sum(_product(code, self.scope.size(sort)), place)
        return code

    def fresh(self, name: str) -> str:
        """A name for a variable that nothing else has."""
        self._fresh += 1
        return f"{''.join(c for c in name if c.isalnum()) or 'x'}_{self._fresh}"

    def elements(self, sort: Sort) -> str:
        """What a loop over the sort runs through."""
        return "(0, 1)" if sort is BOOL else f"range({self.scope.size(sort)})"

    # ------------------------------------------------------------------ quantifiers

    def _exists(self, term: Term, positive: bool, names: Names, state: str) -> str:
        """Some elements make the body true (or, for the negation of `every`, false)."""
        kind = t.Exists if positive else t.Forall
        variables: list[Term] = []
        while isinstance(term, kind):
            variables.append(term.variable)
            term = term.body
        return joined("or", [self._some(variables, parts, names, state) for parts in clauses(term, positive)])

    def _some(self, variables: list[Term], parts: Sequence[Term], names: Names, state: str) -> str:
        """Some values of the variables make all parts true; parts that mention none of them stand outside."""
        outside = [self.term(part, names, state) for part in parts if not mentions(part, variables)]
        inside = [part for part in parts if mentions(part, variables)]
        used = [v for v in variables if any(mentions(part, [v]) for part in inside)]
        if not used:
            return joined("and", outside)
        if len(used) == 1 and self.scope.size(used[0].sort) <= UNROLL:
            return joined("and", [*outside, self._unrolled(used[0], inside, names, state)])
        return joined("and", [*outside, self._loop(used, inside, names, state)])

    def _unrolled(self, variable: Term, parts: Sequence[Term], names: Names, state: str) -> str:
        ways = []
        for i in range(self.scope.size(variable.sort)):
            here = {**names, variable: str(i)}
            ways.append(joined("and", [self.term(part, here, state) for part in parts]))
        return joined("or", ways)

    def _loop(self, variables: Sequence[Term], parts: Sequence[Term], names: Names, state: str) -> str:
        code = ""
        for variable, tests in self.plan(variables, parts):
            names = {**names, variable: self.fresh(str(variable.fields[0]))}
            code += f" for {names[variable]} in {self.elements(variable.sort)}"
            test = joined("and", [self.term(part, names, state) for part in tests])
            if test != TRUE:
                code += f" if {test}"
        return f"any(True{code})"

    def plan(self, variables: Sequence[Term], parts: Sequence[Term]) -> Iterator[tuple[Term, list[Term]]]:
        """An order of the variables that decides parts early, each with the parts that it decides."""
        left, waiting = list(variables), list(parts)
        while left:
            open_ = [[v for v in left if mentions(part, [v])] for part in waiting]

            def merit(variable: Term, open_: list[list[Term]] = open_) -> tuple[int, int, int]:
                """Most parts decided at once, then most parts advanced, then fewest elements."""
                decided = sum(free == [variable] for free in open_)
                return -decided, -sum(variable in free for free in open_), self.scope.size(variable.sort)

            chosen = min(left, key=merit)
            left.remove(chosen)
            tests = [part for part in waiting if not mentions(part, left)]
            waiting = [part for part in waiting if part not in tests]
            yield chosen, tests


def clauses(term: Term, positive: bool = True) -> list[tuple[Term, ...]]:
    """The term (or its negation) as a disjunction of conjunctions, as far as that takes no multiplying out."""
    match term:
        case t.Not():
            return clauses(term.fields[0], not positive)
        case t.Truth():
            return [()] if term.value == positive else []
        case t.Implies() if positive:
            return [*clauses(term.fields[0], False), *clauses(term.fields[1], True)]
        case t.And() | t.Or() if isinstance(term, t.Or) == positive:
            return [clause for part in term.fields for clause in clauses(part, positive)]
    return [tuple(literals(term, positive))]


def literals(term: Term, positive: bool = True) -> Iterator[Term]:
    """The conjuncts of the term (or of its negation)."""
    match term:
        case t.Not():
            yield from literals(term.fields[0], not positive)
        case t.Implies() if not positive:
            yield from literals(term.fields[0], True)
            yield from literals(term.fields[1], False)
        case t.And() | t.Or() if isinstance(term, t.And) == positive:
            for part in term.fields:
                yield from literals(part, positive)
        case _:
            yield term if positive else t.negation(term)


def mentions(term: Term, variables: Iterable[Term]) -> bool:
    """One of the variables occurs in the term."""
    wanted = set(variables)
    return bool(wanted) and any(node in wanted for node in t.walk(term))


def negated(code: str) -> str:
    """The opposite of a Boolean expression."""
    return {TRUE: FALSE, FALSE: TRUE}.get(code) or f"(not {code})"


def joined(word: str, parts: Sequence[str]) -> str:
    """The parts joined by `and` or `or`, constants folded."""
    decisive, other = (FALSE, TRUE) if word == "and" else (TRUE, FALSE)
    if decisive in parts:
        return decisive
    open_ = list(dict.fromkeys(part for part in parts if part != other))
    if len(open_) < 2:
        return open_[0] if open_ else other
    return f"({f' {word} '.join(open_)})"


def _same(left: str, right: str) -> str:
    if left == right:
        return TRUE
    if left.isdigit() and right.isdigit():
        return FALSE
    return f"({left} == {right})"


def _choice(condition: str, then: str, otherwise: str) -> str:
    if condition in (TRUE, FALSE):
        return then if condition == TRUE else otherwise
    return then if then == otherwise else f"({then} if {condition} else {otherwise})"


def _product(code: str, factor: int) -> str:
    if code.isdigit():
        return str(int(code) * factor)
    return code if factor == 1 else f"({code})*{factor}" if "+" in code else f"{code}*{factor}"


def _sum(code: str, place: str) -> str:
    if code.isdigit() and place.isdigit():
        return str(int(code) + int(place))
    return place if code == "0" else code if place == "0" else f"{code}+{place}"


def compiled(source: str, namespace: dict[str, Any], name: str) -> dict[str, Any]:
    """Run generated source; what it defines is in the namespace."""
    exec(compile(source, f"<{name}>", "exec"), namespace)
    return namespace
