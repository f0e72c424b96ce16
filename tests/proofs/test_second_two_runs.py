"""The second solver on two runs: what Z3 says of noninterference, cvc5 says, too."""

import pytest

from shmem_model.language import LanguageError, without_condition, without_update
from shmem_model.machine import MACHINE
from shmem_model.machine import vocabulary as m
from shmem_proofs.induction import START, Obligation
from shmem_proofs.second_two_runs import SecondTwoRuns
from shmem_proofs.two_runs import ANSWER, TwoRuns


@pytest.mark.slow
def test_both_solvers_settle_every_obligation_of_two_runs():
    first, second = TwoRuns(MACHINE), SecondTwoRuns(MACHINE)
    asked = [each for each in first.obligations() if not first.settled_by_frame(each)]
    assert len(asked) > 150
    assert [each.name for each in asked if first.check(each).verdict != "holds"] == []
    assert [each.name for each in asked if second.check(each).verdict != "holds"] == []


def test_what_the_frame_settles_holds_for_the_second_solver():
    first, second = TwoRuns(MACHINE), SecondTwoRuns(MACHINE)
    frame = [each for each in first.obligations() if first.settled_by_frame(each)]
    assert {second.check(each).verdict for each in frame[::60]} == {"holds"}


LEAKS = {
    "scrub leaves the old words": without_update(MACHINE.actions["scrub"], m.memory),
    "read goes on without the line": without_condition(MACHINE.actions["read"], "translated"),
    "migrate takes any frame": without_condition(MACHINE.actions["migrate"], "a free frame that fits"),
}


@pytest.mark.parametrize("name", LEAKS)
def test_both_solvers_find_the_same_leaks(name):
    action = LEAKS[name]
    weak = MACHINE.changed(action)
    first, second = TwoRuns(weak), SecondTwoRuns(weak)
    asked = [o for o in first.obligations() if o.action == action.name and not first.settled_by_frame(o)]
    verdicts = {each.name: (first.check(each).verdict, second.check(each).verdict) for each in asked}
    assert [name for name, (one, other) in verdicts.items() if one != other] == []
    assert ("not-inductive", "not-inductive") in verdicts.values()


def test_a_tiny_resource_limit_gives_unknown():
    poor, rich = SecondTwoRuns(MACHINE, rlimit=1), SecondTwoRuns(MACHINE)
    for name in ("readable_caches_are_alike", "own_cache_is_alike"):
        one = Obligation("write", name)
        assert (poor.check(one).verdict, rich.check(one).verdict) == ("unknown", "holds")


def test_the_start_and_unknown_answers():
    assert SecondTwoRuns(MACHINE).check(Obligation(START, "readable_memory_is_alike")).verdict == "holds"
    with pytest.raises(LanguageError, match="fill answers nobody"):
        SecondTwoRuns(MACHINE).check(Obligation("fill", ANSWER))
