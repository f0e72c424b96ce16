"""`shmem verify` as its users meet it: exit codes, JSON, tables, errors in one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shmem_suite import assembly, manifest
from shmem_suite.cli import COMMANDS, main
from shmem_suite.cli import verify as module
from tests.conftest import ROOT
from tests.suite.fakes import ENTRY, write_manifest
from tests.suite.provider import FakeProvider

TWIN = {"id": "T1/twin", "kind": "red-twin", "subject": "T1", "expected": "fails"}
GOOD = [ENTRY, {**TWIN, "options": {"verdict": "fails", "trace": True}}]


class Suite:
    """`shmem verify` over a manifest of our own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys
        monkeypatch.setattr(module, "load", lambda: manifest.load(folder))
        monkeypatch.setattr(assembly, "provider", lambda name: FakeProvider({}))

    def run(self, entries: list[dict[str, Any]], *arguments: str, pins: Any = None) -> tuple[int, str, str]:
        """Exit code, standard output, standard error."""
        write_manifest(self.folder, entries, pins)
        code = main(["verify", "--jobs", "1", *arguments])
        return code, *self.capsys.readouterr()


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Suite:
    return Suite(tmp_path / "manifest", monkeypatch, capsys)


def test_all_as_expected(suite: Suite) -> None:
    code, out, err = suite.run(GOOD)
    assert code == 0
    assert "Reads see the last write." in out
    assert "3 as expected, 0 not" in out
    assert err == ""


def test_json_alone_on_standard_output_in_the_promised_shape(suite: Suite) -> None:
    code, out, err = suite.run(GOOD, "--json", "-")
    answer = json.loads(out)
    assert code == 0
    assert {"summary", "checks"} <= set(answer)
    assert set(answer["summary"]) == {"holds", "fails", "unknown", "seconds"}
    promised = {"id", "kind", "statement", "verdict", "expected", "ok", "seconds"}
    assert all(promised <= set(check) for check in answer["checks"])
    assert [(c["id"], c["verdict"], c["expected"], c["ok"]) for c in answer["checks"][1:]] == [
        ("T1", "holds", "holds", True),
        ("T1/twin", "fails", "fails", True),
    ]
    assert answer["checks"][2]["trace"]["steps"][4]["guilty"]
    assert "3 as expected" in err


def test_json_into_a_file_leaves_the_table_where_it_is(suite: Suite, tmp_path: Path) -> None:
    file = tmp_path / "answer.json"
    _, out, _ = suite.run(GOOD, "--json", str(file))
    assert "3 as expected" in out
    assert json.loads(file.read_text())["summary"]["holds"] == 3


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ({"verdict": "fails", "trace": True}, 1, "T1: fails, expected holds"),
        ({"verdict": "not-inductive"}, 3, "T1: not-inductive, expected holds"),
        ({"verdict": "unknown", "outcome": {"detail": "gave up"}}, 3, "gave up"),
        ({"crash": "kill"}, 3, "the worker was killed by SIGKILL"),
        ({"crash": "raise"}, 3, "ArithmeticError: two and two made five"),
    ],
)
def test_what_is_not_as_expected_is_told_and_is_the_exit_code(suite: Suite, options: Any, code: int, said: str) -> None:
    found, out, err = suite.run([{**ENTRY, "options": options}])
    assert found == code
    assert said in out
    assert "not as expected: T1" in err
    if options.get("trace"):
        assert "►  5  dev0  read(w=buf[0])" in out


def test_a_check_that_cannot_be_asked_is_skipped_with_its_reason(suite: Suite) -> None:
    skipping = {"id": "referee/tiny", "kind": "referee", "subject": "tiny"}
    outcome = {"verdict": "unknown", "outcome": {"skipped": "rumur is not installed"}}
    code, out, _ = suite.run([ENTRY, {**skipping, "options": outcome}], "--json", "-")
    answer = json.loads(out)
    assert code == 0
    assert answer["skipped"] == [{"id": "referee/tiny", "reason": "rumur is not installed"}]
    assert "referee/tiny" not in {check["id"] for check in answer["checks"]}


