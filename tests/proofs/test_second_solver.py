"""The second solver: cvc5 says the same as Z3 about everything, from a reading of its own."""

from collections import Counter

import pytest

from shmem_model.language import Property, terms, without_condition
from shmem_model.machine import MACHINE
from shmem_proofs.cvc5_reader import SecondUniverse
from shmem_proofs.induction import START, Obligation, Prover, Verdict, obligations
from shmem_proofs.second_solver import AGREE, DISAGREE, UNSETTLED, Agreement, Row, SecondProver, compare
from shmem_proofs.symbolic import Universe
from tests.proofs import toys


def test_both_solvers_prove_a_good_toy():
    found = compare(toys.LOCK)
    assert found.ok
    assert len(found.rows) == len(list(obligations(toys.LOCK))) - 2  # painting cannot move the lock


def test_both_solvers_find_a_bad_toy_not_inductive():
    found = compare(toys.NO_WAITING)
    assert not found.ok
    bad = [row for row in found.rows if row.first.verdict != "holds"]
    assert [(r.obligation.name, r.second.verdict, r.state) for r in bad] == [
        ("take keeps one_holder", "not-inductive", AGREE)
    ]
    assert "2 Agent" in bad[0].second.reason
    assert "take keeps one_holder" in str(found)


def test_variables_of_a_claim_are_not_the_parameters_of_the_action():
    found = compare(toys.LAMPS)
    assert [r.obligation.claim for r in found.rows if r.second.verdict == "not-inductive"] == [
        "all_lamps_are_dark",
        "no_lamp_goes_on",
    ]
    assert found.of(DISAGREE) == ()


def test_a_bad_start_is_found_by_the_second_solver():
    bad = Property("all_hold", "Everybody holds it.", (), terms.forall(toys.Agent, lambda a: toys.holds(a)))
    machine = toys.replace(toys.LOCK, properties=(bad,))
    assert SecondProver(machine).check(Obligation(START, "all_hold")).verdict == "not-inductive"


@pytest.fixture(scope="module")
def agreement(proved):
    second = SecondProver(MACHINE)
    return Agreement(tuple(Row(each, verdict, second.check(each)) for each, verdict in proved.items()))


@pytest.mark.slow
def test_both_solvers_settle_every_obligation_of_the_machine(agreement):
    """Every theorem that is proved by induction, a second time."""
    asked = len(agreement.rows)
    assert str(agreement) == f"{asked} obligations: {asked} agree, 0 disagree, 0 unsettled"
    assert agreement.ok
    assert asked > 700


def test_the_second_solver_agrees_on_what_the_frame_settles():
    """These are not asked of Z3; every fortieth of them is asked of cvc5."""
    first, second = Prover(MACHINE), SecondProver(MACHINE)
    frame = [each for each in obligations(MACHINE) if first.settled_by_frame(each)]
    assert len(frame) > 1000
    assert {second.check(each).verdict for each in frame[::40]} == {"holds"}


@pytest.mark.slow
def test_the_second_solver_gives_the_same_answer_whatever_was_asked_before(agreement):
    chosen = agreement.rows[::20][::-1]
    prover = SecondProver(MACHINE)
    assert [prover.check(row.obligation) for row in chosen] == [row.second for row in chosen]


@pytest.mark.parametrize(
    ("action", "condition"),
    [("fence", "own posted words have drained"), ("scrub", "quiet"), ("send", "a new token, or the sticky one")],
)
def test_both_solvers_find_the_same_holes_in_a_weakened_machine(action, condition):
    weak = MACHINE.changed(without_condition(MACHINE.actions[action], condition))
    found = compare(weak, [each for each in obligations(weak) if each.action == action])
    assert Counter(row.state for row in found.rows) == {AGREE: len(found.rows)}
    assert "not-inductive" in {row.second.verdict for row in found.rows}


def test_a_tiny_resource_limit_gives_unknown_and_never_success():
    """What needs no search at all may still be settled; whatever needs one is unknown, and not agreed on."""
    asked = [each for each in obligations(MACHINE) if each.action == "write"][::4]
    found = compare(MACHINE, asked, second=SecondProver(MACHINE, rlimit=1))
    counts = found.counts()
    assert not found.ok
    assert counts[DISAGREE] == 0
    assert counts[UNSETTLED] > len(asked) / 2
    assert {row.second.verdict for row in found.of(UNSETTLED)} == {"unknown"}


def test_not_to_know_agrees_with_nothing():
    one = Obligation("take", "one_holder")
    holds, unknown, not_inductive = (Verdict(v) for v in ("holds", "unknown", "not-inductive"))
    states = {
        (holds, holds): AGREE,
        (holds, not_inductive): DISAGREE,
        (not_inductive, not_inductive): AGREE,
        (unknown, unknown): UNSETTLED,
        (holds, unknown): UNSETTLED,
        (unknown, holds): UNSETTLED,
    }
    assert {pair: Row(one, *pair).state for pair in states} == states
    assert not Agreement((Row(one, unknown, unknown),)).ok
    assert not Agreement((Row(one, not_inductive, not_inductive),)).ok


def test_an_empty_agreement_is_no_success():
    assert not compare(toys.LOCK, []).ok


def test_can_fire_says_the_same_of_both_solvers():
    for machine in (toys.LOCK, toys.WITH_NEVER):
        first, second = Prover(machine), SecondProver(machine)
        for act in machine.actions.values():
            assert first.can_fire(act).verdict == second.can_fire(act).verdict
    assert SecondProver(toys.WITH_NEVER).can_fire(toys.never).verdict == "holds"


# ------------------------------------------------------------------ planted bugs


def _without_last_conjunct(read):
    def broken(self, term, env, now, then=None):
        if isinstance(term, terms.And):
            return read(self, terms.conj(*term.fields[:-1]), env, now, then)
        return read(self, term, env, now, then)

    return broken


@pytest.mark.parametrize("reader", [Universe, SecondUniverse])
def test_a_reader_that_drops_a_conjunct_is_caught(monkeypatch, reader):
    """The bug that `and` on solver terms makes without a word: whichever reader has it, the other objects."""
    monkeypatch.setattr(reader, "term", _without_last_conjunct(reader.term))
    caught = [row.obligation.name for row in compare(toys.LOCK).of(DISAGREE)]
    assert caught == ["take keeps one_holder", "take keeps barred_agents_stay_out"]


@pytest.mark.parametrize("reader", [Universe, SecondUniverse])
def test_a_reader_that_takes_every_for_some_is_caught(monkeypatch, reader):
    read = reader.term

    def broken(self, term, env, now, then=None):
        if isinstance(term, terms.Forall):
            term = terms.Exists(*term.fields)
        return read(self, term, env, now, then)

    monkeypatch.setattr(reader, "term", broken)
    assert compare(toys.LOCK).of(DISAGREE)
