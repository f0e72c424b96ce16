"""Test vectors: complete, the same every time, as their schema says, passed by the right and failed by the wrong."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from shmem_model.conformance import vectors
from shmem_model.conformance.vector_scopes import SCOPES
from shmem_suite.providers import conformance
from tests.conformance.schema import complaints
from tests.conformance.toy import Toy, early, lost, make

SMALL = ("slot-sticky", "barrier-death", "migration", "hand-over", "notify", "copies")


def schema() -> dict[str, Any]:
    text = files("shmem_model.conformance").joinpath("vectors.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.mark.parametrize("name", SMALL)
def test_vectors_cover_every_transition_and_follow_the_schema(name: str) -> None:
    data = vectors.vector(SCOPES[name])
    made, edges = vectors.coverage(data)
    assert made == edges > 0
    assert complaints(data, schema()) == []


def test_a_file_that_breaks_the_schema_is_told() -> None:
    data = vectors.vector(SCOPES["notify"])
    data["nodes"][0]["0"] = {"perhaps": 1}
    del data["world"]["agents"]
    assert len(complaints(data, schema())) == 2


def test_dropping_a_walk_shows_in_the_coverage() -> None:
    data = vectors.vector(SCOPES["migration"])
    data["walks"] = data["walks"][:1]
    made, edges = vectors.coverage(data)
    assert made < edges


def test_a_second_run_writes_the_same_bytes(tmp_path: Path) -> None:
    scopes = [SCOPES[name] for name in ("notify", "hand-over", "copies")]
    for folder in ("one", "two"):
        vectors.write(scopes, tmp_path / folder)
    for file in sorted((tmp_path / "one").iterdir()):
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()


@pytest.mark.parametrize("name", list(SCOPES))
def test_the_reference_implementation_passes(name: str) -> None:
    outcome = conformance.follow(name)
    assert outcome.verdict == "holds", outcome.detail


def test_a_wrong_implementation_fails_with_a_story() -> None:
    data = vectors.vector(SCOPES["notify"])
    assert vectors.run(data, make).failures == []
    for wrong, word in ((early, "early wake-up"), (lost, "notifications")):
        (failure,) = vectors.run(data, wrong).failures
        assert word in failure.property or "progress" in failure.property
        assert "allowed:" in failure.story()
        again = vectors.run(data, wrong, only=failure.walk)
        assert again.failures[0].seen == failure.seen


def test_what_an_adapter_cannot_do_is_not_run_and_says_why() -> None:
    run = vectors.run(vectors.vector(SCOPES["slot-sticky"]), make)
    assert (run.walks, run.skipped) == (0, "the adapter has no die")
    assert "sticky" in vectors.run(vectors.vector(SCOPES["notify-counting"]), make).skipped
    assert conformance.follow("notify-counting", Toy).verdict == "unknown"


def test_broken_files_are_told_in_one_line(tmp_path: Path) -> None:
    for text in ("", "{", "[]", '{"shmem_vectors": 1}'):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(vectors.VectorError, match=r"x\.json"):
            list(vectors.run_all(tmp_path / "x.json", make))
    with pytest.raises(vectors.VectorError, match="index"):
        vectors.files(tmp_path)
