"""Print a scope as a Murphi model, so that a model checker that we did not write can explore it.

Every parameter of an action is a ruleset variable and every condition a conjunct of its rule's guard, so the
number of rules that the checker fires is the number of transitions.  Sorts are enumerations (no symmetry
reduction).  The variables are the functions that some action can change; the others are constants and stand
where they are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shmem_model.language import BOOL, Action, Function, LanguageError, Property, Sort, Term, replace
from shmem_model.language import terms as t
from shmem_model.readers.printing import Assignment, Names, assignment, decision, element_name, ordered
from shmem_model.readers.scope import Scope, look_up

KEYWORDS = frozenset(
    """alias array assert assume begin boolean by case cast choose clear const cover do else elsif end
    endalias endexists endfor endforall endfunction endif endprocedure endrecord endrule endruleset
    endstartstate endswitch endwhile enum error exists externfun externproc false finalexpr for forall forget
    function if import importance in interleaved invariant ismember isundefined liveness log_property multiset
    multisetadd multisetcount multisetremove new of procedure process program property put real record return
    rule ruleset save scalarset smart startstate switch then to traceuntil true type undefine union var
    while""".split()
)


def murphi(scope: Scope, properties: Iterable[Property] | None = None) -> str:
    """The scope as a complete Murphi model; `properties` defaults to the invariants of its machine.

    A property of kind `state` becomes a cover property (some reachable state must be in it).
    """
    chosen = scope.machine.invariants if properties is None else tuple(properties)
    return "\n".join(_Printer(scope).model(chosen)) + "\n"


class _Printer:
    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.variables = [function for function in scope.machine.state if self.can_change(function)]
        if not self.variables:
            raise LanguageError(f"scope {scope.name}: no action changes anything, there is nothing to explore")
        self.names = Names(KEYWORDS)
        for sort in scope.machine.sorts:
            self.names.add(sort, sort.name)
        for function in self.variables:
            self.names.add(function, function.name)
        for sort in scope.machine.sorts:
            for index in range(scope.size(sort)):
                self.names.add((sort, index), element_name(sort, scope.label(sort, index)))

    def can_change(self, function: Function) -> bool:
        """Some action updates the function, and not only to the Boolean that it is everywhere at the start."""
        actions = self.scope.machine.actions.values()
        new = {assignment(a.updates[function]).value for a in actions if function in a.updates}
        old = {self.scope.machine.initial[function]}
        if function in self.scope.start:
            values = {look_up(self.scope.start[function], place) for place in self.scope.places(function)}
            old = {t.Truth(bool(value)) for value in values} if function.result is BOOL else set()
        return bool(new) and not (new == old and old <= {t.TRUE, t.FALSE} and len(old) == 1)

    def model(self, properties: Iterable[Property]) -> Iterator[str]:
        yield f"-- {self.scope.machine.name}: {self.scope.name}"
        yield "type"
        for sort in self.scope.machine.sorts:
            members = ", ".join(self.names[sort, index] for index in range(self.scope.size(sort)))
            yield f"  {self.names[sort]}: enum {{ {members} }};"
        yield "var"
        for function in self.variables:
            kind = self.array(function.arguments, function.result)
            yield f"  {self.names[function]}: {kind}; -- {function.sentence}"
        yield from self.start()
        for action in self.scope.machine.actions.values():
            yield from self.rule(action)
        for claim in properties:
            yield from self.property(claim)

    def sort(self, sort: Sort) -> str:
        return "boolean" if sort is BOOL else self.names[sort]

    def array(self, places: Iterable[Sort], result: Sort) -> str:
        return "".join(f"array [{self.sort(sort)}] of " for sort in places) + self.sort(result)

    # The start state.

    def start(self) -> Iterator[str]:
        yield f"\nstartstate {_quoted(self.scope.name)}"
        yield "begin"
        for function in self.variables:
            yield from _indented(self.start_of(function))
        yield "end;"

    def start_of(self, function: Function) -> Iterator[str]:
        initial = self.scope.machine.initial[function]
        names = self.names.inside((), [*function.formals, initial])
        cell = _index(self.names[function], (names[x] for x in function.formals))
        loops = [(names[x], self.sort(x.sort)) for x in function.formals]
        if function not in self.scope.start:
            yield from _loop(loops, [f"{cell} := {self.text(initial, names)};"])
            return
        values = {place: look_up(self.scope.start[function], place) for place in self.scope.places(function)}
        usual = max(sorted(set(values.values())), key=list(values.values()).count)
        yield from _loop(loops, [f"{cell} := {self.value(function.result, usual)};"])
        for place, value in values.items():
            if value != usual:
                where = (self.value(sort, i) for sort, i in zip(function.arguments, place, strict=True))
                yield f"{_index(self.names[function], where)} := {self.value(function.result, value)};"

    def value(self, sort: Sort, index: int) -> str:
        if sort is BOOL:
            return "true" if index else "false"
        if not 0 <= index < self.scope.size(sort):
            raise LanguageError(f"scope {self.scope.name}: sort {sort} has no element {index}")
        return self.names[sort, index]

    # Rules.

    def rule(self, action: Action) -> Iterator[str]:
        changes = {f: update for f, update in action.updates.items() if f in self.variables}
        temporary, in_place = ordered(changes)
        parts = [part for a in (*temporary, *in_place) for part in (a.outer, a.inner, a.value, a.target)]
        names = self.names.inside(action.parameters, [*(c.holds for c in action.conditions), *parts])
        yield f"\n-- {action.sentence}"
        if action.parameters:
            yield ("ruleset " + "; ".join(f"{names[p]}: {self.sort(p.sort)}" for p in action.parameters) + " do")
        yield f"rule {_quoted(action.name)}"
        guard = [text for c in action.conditions if (text := self.text(c.holds, names)) != "true"]
        yield "  " + "\n  & ".join(guard or ["true"])
        yield "==>"
        new = {a.function: names.add(("new", a.function), f"new_{a.function.name}") for a in temporary}
        if temporary:
            yield "var"
        for a in temporary:
            yield f"  {new[a.function]}: {self.array((x.sort for x in a.loops), a.function.result)};"
        yield "begin"
        for a in temporary:
            yield from _indented(self.keep(a, names, new[a.function]))
        for a in in_place:
            yield from _indented(self.assign(a, names))
        for a in temporary:
            yield from _indented(self.put(a, names, new[a.function]))
        yield "end;"
        if action.parameters:
            yield "end;"

    def assign(self, a: Assignment, names: Names) -> Iterator[str]:
        change = [f"{self.text(a.target, names)} := {self.text(a.value, names)};"]
        inner = _where(self.text(a.inner, names), change)
        yield from _where(self.text(a.outer, names), _loop(self.loops(a, names), inner))

    def keep(self, a: Assignment, names: Names, new: str) -> Iterator[str]:
        cell = _index(new, (names[x] for x in a.loops))
        value = t.ite(t.conj(a.outer, a.inner), a.value, a.target)
        yield from _loop(self.loops(a, names), [f"{cell} := {self.text(value, names)};"])

    def put(self, a: Assignment, names: Names, new: str) -> Iterator[str]:
        cell = _index(new, (names[x] for x in a.loops))
        yield from _loop(self.loops(a, names), [f"{self.text(a.target, names)} := {cell};"])

    def loops(self, a: Assignment, names: Names) -> list[tuple[str, str]]:
        return [(names[x], self.sort(x.sort)) for x in a.loops]

    # Properties.

    def property(self, claim: Property) -> Iterator[str]:
        words = {"invariant": "invariant", "state": "cover"}
        if claim.kind not in words:
            raise LanguageError(f"property {claim.name}: Murphi has no properties of kind {claim.kind}")
        yield f"\n-- {claim.sentence}"
        yield f"{words[claim.kind]} {_quoted(claim.name)}"
        yield f"  {self.text(claim.closed, self.names.inside((), [claim.closed]))};"

    # Terms.

    def text(self, term: Term, names: Names) -> str:
        match term:
            case t.Truth():
                return "true" if term.value else "false"
            case t.Parameter() | t.Formal() | t.Bound():
                return names[term]
            case t.Element():
                return self.value(term.sort, term.index)
            case t.Apply():
                return self.application(term, names)
            case t.Not():
                return _choice(self.text(term.fields[0], names), "false", "true")
            case t.And():
                return _joined("&", "true", "false", (self.text(part, names) for part in term.fields))
            case t.Or():
                return _joined("|", "false", "true", (self.text(part, names) for part in term.fields))
            case t.Implies():
                premise, conclusion = (self.text(part, names) for part in term.fields)
                return conclusion if premise == "true" else f"({premise} -> {conclusion})"
            case t.Same():
                return "(" + " = ".join(self.text(part, names) for part in term.fields) + ")"
            case t.Ite():
                return _choice(*(self.text(part, names) for part in term.fields))
            case t.Forall() | t.Exists():
                word = "forall" if isinstance(term, t.Forall) else "exists"
                body = self.text(term.body, names)
                over = f"{names[term.variable]}: {self.sort(term.variable.sort)}"
                return body if body in ("true", "false") else f"({word} {over} do {body} end)"
        raise LanguageError(f"Murphi has no {type(term).__name__}")

    def application(self, term: t.Apply, names: Names) -> str:
        function, arguments = term.function, term.parts
        if function in self.names:
            return _index(self.names[function], (self.text(part, names) for part in arguments))
        if function.layer == "platform" or function in self.scope.start:
            return self.constant(function, arguments, names)
        initial = self.scope.machine.initial[function]
        return self.text(replace(initial, dict(zip(function.formals, arguments, strict=True))), names)

    def constant(self, function: Function, arguments: tuple[Term, ...], names: Names) -> str:
        """A function that never changes, as a case distinction on its arguments."""
        table = self.scope.platform if function.layer == "platform" else self.scope.start
        known = {i: a.index for i, a in enumerate(arguments) if isinstance(a, t.Element)}
        places = (p for p in self.scope.places(function) if all(p[i] == index for i, index in known.items()))

        def choose(position: int, indices: list[int], then: str, otherwise: str) -> str:
            argument = arguments[position]
            tests = (f"{self.text(argument, names)} = {self.value(argument.sort, i)}" for i in indices)
            return _choice(f"({' | '.join(tests)})", then, otherwise)

        values = {place: look_up(table[function], place) for place in places}
        return decision(values, lambda value: self.value(function.result, value), choose)


def _joined(sign: str, neutral: str, absorbing: str, parts: Iterable[str]) -> str:
    """A con- or disjunction; what is known is left out."""
    left = [part for part in dict.fromkeys(parts) if part != neutral]
    if absorbing in left:
        return absorbing
    return neutral if not left else left[0] if len(left) == 1 else f"({f' {sign} '.join(left)})"


def _choice(test: str, then: str, otherwise: str) -> str:
    if test in ("true", "false"):
        return then if test == "true" else otherwise
    if (then, otherwise) == ("true", "false"):
        return test
    if (then, otherwise) == ("false", "true"):
        return f"!{test}"
    return f"({test} ? {then} : {otherwise})"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "/").replace('"', "'") + '"'


def _index(name: str, places: Iterable[str]) -> str:
    return name + "".join(f"[{place}]" for place in places)


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _where(condition: str, lines: Iterable[str]) -> Iterator[str]:
    if condition in ("true", "false"):
        yield from lines if condition == "true" else ()
        return
    yield f"if {condition} then"
    yield from _indented(lines)
    yield "end;"


def _loop(loops: list[tuple[str, str]], lines: Iterable[str]) -> Iterator[str]:
    lines = list(lines)
    if not loops or not lines:
        yield from lines
        return
    (name, sort), rest = loops[0], loops[1:]
    yield f"for {name}: {sort} do"
    yield from _indented(_loop(rest, lines))
    yield "end;"
