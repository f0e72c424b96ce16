"""What the printers (Murphi, TLA+, SMT-LIB) have in common: names that a target accepts, updates as
assignments.

Printers are pure: a machine or a scope in, text out.  Their texts go to tools that other people wrote, so
that those can contradict us; hence they print the plain tree and share no evaluation with the other readers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass

from shmem_model.language import (
    FALSE,
    TRUE,
    Element,
    Function,
    LanguageError,
    Parameter,
    Sort,
    Term,
    Update,
    conj,
    disj,
    replace,
)
from shmem_model.language import terms as t


class Names:
    """Identifiers for one target: each thing keeps one name, no two things share one, no keyword is used.

    Names that differ only in case count as equal, since some tools of the Murphi family ignore case.
    """

    def __init__(self, reserved: Iterable[str]) -> None:
        self._taken = {word.lower() for word in reserved}
        self._names: dict[Hashable, str] = {}

    def __getitem__(self, thing: Hashable) -> str:
        try:
            return self._names[thing]
        except KeyError:
            raise LanguageError(f"nothing was named {thing!r} in the printed text") from None

    def __contains__(self, thing: Hashable) -> bool:
        return thing in self._names

    def __len__(self) -> int:
        return len(self._names)

    def add(self, thing: Hashable, wish: str) -> str:
        """Name a thing after the wish, changed as little as needed; a thing named before keeps its name."""
        if thing not in self._names:
            name = re.sub(r"[^A-Za-z0-9_]", "_", wish)
            if not name[:1].isalpha():
                name = f"x{name}"
            while name.lower() in self._taken:
                name += "_"
            self._taken.add(name.lower())
            self._names[thing] = name
        return self._names[thing]

    def inside(self, parameters: Iterable[Parameter], terms: Iterable[Term]) -> Names:
        """The names within one action or property: these, its parameters, what its terms bind."""
        local = Names(())
        local._taken, local._names = set(self._taken), dict(self._names)
        for parameter in parameters:
            local.add(parameter, parameter.name)
        for variable in sorted({v for term in terms for v in _variables(term)}, key=_order):
            suffix = variable.fields[2] if isinstance(variable, t.Bound) else variable.sort.name.lower()
            local.add(variable, f"{variable.name}_{suffix}")
        return local


def _variables(term: Term) -> set[t._Named]:
    found: set[t._Named] = {node for node in t.walk(term) if isinstance(node, t.Formal)}
    return found | {node.variable for node in t.walk(term) if isinstance(node, t.Forall | t.Exists)}


def _order(variable: t._Named) -> tuple[str, ...]:
    return type(variable).__name__, *(str(field) for field in variable.fields)


def element_name(sort: Sort, label: str) -> str:
    """What an element is called where all sorts share one space of names: Agent_host, Agent0."""
    return label if label.startswith(sort.name) else f"{sort.name}_{label}"


def elements_of(terms: Iterable[Term]) -> list[Element]:
    """The particular elements that terms mention, in a fixed order."""
    found = {node for term in terms for node in t.walk(term) if isinstance(node, Element)}
    return sorted(found, key=lambda e: (e.sort.name, e.index, e.name))


@dataclass(frozen=True)
class Assignment:
    """An update read as: for every value of the formals `loops`, where `outer` and `inner` hold, `function`
    at `place` becomes `value`; everywhere else it keeps its value.

    `outer` mentions no loop variable.
    """

    function: Function
    place: tuple[Term, ...]
    loops: tuple[t.Formal, ...]
    outer: Term
    inner: Term
    value: Term

    @property
    def target(self) -> Term:
        """The changed cell as a term."""
        return self.function(*self.place)

    @property
    def read(self) -> set[t.Apply]:
        """The applications that it evaluates."""
        parts = (self.outer, self.inner, self.value)
        return {node for part in parts for node in t.walk(part) if isinstance(node, t.Apply)}

    @property
    def reads_other_cells(self) -> bool:
        """It reads cells of its own function that an earlier round of its loops may have changed."""
        return bool(self.loops) and any(r.function is self.function and r is not self.target for r in self.read)


def assignment(update: Update) -> Assignment:
    """Read an update as an assignment; formals that the condition fixes become places and need no loop."""
    condition, value = _split(update)
    pins: dict[Term, Term] = {}
    rest: list[Term] = []
    for part in condition.fields if isinstance(condition, t.And) else (condition,):
        pin = _pin(part)
        if pin is None or pin[0] in pins:
            rest.append(part)
        else:
            pins[pin[0]] = pin[1]
    formals = update.function.formals
    loops = tuple(x for x in formals if x not in pins)
    settled = [replace(part, pins) for part in rest]
    inner = [part for part in settled if not set(loops).isdisjoint(t.walk(part))]
    outer = [part for part in settled if part not in inner]
    place = tuple(pins.get(x, x) for x in formals)
    return Assignment(update.function, place, loops, conj(*outer), conj(*inner), replace(value, pins))


def _split(update: Update) -> tuple[Term, Term]:
    """The condition under which the value changes, and the new value there."""
    body, old = update.body, update.function(*update.function.formals)
    if isinstance(body, t.Ite) and body.fields[2] is old:
        return body.fields[0], body.fields[1]
    if isinstance(body, t.Or) and old in body.fields:
        return disj(*(part for part in body.fields if part is not old)), TRUE
    if isinstance(body, t.And) and old in body.fields:
        gone = [
            part.fields[0] if isinstance(part, t.Not) else t.negation(part) for part in body.fields if part is not old
        ]
        return disj(*gone), FALSE
    return TRUE, body


def _pin(part: Term) -> tuple[Term, Term] | None:
    """`formal = term` for a term that no step changes."""
    if isinstance(part, t.Same):
        left, right = part.fields
        for formal, term in ((left, right), (right, left)):
            if isinstance(formal, t.Formal) and _is_static(term):
                return formal, term
    return None


def _is_static(term: Term) -> bool:
    if isinstance(term, t.Apply):
        return term.function.layer == "platform" and all(_is_static(part) for part in term.parts)
    return isinstance(term, t.Parameter | t.Element | t.Truth)


def ordered(updates: Mapping[Function, Update]) -> tuple[list[Assignment], list[Assignment]]:
    """Updates happen at once; a sequential target needs an order: (through temporaries, then in this order in
    place).

    A function is written in place once nothing that is still to be written reads it.
    """
    every = [assignment(update) for update in updates.values()]
    temporary = [a for a in every if a.reads_other_cells]
    waiting = [a for a in every if a not in temporary]
    in_place: list[Assignment] = []
    while waiting:
        ready = [a for a in waiting if not any(reads(b, a.function) for b in waiting if b is not a)]
        if ready:
            in_place += ready[:1]
            waiting.remove(ready[0])
        else:
            temporary.append(waiting.pop(0))
    return temporary, in_place


def reads(assigned: Assignment, function: Function) -> bool:
    """The assignment evaluates the function somewhere."""
    return any(node.function is function for node in assigned.read)


def decision(
    values: Mapping[tuple[int, ...], int],
    leaf: Callable[[int], str],
    choose: Callable[[int, list[int], str, str], str],
    position: int = 0,
) -> str:
    """A constant table as nested case distinctions, the first argument first; equal cases are told together.

    `leaf(value)` is the text of a value; `choose(position, indices, then, otherwise)` the text that asks
    whether the argument at that position is one of the indices.  The largest group of cases needs no
    question.
    """
    if len(set(values.values())) == 1:
        return leaf(next(iter(values.values())))
    columns: dict[int, dict[tuple[int, ...], int]] = {}
    for place, value in values.items():
        columns.setdefault(place[position], {})[place] = value
    groups: dict[str, list[int]] = {}
    for index, column in columns.items():
        groups.setdefault(decision(column, leaf, choose, position + 1), []).append(index)
    by_size = sorted(groups.items(), key=lambda item: (len(item[1]), item[1]))
    text, _ = by_size.pop()
    for other, indices in reversed(by_size):
        text = choose(position, indices, other, text)
    return text
