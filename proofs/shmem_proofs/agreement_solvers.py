"""The solvers' readers in one state at a time, for comparing them with the others.

Their terms are the very ones that are asked in proofs and searches: the formulas of an obligation, and ground
actions over symbols.  A model that gives every cell its value evaluates them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import z3

from shmem_model.language import BOOL, Action, Function, Parameter, Property, Sort, Term
from shmem_model.language import terms as t
from shmem_model.readers.concrete import Call, State
from shmem_model.readers.scope import Scope
from shmem_proofs.finite_steps import GroundAction, Grounded
from shmem_proofs.induction import Obligation, Prover


class Expanded:
    """The symbolic reader: its formulas with quantifiers expanded over the elements of a scope."""

    name = "symbolic"

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.prover = Prover(scope.machine)
        self.universe = self.prover.universe
        self.elements = {sort: self._elements(sort) for sort in (*scope.machine.sorts, BOOL)}
        self._by_z3_sort = {self.universe.sorts[sort]: made for sort, made in self.elements.items()}
        self._guards: dict[str, Any] = {}
        self._updates: dict[tuple[str, Function], Any] = {}
        self._claims: dict[Obligation, Any] = {}

    def _elements(self, sort: Sort) -> list[Any]:
        if sort is BOOL:
            return [z3.BoolVal(value, self.universe.context) for value in (False, True)]
        return [self.universe.constant(f"{sort.name}#{i}", sort) for i in range(self.scope.size(sort))]

    def load(self, state: State) -> None:
        """Make this the current state."""
        self.state = state
        solver = z3.Solver(ctx=self.universe.context)
        for sort in self.scope.machine.sorts:
            solver.add(z3.Distinct(*self.elements[sort]))
        for function in self.scope.machine.functions:
            for place, value in self._table(function):
                solver.add(self._cell(function, place) == self.elements[function.result][value])
        assert solver.check() == z3.sat
        self.model = solver.model()
        self._index = {
            sort: {self.model.eval(e): i for i, e in enumerate(made)} for sort, made in self.elements.items()
        }

    def _table(self, function: Function) -> Iterator[tuple[tuple[int, ...], int]]:
        for i, place in enumerate(self.scope.places(function)):
            if function in self.state:
                yield place, self.state[function][i]
            else:
                yield place, self.scope.platform_value(function, place)

    def _cell(self, function: Function, place: tuple[int, ...]) -> Any:
        at = [self.elements[sort][i] for sort, i in zip(function.arguments, place, strict=True)]
        return self.universe.functions[function](*at)

    def _value(self, formula: Any, pairs: list[tuple[Any, Any]], sort: Sort = BOOL) -> int:
        put_in = z3.substitute(formula, *pairs) if pairs else formula
        return self._index[sort][self.model.eval(put_in, model_completion=True)]

    def _parameters(self, action: Action) -> dict[Term, Any]:
        return {p: self.universe.constant(f"p_{p.name}", p.sort) for p in action.parameters}

    def _arguments(self, call: Call) -> list[tuple[Any, Any]]:
        action = self.scope.machine.actions[call[0]]
        made = zip(self._parameters(action).values(), action.parameters, call[1], strict=True)
        return [(constant, self.elements[p.sort][i]) for constant, p, i in made]

    def step(self, call: Call) -> State | None:
        """The state after the call, None if it cannot be taken."""
        action, pairs = self.scope.machine.actions[call[0]], self._arguments(call)
        if action.name not in self._guards:
            guard = self.universe.term(action.guard, self._parameters(action), self.universe.now)
            self._guards[action.name] = self._expand(guard)
        if not self._value(self._guards[action.name], pairs):
            return None
        return {**self.state, **{f: tuple(self._new(action, f, pairs)) for f in action.updates}}

    def _new(self, action: Action, function: Function, pairs: list[tuple[Any, Any]]) -> Iterator[int]:
        places = [self.universe.constant(f"at{i}", sort) for i, sort in enumerate(function.arguments)]
        if (action.name, function) not in self._updates:
            then = self.universe.then(action, self._parameters(action))
            self._updates[action.name, function] = self._expand(then(function, tuple(places)))
        for place in self.scope.places(function):
            at = [self.elements[sort][i] for sort, i in zip(function.arguments, place, strict=True)]
            here = [*pairs, *zip(places, at, strict=True)]
            yield self._value(self._updates[action.name, function], here, function.result)

    def claim(self, claim: Property, call: Call) -> bool:
        """The claim holds of this step, as the last formula of its proof obligation has it (negated)."""
        obligation = Obligation(call[0], claim.name)
        if obligation not in self._claims:
            self._claims[obligation] = self._expand(self.prover.formulas(obligation)[-1])
        pairs = self._arguments(call)
        constants = [self.universe.constant(f"sk_{v.name}", v.sort) for v in claim.variables]
        ranges: list[list[Any]] = [self.elements[v.sort] for v in claim.variables]
        if self._nobody_acts(claim, call):
            actor = next(sort for sort in self.elements if sort.name == "Agent")
            constants.append(self.universe.constant("actor", actor))
            ranges.append(self.elements[actor])
        return not any(
            self._value(self._claims[obligation], [*pairs, *zip(constants, chosen, strict=True)])
            for chosen in product(*ranges)
        )

    def _nobody_acts(self, claim: Property, call: Call) -> bool:
        """The claim speaks of the actor, but the step has none: then it speaks of every agent."""
        actors = [n for n in t.walk(claim.body) if isinstance(n, Parameter) and n.name == "actor"]
        action = self.scope.machine.actions[call[0]]
        return claim.kind == "step" and any(action.actor(node.sort) is None for node in actors)

    def _expand(self, formula: Any) -> Any:
        """The formula without quantifiers."""
        if z3.is_quantifier(formula):
            ranges = [self._by_z3_sort[formula.var_sort(i)] for i in range(formula.num_vars())]
            parts = [z3.substitute_vars(formula.body(), *reversed(chosen)) for chosen in product(*ranges)]
            return (z3.And if formula.is_forall() else z3.Or)(*[self._expand(part) for part in parts])
        if not formula.children():
            return formula
        parts = [self._expand(part) for part in formula.children()]
        if z3.is_and(formula) or z3.is_or(formula):
            return (z3.And if z3.is_and(formula) else z3.Or)(*parts)
        return formula.decl()(*parts)


class Finite:
    """The bounded search's reader: ground actions over symbols, evaluated in a model."""

    name = "bounded"

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.grounded = Grounded(scope, settle=False)
        self.reader = self.grounded.reader
        self._places = {f: list(scope.places(f)) for f in scope.machine.state}
        self._actions: dict[Call, GroundAction | None] = {}
        self._claims: dict[tuple[str, Call], Any] = {}

    def load(self, state: State) -> None:
        """Make this the current state."""
        self.state = state
        solver = z3.Solver(ctx=self.reader.context)
        for function, values in state.items():
            for place, value in zip(self._places[function], values, strict=True):
                cell = self.grounded.symbols[function, place]
                solver.add(cell == self.reader.as_term(value, function.result))
        assert solver.check() == z3.sat
        self.model = solver.model()

    def _instance(self, call: Call) -> GroundAction | None:
        if call not in self._actions:
            self._actions[call] = self.grounded.instance(self.scope.machine.actions[call[0]], call[1])
        return self._actions[call]

    def step(self, call: Call) -> State | None:
        """The state after the call, None if it cannot be taken."""
        one = self._instance(call)
        if one is None or not self.reader.read(self.model, one.guard):
            return None
        after = {f: list(values) for f, values in self.state.items()}
        for (function, place), value in one.changes.items():
            after[function][self._places[function].index(place)] = self.reader.read(self.model, value)
        return {f: tuple(values) for f, values in after.items()}

    def claim(self, claim: Property, call: Call) -> bool:
        """The claim holds of this step (an invariant: after it)."""
        if (claim.name, call) not in self._claims:
            one = self._instance(call)
            assert one is not None
            if claim.kind == "step":
                made = self.grounded.claimed(claim, one)
            else:
                made = self.reader.value(claim.closed, {}, self.grounded.after(one))
            self._claims[claim.name, call] = made
        return bool(self.reader.read(self.model, self._claims[claim.name, call]))
