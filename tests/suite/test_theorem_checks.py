"""The theorems as the suite asks them: small answers here, all of them in `shmem verify`."""

from __future__ import annotations

from shmem_model.machine import MACHINE
from shmem_proofs.theorems import THEOREMS
from shmem_suite.checks import Outcome
from shmem_suite.manifest import Entry
from shmem_suite.providers import proofs, solvers, theorems
from shmem_suite.providers.proofs import Rests


def entry(id: str, kind: str, expected: str = "holds") -> Entry:
    return Entry(id=id, kind=kind, subject=id.partition("/")[0], expected=expected)  # type: ignore[arg-type]


def test_a_theorem_covers_itself_and_its_claims() -> None:
    (check,) = theorems.checks([entry("T1", "theorem")], {})
    assert check.names == ("visibility",)
    assert {"theorem:T1", "claim:a_read_returns_the_last_write"} <= check.covers
    assert {task.key for task in check.tasks} == {f"induction/{name}" for name in ("start", *MACHINE.actions)}


def test_every_member_of_a_family_has_an_id_of_its_own() -> None:
    for theorem in THEOREMS:
        assert len(theorems.names(theorem.witnesses)) == len(theorem.witnesses)
        assert len(theorems.names(theorem.red_twins)) == len(theorem.red_twins)


def test_a_witness_is_reached_by_its_shortest_run() -> None:
    checks = list(theorems.checks([entry("T4/witness/*", "witness")], {}))
    task = next(check for check in checks if check.id == "T4/witness/two-notifications-wait").tasks[0]
    outcome = task.function(*task.arguments)
    assert (outcome.verdict, outcome.counts) == ("holds", {"steps": 2})
    assert outcome.trace is not None
    assert [step.action for step in outcome.trace.steps] == ["send", "send"]


def test_a_red_twin_is_broken_in_as_many_steps_as_the_theorem_says() -> None:
    checks = list(theorems.checks([entry("T4/twin/*", "red-twin", "fails")], {}))
    check = next(check for check in checks if check.id == "T4/twin/sticky-slot-that-counts")
    outcome = check.tasks[0].function(*check.tasks[0].arguments)
    assert (outcome.verdict, outcome.counts) == ("fails", check.pins)
    assert outcome.trace is not None
    assert outcome.trace.steps[-1].guilty


def test_the_proof_does_not_get_through_a_red_twin() -> None:
    number = theorems.names(theorems.find("T4").red_twins)["sends-that-coalesce-anyhow"]
    outcome = theorems.fail_to_prove("T4", number)
    assert outcome.verdict == "not-inductive"
    assert "send keeps" in outcome.detail


def test_a_theorem_rests_on_all_invariants_and_on_its_own_claims_about_steps() -> None:
    rests = Rests(["a_read_returns_the_last_write"])
    assert rests.concerned("a_read_returns_the_last_write")
    assert rests.concerned(MACHINE.invariants[-1].name)
    assert not rests.concerned("moving_keeps_contents")
    bad = Outcome("not-inductive", facts={"failed": {"moving_keeps_contents": ["not-inductive", "row", "why"]}})
    assert rests({"a": bad}).verdict == "holds"
    assert Rests(["moving_keeps_contents"])({"a": bad}).verdict == "not-inductive"


def test_a_proof_step_that_was_lost_is_no_proof() -> None:
    lost = Outcome("unknown", "the worker was killed by SIGKILL")
    good = Outcome("holds", facts={"failed": {}}, counts={"obligations": 3})
    whole = Rests([])({"a": good, "b": lost})
    assert (whole.verdict, whole.detail) == ("unknown", "the worker was killed by SIGKILL")


def test_no_obligation_is_no_proof() -> None:
    assert proofs.ask_obligations([], proofs.prover().check).verdict == "unknown"


def said(obligations: int = 2, **failed: str) -> Outcome:
    rows = {claim: [verdict, f"{claim}: {verdict}", ""] for claim, verdict in failed.items()}
    return Outcome(proofs.worst(failed.values()), counts={"obligations": obligations}, facts={"failed": rows})


def test_two_solvers_agree_where_they_say_the_same() -> None:
    assert solvers.agree({"induction/read": said(), "cvc5/induction/read": said()}).verdict == "holds"
    both = said(a_claim="not-inductive")
    assert solvers.agree({"induction/read": both, "cvc5/induction/read": both}).verdict == "holds"


def test_two_solvers_that_differ_are_told() -> None:
    found = solvers.agree({"induction/read": said(), "cvc5/induction/read": said(a_claim="not-inductive")})
    assert (found.verdict, found.detail) == ("fails", "induction/read keeps a_claim: Z3 holds, cvc5 not-inductive")
    fewer = solvers.agree({"induction/read": said(), "cvc5/induction/read": said(1)})
    assert fewer.verdict == "fails"


def test_what_one_solver_does_not_know_is_unknown() -> None:
    found = solvers.agree({"induction/read": said(), "cvc5/induction/read": said(a_claim="unknown")})
    assert found.verdict == "unknown"
    lost = Outcome("unknown", "the worker was killed by SIGKILL")
    assert solvers.agree({"induction/read": said(), "cvc5/induction/read": lost}).verdict == "unknown"
    assert solvers.agree({}).verdict == "unknown"
