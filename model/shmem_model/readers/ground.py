"""Grounding: a machine in a scope as Boolean functions of the bits of a packed state.

Quantifiers are expanded, parameters enumerated, and whatever is known is folded.  In the beginning every bit of every
cell is taken to be constant; a bit that some possible step may change becomes a variable, until nothing changes any
more.  Actions whose guard is false under all that vanish.  What remains of a small program in a large machine is small.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from shmem_model.language import BOOL, Action, Function, LanguageError, Property, Term
from shmem_model.language import terms as t
from shmem_model.readers.bits import Bits, Value, pack, spread
from shmem_model.readers.instances import Plan
from shmem_model.readers.partial import Partial
from shmem_model.readers.scope import Scope, look_up


@dataclass(frozen=True)
class Bit:
    """One bit of the packed state: bit number `place` of a cell."""

    function: Function
    cell: int
    place: int


@dataclass
class GroundAction:
    """An action with its arguments: a guard and the new values of the bits that it can change, as nodes."""

    action: Action
    arguments: tuple[int, ...]
    guard: int
    assigns: dict[int, int]
    returns: Value | None = None
    number: int = 0


@dataclass
class Ground:
    """A grounded scope: variable bits, start state, ground actions, and formulas over them."""

    scope: Scope
    bits: Bits
    partial: Partial
    variables: list[Bit]
    nodes: list[int]
    initial: int
    actions: list[GroundAction]
    positions: dict[int, int] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """How many bits a packed state has."""
        return len(self.variables)

    def formula(self, term: Term, later: bool = False) -> int:
        """A closed formula as a node."""
        made = self.partial.compile(term, later)
        if made.free:
            raise LanguageError(f"scope {self.scope.name}: free variables in {term}")
        node = made.run()
        assert isinstance(node, int)
        return node

    def cell_index(self, function: Function, indices: Sequence[int]) -> int:
        """The number of a cell."""
        return sum(s * i for s, i in zip(self.partial.strides(function), indices, strict=True))

    def value(self, packed: int, function: Function, indices: Sequence[int]) -> int:
        """The value of a cell (platform functions too) in a packed state."""
        if function not in self.partial.cells:
            raise LanguageError(f"scope {self.scope.name}: {function.name} was left out; observe it")
        cell = self.partial.cells[function][self.cell_index(function, indices)]
        if isinstance(cell, int) and function.result is not BOOL:
            return cell
        nodes = (cell,) if isinstance(cell, int) else cell
        return sum(self._bit(packed, node) << i for i, node in enumerate(nodes))

    def _bit(self, packed: int, node: int) -> int:
        return node if node < 2 else packed >> self.positions[node] & 1

    def label(self, action: GroundAction) -> dict[str, str]:
        """The arguments of a ground action by name, as shown to people."""
        pairs = zip(action.action.parameters, action.arguments, strict=True)
        return {p.name: self.scope.label(p.sort, index) for p, index in pairs}


def ground(scope: Scope, observe: Iterable[Term] | None = None, keep: Iterable[str] = ()) -> Ground:
    """Ground a scope; with `observe`, only what the observed terms and the actions named in `keep` can depend on."""
    return _Grounding(scope, None if observe is None else tuple(observe), frozenset(keep)).result()


def needed_functions(
    actions: Iterable[Action], observe: Iterable[Term], keep: Collection[str] = ()
) -> tuple[set[Function], list[Action]]:
    """The functions that observed terms depend on through any steps, and the actions that change one of them.

    Actions named in `keep` stay in any case, with what their conditions and answers depend on.
    """
    needed: set[Function] = set()
    for term in observe:
        needed |= t.functions_of(term)
    actions = list(actions)
    used: set[str] = set()
    for action in actions:
        if action.name in keep:
            used.add(action.name)
            needed |= _conditions(action)
            needed |= set() if action.returns is None else t.functions_of(action.returns)
    done: set[tuple[str, Function]] = set()
    growing = True
    while growing:
        growing = False
        for action in actions:
            for function in [f for f in action.updates if f in needed and (action.name, f) not in done]:
                growing = True
                done.add((action.name, function))
                needed |= t.functions_of(action.updates[function].body)
                if action.name not in used:
                    used.add(action.name)
                    needed |= _conditions(action)
    return needed, [action for action in actions if action.name in used]


def _conditions(action: Action) -> set[Function]:
    return {f for condition in action.conditions for f in t.functions_of(condition.holds)}


class _Grounding:
    """The work of `ground`."""

    def __init__(self, scope: Scope, observe: tuple[Term, ...] | None, keep: frozenset[str]) -> None:
        self.scope = scope
        self.bits = Bits()
        self.partial = Partial(scope, self.bits)
        machine = scope.machine
        self.actions = list(machine.actions.values())
        functions = set(machine.functions)
        if observe is not None:
            functions, self.actions = needed_functions(self.actions, observe, keep)
        updated = {f for action in self.actions for f in action.updates if f in functions}
        self.functions = [f for f in machine.functions if f in functions]
        if len(self.functions) != len(functions):
            raise LanguageError(f"scope {scope.name}: unknown functions {functions - set(self.functions)}")
        for layer in (True, False):  # initial values are terms over the platform
            for f in self.functions:
                if (f.layer == "platform") is layer:
                    self.partial.add_function(f, self._start(f), fixed=f not in updated)
        self.start = {f: list(self.partial.cells[f]) for f in updated}
        self.plans = {action.name: Plan(self.partial, action) for action in self.actions}
        self.variables: dict[int, Bit] = {}

    def _start(self, function: Function) -> list[Value]:
        scope, size = self.scope, self.scope.size(function.result)
        table = scope.platform[function] if function.layer == "platform" else scope.start.get(function)
        if table is not None:
            values = [look_up(table, place) for place in scope.places(function)]
        else:
            values = [self._initial(function, place) for place in scope.places(function)]
        if any(not 0 <= value < size for value in values):
            raise LanguageError(f"scope {scope.name}: {function.name} starts outside its sort")
        return list(values)

    def _initial(self, function: Function, place: tuple[int, ...]) -> int:
        term = self.scope.machine.initial[function]
        for formal, index in zip(function.formals, place, strict=True):
            self.partial.env[self.partial.slot(formal)] = index
        for platform in t.functions_of(term) - self.partial.cells.keys():
            self.partial.add_function(platform, self._start(platform), fixed=True)
        value = self.partial.compile(term).run()
        if not isinstance(value, int):
            raise LanguageError(f"the initial value of {function.name} depends on the state")
        return value

    def result(self) -> Ground:
        """Enumerate until no more bits become variable; then lay out the packed state."""
        self._seed()
        plans = list(self.plans.values())
        waiting = plans
        while waiting:
            changed: set[Function] = set()
            for plan in waiting:
                changed |= self._widen(plan)
            broken = self.partial.disturb(changed)
            touched = sum(self.partial.mark[f] for f in changed)
            waiting = [plan for plan in plans if plan.reads & touched]
            for plan in waiting:
                plan.stale = plan.stale or bool(plan.reads & broken)
        return self._lay_out()

    def _seed(self) -> None:
        """Program counters and registers vary for certain: to find that out bit by bit would take many rounds."""
        for function in self.start:
            if not function.arguments and function.result is not BOOL:
                width = (self.scope.size(function.result) - 1).bit_length()
                self.partial.cells[function][0] = pack(tuple(self._new_bit(function, 0, i) for i in range(width)))
                self.partial.disturb({function})

    def _widen(self, plan: Plan) -> set[Function]:
        """Enumerate one action; bits that it can change become variables."""
        plan.enumerate()
        changed = set()
        for instance in plan.instances:
            for (function, index), value in instance.cells.items():
                if self._widen_cell(function, index, value):
                    changed.add(function)
        return changed

    def _widen_cell(self, function: Function, index: int, value: Value) -> bool:
        cells = self.partial.cells[function]
        now = cells[index]
        width = max(1, (self.scope.size(function.result) - 1).bit_length())
        if function.result is BOOL:
            if not isinstance(now, int) or now > 1 or now == value:
                return False
            cells[index] = self._new_bit(function, index, 0)
            return True
        old, new = list(spread(now, width)), spread(value, width)
        grown = [i for i in range(width) if old[i] < 2 and old[i] != new[i]]
        for i in grown:
            old[i] = self._new_bit(function, index, i)
        cells[index] = pack(tuple(old))
        return bool(grown)

    def _new_bit(self, function: Function, index: int, place: int) -> int:
        node = self.bits.variable(len(self.variables))
        self.variables[node] = Bit(function, index, place)
        return node

    def _lay_out(self) -> Ground:
        rank = {f: i for i, f in enumerate(self.scope.machine.functions)}

        def order(node: int) -> tuple[int, int, int]:
            bit = self.variables[node]
            return rank[bit.function], bit.cell, bit.place

        nodes = sorted(self.variables, key=order)
        initial = 0
        for position, node in enumerate(nodes):
            bit = self.variables[node]
            initial |= (self.start[bit.function][bit.cell] >> bit.place & 1) << position  # type: ignore[operator]
        actions = [one for action in self.actions for one in self._finish(self.plans[action.name])]
        for number, one in enumerate(actions):
            one.number = number
        positions = {node: position for position, node in enumerate(nodes)}
        variables = [self.variables[node] for node in nodes]
        return Ground(self.scope, self.bits, self.partial, variables, nodes, initial, actions, positions)

    def _finish(self, plan: Plan) -> list[GroundAction]:
        """The instances of an action as assignments to bits."""
        result = []
        for instance in plan.instances:
            assigns: dict[int, int] = {}
            for (function, index), value in instance.cells.items():
                now = self.partial.cells[function][index]
                if function.result is BOOL:
                    olds, news = (now,), (value,)
                else:
                    width = (self.scope.size(function.result) - 1).bit_length()
                    olds, news = spread(now, width), spread(value, width)  # type: ignore[assignment]
                for old, new in zip(olds, news, strict=True):
                    if old != new:
                        assigns[old] = new  # type: ignore[index, assignment]
            result.append(GroundAction(plan.action, instance.arguments, instance.guard, assigns, instance.returns))
        return result


def closed(item: Property | Term) -> Term:
    """A property or formula as a closed formula."""
    return item.closed if isinstance(item, Property) else item
