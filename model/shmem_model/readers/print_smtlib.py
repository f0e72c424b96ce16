"""Print a machine's induction obligations as SMT-LIB 2.6, one text each, for any solver that reads the
standard.

The obligation `ACTION/INVARIANT` asks for a state in which the axioms and all invariants hold and the action
can be taken, but after which the invariant does not hold; `init/INVARIANT` asks whether the initial state
breaks it. The answer must be `unsat`.  There is one state in each text: the state after the step is written
by putting the action's new values into the invariant (weakest precondition), so what a step does not change
needs no axiom. Known to settle them: `z3 FILE` and `cvc5 --enum-inst FILE`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from shmem_model.language import BOOL, Action, Function, LanguageError, Machine, Property, Sort, Term
from shmem_model.language import terms as t
from shmem_model.readers.printing import Names

RESERVED = frozenset(
    """abs and array as assert bag bin bool bv bvadd check-sat const continue declare-const declare-fun
    declare-sort define-fun dec default distinct div divisible exists exit false fill forall function hex
    implies int is is_int ite iff lambda let map match mod ms not num or par pi pop push real rel rem seq
    select set store str string table to_int to_real true tuple update xor""".split()
)


def obligations(machine: Machine) -> Iterator[tuple[str, str]]:
    """(name, text) for the initial state and every action, each with every invariant."""
    if not machine.invariants:
        raise LanguageError(f"machine {machine.name} claims no invariants: nothing would be proved")
    printer = _Printer(machine)
    for claim in machine.invariants:
        yield f"init/{claim.name}", printer.at_start(claim)
    for action in machine.actions.values():
        for claim in machine.invariants:
            yield f"{action.name}/{claim.name}", printer.after(action, claim)


@dataclass(frozen=True)
class _Here:
    """Where a term is printed: what its variables are called, and whether `new` values stand for the
    functions.

    Every quantifier that is printed gets a name that nothing else in the text has, so a new value that comes
    under it cannot be captured.
    """

    names: Names
    variables: Mapping[Term, str] = field(default_factory=dict)
    new: Mapping[Function, Term] = field(default_factory=dict)

    def bind(self, variable: t.Bound) -> tuple[_Here, str]:
        """Inside a quantifier, and the fresh name of its variable."""
        name = self.names.add(object(), f"{variable.name}_{len(self.names)}")
        return replace(self, variables={**self.variables, variable: name}), name


class _Printer:
    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.names = Names(RESERVED)
        for sort in machine.sorts:
            self.names.add(sort, sort.name)
        for function in machine.functions:
            self.names.add(function, function.name)
        self.closed = {claim.name: claim.closed for claim in (*machine.axioms, *machine.invariants)}
        axioms = [self.claim(axiom) for axiom in machine.axioms]
        self.always = [*self.declarations(), "", "; What is assumed of the platform.", *axioms]
        self.before = [
            "",
            "; The state before the step.",
            *(self.claim(claim) for claim in machine.invariants),
        ]

    def declarations(self) -> Iterator[str]:
        yield from (f"(declare-sort {self.names[sort]} 0)" for sort in self.machine.sorts)
        for function in self.machine.functions:
            arguments = " ".join(map(self.sort, function.arguments))
            yield f"(declare-fun {self.names[function]} ({arguments}) {self.sort(function.result)})"

    def at_start(self, claim: Property) -> str:
        """Does the initial state break the claim?"""
        here = _Here(self.names.inside((), ()), new=self.machine.initial)
        sentence = f"The initial state satisfies `{claim.name}`: {claim.sentence}"
        return self.file(sentence, [], self.text(self.closed[claim.name], here))

    def after(self, action: Action, claim: Property) -> str:
        """Can the action lead from a state where all claims hold to one where this claim does not?"""
        names = self.names.inside(action.parameters, ())
        parameters: dict[Term, str] = {p: names[p] for p in action.parameters}
        here = _Here(names, parameters)
        step = [f"(declare-const {names[p]} {self.sort(p.sort)})" for p in action.parameters]
        for condition in action.conditions:
            step.append(f"(assert {self.text(condition.holds, here)}) ; {condition.kind}: {condition.name}")
        after = replace(here, new={function: update.body for function, update in action.updates.items()})
        sentence = f"`{action.name}` keeps `{claim.name}`: {claim.sentence}"
        given = [*self.before, "", "; The step.", *step]
        return self.file(sentence, given, self.text(self.closed[claim.name], after))

    def file(self, sentence: str, given: Iterable[str], goal: str) -> str:
        head = [
            f"; {sentence}",
            "(set-info :smt-lib-version 2.6)",
            "(set-logic UF)",
            "",
        ]
        asked = ["", "; This must be impossible.", f"(assert (not {goal}))", "(check-sat)", "(exit)", ""]
        return "\n".join([*head, *self.always, *given, *asked])

    def claim(self, claim: Property) -> str:
        return f"(assert {self.text(self.closed[claim.name], _Here(self.names.inside((), ())))}) ; {claim.name}"

    def sort(self, sort: Sort) -> str:
        return "Bool" if sort is BOOL else self.names[sort]

    def text(self, term: Term, here: _Here) -> str:
        match term:
            case t.Truth():
                return "true" if term.value else "false"
            case t.Parameter() | t.Bound() | t.Formal():
                return here.variables[term]
            case t.Apply():
                return self.application(term, here)
            case t.Not() | t.And() | t.Or() | t.Implies() | t.Same() | t.Ite():
                return _list(_WORDS[type(term)], (self.text(part, here) for part in term.parts))
            case t.Forall() | t.Exists():
                word = "forall" if isinstance(term, t.Forall) else "exists"
                inside, name = here.bind(term.variable)
                return f"({word} (({name} {self.sort(term.variable.sort)})) {self.text(term.body, inside)})"
        raise LanguageError(f"the SMT-LIB printer does not know {type(term).__name__}")

    def application(self, term: t.Apply, here: _Here) -> str:
        arguments = [self.text(part, here) for part in term.parts]
        if term.function not in here.new:
            return _list(self.names[term.function], arguments) if arguments else self.names[term.function]
        formals: dict[Term, str] = dict(zip(term.function.formals, arguments, strict=True))
        before = _Here(here.names, {**here.variables, **formals})
        return self.text(here.new[term.function], before)


def _list(head: str, parts: Iterable[str]) -> str:
    return f"({' '.join([head, *parts])})"


_WORDS: dict[type[Term], str] = {
    t.Not: "not",
    t.And: "and",
    t.Or: "or",
    t.Implies: "=>",
    t.Same: "=",
    t.Ite: "ite",
}
