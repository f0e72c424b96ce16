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
from shmem_proofs.cvc5_reader import Env, SecondUniverse, Symbols
from shmem_proofs.induction import START, Obligation, Prover, Verdict, obligations

RLIMIT = 2_000_000
"""cvc5 resource units for one obligation (most take less than a hundredth)."""

AGREE, DISAGREE, UNSETTLED = "agree", "disagree", "unsettled"


class SecondProver:
    """Asks cvc5 what `induction.Prover` asks Z3."""

    def __init__(self, machine: Machine, rlimit: int = RLIMIT) -> None:
        self.machine = machine
        self.rlimit = rlimit

    def check(self, obligation: Obligation) -> Verdict:
        """Ask cvc5; also where the action changes nothing that the claim mentions."""
        question = Question(self.machine, self.rlimit)
        claim = self.machine.property(obligation.claim)
        if obligation.action == START:
            question.start(claim)
        else:
            question.step(self.machine.actions[obligation.action], claim)
        return question.verdict()

    def can_fire(self, action: Action) -> Verdict:
        """`holds` here means that the action can *not* fire in any state that satisfies the invariants."""
        question = Question(self.machine, self.rlimit)
        question.state()
        question.take(action)
        return question.verdict()


class Question:
    """One question, with a solver and terms of its own: the answer does not depend on what was asked before."""

    def __init__(self, machine: Machine, rlimit: int) -> None:
        self.machine = machine
        self.universe = SecondUniverse(machine)
        self.solver = cvc5.Solver(self.universe.manager)
        self.solver.setLogic("UF")
        self.solver.setOption("finite-model-find", "true")
        self.solver.setOption("produce-models", "true")
        self.solver.setOption("rlimit-per", str(rlimit))
        self.assume(machine.axioms)

    def assume(self, claims: Iterable[Property]) -> None:
        """These claims hold in the state before the step."""
        for claim in claims:
            self.solver.assertFormula(self.universe.closed(claim))

    def state(self) -> None:
        """There is a state that satisfies the invariants."""
        self.assume(self.machine.invariants)

    def take(self, action: Action) -> dict[Term, Any]:
        """The action can be taken in it; the constants that stand for its parameters."""
        parameters = self.universe.constants(action.parameters, "p_")
        self.solver.assertFormula(self.universe.term(action.guard, parameters, self.universe.now))
        return parameters

    def start(self, claim: Property) -> None:
        """The claim is false at the start."""
        then = self.after(claim, self.machine.initial, {})
        self.refuse(self.universe.term(claim.body, self._variables(claim), then))

    def step(self, action: Action, claim: Property) -> None:
        """The claim is false of a step of the action, or after it."""
        self.state()
        parameters, now = self.take(action), self.universe.now
        then = self.after(claim, new_values(action), parameters)
        names = self._variables(claim)
        if claim.kind == "step":
            names = self._names(claim, names, action, parameters)
            self.refuse(self.universe.term(claim.body, names, now, then))
        else:
            self.refuse(self.universe.term(claim.body, names, then))

    def _variables(self, claim: Property) -> dict[Term, Any]:
        return self.universe.constants(claim.variables, "sk_")

    def after(self, claim: Property, bodies: Mapping[Function, Term], env: Env, now: Symbols | None = None) -> Symbols:
        """The state after `now` in which the functions that the claim mentions have these values."""
        before, mentioned = now or self.universe.now, t.functions_of(claim.body)
        definitions = {
            f: self.universe.definition(f, body, env, before) for f, body in bodies.items() if f in mentioned
        }
        return self.universe.define(self.solver, definitions, before)

    def _names(
        self, claim: Property, variables: dict[Term, Any], action: Action, parameters: dict[Term, Any]
    ) -> dict[Term, Any]:
        """What names in a step property stand for; its own variables come before the action's."""
        names = {**parameters, **variables}
        for node in t.walk(claim.body):
            if isinstance(node, Parameter) and node not in names:
                names[node] = self._special(claim, node, action, parameters)
        return names

    def _special(self, claim: Property, node: Parameter, action: Action, parameters: dict[Term, Any]) -> Any:
        if node.name == "answer" and action.returns is not None:
            return self.universe.term(action.returns, parameters, self.universe.now)
        if node.name == "actor":
            actor = action.actor(node.sort)
            return self.universe.constant("actor", node.sort) if actor is None else parameters[actor]
        raise LanguageError(f"{claim.name} speaks of {node.name}, which {action.name} does not have")

    def refuse(self, goal: Any) -> None:
        """This does not hold."""
        self.solver.assertFormula(goal.notTerm())

    def verdict(self) -> Verdict:
        """`holds` if what was asserted is a contradiction."""
        answer = self.solver.checkSat()
        cost = int(self.solver.getStatistics()["resource::resourceUnitsUsed"]["value"])
        if answer.isUnsat():
            return Verdict("holds", cost=cost)
        if answer.isSat():
            return Verdict("not-inductive", self._sizes(), cost)
        return Verdict("unknown", answer.getUnknownExplanation().name, cost)

    def _sizes(self) -> str:
        elements = [
            (sort, self.solver.getModelDomainElements(self.universe.sorts[sort])) for sort in self.machine.sorts
        ]
        return "a model with " + ", ".join(f"{len(found)} {sort.name}" for sort, found in elements)


def new_values(action: Action) -> dict[Function, Term]:
    """What every updated function becomes."""
    return {function: update.body for function, update in action.updates.items()}


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
        lines = [f"{r.state}: {r.obligation.name}: z3 {r.first.verdict}, cvc5 {r.second.verdict}" for r in rows]
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
