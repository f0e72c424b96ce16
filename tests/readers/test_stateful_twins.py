"""Random runs find every red twin of T1, T3, T5 and T6, and tell it in hardly more steps than the shortest story."""

import pytest

from shmem_model.machine import MACHINE
from shmem_model.readers.stateful import ClaimBroken, check, hunt, replay, shortened, stateful_machine
from shmem_model.readers.walker import Walker
from shmem_model.readers.walks import monitor_of
from shmem_proofs.theorems import THEOREMS

TWINS = {
    f"{theorem.id} {twin.name}": twin
    for theorem in THEOREMS
    if theorem.id in ("T1", "T3", "T5", "T6")
    for twin in theorem.red_twins
}
SHRUNK_BY_HYPOTHESIS = (
    "T1 atomic that stays in the cache",
    "T3 acknowledge without dropping",
    "T5 write through a read-only right",
    "T6 address reused with an old translation",
)
"""Those that Hypothesis finds without a search, step by step."""


def weakened(name):
    """The twin, its scope, and the claim that must break there."""
    twin = TWINS[name]
    machine = twin.weaken(MACHINE)
    return twin, twin.setting.scope(name, machine), twin.claim or machine.property(twin.breaks)


@pytest.mark.parametrize("name", TWINS)
def test_a_hunt_finds_every_red_twin(name):
    twin, scope, claim = weakened(name)
    story = hunt(scope, claim, seed=1)
    assert story is not None
    assert twin.steps <= len(story) <= twin.steps + 2, str(story)
    assert replay(scope, story.steps, [claim]).broken.claim is claim


@pytest.mark.parametrize("name", TWINS)
def test_a_hypothesis_machine_finds_every_red_twin(name):
    twin, scope, claim = weakened(name)
    machine = stateful_machine(scope, properties=[claim], careful=True, search=True)
    with pytest.raises(ClaimBroken) as caught:
        check(machine, examples=60, steps=8, shrink=False)
    assert twin.steps <= len(caught.value.story) <= twin.steps + 2, str(caught.value.story)


@pytest.mark.parametrize("name", SHRUNK_BY_HYPOTHESIS)
def test_hypothesis_makes_a_run_simpler(name):
    twin, scope, claim = weakened(name)
    machine = stateful_machine(scope, properties=[claim], careful=True)
    with pytest.raises(ClaimBroken) as caught:
        check(machine, examples=300, steps=20)
    assert twin.steps <= len(caught.value.story) <= twin.steps + 2, str(caught.value.story)


def test_a_story_about_a_second_region_is_told_of_the_first():
    name = "T6 scrub while words are on the way"
    twin, scope, claim = weakened(name)
    second = (
        ("unmap", (0, 0, 0, 0)), ("unmap", (0, 1, 0, 0)), ("free", (1, 0, 0, 0)), ("scrub", (0,)),
        ("alloc", (0, 1, 0, 0)), ("map", (0, 1, 0, 1)), ("translate", (0, 0, 0)), ("fill", (0, 0, 0)),
        ("write", (0, 1, 0, 0, 0, 1)), ("unmap", (0, 0, 1, 0)), ("free", (0, 1, 0, 0)), ("scrub", (0,)),
        ("evict", (0, 0)),
    )  # fmt: skip
    story = replay(scope, second, [claim])
    assert len(shortened(Walker(scope, [claim], monitor_of(scope.machine)), story)) == twin.steps
