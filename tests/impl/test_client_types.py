"""The public API is typed: a client program passes `mypy --strict` against an installed wheel, in a fresh venv."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.project.tree import ROOT

CLIENT = """
import numpy as np
import numpy.typing as npt

import shmem


def double(agent: shmem.Agent, region: shmem.SharedMemoryRegion, slot: int) -> float:
    agent.map(region, "rw")
    sender: str = agent.wait(slot, timeout=10)
    agent.invalidate(region)
    with agent.view(region, None, "w", np.float64) as x:
        x *= 2
        first = float(x[0])
    agent.flush(region)
    agent.fence()
    agent.send(sender, slot)
    return first


def main() -> None:
    with shmem.System("pcie", devices=1) as system:
        region = system.host.alloc(4096, acl={"host": "rw", "dev0": "rw"})
        mapping: shmem.AddressMapping = system.host.map(region)
        task = system.devices[0].run(double, region, 1)
        system.host.write(region, 0, np.ones(512).tobytes())
        system.host.flush(region)
        system.host.fence()
        system.host.send("dev0", 1)
        slot: int = system.host.wait_any([1, 2], timeout=10)
        data: bytes = system.host.read(region, 0, 8)
        team = system.host.team("all", ["host"])
        system.host.barrier(team, region, timeout=1.0)
        old: int = system.host.atomic_add(region, 8, 1)
        print(task.result(10), mapping.physical_address, slot, len(data), old)


if __name__ == "__main__":
    main()
"""
WRONG = ("system.host.read(region, 0, 8)", 'system.host.read("region", 0, 8)')


def call(*line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder."""
    return subprocess.run(line, capture_output=True, text=True, check=False, cwd=folder, timeout=600)


@pytest.mark.slow
def test_a_client_is_typed_and_runs_in_a_fresh_venv(tmp_path: Path) -> None:
    wheels, source = tmp_path / "wheels", tmp_path / "source"
    skipped = shutil.ignore_patterns(".*", "build", "*.egg-info", "__pycache__", "*.so", "tests", "docs")
    shutil.copytree(ROOT, source, ignore=skipped)  # a build leaves files in its folder
    built = call(
        sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(wheels), str(source), folder=tmp_path
    )
    if built.returncode and "No matching distribution" in built.stderr:
        pytest.skip("not run: no package index can be reached")
    assert built.returncode == 0, built.stderr
    (wheel,) = wheels.glob("shmem-*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    installed = call(python, "-m", "pip", "install", "-q", str(wheel), "mypy", folder=tmp_path)
    assert installed.returncode == 0, installed.stderr
    client = tmp_path / "client.py"
    client.write_text(CLIENT)
    typed = call(python, "-m", "mypy", "--strict", "client.py", folder=tmp_path)
    assert (typed.returncode, typed.stdout) == (0, "Success: no issues found in 1 source file\n"), typed.stdout
    ran = call(python, "client.py", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("2.0 ")
    for command in ("doctor", "ls", "demo --requests 5 --size 4096 --parameters 4096 --devices 1"):
        done = call(python, "-m", "shmem", *command.split(), folder=tmp_path)
        assert "Traceback" not in done.stderr
        assert done.stdout
        assert done.returncode == 0 or command == "doctor", done.stderr
    client.write_text(CLIENT.replace(*WRONG))
    assert call(python, "-m", "mypy", "--strict", "client.py", folder=tmp_path).returncode == 1, "a wrong type is told"
