"""The second solver: every proof obligation is also settled by cvc5, and both must say the same.

The formulas lie in a decidable fragment (`language.fragment`), for which cvc5's search for finite models is
complete, so it finds the counterexamples, too.  Resource limits, not clocks, decide.  `unknown` agrees with
nothing and is never a success.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import cvc5

from shmem_model.language import Action, Function, LanguageError, Machine, Parameter, Property, Term
from shmem_model.language import terms as t
from shmem_proofs.cvc5_reader import Definition, SecondUniverse
from shmem_proofs.induction import START, Obligation, Prover, Verdict, obligations

RLIMIT = 2_000_000
"""cvc5 resource units for one obligation (most take less than a hundredth)."""

AGREE, DISAGREE, UNSETTLED = "agree", "disagree", "unsettled"


class SecondProver:
    """Asks cvc5 what `induction.Prover` asks Z3."""

    def __init__(self, machine: Machine, rlimit: int = RLIMIT) -> None:
        self.machine = machine
        self.rlimit = rlimit
        self.universe = SecondUniverse(machine)
        self.axioms = [self._closed(axiom) for axiom in machine.axioms]
        self.invariants = [self._closed(claim) for claim in machine.invariants]
        self._actions: dict[str, _ReadAction] = {}

    def _closed(self, claim: Property) -> Any:
        return self.universe.term(claim.closed, {}, self.universe.now)

    def read(self, action: Action) -> _ReadAction:
        """The action in cvc5's terms."""
        if action.name not in self._actions:
            self._actions[action.name] = _ReadAction(self.universe, action)
        return self._actions[action.name]

    def check(self, obligation: Obligation) -> Verdict:
        """Ask cvc5; also where the action changes nothing that the claim mentions."""
        claim = self.machine.property(obligation.claim)
        solver = self.solver()
        now = self.universe.now
        variables = self.universe.constants(claim.variables, "sk_")
        if obligation.action == START:
            then = self.universe.define(solver, self._initial(claim), now)
            goal = self.universe.term(claim.body, variables, then)
            return self.settle(solver, [*self.axioms, goal.notTerm()])
        read = self.read(self.machine.actions[obligation.action])
        then = self.universe.define(solver, read.definitions(claim), now)
        if claim.kind == "invariant":
            goal = self.universe.term(claim.body, variables, then)
        else:
            goal = self.universe.term(claim.body, read.names(claim, variables), now, then)
        return self.settle(solver, [*self.axioms, *self.invariants, read.guard, goal.notTerm()])

    def can_fire(self, action: Action) -> Verdict:
        """`holds` here means that the action can *not* fire in any state that satisfies the invariants."""
        return self.settle(self.solver(), [*self.axioms, *self.invariants, self.read(action).guard])

    def _initial(self, claim: Property) -> dict[Function, Definition]:
        universe, initial = self.universe, self.machine.initial
        mentioned = [f for f in self.machine.functions if f in t.functions_of(claim.body) & initial.keys()]
        return {f: universe.definition(f, initial[f], {}, universe.now) for f in mentioned}

    def solver(self) -> Any:
        """A fresh solver."""
        solver = cvc5.Solver(self.universe.manager)
        solver.setLogic("UF")
        solver.setOption("finite-model-find", "true")
        solver.setOption("produce-models", "true")
        solver.setOption("rlimit-per", str(self.rlimit))
        return solver

    def settle(self, solver: Any, formulas: list[Any]) -> Verdict:
        """`holds` if the formulas contradict each other."""
        for formula in formulas:
            solver.assertFormula(formula)
        answer = solver.checkSat()
        cost = int(solver.getStatistics()["resource::resourceUnitsUsed"]["value"])
        if answer.isUnsat():
            return Verdict("holds", cost=cost)
        if answer.isSat():
            return Verdict("not-inductive", self._sizes(solver), cost)
        return Verdict("unknown", answer.getUnknownExplanation().name, cost)

    def _sizes(self, solver: Any) -> str:
        sizes = [(s, len(solver.getModelDomainElements(self.universe.sorts[s]))) for s in self.machine.sorts]
        return "a model with " + ", ".join(f"{size} {sort.name}" for sort, size in sizes)


