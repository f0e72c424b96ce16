"""The compiled check of long traces: one text with the plain one, the same answer on every trace, and flat memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from shmem_model.conformance.traces import check_file, compiled, streams
from shmem_model.conformance.traces.columns import Columns
from shmem_model.conformance.traces.events import ACTIONS, event
from shmem_suite.bench.trace import lines
from shmem_suite.differential.worlds import WORLDS
from tests.traces.test_tie import ALIVE
from tests.traces.tie import Told

needs_numba = pytest.mark.skipif(not compiled.available(), reason="the compiled check needs the extra `fast`")
ODD: list[Any] = [0, 1, -1, "ff" * 8, "x", [0, 1], [0, 8], True, None, {}, {"host": 1}, 1 << 62, 1 << 63, 1 << 64, 1.5]


def test_actions_have_the_numbers_of_their_order() -> None:
    names = [name.upper() for name in ACTIONS]
    assert [getattr(streams, name) for name in names] == list(range(len(names)))


def told(name: str, seed: int, steps: int = 120) -> list[str]:
    """A run of the machine as the lines of a trace."""
    world, found = ALIVE[name], []

    class Recorded(Told):
        def emit(self, agent: str, action: str, **more: Any) -> None:
            found.append(json.dumps({"agent": agent, "n": self.events[agent], "action": action, **more}) + "\n")
            super().emit(agent, action, **more)

    run, agents = Recorded(world, Random(seed)), list(world.agents)
    for _ in range(steps):
        run.step()
    platform = {"write_back": world.write_back, "invalidate": world.invalidate, "cached": list(world.cached)}
    platform["slots"] = world.notify
    head = {"shmem_trace": 1, "agents": agents, "complete": agents, "platform": platform}
    return [json.dumps(head) + "\n", *found]


def renumbered(found: list[str], at: int) -> list[str]:
    """The lines without one, so that the loss cannot be seen from the numbers."""
    lost = json.loads(found[at])
    parsed = [json.loads(line) for line in found[:at] + found[at + 1 :]]
    for one in parsed[at:]:
        one["n"] -= one["agent"] == lost["agent"]
    return [json.dumps(one) + "\n" for one in parsed]


def changed(found: list[str], random: Random) -> list[str]:
    """The lines with one change: a line lost or moved, a field or a character changed, other blanks."""
    found, at = list(found), random.randrange(1, len(found))
    match random.randrange(7):
        case 0:
            return renumbered(found, at)
        case 1:
            other = random.randrange(1, len(found))
            found[at], found[other] = found[other], found[at]
        case 2:
            place = random.randrange(len(found[at]))
            found[at] = found[at][:place] + random.choice('09af{}[],:" \\-.e\n\x7fé') + found[at][place + 1 :]
        case 3 | 4:
            one = json.loads(found[at])
            one[random.choice(list(one))] = random.choice(ODD)
            found[at] = json.dumps(one) + "\n"
        case 5:
            found[at] = found[at].replace(", ", " ,\t").replace(": ", ":")
        case _:
            found[-1] = found[-1][:-1]
    return found


def runs() -> Iterator[list[str]]:
    """Runs of many kinds."""
    yield list(lines(300))
    for name in WORLDS:
        yield told(name, 3)


@needs_numba
def test_both_give_the_same_answer_whatever_is_in_the_lines(tmp_path: Path) -> None:
    random, path, answers = Random(11), tmp_path / "run.jsonl", set()
    for found in runs():
        for _ in range(60):
            path.write_text("".join(changed(found, random)), encoding="utf-8")
            plain, fast = check_file(path, fast=False), check_file(path, fast=True)
            assert plain == fast, path.read_text()
            answers.add(plain.answer)
    assert answers >= {"clean", "race", "malformed"}


@needs_numba
def test_a_plain_line_is_read_without_help(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines of a usual trace never go the slow way, and are read as the same numbers."""
    for found in runs():
        agents = {name: n for n, name in enumerate(json.loads(found[0])["agents"])}
        fast, plain = Columns(agents, True), Columns(agents, False)
        scanner = compiled.Scanner(fast)
        scanner.load("".join(found[1:]).encode(), 1)
        assert scanner.scan() is None
        for number, line in enumerate(found[1:], 2):
            plain.add(event(line, agents), number)
        assert fast.count == plain.count
        assert list(fast.ev[: len(plain.ev)]) == plain.ev
        assert list(fast.extra[: fast.extras]) == plain.extra
        assert bytes(fast.values[: fast.bytes]) == plain.values


@needs_numba
def test_what_is_held_back_is_kept_over_many_chunks(tmp_path: Path) -> None:
    """All events of the host first, then those of each device: what waits is packed, and nothing is lost."""
    found = list(lines(60_000))
    sorted_ = [found[0], *sorted(found[1:], key=lambda line: line.index('"n"') and line[:20].split(",")[0])]
    path = tmp_path / "run.jsonl"
    path.write_text("".join(sorted_))
    plain, fast = check_file(path, fast=False), check_file(path, fast=True)
    assert (plain.answer, plain.events) == ("clean", len(found) - 1)
    assert plain == fast


@needs_numba
def test_a_wrong_reader_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("".join(lines(90)))
    monkeypatch.setattr(
        compiled.Scanner, "load", lambda self, data, line: _load(self, data.replace(b"fence", b"unmap"), line)
    )
    assert check_file(path, fast=True) != check_file(path, fast=False)


_load = compiled.Scanner.load
