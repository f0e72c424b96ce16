"""The package `shmem` and its command as a user of the bare distribution meets them."""

import os
import pickle
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

import shmem
from shmem import __main__ as command
from tests.project.tree import ROOT


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`python -m shmem` of this tree with these arguments."""
    line = [sys.executable, "-m", "shmem", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "impl")}
    return subprocess.run(line, capture_output=True, text=True, check=False, env=environment)


def found(value: str) -> EntryPoint:
    """An entry point as the installed distribution would give it."""
    return EntryPoint(name="suite", value=value, group="shmem.commands")


def test_an_error_says_what_was_asked_what_is_so_and_what_to_do() -> None:
    error = shmem.ShmemError("alloc of 64 bytes", "the pool has 0 bytes free", "free a region first")
    assert str(error) == "alloc of 64 bytes: the pool has 0 bytes free; free a region first"
    assert (error.asked, error.found, error.remedy) == error.args


def test_an_error_travels_between_processes() -> None:
    error = shmem.ShmemError("map of region 3", "it was freed", "alloc it again")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is shmem.ShmemError
    assert str(again) == str(error)


def test_the_version_is_told_without_any_extra() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"shmem {shmem.__version__}\n", "")


def test_without_the_extra_one_line_tells_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["shmem", "verify"])
    monkeypatch.setattr(command, "_find", lambda name: found("a_package_nobody_has.cli:main"))
    assert command.main() == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        "shmem: this needs the package a_package_nobody_has; install it with: pip install 'shmem[verify]'\n"
    )


@pytest.mark.parametrize(
    ("point", "line"),
    [
        (None, "shmem: the commands are not installed; in a source tree run `make setup`\n"),
        (
            "shmem_suite.no_such_module:main",
            "shmem: this installation is incomplete, it has no module shmem_suite.no_such_module; install it again\n",
        ),
    ],
)
def test_a_broken_installation_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], point: str | None, line: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["shmem", "verify"])
    monkeypatch.setattr(command, "_find", lambda name: found(point) if point else None)
    assert command.main() == 2
    assert capsys.readouterr().err == line


def test_the_exit_code_of_a_command_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["shmem", "anything"])
    monkeypatch.setattr(command, "_find", lambda name: found("operator:not_"))
    monkeypatch.setattr(EntryPoint, "load", lambda self: lambda: 3)
    assert command.main() == 3
