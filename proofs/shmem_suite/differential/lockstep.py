"""Machine and implementation take the same steps, and after each one everything is compared.

`run(steps, seed, world)` draws calls at random, also such as must be refused; `follow(world, steps)` takes given ones,
as a regression file or a shrunk failure has them.  The first difference ends a run: another answer, another value, or
another state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from shmem_model.conformance.adapter import FAULTS, REFUSALS, WAITS, World, WouldBlock
from shmem_model.conformance.relation import Relation
from shmem_model.language import Action, Machine
from shmem_model.machine import MACHINE
from shmem_model.readers.concrete import Answer
from shmem_suite.differential.calls import Calls, Exhausted, Gone, Said
from shmem_suite.differential.drawing import Drawer
from shmem_suite.differential.projection import AdapterSide, MachineSide, differences
from shmem_suite.differential.reference import make

Step = tuple[str, Mapping[str, Any]]
Factory = Callable[[World], Any]
EPISODE = 150
"""Steps after which a random run begins anew: handles and agents are used up by then."""
OFTEN = 8
"""In a random run hardware's choices are compared after so many steps, the state after every one."""
NO_MEMORY = ("Fragmented", "OutOfMemory")
NOT_NOW = ("InvalidArgument", "RegionBusy", "StaleHandle")
"""How an implementation says that hardware or driver cannot take a step now (the machine: it waits)."""


@dataclass(frozen=True)
class Explained:
    """Answers that mean the same, and why they are not called the same."""

    answers: frozenset[str]
    reason: str


EXPLAINED: Mapping[tuple[str, str], Explained] = {
    ("access", "the agent runs"): Explained(
        frozenset({"PeerLost"}), "the machine takes no step of a dead agent; here its call is refused"
    ),
    ("access", "translated for writing"): Explained(
        frozenset({"Frozen"}),
        "a line that is being moved is translated for reading only: the machine waits for the end of the move, "
        "the implementation tells it at once",
    ),
    ("die", "alive"): Explained(frozenset({"done"}), "to die twice changes nothing"),
    ("leave", "NotPermitted"): Explained(
        frozenset({"NotPermitted"}), "who is no member is refused when it asks for a seat, before it can leave"
    ),
}
"""(action, condition of the machine) -> what the implementation answers; `access` stands for every call of software."""


@dataclass(frozen=True)
class Divergence:
    """Where the two part: the world, all steps from its start, and what differs after the last one."""

    world: World
    steps: tuple[Step, ...]
    told: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{i:3} {name}({', '.join(f'{k}={v}' for k, v in kw.items())})" for i, (name, kw) in _numbered(self)]
        return "\n".join([f"world {self.world.name}:", *lines, *(f"    {line}" for line in self.told)])


def _numbered(found: Divergence) -> list[tuple[int, Step]]:
    return list(enumerate(found.steps, 1))


@dataclass
class Result:
    """Steps taken, how often each action gave each answer, and the first divergence."""

    steps: int = 0
    answers: Counter[tuple[str, str]] = field(default_factory=Counter)
    divergence: Divergence | None = None


def unwatched(machine: Machine) -> Machine:
    """The machine without its custody monitor, which no implementation has and nothing else reads."""

    def plain(action: Action) -> Action:
        return replace(action, updates={f: u for f, u in action.updates.items() if f.layer != "ghost"})

    return machine.with_actions(plain(action) for action in machine.actions.values())


_READY: dict[str, Calls] = {}
"""The last machine of each world, to be used again: making one ready takes as long as many steps."""


def _calls(world: World) -> Calls:
    found = _READY.get(world.name)
    if found is None or found.relation.world != world:
        found = _READY[world.name] = Calls(Relation(world, unwatched(MACHINE)))
    found.restart()
    return found


