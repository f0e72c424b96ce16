"""Proofs by induction: what holds is proved, what does not is not, and not to know is never a success."""

from collections import Counter

import pytest

from shmem_model.language import LanguageError, Parameter, Property, terms, without_condition, without_update
from shmem_model.machine import MACHINE
from shmem_model.machine import vocabulary as m
from shmem_proofs.induction import START, Obligation, Prover, obligations
from tests.proofs import toys


def verdicts(machine, **more):
    prover = Prover(machine, **more)
    return {each.name: prover.check(each).verdict for each in obligations(machine)}


def failing(machine):
    return sorted(name for name, verdict in verdicts(machine).items() if verdict != "holds")


def test_a_good_toy_is_proved():
    assert failing(toys.LOCK) == []


def test_a_bad_toy_is_not_inductive():
    assert failing(toys.NO_WAITING) == ["take keeps one_holder"]


def test_variables_of_a_claim_are_not_the_parameters_of_the_action():
    """A claim about `a` speaks of every agent, also after an action that calls its own agent `a`."""
    bad = ["light_the_others keeps all_lamps_are_dark", "light_the_others keeps no_lamp_goes_on"]
    assert failing(toys.LAMPS) == bad


def test_a_bad_start_is_not_inductive():
    bad = Property("all_hold", "Everybody holds it.", (), terms.forall(toys.Agent, lambda a: toys.holds(a)))
    machine = toys.Machine(**{**vars(toys.LOCK), "properties": (bad,)})
    assert Prover(machine).check(Obligation(START, "all_hold")).verdict == "not-inductive"


def test_what_the_action_does_not_mention_is_settled_by_the_frame():
    prover = Prover(toys.LOCK)
    frame = [each for each in obligations(toys.LOCK) if prover.settled_by_frame(each)]
    assert [o.name for o in frame] == ["colour keeps one_holder", "colour keeps barred_agents_stay_out"]
    assert [prover.solve(prover.formulas(each)).verdict for each in frame] == ["holds", "holds"]


def test_every_obligation_of_the_machine_holds(proved):
    """The theorems, for any number of agents, frames, regions and steps."""
    assert len(proved) > 700
    assert [each.name for each, verdict in proved.items() if verdict.verdict != "holds"] == []


def test_the_machine_gives_the_same_verdicts_twice(proved):
    prover = Prover(MACHINE)
    again = list(proved)[::9]
    assert [prover.check(each).verdict for each in again] == [proved[each].verdict for each in again]


def test_a_counterexample_is_the_same_twice():
    texts = {Prover(toys.NO_WAITING).check(Obligation("take", "one_holder")).reason for _ in range(2)}
    assert len(texts) == 1


def test_a_tiny_resource_limit_gives_unknown_and_never_success(proved):
    """With next to nothing to spend most obligations are unknown; none that fails is said to hold."""
    poor = Prover(MACHINE, rlimit=200)
    asked = list(proved)[::9]
    found = Counter(poor.check(each).verdict for each in asked)
    assert found["unknown"] > len(asked) / 2
    assert found["not-inductive"] == 0
    weak = Prover(toys.NO_WAITING, rlimit=1).check(Obligation("take", "one_holder"))
    assert weak.verdict == "unknown"
    assert weak.reason


def test_the_resource_limit_is_for_one_obligation_and_not_for_all(proved):
    """Z3's counter runs on through a context; the limit does not."""
    prover = Prover(MACHINE, rlimit=400_000)
    assert {prover.check(each).verdict for each in list(proved)[:60]} == {"holds"}


def test_every_action_can_fire():
    prover = Prover(MACHINE)
    dead = [a.name for a in MACHINE.actions.values() if prover.can_fire(a).verdict != "not-inductive"]
    assert dead == []


def test_a_contradictory_guard_is_noticed_by_can_fire_and_by_nothing_else():
    """An action that can never be taken keeps every claim."""
    assert failing(toys.WITH_NEVER) == []
    assert Prover(toys.WITH_NEVER).can_fire(toys.never).verdict == "holds"


WEAKENED = {
    ("fence", "own posted words have drained"): "published_words_are_in_memory newer_words_are_not_published",
    ("scrub", "quiet"): "no_translation_to_available_frames available_frames_are_quiet "
    "nothing_posted_to_available_frames",
    ("migrate", "frozen"): "nothing_can_reach_a_line_that_moves",
    ("evict", "in order"): "posted_words_are_the_last_write",
    ("leave", "all have arrived"): "nobody_leaves_while_it_collects nobody_leaves_before_all_arrived "
    "leaving_means_that_all_arrived",
}


@pytest.mark.parametrize(("action", "condition"), WEAKENED)
def test_a_weakened_machine_is_not_inductive(action, condition):
    weak = MACHINE.changed(without_condition(MACHINE.actions[action], condition))
    prover = Prover(weak)
    found = {o.claim: prover.check(o).verdict for o in obligations(weak) if o.action == action}
    assert {claim for claim, verdict in found.items() if verdict != "holds"} == set(WEAKENED[action, condition].split())
    assert "unknown" not in found.values()


def test_a_flush_that_forgets_to_clean_is_not_inductive():
    weak = MACHINE.changed(without_update(MACHINE.actions["flush"], m.dirty))
    verdict = Prover(weak).check(Obligation("flush", "dirty_words_are_unflushed"))
    assert verdict.verdict == "not-inductive"


def test_an_unknown_node_is_an_error():
    class Strange(terms.Term):
        __slots__ = ()

    claim = Property("strange", "Strange.", (), Strange(toys.paint()))
    machine = toys.Machine(**{**vars(toys.LOCK), "properties": (claim,)})
    with pytest.raises(LanguageError, match="Strange"):
        Prover(machine)


def test_a_step_property_with_an_unknown_name_is_an_error():
    claim = Property("odd", "Odd.", (), toys.holds(Parameter("nobody", toys.Agent)), "step", ("take",))
    machine = toys.Machine(**{**vars(toys.LOCK), "properties": (claim,)})
    with pytest.raises(LanguageError, match="nobody"):
        Prover(machine).check(Obligation("take", "odd"))