def test_counts_are_pinned_by_one_flag_and_compared_ever_after(suite: Suite) -> None:
    entry = {**ENTRY, "pinned": True, "options": {"outcome": {"counts": {"states": 5}}}}
    assert suite.run([entry])[0] == 1
    assert suite.run([entry], "--update-pins")[0] == 0
    assert json.loads((suite.folder / "pins.json").read_text()) == {"T1": {"states": 5}}
    assert suite.run([entry])[0] == 0
    entry["options"] = {"outcome": {"counts": {"states": 6}}}
    code, out, _ = suite.run([entry])
    assert (code, "states 6, pinned 5" in out) == (1, True)


def test_what_is_not_as_expected_is_not_pinned(suite: Suite) -> None:
    entry = {**ENTRY, "pinned": True, "options": {"verdict": "fails", "outcome": {"counts": {"states": 5}}}}
    assert suite.run([entry], "--update-pins")[0] == 1
    assert json.loads((suite.folder / "pins.json").read_text()) == {}


def test_verbose_and_list(suite: Suite) -> None:
    assert "Every check" in suite.run(GOOD, "--verbose")[1]
    code, out, _ = suite.run(GOOD, "--list", "--json", "-")
    assert code == 0
    assert [check["id"] for check in json.loads(out)] == ["suite/nothing-unchecked", "T1", "T1/twin"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--quick", "--full"], "--quick and --full exclude each other"),
        (["--only", "T7"], "no check 'T7'; did you mean"),
        (["--quik"], "no such option: --quik; did you mean --quick?"),
        (["--jobs", "0"], "0 is not in the range"),
        (["--executor", "tcp://127.0.0.1:1"], "distributed|no Dask scheduler"),
        (["--report", "/dev/null/x"], "cannot write a report to /dev/null/x"),
        (["--json", "/dev/null/x"], "cannot write /dev/null/x"),
        (["more"], "unexpected extra argument"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(suite: Suite, arguments: list[str], said: str) -> None:
    code, out, err = suite.run([ENTRY], *arguments)
    assert code == 2
    lines = [line for line in err.splitlines() if line.startswith("shmem: ")]
    assert len(lines) == 1
    assert any(word in lines[0] for word in said.split("|"))
    assert "Traceback" not in out + err


def test_an_error_of_our_own_is_one_line_and_a_traceback_with_debug(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise ArithmeticError("two and two\nmade five")

    monkeypatch.setattr(module, "load", broken)
    code, _, err = suite.run([ENTRY])
    assert (code, err) == (
        3,
        "shmem: internal error, ArithmeticError: two and two made five (--debug shows where)\n",
    )
    for line in (["--debug", "verify"], ["verify", "--debug"]):
        assert main(line) == 3
        assert "Traceback" in suite.capsys.readouterr().err


def test_every_command_has_help_with_an_example_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS:
        assert main([name, "--help"]) == 0
        text = capsys.readouterr().out
        assert f"shmem {name}" in text.partition("Example")[2]
        assert "--json" in text
        assert "--debug" in text


def test_an_unknown_command_is_told_with_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verifi"]) == 2
    assert capsys.readouterr().err.startswith("shmem: no command 'verifi'; did you mean verify")


def test_help_needs_no_solver_and_no_numpy() -> None:
    code = (
        "import sys; from shmem_suite.cli import main; main(['--help']); "
        "sys.exit(sorted({'z3', 'cvc5', 'numpy', 'numba', 'lark', 'rich', 'jinja2'} & set(sys.modules)))"
    )
    path = os.pathsep.join(str(ROOT / folder) for folder in ("model", "proofs", "impl"))
    line = [sys.executable, "-c", code]
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": path})
    assert done.stderr.strip() in ("", "[]")
    assert "verify" in done.stdout


def test_a_place_that_cannot_be_written_is_told_before_the_work(suite: Suite, tmp_path: Path) -> None:
    for file, said in ((tmp_path, "it is a folder"), (tmp_path / "a" / "b", "there is no folder")):
        code, out, err = suite.run([{**ENTRY, "options": {"crash": "raise"}}], "--json", str(file))
        assert (code, out) == (2, "")
        assert said in err
        assert "ArithmeticError" not in err
