"""Machine mutants: every place where one of five operators can damage an action, no sampling.

A mutant is the machine with one action changed in one place.  Its name says where: `write/drop-condition/translated`,
`fence/drop-update/pub`.  Whoever kills it (a claim that is no longer inductive, a count that differs) shows that the
place matters; `mutant_killers` looks for that.  Two places that give the same action are one mutant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from shmem_model.language import (
    BOOL,
    Action,
    Condition,
    Function,
    Machine,
    Parameter,
    Term,
    Update,
    conj,
    disj,
    ite,
)
from shmem_model.language import terms as t
from shmem_model.language.text import show

OPERATORS = ("drop-condition", "drop-conjunct", "drop-update", "drop-part", "swap", "old-value")
"""`drop-condition` and `drop-conjunct` are the two sizes of one operator: a conjunct of the guard goes."""

Variant = tuple[str, Term]
"""What was done, in words, and the changed term."""


@dataclass(frozen=True)
class Mutant:
    """One damaged action: its name, what was done, and which functions' updates (none: which guard) it concerns."""

    name: str
    operator: str
    what: str
    original: Action
    action: Action
    function: Function | None = None

    def machine(self, machine: Machine) -> Machine:
        """The machine with the damaged action."""
        return machine.changed(self.action)


def mutants(machine: Machine) -> list[Mutant]:
    """All mutants of a machine, sorted by name; places that change nothing or repeat another are left out."""
    found: list[Mutant] = []
    for action in machine.actions.values():
        seen = [_shape(action)]
        for mutant in _of_action(action):
            shape = _shape(mutant.action)
            if shape not in seen:
                seen.append(shape)
                found.append(mutant)
    return sorted(found, key=lambda mutant: mutant.name)


def tenth(every: list[Mutant]) -> list[Mutant]:
    """The fixed part that the default suite runs: every tenth by name."""
    return every[::10]


def _shape(action: Action) -> object:
    return action.conditions, {function: update.body for function, update in action.updates.items()}


def _of_action(action: Action) -> Iterator[Mutant]:
    for place, condition in zip(_condition_names(action), action.conditions, strict=True):
        yield from _of_condition(action, place, condition)
    for function, update in action.updates.items():
        yield from _of_update(action, function, update)


def _condition_names(action: Action) -> list[str]:
    """The conditions by name; the second one of a name is `NAME.2`."""
    names: list[str] = []
    for condition in action.conditions:
        earlier = sum(c.name == condition.name for c in action.conditions[: len(names)])
        names.append(condition.name.replace(" ", "-").replace(",", "") + (f".{earlier + 1}" if earlier else ""))
    return names


def _of_condition(action: Action, place: str, condition: Condition) -> Iterator[Mutant]:
    def mutant(operator: str, where: str, what: str, new: Term | None) -> Mutant:
        changed = None if new is None else replace(condition, holds=new)
        conditions = tuple(changed if c is condition else c for c in action.conditions)
        kept = tuple(c for c in conditions if c is not None and c.holds is not t.TRUE)
        damaged = replace(action, conditions=kept)
        return Mutant(f"{action.name}/{operator}/{where}", operator, what, action, damaged)

    yield mutant("drop-condition", place, f"without the condition {condition.name!r}", None)
    for number, (what, new) in enumerate(_without_parts(condition.holds), 1):
        yield mutant("drop-conjunct", f"{place}/{number}", what, new)
    for pair, what, new in _swaps(action, condition.holds):
        yield mutant("swap", f"{place}/{pair}", what, new)


def _of_update(action: Action, function: Function, update: Update) -> Iterator[Mutant]:
    def mutant(operator: str, where: str, what: str, new: Term | None) -> Mutant:
        updates = {f: u for f, u in action.updates.items() if f is not function}
        if new is not None:
            updates = {f: replace(u, body=new) if f is function else u for f, u in action.updates.items()}
        damaged = replace(action, updates=updates)
        return Mutant(f"{action.name}/{operator}/{where}", operator, what, action, damaged, function)

    old = function(*function.formals)
    yield mutant("drop-update", function.name, f"{function.name} keeps its value", None)
    for number, (what, new) in enumerate(_without_parts(update.body), 1):
        if new is not old:  # else the whole update is gone, which has been seen
            yield mutant("drop-part", f"{function.name}/{number}", what, new)
    for pair, what, new in _swaps(action, update.body):
        yield mutant("swap", f"{function.name}/{pair}", what, new)
    for number, (what, new) in enumerate(_old_values(update.body, old), 1):
        if new is not old:
            yield mutant("old-value", f"{function.name}/{number}", what, new)


def _inside(term: Term, change: Callable[[Term], Iterator[Variant]]) -> Iterator[Variant]:
    """The term with one direct part changed by `change`.

    Binders keep their number: no operator makes a part higher, so numbers still grow outwards.
    """
    for place, part in enumerate(term.fields):
        if isinstance(part, Term) and not isinstance(part, t.Bound):
            for what, new in change(part):
                fields = [new if i == place else field for i, field in enumerate(term.fields)]
                yield what, _rebuild(term, fields)


def _rebuild(term: Term, fields: list[Term]) -> Term:
    """The same node over other parts, constants folded as when it is written."""
    match term:
        case t.And():
            return conj(*fields)
        case t.Or():
            return disj(*fields)
        case t.Not():
            return t.negation(fields[0])
        case t.Implies():
            return fields[0].implies(fields[1])
        case t.Ite():
            return ite(*fields)
        case t.Same():
            return fields[0].same(fields[1])
    return type(term)(*fields)


def _without_parts(term: Term) -> Iterator[Variant]:
    """The term without one operand of one of its conjunctions or disjunctions (an implication is one too)."""
    match term:
        case t.And() | t.Or():
            join = conj if isinstance(term, t.And) else disj
            word = "and" if isinstance(term, t.And) else "or"
            for gone in term.fields:
                yield (
                    f"without `{word} {show(gone)}`",
                    join(*(part for part in term.fields if part is not gone)),
                )
        case t.Implies():
            premise, conclusion = term.fields
            yield f"without `{show(premise)} ->`", conclusion
            yield f"without `-> {show(conclusion)}`", t.negation(premise)
    yield from _inside(term, _without_parts)


def _swaps(action: Action, term: Term) -> Iterator[tuple[str, str, Term]]:
    """The term with two parameters of one sort in each other's place."""
    for one, other in combinations(action.parameters, 2):
        if one.sort is other.sort:
            new = _swapped(term, one, other)
            if new is not term:
                yield f"{one.name}-{other.name}", f"{one.name} and {other.name} swapped", new


def _swapped(term: Term, one: Parameter, other: Parameter) -> Term:
    hole = Parameter("<swap>", one.sort)
    return t.replace(t.replace(t.replace(term, {one: hole}), {other: one}), {hole: other})


def _old_values(term: Term, old: Term) -> Iterator[Variant]:
    """The update's body with one value in it replaced by the function's old value."""

    def change(part: Term) -> Iterator[Variant]:
        if part is not old and _is_value(part, old):
            yield f"the old value for `{show(part)}`", old
        yield from _inside(part, change)

    yield from _inside(term, change) if not _is_value(term, old) else change(term)


def _is_value(part: Term, old: Term) -> bool:
    """Something that is written: of the right sort and, where that is Bool, read from the state."""
    if part.sort is not old.sort or isinstance(part, t.Formal):
        return False
    return old.sort is not BOOL or (isinstance(part, t.Apply) and part.function.layer != "platform")
