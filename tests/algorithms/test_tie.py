"""The steps of the algorithms have the names that stand in the implementation's source, and the other way round."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shmem_model.algorithms import TIED, asking, barriers, ring, table, waiting

IMPL = Path(__file__).parents[2] / "impl" / "shmem"
MARK = re.compile(r"(?:#|/\*)[^\n]*?\bstep: ([a-z_]+(?:, [a-z_]+)*)")
BY_OTHERS = {"peer_lost"}
"""A ring's PeerLost is raised by the wait that it calls."""
STEPS = {
    "waiting": waiting.build().steps,
    "waiting without a compiler": waiting.build(
        waiting.Choices(fallback=True, batch=(False, True), sender_fence=False)
    ).steps,
    "central": barriers.build().steps,
    "dissemination": barriers.build(barriers.Choices(flavour="dissemination")).steps,
    "asking": asking.build().steps,
    "ring": ring.build(ring.Choices(cached=True)).steps - BY_OTHERS,
    "table": table.build().steps,
    "table without a compiler": table.build().steps,
}


def marked(text: str) -> set[str]:
    return {name for hit in MARK.findall(text) for name in hit.split(", ")}


def in_source(*files: str) -> set[str]:
    return {name for file in files for name in marked((IMPL / file).read_text(encoding="utf-8"))}


def test_every_algorithm_is_tied() -> None:
    assert set(STEPS) == set(TIED)


@pytest.mark.parametrize("algorithm", STEPS)
def test_every_step_of_the_model_is_marked_in_the_source(algorithm: str) -> None:
    assert sorted(STEPS[algorithm] - in_source(*TIED[algorithm])) == []


def test_every_mark_in_the_source_is_a_step_of_the_model() -> None:
    files = [str(file.relative_to(IMPL)) for kind in ("*.py", "*.c", "*.h") for file in sorted(IMPL.rglob(kind))]
    assert sorted(in_source(*files) - set().union(*STEPS.values())) == []
    assert {name for files in TIED.values() for name in in_source(*files)} == in_source(*files)


def test_a_mark_without_step_and_a_step_without_mark_are_found() -> None:
    assert marked("x = 1  # step: send_count\ny();  /* step: nothing_known, team_look */") == {
        "send_count",
        "nothing_known",
        "team_look",
    }
    assert sorted(marked("/* step: nothing_known */") - set().union(*STEPS.values())) == ["nothing_known"]
    assert "send_count" in STEPS["waiting"] - marked("ADD(&self->counters[slot], by);")


def test_no_step_is_named_twice_for_different_algorithms() -> None:
    """Shared names are meant: teams share their waiting, everybody the driver's death."""
    shared = {name for a in STEPS.values() for name in a if sum(name in b for b in STEPS.values()) > 1}
    allowed = ("team_", "death_", "peer_lost", "send_", "take_", "wait_", "batch_", "publish_", "enter_", "move_")
    assert sorted(name for name in shared if not name.startswith((*allowed, "accept", "inside", "leave_pin"))) == []
