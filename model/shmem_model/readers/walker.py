"""The walker: many single steps in a scope that may be far too large to explore, every claim checked after each.

It keeps one current state.  Steps and checks are generated Python (see `walk_code`), and a claim is checked only where
a step changed something.  What it finds is confirmed by the concrete reader.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from shmem_model.language import BOOL, Function, Machine, Property
from shmem_model.readers.concrete import Call, Concrete, State
from shmem_model.readers.scope import Scope
from shmem_model.readers.walk_code import allowed_code, enabled_code, looks, step_claim_code, step_code, whole_code
from shmem_model.readers.walk_terms import Coder, compiled

Cells = tuple[tuple[int, ...], ...]
"""A whole state as the walker keeps it: the cells of every state function."""

Watch = tuple[Callable[..., Any], Property, tuple[int, ...]]


@dataclass(frozen=True)
class Broken:
    """A claim that a step has broken, with the elements for which it does not hold."""

    claim: Property
    culprits: dict[str, str]

    def __str__(self) -> str:
        where = ", ".join(f"{name}={label}" for name, label in self.culprits.items())
        return f"{self.claim.name}{f' ({where})' if where else ''}: {self.claim.sentence}"


def claims_of(machine: Machine, properties: Iterable[Property] | None = None) -> tuple[Property, ...]:
    """The claims to check: the given ones, or all invariants and properties of steps of the machine."""
    chosen = machine.properties if properties is None else properties
    return tuple(claim for claim in chosen if claim.kind in ("invariant", "step"))


class Walker:
    """A scope with one current state.

    With `keep`, a Boolean function without arguments, careful steps are those that do not make it false.
    """

    def __init__(
        self, scope: Scope, properties: Iterable[Property] | None = None, keep: Function | None = None
    ) -> None:
        self.scope = scope
        self.claims = claims_of(scope.machine, properties)
        self.functions = scope.machine.state
        self._coder = Coder(scope)
        initial = Concrete(scope).initial()
        self._initial: Cells = tuple(initial[f] for f in self.functions)
        self._now: list[list[int]] = [list(cells) for cells in self._initial]
        self._old: list[list[int]] = [list(cells) for cells in self._initial]
        self.sums = [sum(values) for values in self._initial]  # per function: a rough picture of the state
        self._places = [list(scope.places(f)) for f in self.functions]
        self._generate(keep)

    # ------------------------------------------------------------------ code

    def _generate(self, keep: Function | None) -> None:
        actions = self.scope.machine.actions
        lines: list[str] = []
        for i, action in enumerate(actions.values()):
            lines += enabled_code(self._coder, action, f"enabled_{i}")
            lines += enabled_code(self._coder, action, f"careful_{i}", keep)
            lines += allowed_code(self._coder, action, f"allowed_{i}")
            lines += step_code(self._coder, action, f"step_{i}")
        invariants = [claim for claim in self.claims if claim.kind == "invariant"]
        for claim in invariants:
            lines += whole_code(self._coder, claim, f"whole_{claim.name}")
        watched = [pair for claim in invariants for pair in looks(self._coder, claim)]
        for _, written in watched:
            lines += written
        about = [(claim, i) for claim in self.claims if claim.kind == "step" for i in self._concerned(claim)]
        for claim, i in about:
            lines += step_claim_code(self._coder, claim, list(actions.values())[i], f"claim_{i}_{claim.name}")
        code = compiled("\n".join(lines), self._namespace(), f"walker of {self.scope.name}")
        self._enabled = {name: code[f"enabled_{i}"] for i, name in enumerate(actions)}
        self._careful = {name: code[f"careful_{i}"] for i, name in enumerate(actions)}
        self._allowed = {name: code[f"allowed_{i}"] for i, name in enumerate(actions)}
        self._step = {name: code[f"step_{i}"] for i, name in enumerate(actions)}
        self._watches: dict[tuple[int, bool | None], list[Watch]] = defaultdict(list)
        for look, _ in watched:
            key = self._coder.number[look.function], look.value
            self._watches[key].append((code[look.name], look.claim, look.positions))
        self._whole = [(code[f"whole_{claim.name}"], claim) for claim in invariants]
        self._about: dict[str, list[tuple[Callable[..., Any], Property]]] = {name: [] for name in actions}
        for claim, i in about:
            self._about[list(actions)[i]].append((code[f"claim_{i}_{claim.name}"], claim))

    def _concerned(self, claim: Property) -> list[int]:
        actions = enumerate(self.scope.machine.actions.values())
        return [i for i, a in actions if not claim.actions or a.base in claim.actions or a.name in claim.actions]

    def _namespace(self) -> dict[str, Any]:
        cells = {f"now_{i}": values for i, values in enumerate(self._now)}
        return {**cells, **{f"old_{i}": values for i, values in enumerate(self._old)}, **self._coder.tables}

    # ------------------------------------------------------------------ steps

    def enabled(self, action: str, careful: bool = False) -> list[tuple[int, ...]]:
        """All arguments with which the action can be taken, in a fixed order; careful: that keep what is to be kept."""
        found: list[tuple[int, ...]] = (self._careful if careful else self._enabled)[action]()
        return found

    def can_take(self, action: str, arguments: tuple[int, ...]) -> bool:
        """The action can be taken with these arguments."""
        return bool(self._allowed[action](*arguments))

    def take(self, action: str, arguments: tuple[int, ...]) -> Broken | None:
        """Take an enabled step; the first claim that it breaks, if any."""
        changes, answer = self._step[action](*arguments)
        for number, cell, value in changes:
            self.sums[number] += value - self._now[number][cell]
            self._now[number][cell] = value
        broken = self._broken_by_change(changes) or self._broken_step(action, arguments, answer, changes)
        for number, cell, value in changes:
            self._old[number][cell] = value
        return broken

    def broken_here(self) -> Broken | None:
        """The first invariant that does not hold in the current state, whatever changed last."""
        for whole, claim in self._whole:
            found = whole()
            if found is not None:
                return self._broken(claim, found)
        return None

    def _broken_by_change(self, changes: list[tuple[int, int, int]]) -> Broken | None:
        done = set()
        for number, cell, value in changes:
            place = self._places[number][cell]
            keys = (
                ((number, bool(value)), (number, None)) if self.functions[number].result is BOOL else ((number, None),)
            )
            for key in keys:
                for look, claim, positions in self._watches.get(key, ()):
                    places = tuple([place[k] for k in positions])
                    if (look, places) in done:
                        continue
                    done.add((look, places))
                    found = look(*places)
                    if found is not None:
                        return self._broken(claim, found)
        return None

    def _broken_step(
        self, action: str, arguments: tuple[int, ...], answer: int | None, changes: list[tuple[int, int, int]]
    ) -> Broken | None:
        about = self._about[action]
        if not about:
            return None
        changed = defaultdict(list)
        for number, cell, _ in changes:
            changed[number].append(self._places[number][cell])
        for check, claim in about:
            found = check(*arguments, answer, changed)
            if found is not None:
                return self._broken(claim, found)
        return None

    def _broken(self, claim: Property, found: tuple[int, ...]) -> Broken:
        pairs = zip(claim.variables, found, strict=True)
        return Broken(claim, {v.name: self.scope.label(v.sort, index) for v, index in pairs})

    # ------------------------------------------------------------------ states

    def restart(self) -> None:
        """Go back to the start state."""
        self.restore(self._initial)

    def restore(self, cells: Cells) -> None:
        """Make this the current state."""
        for now, old, values in zip(self._now, self._old, cells, strict=True):
            now[:] = old[:] = values
        self.sums = [sum(values) for values in cells]

    def snapshot(self) -> Cells:
        """The current state, to be restored later."""
        return tuple(tuple(values) for values in self._now)

    @property
    def state(self) -> State:
        """The current state as the concrete reader has it."""
        return {f: tuple(int(v) for v in values) for f, values in zip(self.functions, self._now, strict=True)}

    def value(self, function: Function) -> int:
        """The value of a function without arguments."""
        return int(self._now[self._coder.number[function]][0])

    def label(self, call: Call) -> str:
        """A step as it is shown to people."""
        action, arguments = call
        parameters = self.scope.machine.actions[action].parameters
        shown = (f"{p.name}={self.scope.label(p.sort, i)}" for p, i in zip(parameters, arguments, strict=True))
        return f"{action}({', '.join(shown)})"
