"""Copy and shared mode give the same bytes; the channel neither tears, loses nor reorders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import shmem
from tests.impl import programs


@pytest.mark.parametrize("memory", ["coherent", "emulated"])
@pytest.mark.parametrize("mode", ["copy", "shared"])
def test_both_modes_give_the_same_bytes(memory: str, mode: str) -> None:
    with shmem.System(devices=1, memory=memory, agents="threads", seed=2, extent=1 << 20) as s:
        dev: Any = s.devices[0].agent  # type: ignore[attr-defined]
        r = s.host.alloc(1000, acl={"host": "rw", "dev0": "r"})
        s.host.map(r)
        dev.map(r, "r")
        data = bytes(range(250)) * 4
        with shmem.Transfer(dev, mode) as t:
            for k in range(3):
                s.host.copy_in(r, data[k:] + data[:k])
                got = t.fetch(r, (100, 500))
                assert got.mode == mode
                with got as array:
                    assert array.tobytes() == (data[k:] + data[:k])[100:600]
                    del array
        assert s.driver is not None
        purposes = [r["purpose"] for a in s.driver.service.describe()["arenas"] for r in a["regions"]]
        assert "copy buffer" not in purposes


def test_copy_buffers_are_seen_in_the_list(threads: shmem.System) -> None:
    r = threads.host.alloc(4096)
    threads.host.map(r)
    transfer = shmem.Transfer(threads.host, "copy")
    with transfer.fetch(r):
        told = threads.driver.service.describe()  # type: ignore[union-attr]
        assert [x["purpose"] for a in told["arenas"] for x in a["regions"]] == ["", "copy buffer"]


def test_auto_follows_the_stated_model() -> None:
    link = shmem.Link(setup_us=20, gbps=25, local_gbps=400, line_ns=2)
    assert link.copy_us(25_000_000, reads=2) == pytest.approx(20 + 1000 + 125)
    assert link.shared_us(25_000_000, reads=2) == pytest.approx(2 * (1000 + 781.25))
    assert link.cheaper(64, reads=1) == "shared"
    assert link.cheaper(64 << 20, reads=1) == "copy"
    assert link.cheaper(64, reads=10_000) == "copy"
    with pytest.raises(shmem.InvalidArgument):
        shmem.Transfer(None, "best")  # type: ignore[arg-type]


def serve(agent: shmem.Agent, r: shmem.SharedMemoryRegion, depth: int, size: int, count: int) -> None:
    agent.map(r, "rw")
    channel = shmem.Channel(agent, r, "host", "server", depth, size)
    for _ in range(count):
        channel.reply(channel.receive(20)[::-1], 20)


def message(k: int, size: int) -> bytes:
    """A message that differs from its neighbours everywhere, also in length."""
    return (k.to_bytes(4, "little") * (size // 4 + 1))[: size - k % 5]


@pytest.mark.parametrize("platform", ["pcie", "soc"])
def test_channel_between_processes(platform: str) -> None:
    with shmem.System(platform=platform, devices=1) as s:
        r = s.host.alloc_broadcast(shmem.Channel.space(4, 300), ["dev0"])
        s.host.map(r)
        task = s.devices[0].run(serve, r, 4, 300, 600)
        client = shmem.Channel(s.host, r, "dev0", "client", 4, 300)
        for k in range(200):
            assert client.call(message(k, 300), 20) == message(k, 300)[::-1]
        for k in range(0, 400, 4):
            for j in range(4):
                client.request(message(k + j, 200), 20)
            assert [client.response(20) for _ in range(4)] == [message(k + j, 200)[::-1] for j in range(4)]
        task.result(20)
        with pytest.raises(shmem.TimedOut):
            client.response(0.01)
        with pytest.raises(shmem.InvalidArgument):
            client.request(bytes(301))


@pytest.mark.parametrize("platform", ["weakest", "pcie", "soc", "coherent"])
@pytest.mark.parametrize("seed", range(4))
def test_channel_survives_every_hazard(platform: str, seed: int) -> None:
    with shmem.System(platform=platform, devices=1, memory="emulated", agents="threads", seed=seed) as s:
        r = s.host.alloc_broadcast(shmem.Channel.space(2, 100), ["dev0"])
        s.host.map(r)
        s.devices[0].run(serve, r, 2, 100, 12)
        client = shmem.Channel(s.host, r, "dev0", "client", 2, 100)
        for k in range(0, 12, 2):
            client.request(message(k, 100))
            client.request(message(k + 1, 100))
            assert [client.response(), client.response()] == [
                message(k, 100)[::-1],
                message(k + 1, 100)[::-1],
            ]


@pytest.mark.parametrize("memory", ["coherent", "emulated"])
def test_a_trace_has_every_event_with_its_edges(tmp_path: Path, memory: str) -> None:
    path = tmp_path / "trace.jsonl"
    with shmem.System(platform="pcie", devices=1, memory=memory, trace=path, seed=4) as s:
        r = s.host.alloc(128, acl={"host": "rw", "dev0": "r"})
        s.host.map(r)
        task = s.devices[0].run(programs.receive, r, 11)
        s.host.copy_in(r, b"hello there")
        s.host.send("dev0", 7)
        task.result(10)
        with s.host.view(r, (0, 8), "w") as v:
            v[:] = 1
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    head, events = lines[0], lines[1:]
    assert head["shmem_trace"] == 1
    assert head["agents"] == head["complete"] == ["host", "dev0"]
    assert (head["platform"]["name"], bool(head["platform"]["cached"])) == ("pcie", memory == "emulated")
    host = [e for e in events if e["agent"] == "host"]
    dev0 = [e for e in events if e["agent"] == "dev0"]
    for mine in (host, dev0):
        assert [e["n"] for e in mine] == list(range(len(mine)))
    assert [e["action"] for e in dev0] == ["map", "wait", "invalidate", "read"]
    assert [e["action"] for e in host][:6] == ["alloc", "map", "write", "flush", "fence", "send"]
    written = host[2]
    assert (written["region"], written["range"]) == ([r.id, r.generation], [0, 11])
    assert bytes.fromhex(written["value"]) == b"hello there"
    assert host[5]["count"] == 1
    assert dev0[1]["upto"] == {"host": 1}
    assert dev0[3]["value"] == written["value"]
    assert host[-1]["action"] == "write"
    assert all("where" in e for e in events)
