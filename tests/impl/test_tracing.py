"""The event trace covers notifications, batches, barriers, atomics and death, with the edges between agents."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

import shmem
from shmem_model.conformance.traces import check_file
from tests.impl import programs
from tests.impl.patience import until
from tests.traces.test_recorded import ping

Events = list[dict[str, Any]]
MEMORIES = pytest.mark.parametrize("memory", ["coherent", "emulated"])


def told(path: Path) -> tuple[dict[str, Any], dict[str, Events]]:
    """The head of a trace, and the events of each agent, whose numbers must count from 0."""
    head, *events = (json.loads(line) for line in path.read_text().splitlines())
    each: dict[str, Events] = {name: [e for e in events if e["agent"] == name] for name in head["agents"]}
    assert sum(map(len, each.values())) == len(events), "an event of an agent that the head does not name"
    for mine in each.values():
        assert [e["n"] for e in mine] == list(range(len(mine)))
        assert all(isinstance(e["action"], str) for e in mine)
    return head, each


def take_batch(agent: shmem.Agent, r: shmem.SharedMemoryRegion) -> int:
    agent.map(r, "rw")
    for slot in (1, 1, 3):
        agent.wait(slot, timeout=20)
    team = agent.team("t", ["host", "dev0"])
    agent.barrier(team, r, timeout=20)
    return agent.atomic_add(r, 8, 5)


@MEMORIES
def test_a_trace_covers_batches_teams_and_atomics(tmp_path: Path, memory: str) -> None:
    path = tmp_path / "trace.jsonl"
    with shmem.System(platform="pcie", devices=1, memory=memory, trace=path, seed=3) as s:
        r = s.host.alloc_broadcast(64, ["dev0"])
        s.host.map(r)
        task = s.devices[0].run(take_batch, r)
        s.host.send_batch("dev0", iter([1, 1, 3]))
        s.host.barrier(s.host.team("t", ["host", "dev0"]), timeout=20)
        assert task.result(20) == 0
        s.host.compare_swap(r, 8, 5, 9)
    head, each = told(path)
    assert head["complete"] == head["agents"] == ["host", "dev0"]
    sends = [e for e in each["host"] if e["action"] == "send"]
    assert [(e["to"], e["slot"], e["count"]) for e in sends] == [("dev0", 1, 1), ("dev0", 1, 2), ("dev0", 3, 1)]
    waits = [e for e in each["dev0"] if e["action"] == "wait"]
    assert [(e["slot"], e["upto"]) for e in waits] == [(1, {"host": 1}), (1, {"host": 2}), (3, {"host": 1})]
    for mine in each.values():
        steps = [(e["action"], e["team"], e["epoch"]) for e in mine if "team" in e]
        assert steps == [("arrive", "t", 1), ("leave", "t", 1)]
    place = {"region": [r.id, r.generation], "range": [8, 8]}
    added = next(e for e in each["dev0"] if e["action"] == "atomic_add")
    swapped = next(e for e in each["host"] if e["action"] == "compare_swap")
    assert added == added | place | {"operand": 5, "value": 0}
    assert swapped == swapped | place | {"old": 5, "operand": 9, "value": 5}
    actions = [e["action"] for e in each["dev0"]]
    assert actions.index("flush") < actions.index("fence") < actions.index("arrive")


def test_a_trace_covers_the_barrier_without_split_phase(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    members = ["host", "dev0"]
    with shmem.System(devices=1, trace=path) as s:
        task = s.devices[0].run(programs.arrive_and_leave, members, "dissemination")
        s.host.barrier(s.host.team("t", members, "dissemination"), timeout=20)
        assert task.result(20) == "done"
    for mine in told(path)[1].values():
        assert [(e["action"], e["epoch"]) for e in mine if "team" in e] == [("arrive", 1), ("leave", 1)]


@pytest.mark.parametrize(
    ("memory", "agents"), [(m, a) for m in ("coherent", "emulated") for a in ("processes", "threads")]
)
def test_a_trace_tells_who_died_and_what_was_refused(tmp_path: Path, memory: str, agents: str) -> None:
    path = tmp_path / "trace.jsonl"
    with shmem.System(platform="pcie", devices=2, memory=memory, agents=agents, trace=path, seed=3) as s:
        r = s.host.alloc(64, acl={"host": "rw", "dev0": "r"})
        s.devices[0].run(programs.mapped_outcome, r, "r", "write", 0, b"x").result(20)
        s.host.grant(5, ["dev0"])
        s.devices[0].kill()
        with pytest.raises(shmem.PeerLost):
            s.host.wait(5, timeout=20)
        assert until(lambda: '"die"' in path.read_text())
    each = told(path)[1]
    assert each["dev0"][-1]["action"] == "die"
    assert [e["action"] for e in each["dev0"][:-1]] == ["map", "write"]
    assert each["dev0"][1]["error"] == "ReadOnly"
    assert each["dev0"][1]["region"] == [r.id, r.generation]
    assert each["dev1"] == []
    assert each["host"][-1]["error"] == "PeerLost"


def test_a_trace_covers_what_callbacks_take(tmp_path: Path) -> None:
    path, heard = tmp_path / "trace.jsonl", threading.Event()
    with shmem.System(devices=1, trace=path) as s:
        s.devices[0].run(programs.send_many, "host", 5, 1).result(20)
        s.host.on(5, lambda sender: heard.set())
        assert heard.wait(20)
    waits = [e for e in told(path)[1]["host"] if e["action"] == "wait"]
    assert [(e["slot"], e["from"], e["upto"]) for e in waits] == [(5, "dev0", {"dev0": 1})]


def test_a_trace_that_is_off_adds_nothing() -> None:
    with shmem.System(devices=1, agents="threads") as s:
        assert [name for name in vars(s.host) if callable(getattr(type(s.host), name, None))] == []


@pytest.mark.usefixtures("nothing_left")
@MEMORIES
def test_a_trace_leaves_no_descriptor_open(tmp_path: Path, memory: str) -> None:
    for agents in ("threads", "processes"):
        with shmem.System(devices=1, memory=memory, agents=agents, trace=tmp_path / "trace.jsonl") as s:
            s.host.alloc(64)
    assert os.listdir(tmp_path) == ["trace.jsonl"]


def test_a_broken_rule_of_a_recorded_run_names_both_sides(tmp_path: Path) -> None:
    ping(tmp_path / "run.jsonl", forget="invalidate")
    assert check_file(tmp_path / "run.jsonl").answer == "clean", "coherent memory has no caches"
    ping(tmp_path / "wrong.jsonl", forget="fence")
    answer = check_file(tmp_path / "wrong.jsonl")
    assert answer.answer == "race"
    assert "programs.py:" in answer.problems[0].other
    assert "test_recorded.py:" in answer.problems[0].what


@pytest.mark.parametrize("agents", ["threads", "processes"])
def test_an_event_of_an_emulated_device_names_the_line_of_its_program(agents: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    with shmem.System(platform="pcie", devices=1, memory="emulated", agents=agents, trace=path, seed=3) as s:
        r = s.host.alloc_broadcast(64, ["dev0"])
        s.host.map(r)
        task = s.devices[0].run(take_batch, r)
        s.host.send_batch("dev0", [1, 1, 3])
        s.host.barrier(s.host.team("t", ["host", "dev0"]), timeout=20)
        task.result(20)
    _, events = told(path)
    assert {event["where"].split(":")[0] for event in events["dev0"]} == {"test_tracing.py"}
