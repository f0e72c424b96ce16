"""The instances of an action: arguments under which it may happen, with guards and effects.

Parameters are enumerated in order, and each conjunct of the guard is decided as soon as its parameters are known.
"""

from __future__ import annotations

from dataclasses import dataclass

from shmem_model.language import Action, Function, LanguageError, Term
from shmem_model.language import terms as t
from shmem_model.readers.bits import FALSE, TRUE, Value
from shmem_model.readers.cells import CONSTANT, Compiled, Run
from shmem_model.readers.effects import Effect
from shmem_model.readers.partial import Partial


@dataclass
class Instance:
    """An action with arguments: its guard and the new values of the cells that it can change."""

    arguments: tuple[int, ...]
    guard: int
    cells: dict[tuple[Function, int], Value]
    returns: Value | None


class Plan:
    """How the instances of one action are enumerated: parameters in order, conjuncts as soon as they can be decided."""

    def __init__(self, partial: Partial, action: Action) -> None:
        self.partial = partial
        self.action = action
        self.slots = [partial.slot(parameter) for parameter in action.parameters]
        self.ranges = [range(partial.scope.size(parameter.sort)) for parameter in action.parameters]
        self.instances: list[Instance] = []
        self.reads = 0
        self.stale = True  # what was compiled folds something that is no longer known
        self._levels: list[list[Run]] | None = None
        self._effects: list[Effect] | None = None

    def enumerate(self) -> None:
        """Find all instances whose guard is not false."""
        self.instances = []
        if self.stale:
            self._effects, self._levels = None, self._tests()
            self.stale = False
        if self._levels is not None:
            self._descend(0, [])

    def _tests(self) -> list[list[Run]] | None:
        """The guard's conjuncts by the number of parameters that must be known; None if one is false anyway."""
        levels: list[list[tuple[bool, Run]]] = [[] for _ in range(len(self.slots) + 1)]
        self.reads = 0
        for condition in self.action.conditions:
            terms = condition.holds.fields if isinstance(condition.holds, t.And) else (condition.holds,)
            for term in terms:
                made = self.partial.compile(term)
                if made.kind == CONSTANT:
                    if made.value == FALSE:
                        self.reads = made.reads
                        return None
                    self.reads |= made.reads
                    continue
                self.reads |= made.reads
                levels[self._depth(made)].append((made.reads != 0, made.run))
        return [[run for _, run in sorted(level, key=lambda pair: pair[0])] for level in levels]

    def _depth(self, made: Compiled) -> int:
        own = [i + 1 for i, slot in enumerate(self.slots) if made.free >> slot & 1]
        if sum(1 << self.slots[i - 1] for i in own) != made.free:
            raise LanguageError(f"action {self.action.name}: a condition mentions a variable that is no parameter")
        return max(own, default=0)

    def _descend(self, depth: int, guard: list[int]) -> None:
        nodes = list(guard)
        assert self._levels is not None
        for run in self._levels[depth]:
            node = run()
            if node == FALSE:
                return
            if node != TRUE:
                nodes.append(node)  # type: ignore[arg-type]
        if depth == len(self.slots):
            self._add(self.partial.bits.conj(nodes))
            return
        env, slot = self.partial.env, self.slots[depth]
        for index in self.ranges[depth]:
            env[slot] = index
            self._descend(depth + 1, nodes)

    def _add(self, guard: int) -> None:
        if guard == FALSE:
            return
        partial = self.partial
        if self._effects is None:
            self._effects = [Effect(partial, u) for f, u in self.action.updates.items() if f in partial.cells]
            for effect in self._effects:
                self.reads |= effect.reads
        cells: dict[tuple[Function, int], Value] = {}
        for effect in self._effects:
            now = partial.cells[effect.function]
            for index, value in effect.values():
                if value != now[index]:
                    cells[effect.function, index] = value
        returns = None
        if self.action.returns is not None and self._readable(self.action.returns):
            made = partial.compile(self.action.returns)
            self.reads |= made.reads
            returns = made.run()
        arguments = tuple(partial.env[slot] for slot in self.slots)
        self.instances.append(Instance(arguments, guard, cells, returns))

    def _readable(self, term: Term) -> bool:
        return t.functions_of(term) <= self.partial.cells.keys()
