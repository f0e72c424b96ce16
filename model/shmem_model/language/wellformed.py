"""Is a machine well formed?  Everything that its author may get wrong without any term being wrong by itself.

`check(machine)` raises one LanguageError that lists every problem, each with the place where it is.  Terms check
their own sorts when they are built; here is what needs the whole machine: names, layers, order, completeness.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from shmem_model.language import terms as t
from shmem_model.language.actions import FAULT_NAMES, FAULTS, GROUPS, REFUSALS, REFUSED, WAITS, Action
from shmem_model.language.machines import Machine, Property

KINDS = ("invariant", "axiom", "step", "state", "pair")
ACTOR, ANSWER = "actor", "answer"
RESERVED = (ACTOR, ANSWER)
"""Names that mean something in properties of steps: who takes the step, and what it answers."""
TAKES_OVER = ("reclaim",)
"""Actions whose custody rules may look at hardware: what a dead agent left is whatever memory holds."""


def problems(machine: Machine, takes_over: Iterable[str] = TAKES_OVER) -> list[str]:
    """Everything that is wrong with the machine, as sentences."""
    exceptions = frozenset(takes_over)
    found = [*_names(machine), *_initial(machine), *_use(machine)]
    for action in machine.actions.values():
        found += [f"action {action.name}: {text}" for text in _action(machine, action, action.base in exceptions)]
    for claim in (*machine.axioms, *machine.properties):
        found += [f"{claim.kind} {claim.name}: {text}" for text in _property(machine, claim)]
    return found


def check(machine: Machine, takes_over: Iterable[str] = TAKES_OVER) -> None:
    """Raise a LanguageError that lists all problems, if there are any."""
    found = problems(machine, takes_over)
    if found:
        raise t.LanguageError(f"machine {machine.name} is not well formed:\n  " + "\n  ".join(found))


# ---------------------------------------------------------------------- the machine as a whole


def _twice(kind: str, names: Iterable[str]) -> Iterator[str]:
    for name, number in Counter(names).items():
        if number > 1:
            yield f"{number} {kind} are called {name}"


def _names(machine: Machine) -> Iterator[str]:
    called = [*(s.name for s in machine.sorts), *(f.name for f in machine.functions), *machine.actions]
    yield from _twice("sorts, functions or actions", called)
    yield from _twice("properties", (claim.name for claim in (*machine.axioms, *machine.properties)))
    for name, action in machine.actions.items():
        if name != action.name:
            yield f"action {action.name} is listed as {name}"
    for sort in machine.sorts:
        if sort is t.BOOL or sort.name == t.BOOL.name:
            yield "Bool is a sort of every machine, and not to be listed"
    for function in machine.functions:
        for sort in {*function.arguments, function.result} - {*machine.sorts, t.BOOL}:
            yield f"function {function.name}: sort {sort} is none of the machine's"
        if function.name in RESERVED:
            yield f"function {function.name}: the name is reserved for properties of steps"
        if not function.sentence:
            yield f"function {function.name}: no sentence says what it is"


def _initial(machine: Machine) -> Iterator[str]:
    for function in machine.state:
        if function not in machine.initial:
            yield f"function {function.name}: no initial value"
    for function, value in machine.initial.items():
        where = f"function {function.name}: the initial value"
        if function not in machine.state:
            yield f"{where} is given, but it is no state function of the machine"
        if value.sort is not function.result:
            yield f"{where} is of sort {value.sort}, not {function.result}"
        looks = _Terms(machine, where, _formals(function), layers=("platform",))
        yield from looks.at(value)


def _use(machine: Machine) -> Iterator[str]:
    """Every state function is changed by some action, and somebody cares."""
    changed = {function for action in machine.actions.values() for function in action.updates}
    seen: set[t.Function] = set()
    for term in [c.holds for a in machine.actions.values() for c in a.conditions]:
        seen |= t.functions_of(term)
    for claim in (*machine.axioms, *machine.properties):
        seen |= t.functions_of(claim.body)
    for function in machine.state:
        if function not in changed:
            yield f"function {function.name}: no action changes it"
        if function not in seen:
            yield f"function {function.name}: no claim and no condition mentions it"


# ---------------------------------------------------------------------- actions


def _action(machine: Machine, action: Action, takes_over: bool) -> Iterator[str]:
    if action.group not in GROUPS:
        yield f"group {action.group} is none of {', '.join(GROUPS)}"
    if not action.sentence:
        yield "no sentence says what it does"
    if action.name == "start":
        yield "the name is taken by the start state"
    yield from _twice("parameters", (parameter.name for parameter in action.parameters))
    for parameter in action.parameters:
        if parameter.name in RESERVED:
            yield f"parameter {parameter.name}: the name is reserved for properties of steps"
        if parameter.sort not in (*machine.sorts, t.BOOL):
            yield f"parameter {parameter.name}: sort {parameter.sort} is none of the machine's"
    yield from _conditions(machine, action)
    yield from _updates(machine, action, takes_over)
    used = {node for term in _texts(action) for node in t.walk(term)}
    for parameter in action.parameters:
        if parameter not in used:
            yield f"parameter {parameter.name} is not used"


def _texts(action: Action) -> Iterator[t.Term]:
    yield from (condition.holds for condition in action.conditions)
    yield from (update.body for update in action.updates.values())
    if action.returns is not None:
        yield action.returns


def _conditions(machine: Machine, action: Action) -> Iterator[str]:
    bound = frozenset(action.parameters)
    for condition in action.conditions:
        where = f"condition {condition.name!r}"
        if condition.kind not in (WAITS, REFUSED, FAULTS):
            yield f"{where} is of unknown kind {condition.kind}"
        if condition.kind == REFUSED and condition.name not in REFUSALS:
            yield f"{where} is no refusal; there are {', '.join(REFUSALS)}"
        if condition.kind == FAULTS and condition.name not in FAULT_NAMES:
            yield f"{where} is no fault; there are {', '.join(FAULT_NAMES)}"
        if condition.holds.sort is not t.BOOL:
            yield f"{where} is of sort {condition.holds.sort}"
        yield from _Terms(machine, where, bound, layers=NO_GHOST).at(condition.holds)
    yield from _twice("conditions", (c.name for c in action.conditions if c.kind == WAITS))
    yield from _order(action)


def _order(action: Action) -> Iterator[str]:
    """The first condition that does not hold is the answer, so their order is part of the meaning."""
    ranks = {(REFUSED, name): i for i, name in enumerate(REFUSALS)}
    ranks |= {(FAULTS, name): len(REFUSALS) + i for i, name in enumerate(FAULT_NAMES)}
    answers = [c for c in action.conditions if (c.kind, c.name) in ranks]
    for first, second in pairwise(answers):
        if ranks[first.kind, first.name] > ranks[second.kind, second.name]:
            yield f"{second.name} must be asked before {first.name}"


def _updates(machine: Machine, action: Action, takes_over: bool) -> Iterator[str]:
    for function, update in action.updates.items():
        where = f"the new value of {function.name}"
        if function is not update.function:
            yield f"{where} is listed under another name"
        if function not in machine.functions:
            yield f"{where}: the machine has no such function"
        if function.layer == "platform":
            yield f"{where}: the platform never changes"
        if function.layer == "ghost" and action.group == "hardware":
            yield f"{where}: custody is a matter of software, driver and faults, not of hardware"
        if update.body.sort is not function.result:
            yield f"{where} is of sort {update.body.sort}, not {function.result}"
        if update.body is function(*function.formals):
            yield f"{where} is the old one"
        layers = NO_GHOST if function.layer != "ghost" else ALL if takes_over else NO_HARDWARE
        bound = frozenset(action.parameters) | _formals(function)
        yield from _Terms(machine, where, bound, layers=layers).at(update.body)
    if action.returns is not None:
        bound = frozenset(action.parameters)
        yield from _Terms(machine, "the answer", bound, layers=NO_GHOST).at(action.returns)


# ---------------------------------------------------------------------- properties


def _property(machine: Machine, claim: Property) -> Iterator[str]:
    if claim.kind not in KINDS:
        yield f"the kind is none of {', '.join(KINDS)}"
    if not claim.sentence:
        yield "no sentence says what is claimed"
    if claim.body.sort is not t.BOOL:
        yield f"the claim is of sort {claim.body.sort}"
    yield from _twice("variables", (variable.name for variable in claim.variables))
    for variable in claim.variables:
        if variable.name in RESERVED:
            yield f"variable {variable.name}: the name is reserved for properties of steps"
        if variable.sort not in (*machine.sorts, t.BOOL):
            yield f"variable {variable.name}: sort {variable.sort} is none of the machine's"
    concerned = list(_concerned(machine, claim))
    if claim.kind == "step" and not concerned:
        yield f"the machine has none of the actions {', '.join(claim.actions)}"
    for name in claim.actions:
        if not any(name in (action.base, action.name) for action in machine.actions.values()):
            yield f"there is no action {name}"
    layers = ("platform",) if claim.kind == "axiom" else ALL
    after = claim.kind in ("step", "pair")
    for bound, whose in _scopes(claim, concerned):
        looks = _Terms(machine, f"the claim{whose}", frozenset(claim.variables) | bound, layers, after)
        yield from looks.at(claim.body)


def _concerned(machine: Machine, claim: Property) -> Iterator[Action]:
    if claim.kind == "step":
        for action in machine.actions.values():
            if not claim.actions or {action.base, action.name} & set(claim.actions):
                yield action


def _scopes(claim: Property, concerned: list[Action]) -> Iterator[tuple[frozenset[t.Term], str]]:
    """The names that a claim may use besides its own variables, for each action that it is about."""
    if claim.kind == "pair":
        free = {node for node in t.walk(claim.body) if isinstance(node, t.Parameter)}
        yield frozenset(free), ""
    elif claim.kind != "step":
        yield frozenset(), ""
    for action in concerned:
        named = {node for node in t.walk(claim.body) if isinstance(node, t.Parameter) and node.name == ACTOR}
        answer = set() if action.returns is None else {t.Parameter(ANSWER, action.returns.sort)}
        yield frozenset({*action.parameters, *named, *answer}), f", of {action.name},"


# ---------------------------------------------------------------------- terms in their place

ALL = t.Function.LAYERS
NO_GHOST = tuple(layer for layer in ALL if layer != "ghost")
NO_HARDWARE = tuple(layer for layer in ALL if layer != "hardware")


def _formals(function: t.Function) -> frozenset[t.Term]:
    return frozenset(function.formals)


@dataclass(frozen=True)
class _Terms:
    """What a term may mention in its place: variables, layers, `after`."""

    machine: Machine
    where: str
    bound: frozenset[t.Term]
    layers: tuple[str, ...] = ALL
    after: bool = False
    _said: set[str] = field(default_factory=set)

    def at(self, term: t.Term) -> Iterator[str]:
        """What is wrong with the term here, each thing once."""
        for text in self._walk(term, self.bound, False):
            if text not in self._said:
                self._said.add(text)
                yield f"{self.where} {text}"

    def _walk(self, term: t.Term, bound: frozenset[t.Term], later: bool) -> Iterator[str]:
        if isinstance(term, t.Forall | t.Exists):
            bound = bound | {term.variable}
            if term.variable.sort not in (*self.machine.sorts, t.BOOL):
                yield f"quantifies over {term.variable.sort}, which is none of the machine's sorts"
        elif isinstance(term, t.Element):
            yield f"mentions the element {term.name}; a machine knows no particular elements"
        elif isinstance(term, t.Parameter | t.Formal | t.Bound):
            if term not in bound:
                yield f"mentions {term.name} of sort {term.sort}, which is not bound here"
        elif isinstance(term, t.Apply):
            yield from self._apply(term.function)
        elif isinstance(term, t.After):
            if not self.after or later:
                yield "mentions `after`, which is for properties of steps (and not twice)"
            later = True
        for part in term.parts:
            yield from self._walk(part, bound, later)

    def _apply(self, function: t.Function) -> Iterator[str]:
        if function not in self.machine.functions:
            yield f"mentions {function.name}, which is no function of the machine"
        elif function.layer not in self.layers:
            yield f"reads the {function.layer} function {function.name}"
