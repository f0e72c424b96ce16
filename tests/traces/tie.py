"""The machine's custody and the trace checker's, step by step: random runs of the machine are told as trace events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from random import Random
from typing import Any

from shmem_model.conformance.adapter import World
from shmem_model.conformance.relation import TOKENS, Relation
from shmem_model.conformance.traces.checker import Checker
from shmem_model.machine import vocabulary as m
from shmem_suite.differential.calls import Calls, Gone
from shmem_suite.differential.drawing import Drawer

LINE = 64
SILENT = {"fill", "evict", "drain", "translate", "shootdown", "map", "unmap", "copy_step"}
TOLD = {
    "read", "write", "flush", "invalidate", "fence", "send", "wait", "poll", "arrive", "leave", "atomic_add",
    "atomic_swap", "compare_swap", "copy_start", "copy_wait",
}  # fmt: skip
"""What a run is made of; memory that comes and goes, and death, are tested on recorded traces."""


class Told:
    """A run of the machine, and the trace of it."""

    def __init__(self, world: World, random: Random) -> None:
        self.world, self.random = world, random
        self.calls = Calls(Relation(world))
        self.drawer = Drawer(self.calls, random)
        self.drawer.actions = [name for name in self.drawer.actions if name in SILENT | TOLD]
        self.factor = 2**64 // world.values
        agents = list(world.agents)
        self.events = dict.fromkeys(agents, 0)
        platform = {"write_back": world.write_back, "invalidate": world.invalidate, "cached": list(world.cached)}
        platform["slots"] = world.notify
        self.checker = Checker({"agents": agents, "complete": agents, "platform": platform})
        self.handles = {name: [i, 1] for i, name in enumerate(world.regions)}
        self.counts: dict[tuple[str, str], int] = defaultdict(int)
        self.taken: dict[tuple[str, str], int] = defaultdict(int)
        self.carried: dict[int, list[tuple[str, int]]] = {}
        """Pending token -> the notifications that it stands for."""
        self.order: list[int] = []
        self.epochs: dict[tuple[str, str], int] = defaultdict(int)
        for name, region in world.regions.items():
            size = region.lines * LINE
            self.emit(agents[0], "alloc", region=self.handles[name], range=[0, size])

    def emit(self, agent: str, action: str, **more: Any) -> None:
        """One event of the trace."""
        event = {"agent": agent, "n": self.events[agent], "action": action, **more}
        self.events[agent] += 1
        self.checker.feed(event, sum(self.events.values()))

    def step(self) -> str:
        """A step of both; what they disagree about, or nothing."""
        name, kw = self.drawer.draw()
        if name not in SILENT | TOLD:
            return ""
        try:
            done = self._notified(name, kw) if name in ("send", "wait", "poll") else self._called(name, kw)
        except Gone:
            return ""
        if not done:
            return ""
        self.checker.settle()
        kept, told = bool(self.calls.is_(m.intact)), [str(problem) for problem in self.checker.problems]
        if kept == (not told):
            return ""
        return f"{name} {dict(kw)}: custody {'kept' if kept else 'broken'} in the machine, {told} here"

    # -- calls ---------------------------------------------------------------------------------------------

    def _called(self, name: str, kw: Mapping[str, Any]) -> bool:
        said = self.calls.call(name, kw)
        if not said.answer.done or name in SILENT:
            return said.answer.done
        agent = kw["agent"]
        if name in ("arrive", "leave"):
            self._met(name, agent, kw["team"])
        elif "line" not in kw:
            self.emit(agent, name)
        elif "word" not in kw:
            place = {"region": self.handles[kw["region"]], "range": [kw["line"] * LINE, LINE]}
            self.emit(agent, name, **place, drop=kw.get("drop", False))
        else:
            self._accessed(name, agent, kw, said.result)
        return True

    def _accessed(self, name: str, agent: str, kw: Mapping[str, Any], result: Any) -> None:
        at = kw["line"] * LINE + kw["word"] * 8
        place: dict[str, Any] = {"region": self.handles[kw["region"]], "range": [at, 8]}
        if name == "copy_start":
            to = kw["to_line"] * LINE + kw["to_word"] * 8
            place |= {"target": self.handles[kw["to_region"]], "target_range": [to, 8]}
        elif name == "read":
            place["value"] = self._hex(result)
        elif name == "write":
            place["value"] = self._hex(kw["value"])
        else:
            operand = kw["new"] if name == "compare_swap" else kw["value"]
            place |= {"operand": operand * self.factor, "value": result * self.factor}
            place |= {"old": kw["old"] * self.factor} if name == "compare_swap" else {}
        self.emit(agent, name, **place)

    def _hex(self, value: int) -> str:
        return (value * self.factor).to_bytes(8, "little").hex()

    def _met(self, name: str, agent: str, team: str) -> None:
        if name == "arrive":
            self.emit(agent, "fence")
            self.epochs[team, agent] += 1
            self.emit(agent, name, team=team, epoch=self.epochs[team, agent], members=list(self.world.teams[team]))
        else:
            self.emit(agent, name, team=team, epoch=self.epochs[team, agent])

    def _notified(self, name: str, kw: Mapping[str, Any]) -> bool:
        agent, slot = self.calls.number(kw, "agent"), self.calls.number(kw, "slot")
        held = [t for t in self.order if self.calls.is_(m.pending, t, slot)]
        tokens = range(TOKENS) if name == "send" else held or [0]
        for token in tokens:
            more = (int(bool(held)),) if name == "poll" else ()
            if self.calls.quick.answer(name, (agent, slot, token, *more)).done:
                self.calls.quick.step(name, (agent, slot, token, *more))
                self._told(name, kw, token, bool(held))
                return True
        return False

    def _told(self, name: str, kw: Mapping[str, Any], token: int, held: bool) -> None:
        agent, slot = kw["agent"], kw["slot"]
        number = list(self.world.slots).index(slot)
        if name == "send":
            self.counts[agent, slot] += 1
            if token not in self.order:
                self.order.append(token)
            self.carried.setdefault(token, []).append((agent, self.counts[agent, slot]))
            to = self.world.slots[slot].receiver
            self.emit(agent, name, to=to, slot=number, count=self.counts[agent, slot])
            return
        if held:
            self.order.remove(token)
            for sender, count in self.carried.pop(token):
                self.taken[sender, slot] = count
        upto = {sender: n for (sender, of), n in self.taken.items() if of == slot}
        self.emit(agent, name, slot=number, upto=upto, **({"got": held} if name == "poll" else {}))


def disagreement(world: World, seed: int, steps: int) -> tuple[int, int, str]:
    """Runs of a world until so many steps are taken or the two disagree: steps, broken rules, and about what."""
    random, taken, broken = Random(seed), 0, 0
    while taken < steps:
        run = Told(world, random)
        for _ in range(80):
            taken += 1
            found = run.step()
            if found:
                return taken, broken, found
            if run.checker.problems:
                broken += 1
                break
    return taken, broken, ""
