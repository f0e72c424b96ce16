"""Runs of the real implementation, on several processes, recorded and checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shmem
from shmem_model.conformance.traces import check_file
from tests.traces import programs

pytestmark = pytest.mark.filterwarnings("ignore::shmem.PartialLineWarning")


def ping(path: Path, forget: str = "", rounds: int = 40) -> None:
    """The host hands words to a device and back."""
    with shmem.System("coherent", devices=1, trace=path) as s:
        r = s.host.alloc_broadcast(4096, ["dev0"])
        s.host.map(r)
        task = s.devices[0].run(programs.answer, r, rounds, forget)
        for i in range(rounds):
            s.host.write(r, 0, i.to_bytes(8, "little"))
            s.host.flush(r)
            s.host.fence()
            s.host.send("dev0", 1)
            s.host.wait(2, 30)
            s.host.invalidate(r)
            assert s.host.read(r, 64, 8) == i.to_bytes(8, "little")
        task.result(30)


def test_a_right_program_is_clean(tmp_path: Path) -> None:
    ping(tmp_path / "run.jsonl")
    answer = check_file(tmp_path / "run.jsonl")
    assert answer.answer == "clean", answer
    assert answer.events > 500


def test_barriers_atomics_and_batches_of_four_processes_are_clean(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with shmem.System("coherent", devices=3, trace=path) as s:
        names = ["dev0", "dev1", "dev2"]
        r = s.host.alloc_broadcast(4096, names)
        counter = s.host.alloc_broadcast(64, names)
        for task in [device.run(programs.meet, names, r, counter) for device in s.devices]:
            task.result(60)
        for _ in range(3):
            s.host.wait(3, 30)
        s.host.map(counter)
        assert s.host.atomic_add(counter, 0, 0) == 60
        small = [s.host.alloc(64) for _ in range(20)]
        for region in small:
            s.host.free(region)
    answer = check_file(path)
    assert answer.answer == "clean", answer


def test_a_forgotten_fence_is_a_race_with_its_lines(tmp_path: Path) -> None:
    ping(tmp_path / "run.jsonl", "fence")
    answer = check_file(tmp_path / "run.jsonl")
    assert answer.answer == "race"
    assert "dev0 has not fenced since" in answer.problems[0].missing
    assert "programs.py:" in answer.problems[0].other
    assert "test_recorded.py:" in answer.problems[0].what


def test_an_edited_value_is_a_violation(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    ping(path)
    lines = path.read_text().splitlines()
    number = next(i for i, line in enumerate(lines) if '"action": "read"' in line and '"n": 2' in line)
    event = json.loads(lines[number])
    lines[number] = json.dumps(event | {"value": "ff" * 8})
    path.write_text("\n".join(lines) + "\n")
    assert check_file(path).answer == "violation"


def test_a_device_that_is_killed_leaves_a_trace_that_can_be_checked(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with shmem.System("coherent", devices=1, trace=path) as s:
        r = s.host.alloc_broadcast(4096, ["dev0"])
        s.host.map(r)
        s.devices[0].run(programs.answer, r, 3)
        s.host.send("dev0", 1)
        s.host.wait(2, 30)
        s.devices[0].kill()
        with pytest.raises(shmem.ShmemError):
            s.host.wait(2, 30)
    # Its last send may have come and not have been written any more.
    assert check_file(path).answer in ("clean", "race", "unknown")
    assert '"action": "die"' in path.read_text()
