"""The hypothesis reader: the machine holds in scopes far too large to explore, and what breaks is told as a story."""

from dataclasses import replace

import pytest

from shmem_model.language import LanguageError, invariant
from shmem_model.machine import MACHINE, PROFILES, Profile
from shmem_model.readers.setting import Setting
from shmem_model.readers.stateful import ClaimBroken, check, hunt, replay, run, stateful_machine
from tests.readers.small_scopes import BROKEN_TOY, TOY, Cell, colour, first, toy

# Five agents and an engine, four lines of four words and a fifth frame, three slots, two teams, two epochs.
LARGE = Setting(
    agents=6, engines=1, regions=4, blocks=4, frames=5, words=4, values=3, tokens=3, epochs=2, lines=(0, 1, 1),
    translated=True, rights={(1, 0): "r", (2, 1): "", (3, 2): "r"}, receivers=(0, 1, 2), teams=((0, 1, 2), (0, 3)),
)  # fmt: skip
PLATFORMS = {
    **PROFILES,
    "masked": Profile("masked", write_back="masked", slots="counting"),
    "writes back": Profile("writes back", invalidate="write_back", multicast=True),
}


def test_the_machine_holds_for_twenty_thousand_steps_in_a_large_scope():
    walk = run(LARGE.scope("large"), 20_000, seed=1)
    assert walk.story is None, str(walk.story)
    assert walk.steps == 20_000
    assert set(walk.fired) == set(MACHINE.actions)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_machine_holds_on_every_platform(platform):
    walk = run(LARGE.but(profile=PLATFORMS[platform]).scope(platform), 2000, seed=2)
    assert walk.story is None, str(walk.story)


def test_the_machine_holds_where_some_agents_have_no_cache():
    walk = run(LARGE.but(cached=(0, 2)).scope("mixed"), 2000, seed=3)
    assert walk.story is None, str(walk.story)


def test_hypothesis_finds_nothing_in_a_large_scope():
    check(stateful_machine(LARGE.scope("large"), starts=50), examples=15, steps=30)


def test_a_run_is_the_same_every_time():
    walks = [run(LARGE.scope("large"), 500, seed=7) for _ in range(2)]
    assert walks[0] == walks[1]
    assert walks[0].fired != run(LARGE.scope("large"), 500, seed=8).fired


def test_a_run_ends_where_no_step_can_be_taken():
    scope = Setting(receivers=(), lines=(), actions=("drain",)).scope("nothing to do")
    assert run(scope, 100, seed=1).steps == 0


def test_actions_can_be_left_out_or_preferred():
    scope = LARGE.scope("large")
    assert "die" not in run(scope, 1000, seed=1, weights={"die": 0}).fired
    assert run(scope, 1000, seed=1, weights={"die": 100.0}).fired["die"] > 10


@invariant(c=Cell, d=Cell)
def one_cell_at_most_is_painted(c, d):
    """Two cells never lose their first colour (they may)."""
    return c.same(d) | colour(c).same(first()) | colour(d).same(first())


PAINTED = replace(TOY, properties=(one_cell_at_most_is_painted,))
STORY = """\
scope toy, from its start:
  1 paint(b=Cell2, end=Colour2, rule=no)
  2 paint(b=Cell0, end=Colour0, rule=no)
breaks one_cell_at_most_is_painted (c=Cell0, d=Cell2): Two cells never lose their first colour (they may).
steps = [('paint', (2, 2, 0)), ('paint', (0, 0, 0))]"""


def test_a_story_is_told_step_by_step_and_can_be_replayed():
    scope = toy(machine=PAINTED)
    story = hunt(scope, one_cell_at_most_is_painted)
    assert str(story) == STORY
    assert replay(scope, story.steps) == story
    told = {}
    exec(story.code, told)
    assert replay(scope, told["steps"]) == story


def test_a_claim_that_does_not_hold_at_the_start_is_a_story_without_steps():
    scope = toy(machine=BROKEN_TOY)
    story = run(scope, 10, seed=1).story
    assert story.steps == ()
    assert replay(scope, ()) == hunt(scope, BROKEN_TOY.property("neighbours_differ")) == story
    with pytest.raises(ClaimBroken, match="breaks neighbours_differ"):
        check(stateful_machine(scope))


def test_a_story_without_a_failure_replays_to_nothing():
    assert replay(toy(machine=PAINTED), [("rest", ())]) is None


def test_a_step_that_cannot_be_taken_is_an_error_in_a_replay():
    with pytest.raises(LanguageError, match="cannot be taken here: waits ready"):
        replay(toy(), [("swap", (0,))])


def test_hypothesis_tells_the_same_story():
    scope = toy(machine=PAINTED)
    with pytest.raises(ClaimBroken, match="breaks one_cell_at_most_is_painted") as caught:
        check(stateful_machine(scope), examples=50, steps=10)
    assert len(caught.value.story) == 2
    assert replay(scope, caught.value.story.steps) is not None
