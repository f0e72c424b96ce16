"""The real code is led through schedules of the model, step by step, and must be where the model says.

Random schedules on the code as it is; and the shortest counterexamples of weakened algorithms, on a source that is
weakened in the same way (it fails) and on the source as it is (it does not).
"""

from __future__ import annotations

import mmap
import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shmem import layout
from shmem.errors import PeerLost
from shmem_model.algorithms import barriers, waiting
from shmem_model.algorithms.compiling import Algorithm
from shmem_model.readers.ground import ground
from shmem_model.readers.packed import Packed
from shmem_proofs.algorithm_checks import broken
from shmem_proofs.theorems.worlds_wait import WAIT
from tests.algorithms.stepping import Control, Edit, can_tell_sleep, replaced, stepped_core, stepped_python

pytestmark = pytest.mark.skipif(not can_tell_sleep(), reason="the system does not show where a thread sleeps")
MERGED = frozenset({"team_look", "team_alive", "team_line"})
"""Several loads of one line of Python: taken together."""


@pytest.fixture
def control() -> Iterator[Control]:
    made = Control()
    yield made
    made.finish()
    assert not any(thread.is_alive() for thread in made.threads.values())


class Pair:
    """A receiver with its slots and one sender, on pages of this process."""

    def __init__(self, control: Control, plane: Any, *edits: Edit) -> None:
        notify = stepped_python("notify", control, *edits)
        sizes = {"own": layout.OWN_SIZE, "bell": layout.BELL_SIZE, "board": layout.BOARD_SIZE, "pair": layout.PAIR_SIZE}
        maps = {name: mmap.mmap(-1, -(-size // layout.PAGE) * layout.PAGE) for name, size in sizes.items()}
        control.watch(maps["bell"])
        own, bell, self.board, pair = (plane.Words(page) for page in maps.values())
        self.board.store(layout.row_of_grants(0, 1), 1)
        for agent in (0, 1):
            self.board.store(agent * 64 + layout.AGENT_STATE, layout.ALIVE)
        self.inbox = plane.Inbox(own, bell, self.board, 0)
        self.inbox.connect(1, pair)
        self.port = plane.Port(pair, own, bell, self.board, 0, 1)
        self.slots = notify.Slots.__new__(notify.Slots)
        known = {"name": "receiver", "index": 0, "link": SimpleNamespace(lost=False), "sticky": False}
        known |= {"board": self.board, "own": own, "bell": bell, "inbox": self.inbox, "_spin_ns": 0, "spin_ns": 0}
        known |= {
            "_names": {1: "sender0"},
            "_pids": {},
            "_known": {},
            "_peers": {},
            "_seen_events": 0,
            "interrupt": lambda: None,
        }
        self.slots.__dict__.update(known)

    def receive(self, times: int = 1) -> list[str]:
        return [self.slots.wait(0) for _ in range(times)]

    def send(self, times: int = 1) -> None:
        for _ in range(times):
            assert self.port.send(0, 1)

    def send_batch(self) -> None:
        assert self.port.send_many((0,)) == -1

    def rescue(self) -> None:
        self.slots.wake()


class Follower:
    """The model beside the code: one step of a thread here is one step there."""

    def __init__(
        self, algorithm: Algorithm, control: Control, names: list[str], merged: frozenset[str] = MERGED
    ) -> None:
        self.merged = merged
        self.algorithm, self.control, self.names = algorithm, control, names
        self.packed = Packed(ground(algorithm.scope))
        self.state = self.packed.initial
        self.steps = 0

    def label(self, name: str) -> str:
        """Where the model has a thread."""
        runner = self.algorithm.runners[name]
        return runner.labels[self.packed.ground.value(self.state, runner.place, [])]

    def real(self, name: str) -> str:
        """The same in the words of the code."""
        label = self.label(name)
        return "asleep" if label.endswith("/asleep") else label.partition(".")[0]

    def compare(self) -> None:
        for name in self.names:
            wanted = self.real(name)
            assert self.control.settled(name, wanted) == wanted, (self.steps, name)

    def moves(self) -> list[tuple[str, int]]:
        found = []
        for action in self.packed.actions:
            one = action.source.action
            after = self.packed.step(action, self.state) if one.group == "software" else None
            if after is not None:
                found.append((one.name.partition("@")[2].partition(".")[0], after))
        return found

    def take(self, name: str) -> None:
        before = self.real(name)
        self.state = dict(self.moves())[name]
        self.steps += 1
        while self.real(name) in self.merged and before in self.merged:
            self.state = dict(self.moves())[name]
        self.control.go(name)
        self.compare()

    def run(self, seed: int) -> None:
        choose = random.Random(seed)
        self.compare()
        while ready := sorted({name for name, _ in self.moves()}):
            self.take(choose.choice(ready))
        assert all(self.label(name) == "end" for name in self.names)


@pytest.mark.parametrize("plane", ["core", "fallback"])
@pytest.mark.parametrize("seed", range(12))
def test_wait_and_send_do_what_the_model_does(
    plane: str, seed: int, control: Control, tmp_path: Path, need_tool
) -> None:
    if plane == "core":
        need_tool("cc")
    module = stepped_core(tmp_path, control) if plane == "core" else stepped_python("fallback", control)
    pair = Pair(control, module)
    choices = waiting.Choices(sends=(2,), batch=(False,), waits=2, mortal=False, fallback=plane == "fallback")
    control.start("receiver", lambda: pair.receive(2))
    control.start("sender0", lambda: pair.send(2))
    follower = Follower(waiting.build(choices), control, ["receiver", "sender0"])
    follower.run(seed)
    assert control.answers["receiver"] == ["sender0", "sender0"]
    assert follower.steps >= 8


def team(control: Control, module: Any, flavour: str, page: Any, i: int, members: int) -> Any:
    from shmem.words import Words

    made = module.Team.__new__(module.Team)
    alive = SimpleNamespace(
        name=f"member{i}",
        link=SimpleNamespace(lost=False),
        interrupt=lambda: None,
        spin_ns=0,
        _is_alive=lambda *_: True,
    )
    made.__dict__.update(agent=alive, name="team", flavour=flavour, number=0, me=i, fds=[], page=Words(page))
    made.members = [f"member{j}" for j in range(members)]
    made._seats = [(j, 0) for j in range(members)]
    made._mine = layout.TEAM_MEMBER + 64 * i
    made._rounds = max(1, (members - 1).bit_length())
    return made


@pytest.mark.parametrize("members", [2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_the_central_barrier_does_what_the_model_does(members: int, seed: int, control: Control) -> None:
    module = stepped_python("teams", control)
    page = mmap.mmap(-1, layout.TEAM_SIZE)
    control.watch(page)

    def meet(i: int) -> None:
        mine = team(control, module, "central", page, i, members)
        for _ in range(2):
            mine.arrive()
            mine.leave()

    names = [barriers.name(i) for i in range(members)]
    for i, name in enumerate(names):
        control.start(name, lambda i=i: meet(i))
    follower = Follower(barriers.build(barriers.Choices(members=members, mortal=())), control, names)
    follower.run(seed)
    assert all(control.answers[name] is None for name in names)


@pytest.mark.parametrize("members", [2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_the_dissemination_barrier_does_what_the_model_does(members: int, seed: int, control: Control) -> None:
    module = stepped_python("teams", control)
    page = mmap.mmap(-1, layout.TEAM_SIZE)
    control.watch(page)

    def meet(i: int) -> None:
        mine = team(control, module, "dissemination", page, i, members)
        for _ in range(2):
            mine.disseminate()

    names = [barriers.name(i) for i in range(members)]
    for i, name in enumerate(names):
        control.start(name, lambda i=i: meet(i))
    choices = barriers.Choices(members=members, mortal=(), flavour="dissemination")
    follower = Follower(barriers.build(choices), control, names, MERGED | {"team_died"})
    follower.run(seed)
    assert all(control.answers[name] is None for name in names)


DELAYED = [
    replaced("    ADD(waiting, 1); /* step: wait_announce */", "    (void)0; /* step: wait_announce */"),
    replaced("        how = futex_wait(bell", "        ADD(waiting, 1); how = futex_wait(bell"),
]
"""The announcement stays in the store buffer until the system call: what release permits, and hardware does."""
UNFENCED = [
    replaced(
        "        __atomic_store_n(c, __atomic_load_n(c, __ATOMIC_RELAXED) + 1, __ATOMIC_RELEASE);", "        late = c;"
    ),
    replaced(
        "    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* step: batch_fence */\n    ring(self);",
        "    ring(self);\n    ADD(late, 1); /* step: drain */",
    ),
    replaced("    long at[1024];", "    long at[1024];\n    uint64_t *late = NULL;"),
]
"""The count stays in the store buffer until after the look at the waiter."""
SWAPPED = [
    replaced("    ADD(waiting, 1); /* step: wait_announce */\n", ""),
    replaced(
        "        Py_BEGIN_ALLOW_THREADS\n        how = futex",
        "        ADD(waiting, 1); /* step: wait_announce */\n        Py_BEGIN_ALLOW_THREADS\n        how = futex",
    ),
]
UNRUNG = [replaced("    ADD(self->ring, 1); /* step: send_ring */\n", "")]
LOST = {
    "announcement by release": DELAYED,
    "batch without fence": UNFENCED,
    "look, then announce": SWAPPED,
    "wake without ring": UNRUNG,
}


def schedule(twin_name: str) -> list[tuple[str, str]]:
    """The software steps of the shortest counterexample: (thread, step)."""
    twin = next(twin for twin in WAIT.twins if twin.name == twin_name)
    run = broken(twin.build(), twin)[1]
    assert run is not None
    pairs = [step.action.partition("@") for step in run.steps]
    return [(rest.partition(".")[0], name) for name, _, rest in pairs]


def replay(control: Control, steps: list[tuple[str, str]], pair: Pair) -> bool:
    """Lead the threads through a schedule; false once a thread is not before the step that the schedule names."""
    for thread, step in steps:
        if step == "die" or (step == "drain" and control.settled(thread) != "drain"):
            continue  # what has no line of its own drains with the next system call
        if step == "death_mark":
            pair.board.store(64 + layout.AGENT_STATE, layout.DEAD)
            continue
        if step == "peer_lost" or control.settled(thread) != step:
            return False
        control.go(thread)
        control.settled(thread)
    return True


@pytest.mark.parametrize("weak", [True, False], ids=["weakened", "real"])
@pytest.mark.parametrize("twin", LOST)
def test_lost_wake_up(twin: str, weak: bool, control: Control, tmp_path: Path, need_tool) -> None:
    need_tool("cc")
    pair = Pair(control, stepped_core(tmp_path, control, *(LOST[twin] if weak else [])))
    control.start("receiver", pair.receive)
    control.start("sender0", pair.send_batch if twin.startswith("batch") else pair.send)
    followed = replay(control, schedule(twin), pair)
    if not weak:
        control.finish()
        assert control.answers["receiver"] == ["sender0"]
        return
    assert followed
    assert (control.settled("sender0", "end"), control.where("receiver")) == ("end", "asleep")
    assert pair.inbox.pending(0) == 1
    pair.rescue()
    control.finish()


HASTY = replaced(
    """                self._refresh()
                got = self.inbox.spin(slots, self.sticky, 0)
                if got >= 0:
                    return got
""",
    "",
)


@pytest.mark.parametrize("weak", [True, False], ids=["weakened", "real"])
def test_told_of_death_with_a_notification_left(weak: bool, control: Control, tmp_path: Path, need_tool) -> None:
    need_tool("cc")
    pair = Pair(control, stepped_core(tmp_path, control), *([HASTY] if weak else []))
    control.start("receiver", pair.receive)
    control.start("sender0", pair.send)
    replay(control, schedule("told without a last look"), pair)
    control.finish()
    if weak:
        assert isinstance(control.answers["receiver"], PeerLost)
        assert pair.inbox.pending(0) == 1
    else:
        assert control.answers["receiver"] == ["sender0"]
