"""The walker: the same steps and the same verdicts as the concrete reader, much faster."""

import random

import pytest

from shmem_model.language import LanguageError, step, without_condition, without_update
from shmem_model.machine import MACHINE, PROFILES
from shmem_model.machine import vocabulary as m
from shmem_model.readers import walk_terms
from shmem_model.readers.concrete import Concrete
from shmem_model.readers.setting import Setting
from shmem_model.readers.stories import replay
from shmem_model.readers.walker import Walker
from shmem_model.readers.walks import Hunter
from tests.readers.small_scopes import BROKEN_TOY, TOY, marked, toy

EVERYTHING = Setting(
    agents=3, engines=1, regions=2, blocks=2, frames=3, words=2, tokens=2, epochs=2, lines=(0, 1), translated=True,
    rights={(1, 0): "r"}, receivers=(1, 0),
)  # fmt: skip
SCOPES = {
    **{name: EVERYTHING.but(profile=profile).scope(name) for name, profile in PROFILES.items()},
    "some cached": EVERYTHING.but(cached=(0,)).scope("some cached"),
    "unmapped": EVERYTHING.but(mapped=False).scope("unmapped"),
    "toy": toy(),
}


def disagreement(scope, seed=1, length=12):
    """The first step of a random run of which walker and concrete reader do not say the same; None if there is none."""
    walker, concrete, rng = Walker(scope), Concrete(scope), random.Random(seed)
    state = concrete.initial()
    for _ in range(length):
        enabled = set(concrete.enabled(state))
        mine = {(name, args) for name in scope.machine.actions for args in walker.enabled(name)}
        if mine != enabled:
            return min(mine ^ enabled)
        other = rng.sample(sorted(concrete.calls()), 200) if len(enabled) > 50 else list(concrete.calls())
        wrong = [call for call in other if walker.can_take(*call) != (call in enabled)]
        if wrong:
            return wrong[0]
        call = rng.choice(sorted(enabled))
        state = concrete.step(state, *call)
        walker.take(*call)
        if walker.state != state:
            return call
    return None


@pytest.mark.parametrize("name", SCOPES)
def test_walker_and_concrete_reader_take_the_same_steps(name):
    assert disagreement(SCOPES[name]) is None


def test_a_walker_that_confuses_places_is_caught(monkeypatch):
    monkeypatch.setattr(walk_terms, "_same", lambda left, right: "True")
    assert disagreement(SCOPES["weakest"]) is not None


def test_a_walker_that_forgets_a_cell_is_caught(monkeypatch):
    scope = SCOPES["toy"]
    whole = walk_terms.Coder.elements
    monkeypatch.setattr(walk_terms.Coder, "elements", lambda self, sort: whole(self, sort).replace("3", "2"))
    assert disagreement(scope) is not None


WEAKENED = {
    "fence": lambda: without_condition(MACHINE.actions["fence"], "own posted words have drained"),
    "write": lambda: without_update(MACHINE.actions["write"], m.pub),
    "send": lambda: without_condition(MACHINE.actions["send"], "a new token, or the sticky one"),
    "leave": lambda: without_condition(MACHINE.actions["leave"], "all have arrived"),
    "gb_ack": lambda: without_update(MACHINE.actions["gb_ack"], m.valid),
    "scrub": lambda: without_condition(MACHINE.actions["scrub"], "quiet"),
}


@pytest.mark.parametrize("name", WEAKENED)
def test_walker_and_concrete_reader_see_claims_break_at_the_same_step(name):
    machine = MACHINE.changed(WEAKENED[name]())
    scope = EVERYTHING.but(words=1, agents=2, engines=0, blocks=2, frames=2, cached=(0,)).scope(name, machine)
    story = Hunter(Walker(scope, keep=m.intact), random.Random(1)).shortest(30_000, 1)
    assert story is not None
    told = replay(scope, story.steps)
    assert len(told) == len(story)
    concrete, claim = Concrete(scope), story.broken.claim
    *before, (action, arguments) = story.steps
    state = concrete.initial()
    for call in before:
        state = concrete.step(state, *call)
    after = concrete.step(state, action, arguments)
    if claim.kind == "step":
        assert not concrete.holds_step(claim, state, action, arguments, after)
    else:
        assert story.broken.culprits in list(concrete.culprits(claim, after))


def test_a_claim_that_does_not_hold_at_the_start_is_seen():
    walker = Walker(toy(machine=BROKEN_TOY))
    broken = walker.broken_here()
    assert broken.claim.name == "neighbours_differ"
    assert broken.culprits == {"c": "Cell0", "d": "Cell1"}


def test_careful_steps_keep_custody():
    scope = EVERYTHING.scope("careful")
    walker, concrete = Walker(scope, (), m.intact), Concrete(scope)
    rng = random.Random(3)
    careless = 0
    for _ in range(150):
        action = rng.choice([a for a in scope.machine.actions if walker.enabled(a, careful=True)])
        kept, all_ = walker.enabled(action, careful=True), walker.enabled(action)
        assert set(kept) <= set(all_)
        for arguments in set(all_) - set(kept):
            assert not concrete.step(walker.state, action, arguments)[m.intact][0]
            careless += 1
        walker.take(action, rng.choice(kept))
        assert walker.value(m.intact)
    assert careless


def test_a_restored_state_is_the_same_state():
    walker = Walker(SCOPES["weakest"])
    first = walker.state
    walker.take("fill", walker.enabled("fill")[0])
    here, later = walker.snapshot(), walker.state
    assert later != first
    walker.restart()
    assert walker.state == first
    walker.restore(here)
    assert walker.state == later


def test_a_claim_about_what_an_action_does_not_have_is_an_error():
    @step("rest")
    def speaks_of_nothing():
        """There is no such parameter."""
        return marked(walk_terms.t.Parameter("nobody", marked.arguments[0]))

    with pytest.raises(LanguageError, match="speaks of nobody"):
        Walker(toy(machine=TOY), [speaks_of_nothing])
