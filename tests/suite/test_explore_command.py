"""`shmem explore`, `shmem export` and `shmem prove` as their users meet them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shmem_model import scopes
from shmem_model.machine import MACHINE
from shmem_suite import explorations
from shmem_suite.cli import explore, main
from shmem_suite.cli.export import texts, together


def run(capsys: pytest.CaptureFixture[str], *line: str) -> tuple[int, str, str]:
    code = main(list(line))
    return code, *capsys.readouterr()


@pytest.mark.parametrize("engine", ["auto", "python", "numpy"])
def test_an_exploration_counts_as_pinned(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "explore", "uncached", "--engine", engine, "--json", "-")
    answer = json.loads(out)
    assert code == 0
    assert {"scope", "states", "transitions", "depth", "seconds", "engine", "per_action"} <= set(answer)
    counts = {key: answer[key] for key in ("states", "transitions", "depth", "per_action")}
    assert counts == scopes.pinned()["uncached"]
    assert "as pinned" in err


def test_counts_that_differ_end_with_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(explore, "pins_of", lambda name: {**(scopes.pinned()[name]), "states": 7})
    code, out, _ = run(capsys, "explore", "uncached")
    assert code == 1
    assert "states 2744, pinned 7" in out


def test_a_limit_that_was_hit_ends_with_3(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "explore", "caches", "--limit", "10")
    assert code == 3
    assert "given up after" in out


def test_claims_are_looked_at_in_every_state() -> None:
    outcome = explorations.explore_named("barrier-two-teams", "numpy", claims=True)
    assert outcome.verdict == "holds"
    assert outcome.counts == scopes.pinned()["barrier-two-teams"]


def test_an_unknown_scope_is_told_with_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "explore", "cachs")
    assert (code, err.startswith("shmem: no scope 'cachs'; did you mean caches")) == (2, True)


def test_an_engine_that_is_not_installed_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(explore, "engines", lambda: {"compiled": "numba is not installed"})
    code, _, err = run(capsys, "explore", "uncached", "--engine", "compiled")
    assert (code, "numba is not installed" in err) == (2, True)


def test_the_scopes_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "explore", "--list", "--json", "-")
    assert code == 0
    assert [row["scope"] for row in json.loads(out)] == list(scopes.SCOPES)


def test_scope_pins_are_written_where_the_model_keeps_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "pins.json"
    file.write_text(json.dumps({"uncached": {"states": 1}, "gone": {"states": 2}}))
    for module in (explorations, scopes):
        monkeypatch.setattr(module, "PINNED", file)
    assert explorations.save_scope_pins({"caches": {"states": 3}}) == 2
    assert json.loads(file.read_text()) == {"caches": {"states": 3}, "uncached": {"states": 1}}


@pytest.mark.parametrize(("format", "marks"), [("murphi", ["ruleset", "startstate"]), ("tla", ["MODULE", "CONSTANTS"])])
def test_a_scope_is_printed(format: str, marks: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "export", format, "--scope", "uncached")
    assert (code, err) == (0, "")
    assert all(mark in out for mark in marks)


def test_obligations_are_written_one_file_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "export", "smt2", "--output", str(tmp_path / "new"))
    number = len(MACHINE.invariants) * (1 + len(MACHINE.actions))
    assert code == 0
    assert f"wrote {number} files" in out
    assert len(list((tmp_path / "new").glob("*.smt2"))) == number


def test_scripts_that_follow_each_other_reset_the_solver() -> None:
    one = "(set-logic UF)\n(check-sat)\n(exit)\n"
    assert together([one, one]) == "(set-logic UF)\n(check-sat)\n(reset)\n(set-logic UF)\n(check-sat)\n(exit)\n"


def test_tla_comes_with_a_model_and_a_configuration() -> None:
    assert [name for name, _ in texts("tla", None)] == ["shmem.tla", "MC_shmem.tla", "MC_shmem.cfg"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["export", "smt2", "--scope", "caches"], "--scope is for murphi and tla"),
        (["export", "murphi", "--scope", "cachs"], "did you mean caches"),
        (["export", "murphi", "--output", "/dev/null/x"], "cannot write into /dev/null/x"),
        (["export", "murphy"], "'murphy' is not one of"),
        (["bench", "prove", "--scope", "caches"], "--scope is for the benchmark explore"),
        (["bench", "explore", "--scope", "cachs"], "did you mean caches"),
        (["prove", "T99"], "no theorem 'T99'"),
        (["prove", "visibilty"], "did you mean visibility"),
    ],
)
def test_wrong_usage_is_one_line(line: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, *line)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err


def test_json_of_an_export_is_alone_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "export", "murphi", "--scope", "uncached", "--json", "-")
    answer = json.loads(out)
    assert (code, answer["format"], answer["files"][0]["name"]) == (0, "murphi", "uncached.m")


@pytest.mark.slow
def test_a_theorem_is_proved(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "prove", "visibility", "--json", "-")
    answer = json.loads(out)
    assert code == 0
    assert set(answer) == {"actions", "invariants", "obligations", "seconds", "theorems"}
    assert answer["actions"] == len(MACHINE.actions)
    (theorem,) = answer["theorems"]
    assert {"id", "statement", "verdict", "seconds"} == set(theorem)
    assert (theorem["id"], theorem["verdict"]) == ("T1", "holds")
