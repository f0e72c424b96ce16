"""`shmem litmus` as its users meet it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shmem_suite.cli import litmus, main
from shmem_suite.litmus_files import answer, find
from tests.suite import fakes

HEAD = """litmus {name}
platform weakest
region buf: 1 line of 2 words, broadcast host dev0
host:
    buf[0] = 1
    {flush}
    fence
    send dev0 7
dev0:
    wait 7
    invalidate buf
    r0 = buf[0]
"""
STALE = "ask dev0.r0 == 0\nexpect {answer}\n"


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / f"{name}.litmus"
    file.write_text(text)
    return file


@pytest.fixture
def right(tmp_path: Path) -> Path:
    """A hand-over with every step, and the right expectations."""
    text = HEAD.format(name="right", flush="flush buf") + STALE.format(answer="forbidden") + "expect race-free\n"
    return write(tmp_path, "right", text)


@pytest.fixture
def hopeful(tmp_path: Path) -> Path:
    """A hand-over without flush whose author expects it to work."""
    return write(tmp_path, "hopeful", HEAD.format(name="hopeful", flush="fence") + STALE.format(answer="forbidden"))


@pytest.fixture
def malformed(tmp_path: Path) -> Path:
    """A file with a misspelt platform."""
    return write(tmp_path, "malformed", "litmus malformed\nplatform weakst\n")


def test_right_answers_end_with_0(right: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["litmus", str(right)]) == 0
    out = capsys.readouterr().out
    assert "dev0.r0 == 0: forbidden" in out
    assert "race: race-free" in out


def test_a_wrong_hope_ends_with_1_and_shows_the_run(hopeful: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["litmus", str(hopeful), "--no-runs"]) == 1
    out = capsys.readouterr().out
    assert "dev0.r0 == 0: allowed (expected forbidden)" in out
    assert "host:5: buf[0] = 1" in out
    assert "dev0:12: r0 = buf[0]" in out


def test_a_malformed_file_ends_with_2_and_the_others_still_run(
    right: Path, malformed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["litmus", str(malformed), str(right), "--json", "-"]) == 2
    said = capsys.readouterr()
    bad, good = json.loads(said.out)
    assert bad == {
        "file": str(malformed),
        "error": f"{malformed}:2:10: unknown platform 'weakst'; did you mean 'weakest'?",
    }
    assert set(good) == {"file", "name", "questions", "states", "seconds"}
    assert good["questions"][1] == {"question": "race", "expect": "race-free", "answer": "race-free", "ok": True}
    assert f"{malformed}:2:10: unknown platform" in said.err
    caret = said.err.splitlines()[2]
    assert caret == " " * (2 + 9) + "^"


def test_a_folder_stands_for_its_files(right: Path, hopeful: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inner = right.parent / "inner"
    inner.mkdir()
    write(inner, "again", right.read_text())
    assert main(["litmus", str(right.parent), str(right), "--json", "-"]) == 1
    rows = json.loads(capsys.readouterr().out)
    assert [Path(row["file"]).name for row in rows] == ["hopeful.litmus", "again.litmus", "right.litmus"]


@pytest.mark.parametrize(("path", "said"), [("nowhere", "there is no file"), ("empty", "has no file *.litmus")])
def test_nothing_to_ask_is_wrong_usage(
    tmp_path: Path, path: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert main(["litmus", str(tmp_path / path)]) == 2
    assert said in capsys.readouterr().err
    assert main(["litmus"]) == 2


def test_the_matrix_tells_which_calls_are_needed_where(right: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["litmus", str(right), "--matrix", "--json", "-"]) == 0
    said = capsys.readouterr()
    (row,) = json.loads(said.out)
    assert [call.split(" ", 1)[1] for call in row["matrix"]["calls"]] == ["flush buf", "fence", "invalidate buf"]
    assert len(row["matrix"]["rows"]) == 8
    assert "reader must invalidate" in said.err


def test_a_file_without_questions_is_never_as_expected(tmp_path: Path) -> None:
    silent = write(tmp_path, "silent", HEAD.format(name="silent", flush="flush buf"))
    found = answer(str(silent))
    assert found.verdict == "unknown"
    assert "no question" in found.detail


def test_the_run_becomes_a_story_with_a_lane_per_agent(hopeful: Path) -> None:
    trace = answer(str(hopeful)).trace
    assert trace is not None
    assert trace.lanes == ("host", "dev0")
    assert {step.action for step in trace.steps} >= {"buf[0] = 1", "fill buf.0", "r0 = buf[0]"}
    assert "dev0.r0 == 0: allowed" in trace.ending


def test_a_file_that_breaks_the_engine_is_unknown(
    right: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(litmus, "answer", fakes.broken)
    assert main(["litmus", str(right), "--json", "-"]) == 3
    (row,) = json.loads(capsys.readouterr().out)
    assert row == {"file": str(right), "error": "ArithmeticError: two and two made five"}


def test_each_file_is_found_once(right: Path) -> None:
    assert find([str(right), str(right), str(right.parent)]) == ([right], {})


def test_a_path_that_names_nothing_leaves_the_others_answered(
    right: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    wrong = {
        "missing.litmus": "there is no file or folder missing.litmus",
        str(tmp_path / "empty"): "has no file *.litmus",
        str(tmp_path / "loop"): "cannot be read",
        "x" * 5000: "cannot be read",
        "-": "name a file",
    }
    out = tmp_path / "out.json"
    assert main(["litmus", str(right), *wrong, "--jobs", "1", "--json", str(out)]) == 2
    told = capsys.readouterr()
    assert "right: " in told.out
    rows = json.loads(out.read_text())
    assert [question["ok"] for question in rows[0]["questions"]] == [True, True]
    assert [row["file"] for row in rows[1:]] == list(wrong)
    for row, reason in zip(rows[1:], wrong.values(), strict=True):
        assert reason in row["error"]
        assert row["error"] in told.err
    assert max(len(line) for line in told.err.splitlines()) < 400


STREAMS = {
    "standard output closed": (">&-", 2, "standard output is closed"),
    "standard error closed": ("2>&-", 0, ""),
    "no room": ("> /dev/full", 2, "cannot write the answer"),
    "ascii": ("", 0, ""),
}


@pytest.mark.parametrize("name", STREAMS)
def test_streams_that_cannot_take_the_answer_are_told_in_one_line(name: str, right: Path) -> None:
    redirect, code, reason = STREAMS[name]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    line = f'"{sys.executable}" -m shmem litmus --runs --jobs 1 "{right}" {redirect}'
    done = subprocess.run(["/bin/sh", "-c", line], env=environment, capture_output=True, check=False)
    told = done.stderr.decode()
    assert done.returncode == code, told
    assert reason in told
    assert "Traceback" not in told
    assert "internal" not in told


@pytest.mark.parametrize(
    ("package", "line"), [("lark", ["litmus", "x.litmus"]), ("z3", ["prove", "T1"]), ("rich", ["explore"])]
)
def test_a_package_that_is_missing_is_told_in_one_line(package: str, line: list[str], tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules[{package!r}] = None\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "shmem", *line]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines() == [
        f"shmem: this needs the package {package}; install it with: pip install 'shmem[verify]'"
    ]
