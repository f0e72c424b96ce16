"""Print a machine as a TLA+ module, and a scope as a model of that module that TLC can check.

`tla(machine)` knows no sizes: sorts are constant sets, platform functions constant functions.  Every action
is an operator over its parameters: its conditions, the new value of each function that it updates, and what
stays UNCHANGED.  `tla_model(scope)` adds elements, tables and a start state, and `tla_config(scope)` is TLC's
configuration.  Properties of steps are not printed.

TLC finds as many distinct states as the explorer.  It takes every disjunct of a condition as a step of its
own, so it may generate more states than there are transitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from shmem_model.language import BOOL, Action, Function, LanguageError, Machine, Property, Sort, Term, Update
from shmem_model.language import terms as t
from shmem_model.readers.printing import Names, assignment, decision, element_name, elements_of
from shmem_model.readers.scope import Scope, look_up

RESERVED = frozenset(
    """action assume assumption axiom boolean by case choose constant constants corollary def define defs
    domain else enabled except extends false have hide if in instance lambda lemma let local module new
    obvious omitted only other pick proof proposition prove qed recursive sf_ state string subset suffices
    take temporal then theorem true unchanged union use using variable variables wf_ with witness init next
    spec typeok vars mc_init""".split()
)


def tla(machine: Machine) -> str:
    """The machine, for any sizes, as the text of a TLA+ module."""
    return "\n".join(_Printer(machine).module()) + "\n"


def tla_module_name(machine: Machine) -> str:
    """The name of the module that `tla` prints; its file must be called so."""
    return _Printer(machine).module_name


def tla_model(scope: Scope) -> str:
    """The module `MC_…` that gives the scope's elements, platform and start to the machine's module."""
    return "\n".join(_Model(scope).module()) + "\n"


def tla_config(scope: Scope) -> str:
    """TLC's configuration for the module `MC_…` of the scope."""
    return "\n".join(_Model(scope).config()) + "\n"


