"""Whether a damaged action takes the same steps and gives the same answers as the original, wherever the claims hold.

If Z3 says so, the claims and conditions that it needed are the reason, made as short as dropping them one by one can
make it: a reader can check that reason by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import z3

from shmem_model.language import Action, Condition, Machine, Term, exists, invariant
from shmem_model.language import terms as t
from shmem_model.machine import vocabulary as m
from shmem_model.machine.vocabulary import Agent, Block, Slot, Token, Word
from shmem_proofs.induction import Prover
from shmem_proofs.mutants import Mutant

Named = list[tuple[str, Any]]


@invariant(a=Agent, b=Block, w=Word)
def only_cached_agents_owe_a_flush(a: Term, b: Term, w: Term) -> Term:
    """Only an agent with a cache has words that it wrote and has not flushed."""
    return m.unfl(a, b, w).implies(m.cached(a))


@invariant(t=Token, b=Block, w=Word)
def only_pending_notifications_vouch(t: Term, b: Term, w: Term) -> Term:
    """Only a pending notification says that a word is published."""
    return m.token_pub(t, b, w).implies(exists(Slot, lambda s: m.pending(t, s)))


@invariant(t=Token, r=Agent, b=Block, w=Word)
def only_pending_notifications_tell_of_reads(t: Term, r: Term, b: Term, w: Term) -> Term:
    """Only a pending notification says that reads are finished."""
    return m.token_over(t, r, b, w).implies(exists(Slot, lambda s: m.pending(t, s)))


LEMMAS = (
    only_cached_agents_owe_a_flush,
    only_pending_notifications_vouch,
    only_pending_notifications_tell_of_reads,
)
"""No promises to anybody, and inductive together with the machine's claims; some equivalences need them."""


def with_lemmas(machine: Machine) -> Machine:
    """The machine with the lemmas among its claims."""
    return replace(machine, properties=(*machine.properties, *LEMMAS))


@dataclass(frozen=True)
class Equivalence:
    """Equivalent or not; if so, the names of the axioms and claims from which that follows (none: logic alone)."""

    holds: bool
    because: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """As a sentence."""
        given = f"given {', '.join(self.because)}" if self.because else "by logic alone"
        return f"the same steps and the same answers {given}"


class Comparer:
    """Compares actions under the axioms and invariants of one machine."""

    def __init__(self, prover: Prover) -> None:
        self.prover = prover
        self.universe = prover.universe
        machine = prover.machine
        formulas = [*prover.axioms, *prover.invariants]
        names = [claim.name for claim in (*machine.axioms, *machine.invariants)]
        self.known: Named = list(zip(names, formulas, strict=True))

    def same_steps(self, mutant: Mutant) -> bool:
        """The mutant's steps are the original's (its answers may have other names)."""
        if mutant.function is not None:
            return self._unsatisfiable(self.known, self._updates_differ(mutant, mutant.function))
        return self._unsatisfiable(self.known, [self._term(mutant.original.guard) != self._term(mutant.action.guard)])

    def compare(self, mutant: Mutant) -> Equivalence:
        """The same steps and the same answers, with the shortest reason."""
        different = self._difference(mutant)
        if not self._unsatisfiable(self.known, different):
            return Equivalence(False)
        return Equivalence(True, tuple(name for name, _ in self._needed(different)))

    def _difference(self, mutant: Mutant) -> list[Any]:
        """What holds where mutant and original are told apart."""
        if mutant.function is None:
            return self._answers_differ(mutant)
        return self._updates_differ(mutant, mutant.function)

    def _term(self, term: Term) -> Any:
        env: dict[Term, Any] = {}
        for node in t.walk(term):
            if isinstance(node, t.Parameter):
                env[node] = self.universe.constant(f"p_{node.name}", node.sort)
            elif isinstance(node, t.Formal):
                env[node] = self.universe.constant(f"f_{node.name}", node.sort)
        return self.universe.term(term, env, self.universe.now)

    def _updates_differ(self, mutant: Mutant, function: t.Function) -> list[Any]:
        """The step is taken and the function's new values differ somewhere."""
        old, new = (self._term(a.new(function, *function.formals)) for a in (mutant.original, mutant.action))
        return [self._term(mutant.original.guard), old != new]

    def _answers_differ(self, mutant: Mutant) -> list[Any]:
        """For some answer, one action gives it and the other does not."""
        old, new = _answers(mutant.original), _answers(mutant.action)
        pairs = [(old.get(key, t.FALSE), new.get(key, t.FALSE)) for key in dict.fromkeys((*old, *new))]
        return [z3.Or([self._term(one) != self._term(other) for one, other in pairs if one is not other])]

    def follows(self, mutant: Mutant, names: Sequence[str]) -> bool:
        """The mutant is equivalent given only the axioms and claims of these names."""
        return self._unsatisfiable([pair for pair in self.known if pair[0] in names], self._difference(mutant))

    def _needed(self, different: list[Any]) -> Named:
        """What cannot be left out, tried in a fixed order, at first many at a time."""
        needed, size = list(self.known), len(self.known)
        while size:
            for start in range(len(needed) - len(needed) % size, -1, -size):
                without = needed[:start] + needed[start + size :]
                if len(without) < len(needed) and self._unsatisfiable(without, different):
                    needed = without
            size //= 2
        return needed

    def _unsatisfiable(self, known: Named, different: list[Any]) -> bool:
        solver = self._solver()
        solver.add(*(formula for _, formula in known), *different)
        return bool(solver.check() == z3.unsat)

    def _solver(self) -> Any:
        solver = z3.SolverFor("UF", self.universe.context)
        solver.set("rlimit", self.prover.rlimit)
        return solver


def _answers(action: Action) -> dict[tuple[str, str], Term]:
    """When the action gives which answer."""
    answers: dict[tuple[str, str], Term] = {}
    for (kind, name), when in _first_failures(action.conditions):
        answers[kind, name] = t.disj(answers.get((kind, name), t.FALSE), when)
    answers["done", ""] = action.guard
    return answers


def _first_failures(conditions: tuple[Condition, ...]) -> Iterator[tuple[tuple[str, str], Term]]:
    before: list[Term] = []
    for condition in conditions:
        yield (condition.kind, condition.name), t.conj(*before, t.negation(condition.holds))
        before.append(condition.holds)
