"""The theorems hold, their witnesses are reached, and their red twins fail as pinned."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shmem_model.language import BOOL, FALSE, Function, Machine, Sort, action, invariant, update
from shmem_model.machine import MACHINE
from shmem_proofs.induction import Obligation, Prover
from shmem_proofs.proving import changed_actions, obligations_of, prove, show_red_twin, show_witness, unclaimed
from shmem_proofs.theorems import THEOREMS
from shmem_proofs.theorems.page import theorems_page
from shmem_proofs.two_runs import TwoRuns

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "theorems.md"

WITNESSES = [(t, w) for t in THEOREMS for w in t.witnesses]
RED_TWINS = [(t, r) for t in THEOREMS for r in t.red_twins]


def test_every_claim_of_the_machine_belongs_to_a_theorem() -> None:
    assert unclaimed(THEOREMS) == []


def test_every_theorem_has_a_sentence_a_witness_and_a_red_twin() -> None:
    for theorem in THEOREMS:
        assert theorem.sentence.endswith(".")
        cases = {case.is_red_twin for case in theorem.cases} == {True, False}
        assert (theorem.witnesses and theorem.red_twins) or theorem.litmus or cases or theorem.worlds, theorem.id


def test_every_action_is_weakened_by_some_red_twin() -> None:
    weakened = {name for _, twin in RED_TWINS for name in changed_actions(MACHINE, twin.weaken(MACHINE))}
    assert sorted(set(MACHINE.actions) - weakened) == []


def test_the_theorems_page_is_fresh() -> None:
    """`SHMEM_REWRITE=1` rewrites it."""
    text = theorems_page()
    if os.environ.get("SHMEM_REWRITE"):
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text


def test_ids_and_names_are_unique() -> None:
    words = [word for theorem in THEOREMS for word in (theorem.id, theorem.name)]
    assert len(set(words)) == len(words)


@pytest.mark.parametrize("theorem", [t for t in THEOREMS if t.claims], ids=lambda t: t.name)
def test_theorem_holds(theorem) -> None:
    proof = prove(theorem)
    assert proof.obligations == len(obligations_of(theorem)) > 0
    assert [(str(o.name), v.verdict) for o, v in proof.open] == []


def test_the_parts_of_a_proof_are_the_whole() -> None:
    theorem = next(t for t in THEOREMS if t.id == "T3")
    parts = [prove(theorem, part=(i, 3)) for i in range(3)]
    assert sum(part.obligations for part in parts) == len(obligations_of(theorem))


@pytest.mark.parametrize(("theorem", "witness"), WITNESSES, ids=[f"{t.id}-{w.name}" for t, w in WITNESSES])
def test_witness_is_reached(theorem, witness) -> None:
    shown = show_witness(witness)
    assert shown.verdict == "holds"
    assert shown.steps


@pytest.mark.parametrize(("theorem", "twin"), RED_TWINS, ids=[f"{t.id}-{r.name}" for t, r in RED_TWINS])
def test_red_twin_fails(theorem, twin) -> None:
    shown = show_red_twin(twin)
    assert (shown.verdict, shown.steps, shown.proof) == ("fails", twin.steps, "not-inductive")


@pytest.mark.parametrize("name", MACHINE.actions)
def test_action_can_fire_in_a_state_of_the_invariants(name: str) -> None:
    assert Prover(MACHINE).can_fire(MACHINE.actions[name]).verdict == "not-inductive"


def test_secrets_may_differ_in_both_runs() -> None:
    """The two-run proof is not vacuous: two related states with different memory exist."""
    from shmem_model.machine import vocabulary as m

    two = TwoRuns(MACHINE)
    frame, word = two.first.constant("f", m.Frame), two.first.constant("w", m.Word)
    differ = two.first.now(m.memory, (frame, word)) != two.second.now(m.memory, (frame, word))
    assert two.one.solve([*two._hypotheses, differ]).verdict == "not-inductive"


def test_a_claim_and_an_action_may_use_one_name_for_different_things() -> None:
    """Smallest input of a bug: the claim's `a` was read as the acting `a`, so the claim seemed to hold."""
    agent = Sort("A")
    lit = Function("lit", (agent,), BOOL, "software", "the lamp is on")

    @action("software", a=agent)
    def spread(a):
        """Everybody but the acting one gets light."""
        yield update(lit, lambda c: c.differs(a))

    @invariant(a=agent)
    def dark(a):
        """Every lamp is off."""
        return ~lit(a)

    machine = Machine("lamps", (agent,), (lit,), {lit: FALSE}, {"spread": spread}, properties=(dark,))
    assert Prover(machine).check(Obligation("spread", "dark")).verdict == "not-inductive"
