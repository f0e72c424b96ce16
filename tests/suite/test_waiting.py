"""Everybody is told: whoever waits, waits for somebody alive; and without `PeerLost` it does not."""

from __future__ import annotations

import pytest

from shmem_model.language import LanguageError
from shmem_model.machine import MACHINE
from shmem_model.machine.claims_waiting import CLAIMS, WAITS, with_waits
from shmem_model.readers.concrete import Concrete
from shmem_proofs.induction import Obligation
from shmem_proofs.second_solver import SecondProver
from shmem_proofs.theorems.weaken import no_condition
from shmem_proofs.waiting import PLACES, claim_about, prove, untold
from shmem_suite.errors import ManifestError
from shmem_suite.manifest import Entry
from shmem_suite.providers import waiting


@pytest.mark.parametrize("name", WAITS)
def test_who_waits_waits_for_somebody_alive(name: str) -> None:
    assert prove(name).verdict == "holds"


@pytest.mark.parametrize("name", WAITS)
def test_a_second_solver_says_so_too(name: str) -> None:
    asked = Obligation(name, claim_about(name).name)
    assert SecondProver(with_waits(MACHINE)).check(asked).verdict == "holds"
    assert SecondProver(with_waits(untold(name))).check(asked).verdict == "not-inductive"


@pytest.mark.parametrize("name", WAITS)
def test_a_call_does_come_to_wait(name: str) -> None:
    outcome = waiting.look(name, wrong=False)
    assert (outcome.verdict, outcome.counts) == ("holds", {"steps": PLACES[name].reached})


@pytest.mark.parametrize("name", WAITS)
def test_without_peer_lost_a_call_waits_for_the_dead(name: str) -> None:
    outcome = waiting.look(name, wrong=True)
    assert (outcome.verdict, outcome.counts) == ("fails", {"steps": PLACES[name].untold})
    assert prove(name, untold(name)).verdict == "not-inductive"


def test_every_call_that_may_answer_peer_lost_has_its_wait() -> None:
    told = {a.name for a in MACHINE.actions.values() if any(c.name == "PeerLost" for c in a.conditions)}
    assert told == {call for call, _ in WAITS.values()}
    assert {claim.actions for claim in CLAIMS} == {(name,) for name in WAITS}


def test_being_at_a_wait_changes_nothing() -> None:
    for name in WAITS:
        assert with_waits(MACHINE).actions[name].updates == {}


def test_being_at_a_wait_is_what_the_concrete_reader_answers() -> None:
    name = "waiting_for_a_notification"
    scope = PLACES[name].setting.scope(name, with_waits(MACHINE))
    concrete = Concrete(scope)
    state = concrete.initial()
    assert str(concrete.answer(state, "wait", (1, 0, 0))) == "waits a notification"
    assert concrete.answer(state, name, (1, 0, 0)).done


def test_a_wait_that_is_gone_is_an_error() -> None:
    with pytest.raises(LanguageError, match="leave has no condition 'all have arrived'"):
        with_waits(no_condition("leave", "all have arrived")(MACHINE))


def test_an_unknown_family_is_an_error() -> None:
    with pytest.raises(ManifestError, match="told/nothing"):
        list(waiting.checks([Entry(id="told/nothing/*", kind="theorem", subject="T10")], {}))
