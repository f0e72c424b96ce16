"""The concrete reader, quick: the same answers as `Concrete`, by looking only at what a step can change.

It keeps one current state in place and finds enabled arguments by deciding each condition as soon as its parameters
are known, so it also serves scopes that are far too large to explore.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shmem_model.language import Function, LanguageError, Property, Term
from shmem_model.language import terms as t
from shmem_model.readers.bits import Bits, Value
from shmem_model.readers.cells import Run
from shmem_model.readers.concrete import DONE, Answer, Call, Concrete, State
from shmem_model.readers.effects import Effect
from shmem_model.readers.partial import Partial
from shmem_model.readers.scope import Scope


class Quick:
    """A scope with one current state."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.actions = scope.machine.actions
        self._partial = Partial(scope, Bits())
        concrete = Concrete(scope)
        for function in scope.machine.platform:
            values: list[Value] = [scope.platform_value(function, place) for place in scope.places(function)]
            self._partial.add_function(function, values, fixed=True)
        for function, cells in concrete.initial().items():
            self._partial.add_function(function, list(cells), fixed=False)
            self._partial.uniform.pop(function, None)  # every value may change: nothing may be folded
        self._runs: dict[str, _Runner] = {}

    @property
    def state(self) -> State:
        """The current state."""
        return {f: tuple(self._partial.cells[f]) for f in self.scope.machine.state}  # type: ignore[arg-type]

    def cells(self, function: Function) -> Sequence[int]:
        """The values of one function in the current state, in the order of `scope.places`; not to be changed."""
        return self._partial.cells[function]  # type: ignore[return-value]

    def restore(self, state: State) -> None:
        """Make this the current state."""
        for function, values in state.items():
            self._partial.cells[function][:] = values

    def answer(self, action: str, arguments: Sequence[int]) -> Answer:
        """What the action says in the current state."""
        return self._runner(action).answer(arguments)

    def step(self, action: str, arguments: Sequence[int]) -> int | None:
        """Take the step; what it returned, None if it returns nothing."""
        return self._runner(action).step(arguments)

    def enabled(self, actions: Iterable[str] | None = None) -> list[Call]:
        """The actions that can be taken, with their arguments."""
        names = self.actions if actions is None else actions
        return [(name, arguments) for name in names for arguments in self._runner(name).enabled()]

    def holds(self, claim: Property | Term) -> bool:
        """An invariant, a set of states or a closed formula holds in the current state."""
        term = claim.closed if isinstance(claim, Property) else claim
        made = self._partial.compile(term)
        if made.free:
            raise LanguageError(f"free variables in {term}")
        return bool(made.run())

    def _runner(self, action: str) -> _Runner:
        found = self._runs.get(action)
        if found is None:
            if action not in self.actions:
                raise LanguageError(f"scope {self.scope.name} has no action {action}")
            found = self._runs[action] = _Runner(self._partial, self.scope, action)
        return found


class _Runner:
    """One action, made ready to be run."""

    def __init__(self, partial: Partial, scope: Scope, name: str) -> None:
        text = scope.machine.actions[name]
        self.partial, self.name = partial, name
        self.slots = [partial.slot(parameter) for parameter in text.parameters]
        self.ranges = [range(scope.size(parameter.sort)) for parameter in text.parameters]
        self.conditions = [(c, partial.compile(c.holds).run) for c in text.conditions]
        self.effects = [Effect(partial, update) for update in text.updates.values()]
        self.returns = None if text.returns is None else partial.compile(text.returns).run
        self.levels: list[list[Run]] = [[] for _ in range(len(self.slots) + 1)]
        for condition in text.conditions:
            for term in condition.holds.fields if isinstance(condition.holds, t.And) else (condition.holds,):
                made = partial.compile(term)
                known = [i + 1 for i, slot in enumerate(self.slots) if made.free >> slot & 1]
                self.levels[max(known, default=0)].append(made.run)

    def _put(self, arguments: Sequence[int]) -> None:
        for slot, index in zip(self.slots, arguments, strict=True):
            self.partial.env[slot] = index

    def answer(self, arguments: Sequence[int]) -> Answer:
        """Done, or the first condition that does not hold."""
        self._put(arguments)
        for condition, run in self.conditions:
            if not run():
                return Answer(condition.kind, condition.name)
        return Answer(DONE)

    def step(self, arguments: Sequence[int]) -> int | None:
        """Change the current state."""
        answer = self.answer(arguments)
        if not answer.done:
            raise LanguageError(f"{self.name}{tuple(arguments)} cannot be taken here: {answer}")
        returned = None if self.returns is None else self.returns()
        changes = [(effect.function, list(effect.values())) for effect in self.effects]
        for function, values in changes:  # all new values were computed from the old state
            cells = self.partial.cells[function]
            for index, value in values:
                cells[index] = value
        assert returned is None or isinstance(returned, int)
        return returned

    def enabled(self) -> list[tuple[int, ...]]:
        """All arguments with which the action can be taken."""
        found: list[tuple[int, ...]] = []
        self._descend(0, found)
        return found

    def _descend(self, depth: int, found: list[tuple[int, ...]]) -> None:
        for run in self.levels[depth]:
            if not run():
                return
        env = self.partial.env
        if depth == len(self.slots):
            found.append(tuple([env[slot] for slot in self.slots]))
            return
        slot = self.slots[depth]
        for index in self.ranges[depth]:
            env[slot] = index
            self._descend(depth + 1, found)
