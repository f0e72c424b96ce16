"""The trace checker's custody is the machine's: never another answer, in many random runs; a wrong rule is found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from shmem_model.conformance.traces import custody, streams
from shmem_suite.differential.worlds import WORLDS
from tests.traces.tie import disagreement

# All regions are there from the start: what comes and goes is tested on recorded traces.
ALIVE = {
    name: replace(
        world,
        regions={key: replace(region, live=True) for key, region in world.regions.items() if key in "abx"},
        windows={"a": (0, 4), "b": (0, 4), "x": (4, 6)},
    )
    for name, world in WORLDS.items()
}


@pytest.mark.parametrize("name", ALIVE)
def test_custody_of_a_trace_is_custody_of_the_machine(name: str) -> None:
    steps, broken, about = disagreement(ALIVE[name], 5, 2500)
    assert not about
    assert broken > 20, f"{steps} steps broke a rule {broken} times only"


WRONG: dict[str, tuple[str, Any]] = {
    "a fence publishes nothing": ("fence", lambda s, agent: custody.tick(s, agent)),
    "a flush settles nothing": ("settle", lambda s, agent, at, last: None),
    "an invalidate drops nothing": ("drop_lines", lambda s, agent, first, last: None),
    "a message says nothing": ("learn", lambda s, agent, snap: None),
    "readers are not waited for": ("unread", lambda s, agent, number, told: None),
    "everybody may read": ("entitled", lambda s, agent, number, at, end: True),
    "everybody knows every write": ("published", lambda s, clock, start, number: True),
    "nobody knows that a copy has ended": ("copy_wait", lambda s, agent: None),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rule_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, wrong = WRONG[name]
    for module in (custody, streams):
        if hasattr(module, function):
            monkeypatch.setattr(module, function, wrong)
    assert any(disagreement(world, 1, 2000)[2] for world in ALIVE.values())
