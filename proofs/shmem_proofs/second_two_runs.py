"""The second solver on two runs side by side: what `two_runs.TwoRuns` asks Z3, asked of cvc5.

What the theorem says (which values may differ, what is assumed of others) is taken from there; how it is read is not.
"""

from __future__ import annotations

from typing import Any

from cvc5 import Kind

from shmem_model.language import Action, LanguageError, Machine, Parameter, Property, Term
from shmem_model.machine import vocabulary as m
from shmem_model.machine.claims_two_runs import ME, RELATION
from shmem_proofs.induction import START, Obligation, Verdict
from shmem_proofs.second_solver import RLIMIT, Question, new_values
from shmem_proofs.two_runs import ANSWER, ENABLED, _discipline, _mentions_ghost, _secret


class SecondTwoRuns:
    """Asks cvc5 the unwinding obligations."""

    def __init__(self, machine: Machine, relation: tuple[Property, ...] = RELATION, rlimit: int = RLIMIT) -> None:
        self.machine = machine
        self.relation = {claim.name: claim for claim in relation}
        self.rlimit = rlimit

    def check(self, obligation: Obligation) -> Verdict:
        """Ask cvc5; also where the action changes nothing that the relation mentions."""
        question = _PairQuestion(self.machine, self.rlimit)
        if obligation.action == START:
            question.begin(self.relation[obligation.claim])
            return question.verdict()
        action = self.machine.actions[obligation.action]
        question.pair(tuple(self.relation.values()), action)
        if obligation.claim == ENABLED:
            question.not_both(action)
        elif obligation.claim == ANSWER:
            question.other_answer(action)
        else:
            question.part(self.relation[obligation.claim], action)
        return question.verdict()


class _PairQuestion(Question):
    """One question about two states of one machine on one platform."""

    def __init__(self, machine: Machine, rlimit: int) -> None:
        super().__init__(machine, rlimit)
        self.left = self.universe.now
        self.right = self.universe.another_state("'")
        self.observer: dict[Term, Any] = self.universe.constants([ME], "")
        self.arguments: list[dict[Term, Any]] = []

    def begin(self, claim: Property) -> None:
        """The relation is false at the start."""
        sides = [self.after(claim, self.machine.initial, {}, now) for now in (self.left, self.right)]
        self.refuse(self.universe.closed(claim, self.observer, *sides))

    def pair(self, relation: tuple[Property, ...], action: Action) -> None:
        """Two states that are alike, and arguments that differ in secrets only."""
        kept = [claim for claim in self.machine.invariants if not _mentions_ghost(claim)]
        for now in (self.left, self.right):
            for claim in kept:
                self.solver.assertFormula(self.universe.closed(claim, None, now))
        for claim in relation:
            self.solver.assertFormula(self.universe.closed(claim, self.observer, self.left, self.right))
        self._choose(action)

    def _choose(self, action: Action) -> None:
        mine = {**self.universe.constants(action.parameters, "p_"), **self.observer}
        values = [p for p in action.parameters if p.sort is m.Value]
        other = {**mine, **self.universe.constants(values, "q_")}
        self.arguments = [mine, other]
        secret = _secret(action)
        for parameter in values:
            same = parameter.same(_OTHER)
            allowed = same if secret is None else secret | same
            self.solver.assertFormula(self.universe.term(allowed, {**mine, _OTHER: other[parameter]}, self.left))
        for term in _discipline(action):
            self.solver.assertFormula(self.universe.term(term, mine, self.left))

    def _guards(self, action: Action) -> list[Any]:
        sides = zip(self.arguments, (self.left, self.right), strict=True)
        return [self.universe.term(action.guard, env, now) for env, now in sides]

    def not_both(self, action: Action) -> None:
        """One run can take the step, the other cannot."""
        here, there = self._guards(action)
        self.solver.assertFormula(here)
        self.refuse(there)

    def _both(self, action: Action) -> None:
        for guard in self._guards(action):
            self.solver.assertFormula(guard)

    def other_answer(self, action: Action) -> None:
        """The observer takes the step in both runs and gets different answers."""
        actor, returns = action.actor(ME.sort), action.returns
        if actor is None or returns is None:
            raise LanguageError(f"{action.name} answers nobody")
        self._both(action)
        self.solver.assertFormula(self.universe.term(actor.same(ME), self.arguments[0], self.left))
        sides = zip(self.arguments, (self.left, self.right), strict=True)
        first, second = (self.universe.term(returns, env, now) for env, now in sides)
        self.solver.assertFormula(self.universe.manager.mkTerm(Kind.DISTINCT, first, second))

    def part(self, claim: Property, action: Action) -> None:
        """Both runs take the step and are not alike afterwards."""
        self._both(action)
        sides = zip(self.arguments, (self.left, self.right), strict=True)
        then = [self.after(claim, new_values(action), env, now) for env, now in sides]
        self.refuse(self.universe.closed(claim, self.observer, *then))


_OTHER = Parameter("<the value in the other run>", m.Value)
