"""The foreign example fails on exactly its planted bugs, under the vectors and under the kit."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from types import ModuleType

import pytest

from shmem_model.conformance import vectors
from shmem_model.conformance.kit import check_world
from shmem_model.conformance.vector_scopes import SCOPES
from tests.conftest import ROOT

BUGS = {"make": {}, "bug1": {"hand-over": "read"}, "bug2": {"hand-over": "wait", "notify": "wait"},
        "bug3": {"rights": "read"}}  # fmt: skip
WORLDS = ("hand-over", "notify", "rights")


@pytest.fixture(scope="module")
def foreign() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tinyshm", ROOT / "docs" / "examples" / "foreign" / "tinyshm.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", list(BUGS))
def test_vectors_and_kit_find_exactly_the_planted_bug(
    name: str, foreign: ModuleType, need_tool: Callable[[str], str]
) -> None:
    need_tool("cc")
    factory = getattr(foreign, name)
    by_vectors: dict[str, str] = {}
    by_kit: dict[str, str] = {}
    for world in WORLDS:
        run = vectors.run(vectors.vector(SCOPES[world]), factory)
        assert run.calls
        if run.failures:
            by_vectors[world] = run.failures[0].seen[-1][0].partition("(")[0]
        case = check_world(factory, world, examples=1000).case
        if case is not None:
            by_kit[world] = case.steps[-1][0]
    assert by_vectors == BUGS[name]
    assert by_kit == BUGS[name]
