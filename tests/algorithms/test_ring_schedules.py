"""The channel's ring is led through schedules of the model: it is where the model says, and messages come whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from shmem.layout import LINE
from shmem_model.algorithms import ring
from shmem_model.algorithms.compiling import Algorithm
from tests.algorithms.stepping import Control, Edit, replaced, stepped_python
from tests.algorithms.test_schedules import Follower

DEPTH, MESSAGES = 2, 3
_COUNT = """        self.done += 1
        self.agent.atomic_swap(self.region, self.base + _TAIL, self.done)  # step: put_count
"""
_LENGTH = "        self.agent.write(self.region, at, len(data).to_bytes"
COUNTED_FIRST: tuple[Edit, ...] = (replaced(_COUNT, ""), replaced(_LENGTH, _COUNT + _LENGTH))
"""The index is published before its payload."""


@pytest.fixture
def control() -> Iterator[Control]:
    made = Control()
    yield made
    made.finish()
    assert not any(thread.is_alive() for thread in made.threads.values())


class Both:
    """What producer and consumer share: coherent memory, and a sticky slot for each direction."""

    def __init__(self) -> None:
        self.memory = bytearray(2 * LINE + DEPTH * 2 * LINE)
        self.slots = {1: False, 2: False}

    def atomic_add(self, region: Any, offset: int, value: int) -> int:
        before = int.from_bytes(self.memory[offset : offset + 8], "little")
        self.memory[offset : offset + 8] = (before + value).to_bytes(8, "little")
        return before

    def atomic_swap(self, region: Any, offset: int, value: int) -> None:
        self.memory[offset : offset + 8] = value.to_bytes(8, "little")

    def write(self, region: Any, offset: int, data: bytes) -> None:
        self.memory[offset : offset + len(data)] = data

    def read(self, region: Any, offset: int, length: int) -> bytes:
        return bytes(self.memory[offset : offset + length])

    def flush(self, region: Any, offset: int, length: int) -> None:
        """The memory is coherent; the model's lines show where a flush is needed."""

    invalidate = flush

    def fence(self) -> None:
        """Likewise."""

    def send(self, peer: str, slot: int) -> None:
        self.slots[slot] = True

    def wait(self, slot: int, timeout: float | None) -> None:
        assert self.slots[slot], "the model lets nobody go on here who has not been notified"
        self.slots[slot] = False


class RingFollower(Follower):
    """Hardware is quick in the model: what is on its way arrives after each step."""

    def __init__(self, algorithm: Algorithm, control: Control, names: list[str]) -> None:
        super().__init__(algorithm, control, names, frozenset({"put_flush"}))  # one call of the code flushes all

    def take(self, name: str) -> None:
        before = self.real(name)
        self._step(name)
        while before in self.merged and self.real(name) == before:
            self._step(name)
        self.control.go(name)
        self.compare()

    def _step(self, name: str) -> None:
        self.state = dict(self.moves())[name]
        self.steps += 1
        while after := next(filter(None, map(self._arrives, self.packed.actions)), None):
            self.state = after

    def _arrives(self, action: Any) -> int | None:
        one = action.source.action
        drains = one.group != "software" and one.name.startswith("drain")
        return self.packed.step(action, self.state) if drains else None


def message(number: int) -> bytes:
    return bytes([number]) * number


def start(control: Control, *edits: Edit) -> list[str]:
    """Begin a producer and a consumer of a few messages; their names."""
    module, both = stepped_python("transfer", control, *edits), Both()
    begun: set[str] = set()

    def step(name: str) -> None:
        # The model begins once, and goes from message to message without this look.
        if name != "put_start" or name not in begun:
            begun.add(name)
            control.step(name)

    module.__dict__["_step"] = step

    def made() -> Any:
        return module.Ring(both, None, 0, DEPTH, LINE, "other", (1, 2))

    def produce() -> None:
        mine = made()
        for number in range(1, MESSAGES + 1):
            mine.put(message(number))

    def consume() -> list[bytes]:
        mine = made()
        return [mine.get() for _ in range(MESSAGES)]

    names: dict[str, Callable[[], Any]] = {"producer": produce, "consumer": consume}
    for name, call in names.items():
        control.start(name, call)
    return list(names)


RIGHT = ring.Choices(depth=DEPTH, messages=MESSAGES, cached=True, mortal=False)
WHOLE = [message(number) for number in range(1, MESSAGES + 1)]


@pytest.mark.parametrize("seed", range(12))
def test_the_ring_does_what_the_model_does(seed: int, control: Control) -> None:
    follower = RingFollower(ring.build(RIGHT), control, start(control))
    follower.run(seed)
    assert control.answers["consumer"] == WHOLE


@pytest.mark.parametrize("weak", [True, False], ids=["weakened", "real"])
def test_an_index_that_is_published_before_its_payload_is_seen_too_early(weak: bool, control: Control) -> None:
    """The producer stands before its payload, and the consumer looks: it goes on if the index is there, or waits."""
    start(control, *(COUNTED_FIRST if weak else ()))
    while control.settled("producer") != "put_length":
        control.go("producer")
    assert control.settled("consumer") == "get_look"
    control.go("consumer")
    assert control.settled("consumer") == ("get_drop" if weak else "get_wait")
    while weak and control.settled("consumer") != "get_count":
        control.go("consumer")
        assert control.settled("consumer") != "get_data", "the length is still that of an empty message"
