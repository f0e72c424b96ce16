"""Two runs side by side (T7): an unwinding proof, for any number of everything.

Both runs are states of one machine with the same platform.  Every action is taken in both with the same arguments,
except values: a value may differ when another agent writes it to a region that the observer may not read.  The
obligations: the relation holds at the start; a step that is possible in one run is possible in the other; every
action keeps the relation; what the observer's calls answer is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import z3

from shmem_model.language import Action, Machine, Parameter, Property, Term
from shmem_model.language import terms as t
from shmem_model.machine import vocabulary as m
from shmem_model.machine.claims_two_runs import ME, RELATION
from shmem_proofs.induction import RLIMIT, START, Obligation, Prover, Verdict
from shmem_proofs.symbolic import Universe

ENABLED, ANSWER = "both runs can take it", "the observer gets the same answer"


class TwoRuns:
    """The unwinding obligations of one machine."""

    def __init__(self, machine: Machine, relation: tuple[Property, ...] = RELATION, rlimit: int = RLIMIT) -> None:
        self.machine = machine
        self.relation = {claim.name: claim for claim in relation}
        self.one = Prover(machine, rlimit)
        self.first = self.one.universe
        self.second = Universe(machine, "'", share=self.first)
        self.observer: dict[Term, Any] = {ME: self.first.constant("me", ME.sort)}
        self._hypotheses = self._assume()

    def obligations(self) -> Iterator[Obligation]:
        """All unwinding obligations, in a fixed order."""
        for name in self.relation:
            yield Obligation(START, name)
        for action in self.machine.actions.values():
            yield Obligation(action.name, ENABLED)
            if action.returns is not None:
                yield Obligation(action.name, ANSWER)
            for name in self.relation:
                yield Obligation(action.name, name)

    def check(self, obligation: Obligation) -> Verdict:
        """Ask Z3."""
        if obligation.action == START:
            claim = self.relation[obligation.claim]
            initially = self.one._initially
            goal = self.first.term(claim.body, self._free(claim), initially, self._initially_other)
            return self.one.solve([*self.one.axioms, z3.Not(goal)])
        if self.settled_by_frame(obligation):
            return Verdict("holds", "the action changes nothing that it mentions")
        action = self.machine.actions[obligation.action]
        left, right, allowed = self._arguments(action)
        return self.one.solve([*self._hypotheses, *allowed, *self._negated(obligation, action, left, right)])

    def settled_by_frame(self, obligation: Obligation) -> bool:
        """The action changes nothing that the relation mentions, in either run."""
        claim = self.relation.get(obligation.claim)
        if claim is None or obligation.action == START:
            return False
        return not (t.functions_of(claim.body) & set(self.machine.actions[obligation.action].updates))

    def _negated(
        self, obligation: Obligation, action: Action, left: dict[Term, Any], right: dict[Term, Any]
    ) -> list[Any]:
        here = self.first.term(action.guard, left, self.first.now)
        there = self.first.term(action.guard, right, self.second.now)
        if obligation.claim == ENABLED:
            return [here, z3.Not(there)]
        if obligation.claim == ANSWER:
            return [here, there, z3.Not(self._same_answer(action, left, right))]
        claim = self.relation[obligation.claim]
        goal = self.first.term(
            claim.body,
            {**left, **self._free(claim)},
            self.first.then(action, left),
            self.first.then(action, right, self.second.now),
        )
        return [here, there, z3.Not(goal)]

    def _same_answer(self, action: Action, left: dict[Term, Any], right: dict[Term, Any]) -> Any:
        assert action.returns is not None
        mine = self.first.term(action.returns, left, self.first.now)
        other = self.first.term(action.returns, right, self.second.now)
        actor = action.actor(ME.sort)
        if actor is None:
            return z3.BoolVal(True, self.first.context)
        return z3.Implies(left[actor] == self.observer[ME], mine == other)

    def _assume(self) -> list[Any]:
        """Both states satisfy the invariants that speak of no ghost, and the relation holds between them."""
        kept = [claim for claim in self.machine.invariants if not _mentions_ghost(claim)]
        runs = [
            self.first.term(claim.closed, {}, universe.now) for claim in kept for universe in (self.first, self.second)
        ]
        related = [
            self.first.term(
                t.close(t.Forall, claim.variables, claim.body), self.observer, self.first.now, self.second.now
            )
            for claim in self.relation.values()
        ]
        return [*self.one.axioms, *runs, *related]

    def _free(self, claim: Property) -> dict[Term, Any]:
        return {**self.observer, **{v: self.first.constant(f"sk_{v.name}", v.sort) for v in claim.variables}}

    def _initially_other(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        initial = self.machine.initial.get(function)
        if initial is None:
            return self.second.now(function, arguments)
        return self.first.term(initial, {}, self.first.now)

    def _arguments(self, action: Action) -> tuple[dict[Term, Any], dict[Term, Any], list[Any]]:
        """The arguments in both runs, and which values may differ."""
        left: dict[Term, Any] = {p: self.first.constant(f"p_{p.name}", p.sort) for p in action.parameters}
        right = dict(left)
        for parameter in action.parameters:
            if parameter.sort is m.Value:
                right[parameter] = self.first.constant(f"p_{parameter.name}'", parameter.sort)
        allowed = [self.first.term(term, {**left, **self.observer}, self.first.now) for term in _discipline(action)]
        secret = _secret(action)
        same = [left[p] == right[p] for p in action.parameters if p.sort is m.Value]
        if same and secret is not None:
            public = z3.Not(self.first.term(secret, {**left, **self.observer}, self.first.now))
            same = [z3.Implies(public, each) for each in same]
        return {**left, **self.observer}, {**right, **self.observer}, [*allowed, *same]


def _mentions_ghost(claim: Property) -> bool:
    return any(function.layer == "ghost" for function in t.functions_of(claim.body))


def _secret(action: Action) -> Term | None:
    """When the values of the action may differ: another agent writes where the observer may not read."""
    names = {p.name: p for p in action.parameters}
    if "a" not in names or "r" not in names:
        return None
    return names["a"].differs(ME) & ~m.may_read(ME, names["r"])


def _discipline(action: Action) -> list[Term]:
    """What is assumed of others: nobody copies from where the observer may not read to where it may."""
    if action.base != "copy_start":
        return []
    names: dict[str, Parameter] = {p.name: p for p in action.parameters}
    return [m.may_read(ME, names["s"]).implies(m.may_read(ME, names["r"]))]