class Pair:
    """A machine and an adapter in the same state."""

    def __init__(self, world: World, factory: Factory = make, thorough: bool = True) -> None:
        self.world, self.thorough = world, thorough
        self.calls = _calls(world)
        self.relation = self.calls.relation
        self.adapter = factory(world)
        self.machine = MachineSide(self.calls.quick, self.relation, self.calls.blocks)
        self.other = AdapterSide(self.adapter)
        self.steps: list[Step] = []

    def close(self) -> None:
        """End the adapter."""
        self.adapter.close()

    def compare(self) -> list[str]:
        """In words, where the states differ, and where hardware has other steps to choose among."""
        told = differences(self.machine.state(), self.other.state())
        if not told and (self.thorough or len(self.steps) % OFTEN == 0):
            one, two = self.machine.spontaneous(), self.other.spontaneous()
            told = [] if one == two else [f"spontaneous: {one} steps of hardware in the machine, {two} here"]
        return told

    def take(self, step: Step) -> tuple[Said, list[str]]:
        """Take a step on both sides: what the machine said, and all that differs after it.

        Raises `Gone` or `Exhausted` where the machine has no element for it; nothing has happened then, or the run
        cannot go on.
        """
        name, kw = step
        if name == "alloc":
            return self._alloc(step)
        said = self.calls.call(name, kw)
        self.steps.append(step)
        told = self._ask(name, kw, said)
        return said, told or self.compare()

    def _ask(self, name: str, kw: Mapping[str, Any], said: Said) -> list[str]:
        """Call the adapter; how its answer differs from the machine's."""
        got, result = self._answer(name, kw)
        expected = self.expected(name, said.answer)
        member = "team" not in kw or kw["agent"] in self.world.teams[kw["team"]]
        if name == "leave" and said.answer.kind == "refused" and not member:
            expected = set(EXPLAINED["leave", "NotPermitted"].answers)
        if got not in expected:
            return [f"answer: {' or '.join(sorted(expected))} in the machine, {got} here"]
        if said.answer.done and said.result is not None and int(result) != said.result:
            return [f"result: {said.result} in the machine, {result} here"]
        return []

    def _answer(self, name: str, kw: Mapping[str, Any]) -> tuple[str, Any]:
        try:
            return "done", getattr(self.adapter, name)(**kw)
        except WouldBlock:
            return WAITS, None
        except Exception as error:
            kind = type(error).__name__
            known = kind in REFUSALS or kind in FAULTS
            return (kind if known else f"{kind}: {error}"), None

    def expected(self, name: str, answer: Answer) -> set[str]:
        """The answers of an implementation that mean what the machine says."""
        if answer.done:
            return {"done"}
        if answer.kind != "waits":
            return {answer.name}
        explained = EXPLAINED.get((name, answer.name)) or EXPLAINED.get(("access", answer.name))
        if explained is not None:
            return set(explained.answers)
        if self.relation.scope.machine.actions[name].group != "software":
            return set(NOT_NOW)
        return {WAITS}

    def _alloc(self, step: Step) -> tuple[Said, list[str]]:
        """The implementation chooses the place; the machine must be able to choose it too."""
        _, kw = step
        count, together = self.calls.room(kw["region"])
        dead = self.calls.quick.answer("fence", (self.calls.number(kw, "agent"),)).name == "the agent runs"
        self.steps.append(step)
        got, frames = self._answer("alloc", kw)
        if dead:  # the first condition of an alloc, as of every call
            told = [] if got == "PeerLost" else [f"answer: PeerLost in the machine, {got} here"]
            return Said(Answer("waits", "the agent runs")), told or self.compare()
        if got in NO_MEMORY:
            wrong = together or (got == "OutOfMemory") != (count < self.world.regions[kw["region"]].lines)
            told = [f"answer: {count} frames are free in the machine, {got} here"] if wrong else []
            return Said(Answer("refused", got)), told or self.compare()
        if got != "done":
            return Said(Answer("done")), [f"answer: done in the machine, {got} here"]
        said = self.calls.allocated(kw, frames)
        if not said.answer.done:
            return said, [f"place: {said.answer} in the machine, frames {frames} here"]
        return said, self.compare()


def run(steps: int, seed: int, world: World, factory: Factory = make, *, seconds: float | None = None) -> Result:
    """So many random steps; `seconds` ends the run earlier (for searches, never for verdicts)."""
    import time

    random, result = Random(seed), Result()
    until = None if seconds is None else time.monotonic() + seconds
    while result.steps < steps and result.divergence is None:
        if until is not None and time.monotonic() > until:
            break
        _episode(world, factory, random, min(EPISODE, steps - result.steps), result)
    return result


def _episode(world: World, factory: Factory, random: Random, steps: int, result: Result) -> None:
    pair = Pair(world, factory, thorough=False)
    drawer = Drawer(pair.calls, random)
    try:
        for _ in range(steps):
            step = drawer.draw()
            try:
                said, told = pair.take(step)
            except Gone:
                continue
            except Exhausted:
                return
            result.steps += 1
            result.answers[step[0], said.answer.name if not said.answer.done else "done"] += 1
            result.answers.update(said.demanded)
            if told:
                result.divergence = Divergence(world, tuple(pair.steps), tuple(told))
                return
    finally:
        pair.close()


def follow(world: World, steps: Sequence[Step], factory: Factory = make) -> Divergence | None:
    """Take given steps; the divergence if there is one.  Steps for which the machine has no element are left out."""
    pair = Pair(world, factory)
    try:
        for step in steps:
            try:
                _, told = pair.take(step)
            except Gone:
                continue
            except (Exhausted, KeyError):
                return None
            if told:
                return Divergence(world, tuple(pair.steps), tuple(told))
        return None
    finally:
        pair.close()


def shrunk(found: Divergence, factory: Factory = make) -> Divergence:
    """The same kind of divergence with as few steps as leaving some out can give."""
    best = found
    size = max(1, len(best.steps) // 2)
    while size:
        start = 0
        while start < len(best.steps):
            shorter = follow(best.world, best.steps[:start] + best.steps[start + size :], factory)
            if shorter is not None and _kind(shorter) == _kind(found) and len(shorter.steps) < len(best.steps):
                best = shorter
            else:
                start += size
        size //= 2
    return best


def _kind(found: Divergence) -> tuple[str, str]:
    """The last step's action, and the function or answer that differs first."""
    return found.steps[-1][0], found.told[0].partition("(")[0].partition(":")[0]
