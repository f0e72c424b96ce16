"""Ground actions as operations on packed states: a guard, bits to clear, bits to set, bits to compute.

A packed state is one int; bit i of it is `ground.variables[i]`.  This is what all engines generate their code from.
"""

from __future__ import annotations

from dataclasses import dataclass

from shmem_model.language import Action, Property, Term
from shmem_model.language import terms as t
from shmem_model.readers.bits import TRUE, Value, pack
from shmem_model.readers.concrete import State
from shmem_model.readers.ground import Ground, GroundAction, closed


@dataclass
class PackedAction:
    """`next = state & ~clear | set | computed`, where the guard holds; `computed` lists (position, node)."""

    number: int
    source: GroundAction
    guard: int
    clear: int
    set: int
    computed: list[tuple[int, int]]


class Packed:
    """A grounded scope as packed actions, with formulas and single steps."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.bits = ground.bits
        self.positions = ground.positions
        self.width = ground.width
        self.initial = ground.initial
        self._position = {self.bits.number(node): position for node, position in self.positions.items()}
        self.actions = [self._action(one) for one in ground.actions]

    def _action(self, one: GroundAction) -> PackedAction:
        """Simplify the assignments by what the guard says."""
        bits = self.bits
        inner = bits.parts(one.guard)
        literals = inner if inner and not one.guard & 1 else (one.guard,)
        known = {node & ~1: TRUE ^ (node & 1) for node in literals if node & ~1 in self.positions}
        memo: dict[int, int] = {}
        clear = set_ = 0
        computed = []
        for target, node in sorted(one.assigns.items(), key=lambda pair: self.positions[pair[0]]):
            new = bits.rewrite(node, known, memo)
            position = self.positions[target]
            if new == known.get(target, target):
                continue
            clear |= 1 << position
            if new == TRUE:
                set_ |= 1 << position
            elif new > 1:
                computed.append((position, new))
        return PackedAction(one.number, one, one.guard, clear, set_, computed)

    def holds(self, node: int, state: int) -> bool:
        """The value of a node in a state."""
        return self.bits.evaluate(node, lambda number: bool(state >> self._position[number] & 1))

    def step(self, action: PackedAction, state: int) -> int | None:
        """The state after the action, None where it is not enabled (slow: for traces and tests)."""
        if not self.holds(action.guard, state):
            return None
        new = state & ~action.clear | action.set
        for position, node in action.computed:
            new |= self.holds(node, state) << position
        return new

    def pack(self, state: State) -> int:
        """A state of the concrete reader as a packed one (what is constant here is not compared)."""
        result = 0
        for position, bit in enumerate(self.ground.variables):
            result |= (state[bit.function][bit.cell] >> bit.place & 1) << position
        return result

    def unpack(self, packed: int, base: State) -> State:
        """A packed state for the concrete reader; what was left out or is constant is taken from `base`."""
        tables = {function: list(values) for function, values in base.items()}
        for position, bit in enumerate(self.ground.variables):
            cells = tables[bit.function]
            cells[bit.cell] = cells[bit.cell] & ~(1 << bit.place) | (packed >> position & 1) << bit.place
        return {function: tuple(values) for function, values in tables.items()}

    def leads_to(self, action: PackedAction, target: int) -> int:
        """The states from which the action leads to `target`, as a node."""
        computed = dict(action.computed)
        parts = [action.guard]
        for node, position in self.positions.items():
            if action.clear >> position & 1:
                node = computed.get(position, action.set >> position & 1)
            parts.append(node ^ 1 ^ (target >> position & 1))
        return self.bits.conj(parts)

    def some_action(self) -> int:
        """At least one action is enabled, as a node."""
        return self.bits.disj([action.guard for action in self.actions])

    def states_where(self, item: Property | Term) -> int:
        """A property or formula about one state, as a node."""
        return self.ground.formula(closed(item))

    def steps_against(self, claim: Property) -> list[tuple[PackedAction, int]]:
        """For each ground action that a property of steps is about: the states in which its step breaks the claim."""
        result = []
        for action in self.actions:
            if not concerns(claim, action.source.action):
                continue
            node = self.bits.conj([action.guard, self._claim(claim, action.source) ^ 1])
            if node:
                result.append((action, node))
        return result

    def _claim(self, claim: Property, one: GroundAction) -> int:
        """The claim for one ground action: parameters by name, `answer` for what it returns, `after` for its effect."""
        partial, parameters = self.ground.partial, one.action.parameters
        mapping: dict[Term, Term] = {
            t.Parameter(p.name, p.sort): self.ground.scope.element(p.sort, i)
            if p.sort is not t.BOOL
            else (t.FALSE, t.TRUE)[i]
            for p, i in zip(parameters, one.arguments, strict=True)
            if p not in claim.variables
        }
        body = t.replace(claim.body, mapping)
        body = t.replace(body, self._actor(body, one))
        partial.overlay = self._overlay(one)
        partial.answer = one.returns
        try:
            return self.ground.formula(t.close(t.Forall, (*claim.variables, *_left(claim, body)), body))
        finally:
            partial.overlay, partial.answer = {}, None

    def _actor(self, body: Term, one: GroundAction) -> dict[Term, Term]:
        """The agent that takes the step, for the name `actor`; steps of nobody in particular leave it open."""
        mapping: dict[Term, Term] = {}
        for node in t.walk(body):
            if isinstance(node, t.Parameter) and node.name == "actor":
                actor = one.action.actor(node.sort)
                if actor is not None:
                    index = one.arguments[one.action.parameters.index(actor)]
                    mapping[node] = self.ground.scope.element(node.sort, index)
        return mapping

    def _overlay(self, one: GroundAction) -> dict[tuple[t.Function, int], Value]:
        """The new values of the cells that the action changes."""
        overlay: dict[tuple[t.Function, int], Value] = {}
        for node in one.assigns:
            bit = self.ground.variables[self.positions[node]]
            old = self.ground.partial.cells[bit.function][bit.cell]
            nodes = (old,) if isinstance(old, int) else old
            new = tuple(one.assigns.get(part, part) for part in nodes)
            overlay[bit.function, bit.cell] = new[0] if bit.function.result is t.BOOL else pack(new)
        return overlay


def concerns(claim: Property, action: Action) -> bool:
    """The property of steps is about this action."""
    return not claim.actions or action.base in claim.actions or action.name in claim.actions


def _left(claim: Property, body: Term) -> tuple[t.Parameter, ...]:
    """`actor`, where nobody in particular takes the step: the claim then holds whoever it is."""
    return tuple(
        n for n in t.walk(body) if isinstance(n, t.Parameter) and n.name == "actor" and n not in claim.variables
    )
