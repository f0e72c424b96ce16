"""`shmem ls`, `show`, `top` and `doctor` on running systems."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import shmem
from shmem.commands import look, run
from shmem.commands.look import problems
from tests.impl.daemons import ENVIRONMENT, daemon


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`python -m shmem` with these arguments."""
    line = [sys.executable, "-m", "shmem", *arguments]
    return subprocess.run(line, capture_output=True, text=True, check=False, env=ENVIRONMENT, timeout=60)


def test_ls_and_show_tell_what_a_running_system_holds(system: shmem.System) -> None:
    r = system.host.alloc(4096, acl={"host": "rw", "dev0": "r"}, purpose="weights")
    system.host.map(r)
    seen = command("ls", "--socket", system.address)
    assert seen.returncode == 0, seen.stderr
    for word in (
        "host:rw dev0:r",
        f"region {r.id}.{r.generation} 4096 B of host weights host maps it rw",
        "dev1",
    ):
        assert word in seen.stdout
    found = json.loads(command("ls", "--json", "-").stdout)
    assert system.address in {one["address"] for one in found}
    shown = command("show", str(r.id), "--socket", system.address)
    assert f"device_address: {r.device_address:#x}" in shown.stdout
    missing = command("show", "999999", "--socket", system.address)
    assert (missing.returncode, missing.stderr.count("\n")) == (2, 1)


def test_top_shows_what_is_pending(system: shmem.System) -> None:
    system.host.send("dev0", 5, 3)
    assert "dev0     pending slot 5: 3" in command("top", "--once", "--socket", system.address).stdout


def test_doctor_is_content_with_a_healthy_system_and_finds_broken_ones(system: shmem.System) -> None:
    system.host.alloc(100)
    told = command("doctor", "--socket", system.address)
    assert (told.returncode, "0 with problems" in told.stdout) == (0, True)
    assert system.driver is not None
    picture = system.driver.service.describe()
    picture["agents"][0]["pid"] = 2**22 + 1
    picture["arenas"][0]["regions"].append(picture["arenas"][0]["regions"][0] | {"id": 9, "owner": "gone"})
    found = problems(picture)
    assert [part for part in ("no process", "overlap", "are not", "orphan") if not any(part in f for f in found)] == []


@pytest.mark.parametrize("line", [["ls"], ["top", "--once"]])
@pytest.mark.parametrize(
    ("there", "said"), [([], "no running system\n"), (["@shmem-not-yours"], "no running system of yours; 1 of other")]
)
def test_without_a_system_there_is_one_clear_line(
    line: list[str], there: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(look, "addresses", lambda: there)
    assert run(line) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith(said)
    assert (shown.out.count("\n"), shown.err) == (1, "")


def test_show_and_doctor_without_a_system(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(look, "addresses", list)
    assert (run(["show", "0"]), run(["doctor"])) == (2, 0)
    shown = capsys.readouterr()
    assert "no running system has it" in shown.err
    assert shown.out.startswith("0 running systems, 0 with problems")


@pytest.mark.parametrize("line", [["ls"], ["show", "0"], ["top", "--once"], ["doctor"]])
def test_the_socket_of_a_dead_daemon_is_told(tmp_path: Path, line: list[str]) -> None:
    left = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    left.bind(str(tmp_path / "left.sock"))
    left.close()
    with daemon(tmp_path) as (process, path):
        process.send_signal(signal.SIGKILL)
        process.wait()
        for where in (path, str(tmp_path / "left.sock")):
            told = command(*line, "--socket", where)
            assert (told.returncode, told.stdout, told.stderr.count("\n")) == (2, "", 1)
            assert "nobody answers" in told.stderr


@pytest.mark.parametrize("answer", [b"[]", b"{}", b'{"ok": {}}', b'{"ok": 7}', b'{"ok": [1, 2]}', b"\xff", None])
def test_what_is_no_driver_is_left_out(
    tmp_path: Path, answer: bytes | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(look, "PATIENCE", 0.2)
    path = str(tmp_path / "other.sock")
    monkeypatch.setattr(look, "addresses", lambda: [path])
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        listener.listen()

        def serve() -> None:
            there, _ = listener.accept()
            with there:
                there.recv(4096)
                if answer is None:
                    there.recv(4096)
                else:
                    there.send(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        assert run(["ls"]) == 0
        thread.join()
    assert capsys.readouterr().out == "no running system\n"


def test_output_that_cannot_be_written_is_one_line(tmp_path: Path, system: shmem.System) -> None:
    told = command("ls", "--socket", system.address, "--json", str(tmp_path / "none" / "file"))
    assert (told.returncode, told.stderr.count("\n")) == (2, 1)
    assert "No such file" in told.stderr
    told = command("top", "--interval", "-1", "--socket", system.address)
    assert told.returncode == 2
    assert "Traceback" not in told.stderr
    line = f"{sys.executable} -m shmem top --interval 0 --socket {system.address} | head -1"
    told = subprocess.run(line, shell=True, capture_output=True, text=True, check=False, env=ENVIRONMENT, timeout=60)
    assert (told.returncode, told.stderr) == (0, "")


@pytest.mark.parametrize("name", ["driver", "ls", "show", "top", "doctor", "demo"])
def test_help_has_an_example(name: str) -> None:
    told = command(name, "--help")
    assert told.returncode == 0
    assert f"example: shmem {name}" in told.stdout


def test_errors_are_one_line(tmp_path: Path) -> None:
    told = command("ls", "--socket", str(tmp_path / "none"))
    assert told.returncode == 2
    assert told.stderr.count("\n") == 1
    assert "nobody answers" in told.stderr
    assert "Traceback" in command("ls", "--socket", str(tmp_path / "none"), "--debug").stderr
    (tmp_path / "file").write_text("x")
    assert "no socket" in command("driver", "--socket", str(tmp_path / "file")).stderr
    assert os.listdir(tmp_path) == ["file"]


def test_the_command_tells_without_a_warning_which_data_plane_it_has(tmp_path: Path) -> None:
    ruin = tmp_path / "sitecustomize.py"
    ruin.write_text("import sys\nsys.modules['shmem._core'] = None\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    environment.pop("SHMEM_CORE", None)
    command = [sys.executable, "-m", "shmem", "doctor", "--socket", str(tmp_path / "none")]
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "RuntimeWarning" not in told.stderr
    command = [sys.executable, "-c", "import shmem"]
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "RuntimeWarning" in told.stderr, "a program that imports it is warned"
