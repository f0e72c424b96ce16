"""Bounded search: is there a run of at most so many steps that breaks a claim, in a scope?  Asked of Z3.

It shares nothing with the explorer but the machine's text, so each is a check of the other: the first
violation must be at the same depth.  Every step has one selector per ground action, so a model names actions
and arguments, and every run that Z3 finds is run again by the concrete reader before it is believed.

A state is asked about *before* the next step is added: a bad state without successor is found, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import z3

from shmem_model.language import Function, LanguageError, Property
from shmem_model.language import terms as t
from shmem_model.readers.concrete import Concrete, State
from shmem_model.readers.scope import Scope
from shmem_model.readers.trace import Step, Trace
from shmem_proofs.finite_reader import Cell, Value
from shmem_proofs.finite_steps import GroundAction, Grounded

RLIMIT = 200_000_000
"""Z3 resource units for the question about one depth."""


class ReaderMismatch(AssertionError):
    """The solver's run is no run of the machine, or breaks nothing: one of the two readers is wrong."""


@dataclass(frozen=True)
class Unknown:
    """The solver gave up at this depth."""

    depth: int
    reason: str


@dataclass(frozen=True)
class Run:
    """A run from the start: steps as the explorer shows them, states as the concrete reader has them."""

    steps: tuple[Step, ...]
    states: tuple[State, ...]

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        return str(Trace(self.steps, ()))

    def as_json(self) -> list[dict[str, Any]]:
        """The steps as plain data."""
        return Trace(self.steps, ()).as_json()


Answer = Run | Unknown | None
"""None: there is no such run of that many steps."""


