"""Actions: named steps with ordered conditions and total functional updates.

An action is written as a generator over its parameters that yields its parts::

    @action("hardware", a=Agent, f=Frame)
    def evict(a, f):
        '''H2: any line leaves the cache at any time; a dirty one is written back.'''
        yield waits("line is cached", valid(a, f))
        yield becomes(valid, a, f, to=FALSE)

Conditions come in three kinds: the step *waits until* something holds, it is *refused as NAME*, or it *faults as
NAME*; the first condition that does not hold is the answer.  What no update mentions keeps its value; every update
reads the state before the step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from shmem_model.language import terms as t

WAITS, REFUSED, FAULTS = "waits", "refused", "faults"
REFUSALS = (
    "StaleHandle",
    "InvalidArgument",
    "NotPermitted",
    "PeerLost",
    "RegionBusy",
    "Fragmented",
    "OutOfMemory",
)
FAULT_NAMES = ("NotMapped", "ReadOnly", "Frozen")
GROUPS = ("software", "hardware", "driver", "fault")


@dataclass(frozen=True)
class Condition:
    """Something that must hold for the step; `kind` and `name` are the answer when it does not."""

    kind: str
    name: str
    holds: t.Term


@dataclass(frozen=True)
class Update:
    """The whole new value of one state function, in terms of its formals and the action's parameters."""

    function: t.Function
    body: t.Term

    def at(self, *arguments: t.Term) -> t.Term:
        """The new value at these arguments."""
        return t.replace(self.body, dict(zip(self.function.formals, arguments, strict=True)))


@dataclass(frozen=True)
class Returns:
    """The value that the call answers with."""

    value: t.Term


Part = Condition | Update | Returns


class _Each:
    """Stands for every element at an argument place of `becomes`."""

    def __repr__(self) -> str:
        return "EACH"


EACH: Any = _Each()


def waits(name: str, holds: t.Term) -> Condition:
    """The step waits until this holds."""
    return Condition(WAITS, name, holds)


def refused(name: str, unless: t.Term) -> Condition:
    """The call changes nothing and answers `name` unless this holds."""
    return Condition(REFUSED, name, unless)


def faults(name: str, unless: t.Term) -> Condition:
    """The access faults as `name` unless this holds."""
    return Condition(FAULTS, name, unless)


def update(function: t.Function, make: Callable[..., t.Term]) -> Update:
    """`function` becomes `make(arguments)` everywhere."""
    return Update(function, make(*function.formals))


def becomes(
    function: t.Function,
    *place: Any,
    to: t.Term | Callable[..., t.Term],
    where: Callable[..., t.Term] | None = None,
) -> Update:
    """`function` becomes `to` at `place` (EACH: at every element; `where`: only there), elsewhere nothing changes."""
    if len(place) != len(function.arguments):
        raise t.LanguageError(f"{function.name} has {len(function.arguments)} arguments, the update names {len(place)}")
    formals = function.formals
    here = t.conj(*(x.same(p) for x, p in zip(formals, place, strict=True) if p is not EACH))
    if where is not None:
        here = t.conj(here, where(*formals))
    value = to if isinstance(to, t.Term) else to(*formals)
    old = function(*formals)
    if value is t.TRUE:
        return Update(function, t.disj(here, old))
    if value is t.FALSE:
        return Update(function, t.conj(t.negation(here), old))
    return Update(function, value if here is t.TRUE else t.ite(here, value, old))


@dataclass(frozen=True)
class Action:
    """A named step: parameters, ordered conditions, updates, the value it answers with."""

    name: str
    group: str
    parameters: tuple[t.Parameter, ...]
    conditions: tuple[Condition, ...]
    updates: Mapping[t.Function, Update]
    sentence: str
    returns: t.Term | None = None
    source: str = field(default="", compare=False)

    @property
    def guard(self) -> t.Term:
        """All conditions hold: the step can be taken."""
        return t.conj(*(condition.holds for condition in self.conditions))

    def actor(self, sort: t.Sort) -> t.Parameter | None:
        """Who takes the step: the first parameter, if it is of this sort (agents act; drivers are nobody)."""
        first = self.parameters[0] if self.parameters else None
        return first if first is not None and first.sort is sort else None

    @property
    def base(self) -> str:
        """The machine's name for it (derived actions carry a suffix after `@`)."""
        return self.name.split("@")[0]

    def new(self, function: t.Function, *arguments: t.Term) -> t.Term:
        """The value of a state function at these arguments after the step."""
        found = self.updates.get(function)
        return function(*arguments) if found is None else found.at(*arguments)

    def bind(self, values: Mapping[str, t.Term], suffix: str = "", extra: Iterable[Part] = ()) -> Action:
        """A derived action: parameters fixed to terms, further conditions and updates added."""
        unknown = set(values) - {p.name for p in self.parameters}
        if unknown:
            raise t.LanguageError(f"action {self.name} has no parameter {sorted(unknown)}")
        mapping: dict[t.Term, t.Term] = {p: values[p.name] for p in self.parameters if p.name in values}
        conditions = [replace(c, holds=t.replace(c.holds, mapping)) for c in self.conditions]
        updates = {f: Update(f, t.replace(u.body, mapping)) for f, u in self.updates.items()}
        returns = None if self.returns is None else t.replace(self.returns, mapping)
        left = tuple(p for p in self.parameters if p.name not in values)
        name = f"{self.name}@{suffix}" if suffix else self.name
        return assemble(name, self.group, left, [*conditions, *updates.values(), *extra], self.sentence, returns)


def assemble(
    name: str,
    group: str,
    parameters: tuple[t.Parameter, ...],
    parts: Iterable[Part],
    sentence: str,
    returns: t.Term | None = None,
    source: str = "",
) -> Action:
    """Build an action from its parts; two updates of one function are an error."""
    conditions: list[Condition] = []
    updates: dict[t.Function, Update] = {}
    for part in parts:
        match part:
            case Condition():
                if part.holds is not t.TRUE:
                    conditions.append(part)
            case Update():
                if part.function in updates:
                    raise t.LanguageError(f"action {name} updates {part.function.name} twice")
                updates[part.function] = part
            case Returns():
                returns = part.value
            case _:
                raise t.LanguageError(f"action {name} yields {part!r}, which is no condition, update or answer")
    return Action(name, group, parameters, tuple(conditions), updates, sentence, returns, source)


def action(group: str, **sorts: t.Sort) -> Callable[[Callable[..., Iterator[Part]]], Action]:
    """Turn a generator of parts into an action; keyword arguments give the parameters and their sorts."""
    parameters = tuple(t.Parameter(name, sort) for name, sort in sorts.items())

    def make(function: Callable[..., Iterator[Part]]) -> Action:
        sentence = " ".join((function.__doc__ or "").split())
        name = function.__name__.rstrip("_")
        where = f"{function.__module__}.{function.__qualname__}"
        return assemble(name, group, parameters, function(*parameters), sentence, None, where)

    return make