class _Printer:
    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.names = Names(RESERVED)
        self.module_name = self.names.add("module", machine.name)
        for sort in machine.sorts:
            self.names.add(sort, sort.name)
        for function in machine.functions:
            self.names.add(function, function.name)
        self.elements = elements_of(self.terms())
        for element in self.elements:
            self.names.add((element.sort, element.index), element_name(element.sort, element.name))
        for action in machine.actions.values():
            self.names.add(("action", action.name), action.name)
        for claim in (*machine.axioms, *machine.invariants):
            self.names.add(claim, claim.name)

    def terms(self) -> Iterator[Term]:
        yield from self.machine.initial.values()
        for action in self.machine.actions.values():
            yield from (condition.holds for condition in action.conditions)
            yield from (update.body for update in action.updates.values())
        for claim in (*self.machine.axioms, *self.machine.invariants):
            yield claim.body

    # The module.

    def module(self) -> Iterator[str]:
        yield f"---- MODULE {self.module_name} ----"
        yield "\\* Sorts: non-empty sets of any size."
        yield f"CONSTANTS {', '.join(self.names[sort] for sort in self.machine.sorts)}"
        for element in self.elements:
            name = self.names[element.sort, element.index]
            yield f"CONSTANT {name}\nASSUME {name} \\in {self.names[element.sort]}"
        for function in self.machine.platform:
            name = self.names[function]
            yield f"CONSTANT {name} \\* {function.sentence}\nASSUME {name} \\in {self.type(function)}"
        for axiom in self.machine.axioms:
            yield f"\n\\* {axiom.sentence}\nASSUME {self.closed(axiom)}"
        yield "\nVARIABLES"
        names = [self.names[function] for function in self.machine.state]
        for name, function, comma in zip(names, self.machine.state, [","] * (len(names) - 1) + [""], strict=True):
            yield f"  {name}{comma} \\* {function.sentence}"
        yield f"\nvars == <<{', '.join(names)}>>"
        yield "\nTypeOK =="
        yield from (f"  /\\ {self.names[f]} \\in {self.type(f)}" for f in self.machine.state)
        yield "\nInit =="
        yield from (f"  /\\ {self.names[f]} = {self.initial(f)}" for f in self.machine.state)
        for action in self.machine.actions.values():
            yield from self.action(action)
        yield from self.next()
        for claim in self.machine.invariants:
            yield f"\n\\* {claim.sentence}\n{self.names[claim]} ==\n  {self.closed(claim)}"
        yield "\n===="

    def sort(self, sort: Sort) -> str:
        return "BOOLEAN" if sort is BOOL else self.names[sort]

    def type(self, function: Function) -> str:
        if not function.arguments:
            return self.sort(function.result)
        return "[" + " \\X ".join(map(self.sort, function.arguments)) + f" -> {self.sort(function.result)}]"

    def initial(self, function: Function) -> str:
        body = self.machine.initial[function]
        return self.constructor(function, body, self.names.inside((), [body]))

    def constructor(self, function: Function, body: Term, names: Names) -> str:
        """The function whose value at its formals is the body."""
        if not function.arguments:
            return self.text(body, names)
        over = ", ".join(f"{names.add(x, _formal(x))} \\in {self.sort(x.sort)}" for x in function.formals)
        return f"[{over} |-> {self.text(body, names)}]"

    def closed(self, claim: Property) -> str:
        return self.text(claim.closed, self.names.inside((), [claim.closed]))

    # Actions.

    def action(self, action: Action) -> Iterator[str]:
        bodies = [update.body for update in action.updates.values()]
        names = self.names.inside(action.parameters, [*(c.holds for c in action.conditions), *bodies])
        arguments = ", ".join(names[p] for p in action.parameters)
        yield f"\n\\* {action.sentence}"
        yield self.names["action", action.name] + (f"({arguments})" if arguments else "") + " =="
        for condition in action.conditions:
            yield f"  \\* {condition.kind}: {condition.name}"
            yield f"  /\\ {self.text(condition.holds, names)}"
        for update in action.updates.values():
            yield f"  /\\ {self.names[update.function]}' = {self.new(update, names)}"
        same = [self.names[f] for f in self.machine.state if f not in action.updates]
        yield f"  /\\ UNCHANGED <<{', '.join(same)}>>"

    def new(self, update: Update, names: Names) -> str:
        """The new value of a function: with EXCEPT where one cell changes."""
        change = assignment(update)
        if not change.place or change.loops or change.inner is not t.TRUE or change.outer is not t.TRUE:
            return self.constructor(update.function, update.body, names)
        place = ", ".join(self.text(part, names) for part in change.place)
        return f"[{self.names[update.function]} EXCEPT ![{place}] = {self.text(change.value, names)}]"

    def next(self) -> Iterator[str]:
        yield "\nNext =="
        for action in self.machine.actions.values():
            names = self.names.inside(action.parameters, ())
            over = ", ".join(f"{names[p]} \\in {self.sort(p.sort)}" for p in action.parameters)
            call = self.names["action", action.name]
            arguments = ", ".join(names[p] for p in action.parameters)
            yield f"  \\/ \\E {over} : {call}({arguments})" if arguments else f"  \\/ {call}"
        if not self.machine.actions:
            raise LanguageError(f"machine {self.machine.name} has no actions to print")
        yield "\nSpec == Init /\\ [][Next]_vars"

    # Terms.

    def text(self, term: Term, names: Names) -> str:
        match term:
            case t.Truth():
                return "TRUE" if term.value else "FALSE"
            case t.Parameter() | t.Formal() | t.Bound():
                return names[term]
            case t.Element():
                return names[term.sort, term.index]
            case t.Apply():
                inside = ", ".join(self.text(part, names) for part in term.parts)
                return names[term.function] + (f"[{inside}]" if inside else "")
            case t.Not():
                return f"~{self.text(term.fields[0], names)}"
            case t.And() | t.Or() | t.Implies() | t.Same():
                sign = {t.And: "/\\", t.Or: "\\/", t.Implies: "=>", t.Same: "="}[type(term)]
                return "(" + f" {sign} ".join(self.text(part, names) for part in term.fields) + ")"
            case t.Ite():
                condition, then, otherwise = (self.text(part, names) for part in term.fields)
                return f"(IF {condition} THEN {then} ELSE {otherwise})"
            case t.Forall() | t.Exists():
                word = "\\A" if isinstance(term, t.Forall) else "\\E"
                over = f"{names[term.variable]} \\in {self.sort(term.variable.sort)}"
                return f"({word} {over} : {self.text(term.body, names)})"
        raise LanguageError(f"the TLA+ printer does not know {type(term).__name__}")


