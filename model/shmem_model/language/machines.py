"""Machines: sorts, functions, one initial state, actions, and the properties that are claimed of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from shmem_model.language import terms as t
from shmem_model.language.actions import Action, Condition


@dataclass(frozen=True)
class Property:
    """A named claim with its sentence, closed over its variables.

    `kind` is `invariant` (holds in every reachable state), `axiom` (assumed of the platform), `step` (relates the
    states before and after each of `actions`; the body may use `after`), `pair` (relates two runs; `after` is the other
    run) or `state` (a set of states, used as a witness: some reachable state is in it).
    """

    name: str
    sentence: str
    variables: tuple[t.Parameter, ...]
    body: t.Term
    kind: str = "invariant"
    actions: tuple[str, ...] = ()

    @cached_property
    def closed(self) -> t.Term:
        """The property as a closed formula (for all, or for a witness for some, values of its variables)."""
        return t.close(t.Exists if self.kind == "state" else t.Forall, self.variables, self.body)


def _property(kind: str, actions: tuple[str, ...], sorts: dict[str, t.Sort]) -> Callable[..., Property]:
    variables = tuple(t.Parameter(name, sort) for name, sort in sorts.items())

    def make(function: Callable[..., t.Term]) -> Property:
        sentence = " ".join((function.__doc__ or "").split())
        return Property(function.__name__, sentence, variables, function(*variables), kind, actions)

    return make


def invariant(**sorts: t.Sort) -> Callable[[Callable[..., t.Term]], Property]:
    """Declare an invariant; the docstring is its sentence."""
    return _property("invariant", (), sorts)


def axiom(**sorts: t.Sort) -> Callable[[Callable[..., t.Term]], Property]:
    """Declare an assumption about the platform functions."""
    return _property("axiom", (), sorts)


def state(**sorts: t.Sort) -> Callable[[Callable[..., t.Term]], Property]:
    """Declare a set of states by a formula (for witnesses)."""
    return _property("state", (), sorts)


def pair(**sorts: t.Sort) -> Callable[[Callable[..., t.Term]], Property]:
    """Declare a relation between two runs; `after(x)` is x in the other run."""
    return _property("pair", (), sorts)


def step(*actions: str, **sorts: t.Sort) -> Callable[[Callable[..., t.Term]], Property]:
    """Declare a property of every step of the named actions (none named: of all actions)."""
    return _property("step", actions, sorts)


@dataclass(frozen=True)
class Machine:
    """A transition system over sorts of any size."""

    name: str
    sorts: tuple[t.Sort, ...]
    functions: tuple[t.Function, ...]
    initial: Mapping[t.Function, t.Term]
    actions: Mapping[str, Action]
    axioms: tuple[Property, ...] = ()
    properties: tuple[Property, ...] = field(default=())

    @property
    def platform(self) -> tuple[t.Function, ...]:
        """The functions that never change."""
        return tuple(f for f in self.functions if f.layer == "platform")

    @property
    def state(self) -> tuple[t.Function, ...]:
        """The functions that make up the state."""
        return tuple(f for f in self.functions if f.layer != "platform")

    @property
    def invariants(self) -> tuple[Property, ...]:
        """The properties claimed of every reachable state."""
        return tuple(p for p in self.properties if p.kind == "invariant")

    def function(self, name: str) -> t.Function:
        """The function of that name; LanguageError if there is none."""
        for candidate in self.functions:
            if candidate.name == name:
                return candidate
        raise t.LanguageError(f"machine {self.name} has no function {name}")

    def property(self, name: str) -> Property:
        """The property of that name; LanguageError if there is none."""
        for candidate in (*self.properties, *self.axioms):
            if candidate.name == name:
                return candidate
        raise t.LanguageError(f"machine {self.name} has no property {name}")

    def with_actions(self, actions: Iterable[Action], name: str | None = None) -> Machine:
        """The same machine with other actions."""
        return replace(self, name=name or self.name, actions={a.name: a for a in actions})

    def with_functions(self, initial: Mapping[t.Function, t.Term]) -> Machine:
        """The same machine with further state functions and their initial values."""
        return replace(self, functions=(*self.functions, *initial), initial={**self.initial, **initial})

    def changed(self, action: Action) -> Machine:
        """The same machine with one action replaced by another of the same name."""
        if action.name not in self.actions:
            raise t.LanguageError(f"machine {self.name} has no action {action.name}")
        return replace(self, actions={**self.actions, action.name: action})


def without_condition(action: Action, name: str) -> Action:
    """A weakened action: the conditions of that name are dropped (at least one must exist)."""
    kept = tuple(c for c in action.conditions if c.name != name)
    if len(kept) == len(action.conditions):
        raise t.LanguageError(f"action {action.name} has no condition {name!r}")
    return replace(action, conditions=kept)


def without_update(action: Action, function: t.Function) -> Action:
    """A weakened action: it no longer changes that function (it must have changed it)."""
    if function not in action.updates:
        raise t.LanguageError(f"action {action.name} does not update {function.name}")
    return replace(action, updates={f: u for f, u in action.updates.items() if f is not function})


def with_condition(action: Action, old: str, new: Condition) -> Action:
    """An action in which the condition named `old` is replaced."""
    without_condition(action, old)
    return replace(action, conditions=tuple(new if c.name == old else c for c in action.conditions))