class _ReadAction:
    """An action with constants for its parameters."""

    def __init__(self, universe: SecondUniverse, action: Action) -> None:
        self.universe = universe
        self.action = action
        self.parameters = universe.constants(action.parameters, "p_")
        self.guard = universe.term(action.guard, self.parameters, universe.now)
        self._updates: dict[Function, Definition] = {}

    def definitions(self, claim: Property) -> dict[Function, Definition]:
        """The new values of the functions that the claim mentions."""
        mentioned = t.functions_of(claim.body)
        return {f: self._definition(f) for f in self.action.updates if f in mentioned}

    def _definition(self, function: Function) -> Definition:
        if function not in self._updates:
            body, now = self.action.updates[function].body, self.universe.now
            self._updates[function] = self.universe.definition(function, body, self.parameters, now)
        return self._updates[function]

    def names(self, claim: Property, variables: Mapping[Term, Any]) -> dict[Term, Any]:
        """What names in a step property stand for; its own variables come before the action's."""
        names = {**self.parameters, **variables}
        for node in t.walk(claim.body):
            if isinstance(node, Parameter) and node not in names:
                names[node] = self._name(claim, node)
        return names

    def _name(self, claim: Property, node: Parameter) -> Any:
        universe, action = self.universe, self.action
        if node.name == "answer" and action.returns is not None:
            return universe.term(action.returns, self.parameters, universe.now)
        if node.name == "actor":
            actor = action.actor(node.sort)
            return universe.constant("actor", node.sort) if actor is None else self.parameters[actor]
        raise LanguageError(f"{claim.name} speaks of {node.name}, which {action.name} does not have")


@dataclass(frozen=True)
class Row:
    """What the two solvers say of one obligation."""

    obligation: Obligation
    first: Verdict
    second: Verdict

    @property
    def state(self) -> str:
        """`agree`, `disagree`, or `unsettled` (one of them does not know)."""
        if "unknown" in (self.first.verdict, self.second.verdict):
            return UNSETTLED
        return AGREE if self.first.verdict == self.second.verdict else DISAGREE


@dataclass(frozen=True)
class Agreement:
    """The table of all obligations that both solvers were asked."""

    rows: tuple[Row, ...]

    @property
    def ok(self) -> bool:
        """Something was asked, and both solvers say that everything holds."""
        return bool(self.rows) and all(r.state == AGREE and r.first.verdict == "holds" for r in self.rows)

    def of(self, state: str) -> tuple[Row, ...]:
        """The rows in that state."""
        return tuple(row for row in self.rows if row.state == state)

    def counts(self) -> dict[str, int]:
        """How many rows are in each state."""
        return {state: len(self.of(state)) for state in (AGREE, DISAGREE, UNSETTLED)}

    def __str__(self) -> str:
        rows = [r for r in self.rows if r.state != AGREE or r.first.verdict != "holds"]
        lines = [
            f"{r.state}: {r.obligation.name}: z3 {r.first.verdict}, cvc5 {r.second.verdict}" for r in rows
        ]
        numbers = ", ".join(f"{number} {state}" for state, number in self.counts().items())
        return "\n".join([*lines, f"{len(self.rows)} obligations: {numbers}"])


def compare(
    machine: Machine,
    chosen: Iterable[Obligation] | None = None,
    *,
    first: Prover | None = None,
    second: SecondProver | None = None,
) -> Agreement:
    """Ask both solvers; by default whatever is not settled by the frame alone."""
    first, second = first or Prover(machine), second or SecondProver(machine)
    if chosen is None:
        chosen = (each for each in obligations(machine) if not first.settled_by_frame(each))
    return Agreement(tuple(Row(each, first.check(each), second.check(each)) for each in chosen))