def _formal(formal: t.Formal) -> str:
    return f"{formal.name}_{formal.sort.name.lower()}"


class _Model(_Printer):
    """A scope's elements, tables and start, on top of the machine's module."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope.machine)
        self.scope = scope
        self.declared = {self.names[e.sort, e.index] for e in self.elements}
        self.model_name = self.names.add("model", f"MC_{scope.machine.name}")
        for sort in scope.machine.sorts:
            self.names.add(("set", sort), f"MC_{sort}")
            for index in range(scope.size(sort)):
                self.names.add((sort, index), element_name(sort, scope.label(sort, index)))
        for function in scope.machine.platform:
            self.names.add(("table", function), f"MC_{function}")

    def module(self) -> Iterator[str]:
        yield f"---- MODULE {self.model_name} ----"
        yield f"\\* Scope {self.scope.name}.  Run TLC with -deadlock: a state without a next one is no error."
        yield f"EXTENDS {self.module_name}"
        new = [name for sort in self.machine.sorts for name in self.members(sort) if name not in self.declared]
        yield f"CONSTANTS {', '.join(new)}" if new else ""
        for sort in self.machine.sorts:
            yield f"{self.names['set', sort]} == {_set(self.members(sort))}"
        for function in self.machine.platform:
            table = {p: self.scope.platform_value(function, p) for p in self.scope.places(function)}
            yield f"\n{self.names['table', function]} ==\n  {self.table(function, table, 'set')}"
        yield "\nMC_Init =="
        for function in self.machine.state:
            yield f"  /\\ {self.names[function]} = {self.begin(function)}"
        yield "\n===="

    def config(self) -> Iterator[str]:
        yield "CONSTANTS"
        for sort in self.machine.sorts:
            yield from (f"  {name} = {name}" for name in self.members(sort))
            yield f"  {self.names[sort]} <- {self.names['set', sort]}"
        for function in self.machine.platform:
            yield f"  {self.names[function]} <- {self.names['table', function]}"
        yield "INIT MC_Init\nNEXT Next\nINVARIANT TypeOK"
        yield from (f"INVARIANT {self.names[claim]}" for claim in self.machine.invariants)

    def members(self, sort: Sort) -> list[str]:
        return [self.names[sort, index] for index in range(self.scope.size(sort))]

    def begin(self, function: Function) -> str:
        if function not in self.scope.start:
            return self.initial(function)
        start = self.scope.start[function]
        return self.table(function, {p: look_up(start, p) for p in self.scope.places(function)})

    def table(self, function: Function, values: Mapping[tuple[int, ...], int], sets: str = "") -> str:
        """A function given by its values; `sets` tells that the sorts' own names are not defined yet."""
        names = self.names.inside((), [function(*function.formals)])
        formals = function.formals

        def choose(position: int, indices: list[int], then: str, otherwise: str) -> str:
            members = _set(self.value(formals[position].sort, i) for i in indices)
            return f"(IF {names[formals[position]]} \\in {members} THEN {then} ELSE {otherwise})"

        body = decision(values, lambda value: self.value(function.result, value), choose)
        if not formals:
            return body
        over = (f"{names[x]} \\in {self.names['set', x.sort] if sets else self.names[x.sort]}" for x in formals)
        return f"[{', '.join(over)} |-> {body}]"

    def value(self, sort: Sort, index: int) -> str:
        if sort is BOOL:
            return "TRUE" if index else "FALSE"
        if (sort, index) not in self.names:
            raise LanguageError(f"scope {self.scope.name}: sort {sort} has no element {index}")
        return self.names[sort, index]


def _set(members: Iterable[str]) -> str:
    return "{" + ", ".join(members) + "}"
