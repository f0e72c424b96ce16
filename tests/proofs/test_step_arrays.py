"""Steps over arrays of states: the same states, steps and answers as the explorer and the concrete reader find."""

import random

import numpy as np
import pytest

from shmem_model.language import TRUE, Action, LanguageError, forall
from shmem_model.machine import vocabulary as m
from shmem_model.readers.concrete import Concrete
from shmem_model.readers.explorer import explore
from shmem_proofs import step_arrays
from shmem_proofs.mutant_scopes import WORLDS
from shmem_proofs.step_arrays import StepArrays, explored
from tests.readers.small_scopes import toy

COMPLETE = {world.name: world for world in WORLDS if world.depth is None}


@pytest.mark.parametrize("name", COMPLETE)
def test_arrays_and_explorer_count_the_same(name):
    scope = COMPLETE[name].scope()
    arrays, found = StepArrays(scope), explore(scope)
    states, ends = explored(arrays)
    fired = {}
    for action in scope.machine.actions.values():
        calls = arrays.calls(action, range(ends[-1]))
        fired[action.name] = int((arrays.answers(action, states, calls) < 0).sum())
    assert (ends[-1], len(ends) - 1) == (found.states, found.depth)
    assert fired == {name: found.per_action[name] for name in fired}


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_arrays_and_concrete_reader_give_the_same_answers_and_effects(world):
    assert disagreement(world.scope(), 3, 25) is None


def test_arrays_that_take_a_number_for_a_mask_are_caught(monkeypatch):
    """Booleans as numbers: `not 0` is -1, and a mask of numbers selects rows by number."""
    monkeypatch.setattr(step_arrays, "BOOL", object())
    with pytest.raises(AssertionError):
        disagreement(next(w for w in WORLDS if w.name == "kept").scope(), 3, 25)


def disagreement(scope, depth, samples):
    """A call in a state within `depth` whose answer or effect differs from what the concrete reader says."""
    arrays, concrete, rng = StepArrays(scope), Concrete(scope), random.Random(1)
    states, ends = explored(arrays, depth)
    for action in scope.machine.actions.values():
        calls = arrays.calls(action, range(ends[-1]))
        answers = arrays.answers(action, states, calls)
        done, not_done = np.flatnonzero(answers < 0), np.flatnonzero(answers >= 0)
        for some in (done, not_done):
            for at in rng.sample(some.tolist(), min(samples, len(some))):
                row = int(calls.rows[at])
                state = {f: tuple(int(v) for v in states[f][row].ravel()) for f in arrays.functions}
                arguments = tuple(int(values[at]) for values in calls.arguments)
                said = concrete.answer(state, action.name, arguments)
                if not _same_answer(action, int(answers[at]), said):
                    return action.name, arguments, said
                if said.done and not _same_effect(arrays, concrete, action, states, calls, at, state, arguments):
                    return action.name, arguments, "effect"
    return None


def _same_answer(action, number, said):
    if number < 0:
        return said.done
    condition = action.conditions[number]
    return (condition.kind, condition.name) == (said.kind, said.name)


def _same_effect(arrays, concrete, action, states, calls, at, state, arguments):
    after = concrete.step(state, action.name, arguments)
    only = calls.only(np.array([at]))
    news = {f: arrays.new_value(action, f, states, only)[0] for f in arrays.functions}
    return all(tuple(int(v) for v in news[f].ravel()) == after[f] for f in arrays.functions)


def test_a_quantifier_over_booleans_is_an_error():
    arrays = StepArrays(toy())
    broken = Action("x", "software", (), (), {}, "")
    calls = arrays.calls(broken, range(1))
    with pytest.raises(LanguageError, match="sorts of elements"):
        arrays.holds(forall(m.BOOL, lambda x: x), broken, arrays.start(), calls)
    assert arrays.holds(TRUE, broken, arrays.start(), calls).tolist() == [True]
