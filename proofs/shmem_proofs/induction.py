"""Induction: every invariant holds at the start and is kept by every action, for any number of everything.

One obligation is one (action, claim) pair and gets one fresh solver.  Resource limits, not clocks, decide, so the same
question has the same answer twice.  `unknown` is a verdict of its own and never a success; a pair of states that
shows a claim not inductive is not yet a run that breaks it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import z3

from shmem_model.language import Action, LanguageError, Machine, Parameter, Property, Term
from shmem_model.language import terms as t
from shmem_proofs.symbolic import Universe

RLIMIT = 30_000_000
"""Z3 resource units for one obligation (most take less than a hundredth)."""

START = "start"


@dataclass(frozen=True)
class Obligation:
    """`action` keeps `claim` (action "start": it holds initially)."""

    action: str
    claim: str

    @property
    def name(self) -> str:
        """How it is shown and selected."""
        return f"{self.action} keeps {self.claim}"


@dataclass(frozen=True)
class Verdict:
    """`holds`, `not-inductive` (with the pair of states as text), or `unknown` (with the reason)."""

    verdict: str
    reason: str = ""
    cost: int = 0
    model: Any = field(default=None, compare=False, repr=False)


def obligations(machine: Machine) -> Iterator[Obligation]:
    """All obligations of a machine, in a fixed order."""
    for claim in machine.properties:
        if claim.kind == "invariant":
            yield Obligation(START, claim.name)
        for action in machine.actions.values():
            if claim.kind == "invariant" or (claim.kind == "step" and concerns(claim, action)):
                yield Obligation(action.name, claim.name)


def concerns(claim: Property, action: Action) -> bool:
    """A step property speaks of this action."""
    return not claim.actions or action.base in claim.actions


def settled_by_frame(machine: Machine, obligation: Obligation) -> bool:
    """The action changes nothing that the invariant mentions, so there is nothing to ask."""
    if obligation.action == START:
        return False
    claim = machine.property(obligation.claim)
    updates = machine.actions[obligation.action].updates
    return claim.kind == "invariant" and not (t.functions_of(claim.body) & set(updates))


class Prover:
    """Holds what all obligations of one machine share: the universe, the axioms and the invariants as Z3 terms."""

    def __init__(self, machine: Machine, rlimit: int = RLIMIT) -> None:
        self.machine = machine
        self.rlimit = rlimit
        self.universe = Universe(machine)
        self.axioms = [self._closed(axiom) for axiom in machine.axioms]
        self.invariants = [self._closed(claim) for claim in machine.invariants]

    def _closed(self, claim: Property) -> Any:
        return self.universe.term(claim.closed, {}, self.universe.now)

    def _constants(self, variables: tuple[Parameter, ...], prefix: str) -> dict[Term, Any]:
        return {v: self.universe.constant(f"{prefix}{v.name}", v.sort) for v in variables}

    def formulas(self, obligation: Obligation) -> list[Any]:
        """What is asserted: hypotheses and the negated claim; unsatisfiable means that the obligation holds."""
        claim = self.machine.property(obligation.claim)
        env = self._constants(claim.variables, "sk_")
        if obligation.action == START:
            return [*self.axioms, z3.Not(self.universe.term(claim.body, env, self._initially))]
        action = self.machine.actions[obligation.action]
        step = self._constants(action.parameters, "p_")
        guard = self.universe.term(action.guard, step, self.universe.now)
        return [*self.axioms, *self.invariants, guard, z3.Not(self._goal(claim, env, action, step))]

    def _initially(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        initial = self.machine.initial.get(function)
        if initial is None:
            return self.universe.now(function, arguments)
        return self.universe.term(initial, {}, self.universe.now)

    def _goal(self, claim: Property, env: dict[Term, Any], action: Action, step: dict[Term, Any]) -> Any:
        """The claim after the step.  Claim and action may use one name for different things: two environments."""
        then = self.universe.then(action, step)
        if claim.kind == "invariant":
            return self.universe.term(claim.body, env, then)
        return self.universe.term(claim.body, self._step_env(claim, env, action, step), self.universe.now, then)

    def _step_env(
        self, claim: Property, env: dict[Term, Any], action: Action, step: dict[Term, Any]
    ) -> dict[Term, Any]:
        """Names that a step property may use: its own variables, else the action's parameters, `actor`, `answer`."""
        env = {**step, **env}
        for node in t.walk(claim.body):
            if not isinstance(node, Parameter) or node in env:
                continue
            if node.name == "answer" and action.returns is not None:
                env[node] = self.universe.term(action.returns, step, self.universe.now)
            elif node.name == "actor":
                actor = action.actor(node.sort)
                env[node] = self.universe.constant("actor", node.sort) if actor is None else step[actor]
            else:
                raise LanguageError(f"{claim.name} speaks of {node.name}, which {action.name} does not have")
        return env

    def settled_by_frame(self, obligation: Obligation) -> bool:
        """The action changes nothing that the claim mentions, so there is nothing to ask."""
        return settled_by_frame(self.machine, obligation)

    def check(self, obligation: Obligation) -> Verdict:
        """Ask Z3."""
        if self.settled_by_frame(obligation):
            return Verdict("holds", "the action changes nothing that it mentions")
        return self.solve(self.formulas(obligation))

    def solve(self, formulas: list[Any]) -> Verdict:
        """`holds` if the formulas contradict each other."""
        solver = z3.SolverFor("UF", self.universe.context)
        solver.set("rlimit", self.rlimit)
        solver.add(*formulas)
        before = _statistic(solver, "rlimit count")  # the count runs on through the whole context
        answer = solver.check()
        cost = _statistic(solver, "rlimit count") - before
        if answer == z3.unsat:
            return Verdict("holds", cost=cost)
        if answer == z3.sat:
            return Verdict("not-inductive", str(solver.model()), cost, solver.model())
        return Verdict("unknown", solver.reason_unknown(), cost)

    def can_fire(self, action: Action) -> Verdict:
        """`holds` here means that the action can *not* fire in any state that satisfies the invariants."""
        env = self._constants(action.parameters, "p_")
        return self.solve([*self.axioms, *self.invariants, self.universe.term(action.guard, env, self.universe.now)])


def _statistic(solver: Any, key: str) -> int:
    statistics = solver.statistics()
    return int(statistics.get_key_value(key)) if key in statistics.keys() else 0
