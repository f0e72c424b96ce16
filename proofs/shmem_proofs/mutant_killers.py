"""Who kills a mutant, cheapest first: a claim, a step that can never be taken, a world in which it does otherwise.

A mutant that nobody kills must be equivalent: the same steps and the same answers wherever the claims hold, proved,
with the claims from which that follows as the reason.  What is neither is a finding: a claim or a world is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass

from shmem_model.language import LanguageError, Machine, Property
from shmem_model.language import terms as t
from shmem_model.machine import MACHINE
from shmem_proofs.equivalence import Comparer, with_lemmas
from shmem_proofs.induction import Obligation, Prover, concerns
from shmem_proofs.mutant_scopes import WORLDS
from shmem_proofs.mutant_worlds import Difference, Explored
from shmem_proofs.mutants import Mutant

RLIMIT = 3_000_000
"""Z3 resource units: a mutant that needs more to be refuted is left to the worlds."""

INVARIANT, STEP, DEAD, WORLD, ANSWER = "invariant", "step", "dead", "world", "answer"
EQUIVALENT, ALIVE = "equivalent", "alive"
LAYERS = (INVARIANT, STEP, DEAD, WORLD, ANSWER, EQUIVALENT, ALIVE)


@dataclass(frozen=True)
class Fate:
    """What became of a mutant: the layer, by whom (a claim, a world), and how that shows."""

    layer: str
    by: str = ""
    how: str = ""


class Judge:
    """Decides the fate of mutants of one machine, one after the other."""

    def __init__(self, machine: Machine = MACHINE, rlimit: int = RLIMIT) -> None:
        self.machine = with_lemmas(machine)
        self.prover = Prover(self.machine, rlimit)
        self.comparer = Comparer(self.prover)
        self.worlds = {world.name: Explored(world, machine) for world in WORLDS}

    def fate(self, mutant: Mutant) -> Fate:
        """The first killer, in the order of the layers."""
        return self._by_claim(mutant) or self._by_world(mutant) or self._equivalent(mutant) or Fate(ALIVE)

    def confirms(self, mutant: Mutant, fate: Fate) -> bool:
        """The mutant still has this fate (only its own killer is asked)."""
        match fate.layer:
            case "invariant" | "step":
                return self._refuted(mutant, fate.by)
            case "dead":
                return self._dead(mutant)
            case "world" | "answer":
                return _fate(fate.by, self._difference(mutant, fate.by)) == fate
            case "equivalent":
                return self.comparer.follows(mutant, fate.by.split(", "))
        return False

    # ------------------------------------------------------------------ claims

    def _by_claim(self, mutant: Mutant) -> Fate | None:
        for claim in self._concerned(mutant):
            if self._refuted(mutant, claim.name):
                return Fate(STEP if claim.kind == "step" else INVARIANT, claim.name)
        if mutant.function is None and self._dead(mutant):
            return Fate(DEAD)
        return None

    def _concerned(self, mutant: Mutant) -> Iterator[Property]:
        """The claims that the damage can touch: of what is updated otherwise, or (a guard) updated at all."""
        touched = set(mutant.original.updates) if mutant.function is None else {mutant.function}
        for claim in self.machine.properties:
            mentioned = not touched.isdisjoint(t.functions_of(claim.body))
            if (claim.kind == "invariant" and mentioned) or (claim.kind == "step" and concerns(claim, mutant.action)):
                yield claim

    def _refuted(self, mutant: Mutant, claim: str) -> bool:
        """The damaged action does not keep the claim."""
        prover = copy(self.prover)
        prover.machine = mutant.machine(self.machine)
        return prover.check(Obligation(mutant.action.name, claim)).verdict == "not-inductive"

    def _dead(self, mutant: Mutant) -> bool:
        return self.prover.can_fire(mutant.action).verdict == "holds"

    # ------------------------------------------------------------------ worlds

    def _by_world(self, mutant: Mutant) -> Fate | None:
        """Other steps in some world, else another answer in some world."""
        answer = None
        if not self.comparer.same_steps(mutant) or mutant.function is None:
            for world in self.worlds:
                found = self._difference(mutant, world)
                if found is not None and not found.answers:
                    return _fate(world, found)
                answer = answer or _fate(world, found)
        return answer

    def _difference(self, mutant: Mutant, world: str) -> Difference | None:
        if world not in self.worlds:
            raise LanguageError(f"there is no world {world!r} for mutants")
        return self.worlds[world].difference(mutant)

    def _equivalent(self, mutant: Mutant) -> Fate | None:
        found = self.comparer.compare(mutant)
        return Fate(EQUIVALENT, ", ".join(found.because), found.reason) if found.holds else None


def _fate(world: str, difference: Difference | None) -> Fate | None:
    if difference is None:
        return None
    return Fate(ANSWER if difference.answers else WORLD, world, str(difference))