class Search:
    """The unrolled scope, step by step."""

    def __init__(self, scope: Scope, rlimit: int = RLIMIT) -> None:
        self.scope = scope
        self.grounded = Grounded(scope)
        self.reader = self.grounded.reader
        self.concrete = Concrete(scope)
        self.depth = self._questions = 0
        self.states = [self._symbols(0)]
        self.selectors: list[list[Any]] = []
        self._picks = [self._bool(f"{one.call}") for one in self.grounded.actions]
        self._next = self._symbols("next")
        self._relation = z3.And(*[self._term(part) for part in self._transition()])
        self.solver = z3.SolverFor("QF_FD", ctx=self.reader.context)
        self.solver.set("rlimit", rlimit)
        for cell, symbol in self.states[0].items():
            self.solver.add(symbol == self.reader.as_term(self.grounded.start[cell], cell[0].result))

    def _bool(self, name: str) -> Any:
        return z3.Bool(name, self.reader.context)

    def _term(self, value: Value) -> Any:
        return self.reader.as_term(value, t.BOOL)

    def _symbols(self, when: object) -> dict[Cell, Any]:
        cells = self.grounded.symbols
        return {(f, place): self.reader.symbol(f"{f.name}{place}@{when}", f.result) for f, place in cells}

    def _transition(self) -> Iterable[Value]:
        """One step between the cells and the next cells, as formulas."""
        picks = self._picks
        yield z3.Or(*picks) if picks else 0
        if len(picks) > 1:
            yield z3.AtMost(*picks, 1)
        writers: dict[Cell, list[Any]] = {cell: [] for cell in self._next}
        for pick, one in zip(picks, self.grounded.actions, strict=True):
            yield z3.Implies(pick, self._term(one.guard))
            for cell, value in one.changes.items():
                writers[cell].append(pick)
                yield z3.Implies(pick, self._next[cell] == self.reader.as_term(value, cell[0].result))
        for cell, after in self._next.items():
            yield z3.Or(*writers[cell], after == self.grounded.cells[cell])
            yield self.reader.in_range(after, cell[0].result)

    def _at(self, formula: Value, depth: int) -> Any:
        """A formula over cells, next cells and selectors, about the step (or state) at this depth."""
        pairs = [(symbol, self.states[depth][cell]) for cell, symbol in self.grounded.symbols.items()]
        if depth < len(self.selectors):
            pairs += [(symbol, self.states[depth + 1][cell]) for cell, symbol in self._next.items()]
            pairs += list(zip(self._picks, self.selectors[depth], strict=True))
        return z3.substitute(self._term(formula), *pairs) if pairs else self._term(formula)

    def extend(self) -> None:
        """Add one more step."""
        self.states.append(self._symbols(self.depth + 1))
        self.selectors.append([self._bool(f"{self.depth}: {one.call}") for one in self.grounded.actions])
        self.solver.add(self._at(self._relation, self.depth))
        self.depth += 1

    # ------------------------------------------------------------------ asking

    def bad_state(self, claim: Property) -> Value:
        """Where an invariant does not hold (or: where a set of states is reached)."""
        held = self.reader.value(claim.closed, {}, self.grounded.cells)
        return held if claim.kind == "state" else self.reader.negation(held)

    def bad_step(self, claim: Property) -> Value:
        """A step that breaks a property of steps, over cells and selectors."""
        bad = []
        for pick, one in zip(self._picks, self.grounded.actions, strict=True):
            if not claim.actions or {one.action.base, one.action.name} & set(claim.actions):
                broken = self.reader.negation(self.grounded.claimed(claim, one))
                bad.append(self.reader.conj([pick, broken]))
        return self.reader.disj(bad)

    def ask(self, formula: Value, depth: int) -> Any:
        """Whether the formula can hold at this depth: a model, Unknown, or None."""
        if isinstance(formula, int) and formula == 0:
            return None
        self._questions += 1
        asked = self._bool(f"question {self._questions}")
        self.solver.add(z3.Implies(asked, self._at(formula, depth)))
        answer = self.solver.check(asked)
        if answer == z3.sat:
            return self.solver.model()
        return None if answer == z3.unsat else Unknown(depth, self.solver.reason_unknown())

    # ------------------------------------------------------------------ runs

    def run(self, model: Any, length: int) -> Run:
        """The run that a model describes, checked by the concrete reader."""
        calls = [self._taken(model, depth) for depth in range(length)]
        states = [self._state(model, depth) for depth in range(length + 1)]
        if states[0] != dict(self.concrete.initial()):
            raise ReaderMismatch(f"{self.scope.name}: the readers start in different states")
        for one, before, after in zip(calls, states, states[1:], strict=False):
            answer = self.concrete.answer(before, one.action.name, one.arguments)
            if not answer.done:
                raise ReaderMismatch(f"{self.scope.name}: the solver takes {one.call}, which says: {answer}")
            if self.concrete.step(before, one.action.name, one.arguments) != after:
                raise ReaderMismatch(f"{self.scope.name}: the readers disagree about what {one.call} does")
        steps = [self._step(*each) for each in zip(calls, states, states[1:], strict=False)]
        return Run(tuple(steps), tuple(states))

    def _taken(self, model: Any, depth: int) -> GroundAction:
        taken = [
            one
            for pick, one in zip(self.selectors[depth], self.grounded.actions, strict=True)
            if z3.is_true(model.eval(pick, model_completion=True))
        ]
        if len(taken) != 1:
            raise ReaderMismatch(f"{self.scope.name}: the solver takes {len(taken)} steps at once")
        return taken[0]

    def _state(self, model: Any, depth: int) -> dict[Function, tuple[int, ...]]:
        symbols, known = self.states[depth], self.grounded.cells
        return {
            f: tuple(self.reader.read(model, symbols.get((f, p), known[f, p])) for p in self.scope.places(f))
            for f in self.scope.machine.state
        }

    def _step(self, one: GroundAction, before: State, after: State) -> Step:
        label = self.scope.label
        changes = {}
        for function in before:
            pairs = zip(self.scope.places(function), before[function], after[function], strict=True)
            for place, old, new in pairs:
                if old != new:
                    names = [label(sort, i) for sort, i in zip(function.arguments, place, strict=True)]
                    cell = f"{function.name}({', '.join(names)})" if names else function.name
                    changes[cell] = (label(function.result, old), label(function.result, new))
        parameters = one.action.parameters
        arguments = {p.name: i for p, i in zip(parameters, one.arguments, strict=True)}
        shown = {p.name: label(p.sort, i) for p, i in zip(parameters, one.arguments, strict=True)}
        answer = self.concrete.returns(before, one.action.name, one.arguments)
        sort = one.action.returns.sort if one.action.returns is not None else t.BOOL
        return Step(one.action.name, arguments, shown, changes, None if answer is None else label(sort, answer))


def first_violation(scope: Scope, claim: Property, max_depth: int, rlimit: int = RLIMIT) -> Answer:
    """The shortest run of at most `max_depth` steps that breaks the claim (kind state: that reaches it)."""
    search = Search(scope, rlimit)
    if claim.kind == "step":
        return _first_bad_step(search, claim, max_depth)
    if claim.kind not in ("invariant", "state"):
        raise LanguageError(f"property {claim.name} is of kind {claim.kind}; bounded search cannot look for that")
    bad = search.bad_state(claim)
    for depth in range(max_depth + 1):
        found = search.ask(bad, depth)
        if isinstance(found, Unknown):
            return found
        if found is not None:
            run = search.run(found, depth)
            if search.concrete.holds(claim, run.states[-1]) != (claim.kind == "state"):
                raise ReaderMismatch(f"{scope.name}: the readers disagree about {claim.name}")
            return run
        if depth < max_depth:
            search.extend()
    return None


def _first_bad_step(search: Search, claim: Property, max_depth: int) -> Answer:
    bad = search.bad_step(claim)
    for depth in range(max_depth):
        search.extend()
        found = search.ask(bad, depth)
        if isinstance(found, Unknown):
            return found
        if found is not None:
            run = search.run(found, depth + 1)
            last = run.steps[-1]
            before, after = run.states[-2:]
            if search.concrete.holds_step(claim, before, last.action, tuple(last.arguments.values()), after):
                raise ReaderMismatch(f"{search.scope.name}: the readers disagree about {claim.name}")
            return run
    return None
