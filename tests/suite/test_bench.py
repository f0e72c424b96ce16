"""Benchmarks take turns, give the promised shape, and never measure what is wrong."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

import pytest

from shmem_suite.bench import explore, litmus, prove
from shmem_suite.bench.measure import Bench, Row, one_core, ratio, take_turns
from shmem_suite.cli import main
from shmem_suite.errors import SuiteError
from shmem_suite.explorations import scope_named


def test_contenders_take_turns() -> None:
    order: list[str] = []

    def contender(name: str, value: float) -> Mapping[str, float]:
        order.append(name)
        return {name: value}

    values = take_turns([lambda: contender("a", 4.0), lambda: contender("b", 2.0)], 2, lambda line: None)
    assert order == ["a", "b", "a", "b"]
    assert values == {"a": (4.0, 4.0), "b": (2.0, 2.0)}


def test_the_shape_is_as_promised() -> None:
    rows = (Row("numpy", (3.0, 1.0, 2.0), "transitions/s"), Row("rumur", (0.5,), "transitions/s"))
    shown = Bench("explore", rows, {"numpy_vs_rumur": 4.0}).as_json()
    assert shown["rows"][0] == {"name": "numpy", "median": 2.0, "min": 1.0, "max": 3.0, "unit": "transitions/s"}
    assert (shown["bench"], shown["ratios"]) == ("explore", {"numpy_vs_rumur": 4.0})
    assert ratio(rows, "numpy", "rumur") == 4.0
    assert ratio(rows, "compiled", "rumur") is None


def test_one_core_is_given_back() -> None:
    before = os.sched_getaffinity(0)
    with one_core():
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == before


def test_engines_are_compared_on_one_scope(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explore, "engines", lambda: {"python": "", "numpy": "", "compiled": "numba is not installed"})
    monkeypatch.setattr(explore.referee, "missing", lambda: "rumur is not installed")
    found = explore.run(scope_named("uncached"), 2, lambda line: None)
    assert [row.name for row in found.rows] == ["python", "numpy"]
    assert found.ratios == {}
    assert found.notes == (
        "compiled is not measured: numba is not installed",
        "rumur is not measured: rumur is not installed",
    )
    assert found.subject == "uncached: 2,744 states, 36,436 transitions"


def test_engines_that_disagree_are_not_compared() -> None:
    answers = [{"states": 1.0, "transitions": 2.0, "a": 9.0}, {"states": 1.0, "transitions": 3.0, "b": 9.0}]
    counts: set[tuple[int, int]] = set()
    assert explore._agreeing(lambda: answers[0], counts) == {"a": 9.0}
    with pytest.raises(SuiteError, match="disagree"):
        explore._agreeing(lambda: answers[1], counts)


def test_proofs_and_litmus_files_are_measured() -> None:
    said: list[str] = []
    proofs = prove.run(1, said.append, every=200)
    assert [row.name for row in proofs.rows] == ["z3", "cvc5"]
    assert set(proofs.ratios) == {"z3_vs_cvc5"}
    files = litmus.run(1, said.append, every=60)
    assert {row.unit for row in files.rows} == {"files/s"}
    assert len(said) == 4


def test_the_command_prints_the_promised_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done = Bench("prove", (Row("z3", (1.0,), "obligations/s"),), {}, ("a note",), "subject")
    monkeypatch.setattr(prove, "run", lambda rounds, tell: done)
    assert main(["bench", "prove", "--json", "-"]) == 0
    said = capsys.readouterr()
    assert set(json.loads(said.out)) >= {"bench", "rows", "ratios"}
    assert "a note" in said.err
