"""Machine and implementation in lock-step: no divergence, every answer of every action seen, every old bug gone."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from shmem_model.machine import MACHINE
from shmem_suite.bugs.planting import changed, curated
from shmem_suite.differential import coverage
from shmem_suite.differential.lockstep import EXPLAINED, Pair, follow, run, shrunk
from shmem_suite.differential.projection import TABLE
from shmem_suite.differential.reference import ReferenceAdapter
from shmem_suite.differential.regressions import again, load, saved
from shmem_suite.differential.worlds import WORLDS
from shmem_suite.errors import SuiteError
from tests.differential.page import PAGE, rewritten, tables

pytestmark = pytest.mark.filterwarnings("ignore::shmem.PartialLineWarning")
REGRESSIONS = sorted(Path(__file__).with_name("regressions").glob("*.json"))


@pytest.mark.parametrize("name", WORLDS)
def test_machine_and_implementation_agree(name: str) -> None:
    result = run(300, 7, WORLDS[name])
    assert result.divergence is None, str(shrunk(result.divergence))
    assert result.steps == 300


@pytest.mark.slow
def test_they_agree_for_long_and_every_action_gives_every_answer() -> None:
    seen: Counter[tuple[str, str]] = Counter()
    for world in WORLDS.values():
        result = run(9000, 11, world)
        assert result.divergence is None, str(shrunk(result.divergence))
        assert result.steps == 9000
        seen += result.answers
    assert not coverage.missing(seen)
    fresh = rewritten(PAGE.read_text(encoding="utf-8"), tables(seen))
    if os.environ.get("SHMEM_REWRITE"):
        PAGE.write_text(fresh, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == fresh, "`SHMEM_REWRITE=1` rewrites it"


@pytest.mark.parametrize("path", REGRESSIONS, ids=lambda path: path.stem)
def test_what_was_found_once_is_gone(path: Path) -> None:
    story, _, steps = load(path)
    assert story
    assert steps
    divergence = again(path)
    assert divergence is None, f"{story}\n{divergence}"


def test_there_are_regressions() -> None:
    assert len(REGRESSIONS) >= 5


def test_what_cannot_be_seen_is_an_answer_of_the_machine() -> None:
    answers = {(action.name, c.name) for action in MACHINE.actions.values() for c in action.conditions}
    assert set(coverage.NOT_SEEN) <= answers
    assert {condition for _, condition in EXPLAINED} <= {condition for _, condition in answers}


def test_every_function_is_compared_or_said_not_to_be() -> None:
    functions = {f.name for f in MACHINE.state if f.layer != "ghost"}
    assert functions - set(TABLE) == set(coverage.NOT_COMPARED)


# -- the test itself can fail ------------------------------------------------------------------------------------


def forgets_to_post(adapter: ReferenceAdapter, **kw: Any) -> None:
    """A flush that cleans the line and sends nothing."""
    side = adapter.hardware.hardware.sides[adapter.agents[kw["agent"]].name]
    for line in side.lines.values():
        line.mask = 0


def misses_the_shootdown(adapter: ReferenceAdapter, **kw: Any) -> None:
    """A shootdown that leaves the entry."""


def reads_memory(adapter: ReferenceAdapter, **kw: Any) -> int:
    """A read past the cache."""
    frame = adapter.frame_of(kw["region"], kw["line"])
    memory = adapter.hardware.hardware.memory(adapter.address[frame])
    at = kw["word"] * adapter.apart * 8
    return adapter._small(int.from_bytes(memory[at : at + 8], "little"))


@pytest.mark.parametrize(
    ("action", "wrong"), [("flush", forgets_to_post), ("shootdown", misses_the_shootdown), ("read", reads_memory)]
)
def test_a_wrong_step_is_found_and_shrinks(monkeypatch: pytest.MonkeyPatch, action: str, wrong: Any) -> None:
    monkeypatch.setattr(ReferenceAdapter, action, wrong)
    found = run(3000, 1, WORLDS["line-sticky"]).divergence
    assert found is not None
    short = shrunk(found)
    assert len(short.steps) <= 6, str(short)
    assert short.steps[-1][0] in str(short)


def test_a_divergence_is_saved_with_its_steps_and_found_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(ReferenceAdapter, "shootdown", misses_the_shootdown)
        found = run(3000, 1, WORLDS["line-sticky"]).divergence
        assert found is not None
        file = tmp_path / "found.json"
        file.write_text(saved(shrunk(found), "A shootdown left its entry."), encoding="utf-8")
        assert again(file) is not None
    assert again(file) is None, "without the bug nothing differs"


def test_a_state_that_differs_is_seen_without_any_answer() -> None:
    pair = Pair(WORLDS["line-sticky"])
    try:
        pair.adapter.map("dev1", "a", False)
        pair.adapter.hardware.translate("dev1", pair.adapter.handles["a"])
        assert pair.compare() == ["tlb('dev1', ('a', 0), 0): here only"]
    finally:
        pair.close()


def test_a_file_that_is_no_regression_is_told(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text("{}")
    with pytest.raises(SuiteError, match="is no regression file"):
        load(file)


def test_steps_of_another_world_find_nothing() -> None:
    assert follow(WORLDS["line-sticky"], []) is None


# -- curated bugs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", curated())
def test_a_curated_bug_fits_the_source(name: str) -> None:
    compile(changed(curated()[name]), name, "exec")


def test_there_are_many_curated_bugs() -> None:
    assert len(curated()) >= 40
