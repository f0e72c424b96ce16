"""The benchmarks of the reference implementation: their shape and what they leave behind, never their figures."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterator
from multiprocessing import resource_tracker
from pathlib import Path

import pytest

from shmem_suite.bench import alloc, bulk, iceoryx, ipc, notify
from shmem_suite.bench.measure import Bench, Row
from shmem_suite.cli import main

ROUNDS = 2


def quiet(line: str) -> None:
    """Nobody listens."""


def names(found: Bench) -> set[str]:
    assert all(len(row.values) == ROUNDS and min(row.values) > 0 for row in found.rows)
    assert set(found.as_json()) >= {"bench", "rows", "ratios"}
    return {row.name for row in found.rows}


def with_iceoryx(*given: str) -> set[str]:
    return set() if iceoryx.missing() else set(given)


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    resource_tracker.ensure_running()  # shared_memory starts it, and it stays as long as the interpreter

    def seen() -> tuple[set[str], set[int], int]:
        gc.collect()
        left = {p.name for p in Path("/dev/shm").iterdir() if p.name.startswith(("shmem_bench", "psm_"))}
        return left, os.sched_getaffinity(0), len(os.listdir("/proc/self/fd"))

    before = seen()
    yield
    assert seen() == before


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="a round trip by spinning needs two cores")
def test_round_trips() -> None:
    found = ipc.run(ROUNDS, quiet, trips=40)
    ours = {"shmem", "shmem, flush and invalidate", "shmem, one core"}
    theirs = {"pipe", "pipe, one core", "bare word"} | with_iceoryx("iceoryx2, polling")
    assert names(found) == ours | theirs
    assert set(found.ratios) == set(ipc.RATIOS) - (set() if with_iceoryx("x") else {"vs_iceoryx2"})


def test_a_missing_peer_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iceoryx, "missing", lambda: "iceoryx2 is not installed")
    found = ipc.run(ROUNDS, quiet, trips=20)
    assert not any("iceoryx2" in name for name in names(found))
    assert "vs_iceoryx2" not in found.ratios
    assert "iceoryx2 is not run: iceoryx2 is not installed" in found.notes


def test_hand_overs() -> None:
    found = bulk.run(ROUNDS, quiet, times=5, sizes={"4 KiB": 4096, "1 MiB": 1 << 20})
    sizes = ("4 KiB", "4 KiB, pages read", "1 MiB", "1 MiB, pages read")
    assert names(found) >= {f"shmem, {size}" for size in sizes}
    assert names(found) >= with_iceoryx(*(f"iceoryx2, {size}" for size in sizes))
    assert set(found.ratios) >= {"largest_vs_smallest"} | with_iceoryx("vs_iceoryx2")


def test_giving_out_and_taking_back() -> None:
    found = alloc.run(ROUNDS, quiet, times=40)
    assert {name for pair in alloc.RATIOS.values() for name in pair} - names(found) <= {"iceoryx2, loan and drop"}
    assert set(found.ratios) >= {"vs_shared_memory", "daemon_vs_shared_memory"} | with_iceoryx("vs_iceoryx2")


def test_notifications() -> None:
    found = notify.run(ROUNDS, quiet, batches=5, seconds=0.05)
    assert {"single", "batched, 64 slots", "a wait of 0.005 s", "a wait of 0.05 s"} <= names(found)
    assert set(found.ratios) == {"batched_vs_single", "counted_vs_single"}


def test_the_command_runs_five_rounds_of_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[int] = []

    def run(rounds: int, tell: object) -> Bench:
        asked.append(rounds)
        return Bench("alloc", (Row("shmem", (1.0,), "us"),), {"vs_shared_memory": 0.05}, ("a note",), "subject")

    monkeypatch.setattr(alloc, "run", run)
    assert main(["bench", "alloc", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["ratios"] == {"vs_shared_memory": 0.05}
    assert asked == [5]
