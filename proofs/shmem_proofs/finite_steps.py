"""The steps of a scope for the bounded search: ground actions over cells, as the finite reader sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from shmem_model.language import Action, Function, LanguageError, Parameter, Property, Term
from shmem_model.language import terms as t
from shmem_model.readers.scope import Scope, look_up
from shmem_proofs.finite_reader import Cell, Cells, FiniteReader, Value


@dataclass(frozen=True)
class GroundAction:
    """An action with its arguments: when it can be taken, and the cells that it can change."""

    action: Action
    arguments: tuple[int, ...]
    guard: Value
    changes: Mapping[Cell, Value]

    @property
    def env(self) -> dict[Term, Value]:
        """The parameters with their values."""
        return dict(zip(self.action.parameters, self.arguments, strict=True))

    @property
    def call(self) -> str:
        """As text."""
        return f"{self.action.name}{self.arguments}"


class Grounded:
    """A scope as ground actions over cells; a cell that no possible step can change is known.

    With `settle=False` nothing is known and nothing is grounded yet: every cell is a symbol.
    """

    def __init__(self, scope: Scope, settle: bool = True) -> None:
        self.scope = scope
        self.reader = FiniteReader(scope)
        self.places = {f: list(scope.places(f)) for f in scope.machine.state}
        self.start = {cell: self._start(*cell) for cell in self._all_cells()}
        self.cells: dict[Cell, Value] = dict(self.start)
        self.symbols: dict[Cell, Any] = {}
        self.actions: list[GroundAction] = []
        if settle:
            self._settle()
        else:
            self._forget(self._all_cells())

    def _all_cells(self) -> list[Cell]:
        return [(f, place) for f, places in self.places.items() for place in places]

    def _start(self, function: Function, place: tuple[int, ...]) -> int:
        if function in self.scope.start:
            return look_up(self.scope.start[function], place)
        env: dict[Term, Value] = dict(zip(function.formals, place, strict=True))
        value = self.reader.value(self.scope.machine.initial[function], env, {})
        if not isinstance(value, int):
            raise LanguageError(f"the initial value of {function.name} depends on the state")
        return value

    def _settle(self) -> None:
        """Read the actions; what they can change becomes a symbol; again, until nothing new can change."""
        actions = self.scope.machine.actions
        made: dict[str, list[GroundAction]] = {}
        waiting = list(actions)
        while waiting:
            made |= {name: list(self._ground(actions[name])) for name in waiting}
            ones = [one for name in waiting for one in made[name]]
            changed = [cell for one in ones for cell in one.changes if cell not in self.symbols]
            self._forget(changed)
            touched = {function for function, _ in changed}
            waiting = [name for name, action in actions.items() if touched & self._mentioned(action)]
        self.actions = [one for name in actions for one in made[name]]

    def _mentioned(self, action: Action) -> set[Function]:
        texts = [action.guard, *(update.body for update in action.updates.values())]
        return set(action.updates).union(*(t.functions_of(text) for text in texts))

    def _forget(self, cells: Iterable[Cell]) -> None:
        for function, place in dict.fromkeys(cells):
            symbol = self.reader.symbol(f"{function.name}{place}", function.result)
            self.cells[function, place] = self.symbols[function, place] = symbol

    def _ground(self, action: Action) -> Iterable[GroundAction]:
        for arguments in product(*(range(self.scope.size(p.sort)) for p in action.parameters)):
            one = self.instance(action, arguments)
            if one is not None:
                yield one

    def instance(self, action: Action, arguments: tuple[int, ...]) -> GroundAction | None:
        """The action with these arguments; None if it can never be taken."""
        env: dict[Term, Value] = dict(zip(action.parameters, arguments, strict=True))
        guard = self.reader.conj(self.reader.value(c.holds, env, self.cells) for c in action.conditions)
        if isinstance(guard, int) and guard == 0:
            return None
        return GroundAction(action, arguments, guard, dict(self._changes(action, env)))

    def _changes(self, action: Action, env: dict[Term, Value]) -> Iterable[tuple[Cell, Value]]:
        for function, update in action.updates.items():
            formals, here = function.formals, dict(env)
            for place in self.places[function]:
                here.update(zip(formals, place, strict=True))
                new, old = self.reader.value(update.body, here, self.cells), self.cells[function, place]
                same = new == old if isinstance(new, int) and isinstance(old, int) else new is old
                if not same:
                    yield (function, place), new

    def after(self, one: GroundAction) -> Cells:
        """The cells after the ground action."""
        return {**self.cells, **one.changes}

    def claimed(self, claim: Property, one: GroundAction) -> Value:
        """A property of steps, of this ground action; its own variables come before the action's parameters."""
        env, variables = one.env, list(claim.variables)
        for node in t.walk(claim.body):
            if isinstance(node, Parameter) and node not in env and node not in variables:
                actor = one.action.actor(node.sort)
                if node.name == "answer" and one.action.returns is not None:
                    env[node] = self.reader.value(one.action.returns, one.env, self.cells)
                elif node.name == "actor" and actor is not None:
                    env[node] = one.env[actor]
                elif node.name == "actor":
                    variables.append(node)
                else:
                    raise LanguageError(f"{claim.name} speaks of {node.name}: not in {one.action.name}")
        body = t.close(t.Forall, tuple(variables), claim.body)
        return self.reader.value(body, env, self.cells, self.after(one))
