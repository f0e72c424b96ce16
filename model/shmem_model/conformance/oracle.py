"""The oracle: what the machine allows an implementation to answer, given all that has been seen of it so far.

Where an adapter cannot command hardware, nobody knows what its caches hold.  So the oracle keeps the *set* of all
states of the machine that agree with what was seen; between two calls each hidden step may have happened any number
of times.  An answer is right if some state of the set allows it, and then just the states that allow it are left.

Two states that no call can tell apart are kept once: stale bits of empty lines are cleared, notifications have no
identity, and where hidden hardware may both make and drop a translation (or a clean, up-to-date line) the state in
which it is there stands for both.  A set that grows above the limit raises `TooMany`: unknown, never a pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import permutations
from typing import Any

from shmem_model.conformance.adapter import World
from shmem_model.conformance.expand import EXPANSIONS, Arguments, View, Way
from shmem_model.conformance.relation import TOKENS, Relation
from shmem_model.language import Machine
from shmem_model.machine import MACHINE
from shmem_model.machine import vocabulary as m
from shmem_model.readers.concrete import Answer, Call
from shmem_model.readers.quick import Quick

Key = tuple[tuple[int, ...], ...]
"""A state without the custody monitor."""
Belief = frozenset[Key]
Step = tuple[str, dict[str, Any]]

HIDDEN = ("fill", "evict", "drain", "translate", "lose", "copy_step", "shootdown", "scrub", "gb_ack", "reclaim")
"""What may happen unseen in an implementation that has no method for it.  (Compaction and death happen by command.)"""
LIMIT = 20_000
DEMANDED = {
    "translated", "translated for writing", "line is present", "in order", "own posted words have drained",
    "own posted word has drained", "the engine has finished",
}  # fmt: skip
"""What a waiting call makes hardware do."""
BLOCKS = ("a notification", "all have arrived", "every member has acknowledged")
"""What only somebody else can bring about: `WouldBlock`."""


class TooMany(Exception):
    """More states agree with what was seen than are kept: nothing can be said."""


def without_monitor(machine: Machine = MACHINE) -> Machine:
    """The machine without its ghost functions, which no action ever looks at."""
    actions = [
        replace(action, updates={f: u for f, u in action.updates.items() if f.layer != "ghost"})
        for action in machine.actions.values()
    ]
    functions = tuple(f for f in machine.functions if f.layer != "ghost")
    initial = {f: value for f, value in machine.initial.items() if f.layer != "ghost"}
    return replace(machine, functions=functions, initial=initial, properties=()).with_actions(actions)


class Oracle:
    """The machine in a world, for implementations that can command the given actions."""

    def __init__(self, world: World, commanded: Iterable[str], limit: int = LIMIT, machine: Machine = MACHINE) -> None:
        self.world, self.limit = world, limit
        commanded = frozenset(commanded)
        self.hidden = tuple(name for name in HIDDEN if name not in commanded and name in machine.actions)
        # An action with the same text as in a variant keeps its name; starts of ghost functions fall away.
        self.relation = Relation(world, without_monitor(machine))
        scope = self.relation.scope
        start = {f: table for f, table in scope.start.items() if f.layer != "ghost"}
        self.relation.scope = replace(scope, start=start)
        self.quick = Quick(self.relation.scope)
        self.view = View(self.relation, self.quick)
        self.functions = scope.machine.state
        self._next: dict[Key, tuple[Key, ...]] = {}
        self._closed: dict[Belief, Belief] = {}
        self._said: dict[tuple[Key, str, tuple[Any, ...]], tuple[tuple[str, Key], ...]] = {}
        self._places = self._layout()
        self.start: Belief = self.closed(frozenset([self._save()]))

    # -- states --------------------------------------------------------------------------------------------

    def _layout(self) -> list[tuple[int, int, int, list[int]]]:
        """For every agent and frame: both, the cell of `valid`, and the cells of the words."""
        place, words = self.view.place, range(self.world.words)
        pairs = [(a, f) for a in self.view.everybody for f in self.view.frames]
        return [(a, f, place[m.valid][a, f], [place[m.dirty][a, f, w] for w in words]) for a, f in pairs]

    def _load(self, key: Key) -> None:
        for function, values in zip(self.functions, key, strict=True):
            self.quick.cells(function)[:] = values  # type: ignore[index]

    def _save(self) -> Key:
        self._tidy()
        return tuple([tuple(self.quick.cells(f)) for f in self.functions])

    def _tidy(self) -> None:
        """Make the current state the one that stands for all that nobody can tell from it."""
        if "translate" in self.hidden and "shootdown" in self.hidden:
            self._translate_all()
        cells = self.quick.cells
        valid, dirty, data = cells(m.valid), cells(m.dirty), cells(m.data)
        posted, posted_data = cells(m.posted), cells(m.posted_data)
        fills = all(name in self.hidden for name in ("translate", "shootdown", "fill", "evict"))
        for a, f, line, words in self._places:
            if fills and not valid[line] and not any(posted[i] for i in words):
                self._fill(a, f)
            for i in words:
                if not valid[line]:
                    data[i] = dirty[i] = 0  # type: ignore[index]
                if not posted[i]:
                    posted_data[i] = 0  # type: ignore[index]
        self._tidy_messages()

    def _translate_all(self) -> None:
        for a in range(len(self.relation.agents)):
            if self.view.on(m.dead, a):
                continue
            for b in self.view.blocks:
                f = self.view.home(b)
                if not self.view.on(m.tlb, a, b, f) and self.quick.answer("translate", (a, b, f)).done:
                    self.quick.step("translate", (a, b, f))

    def _fill(self, a: int, f: int) -> None:
        if not self.view.on(m.dead, a):
            for b in self.view.blocks:
                if self.view.on(m.tlb, a, b, f) and self.quick.answer("fill", (a, b, f)).done:
                    self.quick.step("fill", (a, b, f))

    def _tidy_messages(self) -> None:
        on, place, cells = self.view.on, self.view.place, self.quick.cells
        pending = cells(m.pending)
        slots = range(self.relation.scope.size(m.Slot))
        held = [s for s in slots for t in range(TOKENS) if on(m.pending, t, s)]
        pending[:] = [0] * len(pending)  # type: ignore[index]
        for t, s in enumerate(held):
            pending[place[m.pending][t, s]] = 1  # type: ignore[index]
        teams = range(len(self.relation.teams))
        for e in range(self.relation.epochs):
            seats = [(g, e, c) for g in teams for c in range(len(self.relation.agents))]
            inside = [p for p in seats if on(m.arrived, *p) and not on(m.left, *p) and not on(m.dead, p[2])]
            if not inside and not any(on(m.collecting, g, e) for g in teams):
                for p in seats:
                    cells(m.arrived)[place[m.arrived][p]] = cells(m.left)[place[m.left][p]] = 0  # type: ignore[index]

    # -- what may have happened ----------------------------------------------------------------------------

    def closed(self, belief: Belief) -> Belief:
        """With all states that hidden steps lead to.  Raises `TooMany`."""
        if not self.hidden:
            return belief
        found = self._closed.get(belief)
        if found is None:
            seen, todo = set(belief), list(belief)
            while todo:
                for key in self._hidden_steps(todo.pop()):
                    if key not in seen:
                        seen.add(key)
                        todo.append(key)
                if len(seen) > self.limit:
                    raise TooMany(f"more than {self.limit:,} states of {self.world.name} agree with what was seen")
            found = self._closed[belief] = frozenset(seen)
        return found

    def _hidden_steps(self, key: Key) -> tuple[Key, ...]:
        found = self._next.get(key)
        if found is None:
            self._load(key)
            after = []
            for call in self.quick.enabled(self.hidden):
                self._load(key)
                self.quick.step(*call)
                after.append(self._save())
            found = self._next[key] = tuple(dict.fromkeys(after))
        return found

    def allowed(self, belief: Belief, action: str, kw: Arguments) -> dict[str, Belief]:
        """Every allowed outcome of a call, with the states that are possible after it; none: do not call.

        The beliefs given and returned are closed.
        """
        found: dict[str, set[Key]] = {}
        for key in belief:
            for outcome, after in self._outcomes(key, action, kw):
                found.setdefault(outcome, set()).add(after)
        return {outcome: self.closed(frozenset(found[outcome])) for outcome in sorted(found)}

    def speaks(self, belief: Belief, action: str, kw: Arguments) -> bool:
        """The call can be made: in every state that is possible the machine has something to say of it."""
        return all(self._outcomes(key, action, kw) or self._silent(key, action, kw) for key in belief) and any(
            self._outcomes(key, action, kw) for key in belief
        )

    def _silent(self, key: Key, action: str, kw: Arguments) -> bool:
        """Nothing is said only because hardware has first to do something hidden."""
        self._load(key)
        return bool(self.hidden) and self.view.speaks(action, kw) and self._software(action)

    def _software(self, action: str) -> bool:
        return self.relation.scope.machine.actions[action].group in ("software", "fault")

    def _outcomes(self, key: Key, action: str, kw: Arguments) -> tuple[tuple[str, Key], ...]:
        memo = key, action, tuple(kw.values())
        found = self._said.get(memo)
        if found is None:
            self._load(key)
            found = ()
            if self.view.speaks(action, kw):
                made = self._alloc(key, kw) if action == "alloc" else self._ways(key, action, kw)
                found = tuple(dict.fromkeys(made))
            self._said[memo] = found
        return found

    def _ways(self, key: Key, action: str, kw: Arguments) -> Iterator[tuple[str, Key]]:
        ways: list[Way] = list(EXPANSIONS[action](self.view, kw))
        for way in ways:
            self._load(key)
            answers = [self.quick.answer(*step) for step in way]
            refused = [a for a in answers if a.kind in ("refused", "faults")]
            if refused:
                # A region is refused as a whole, by the condition that comes first in the action's list.
                yield self._first(action, refused), key
                if action == "leave" and kw["agent"] not in self.world.teams[kw["team"]]:
                    yield "NotPermitted", key  # who is no member is not inside either: both answers are true
                continue
            outcome = "done"
            for step in way:
                outcome = self._take(step, demands=self._software(action))
                if not outcome.startswith(("done", "value")):
                    break
            if outcome:
                yield outcome, self._save() if outcome.startswith(("done", "value")) else key

    def _first(self, action: str, answers: list[Answer]) -> str:
        names = [c.name for c in self.relation.scope.machine.actions[action].conditions]
        return min((a.name for a in answers), key=names.index)

    def _take(self, step: Call, demands: bool) -> str:
        """Take a step, hardware that it demands first: "done", "value N", "WouldBlock", a refusal, or "" (not now)."""
        name, arguments = step
        for _ in range(40):
            answer = self.quick.answer(name, arguments)
            if answer.done:
                value = self.quick.step(name, arguments)
                return "done" if value is None else f"value {value}"
            if answer.kind != "waits":
                return answer.name
            if not demands or answer.name not in DEMANDED:
                return "WouldBlock" if answer.name in BLOCKS else ""
            wanted = self._demanded(arguments, answer.name)
            if not wanted or not all(self.quick.answer(*one).done for one in wanted[:1]):
                return ""
            for one in wanted:
                self.quick.step(*one)
            if wanted[0][0] == "translate":
                arguments = (*arguments[:3], wanted[0][1][2], *arguments[4:])
        raise AssertionError(f"{name}{arguments} demands hardware steps without end")

    def _demanded(self, arguments: tuple[int, ...], condition: str) -> list[Call]:
        a = arguments[0]
        if condition.startswith("translated"):
            return [("translate", (a, arguments[2], self.view.home(arguments[2])))]
        if condition == "the engine has finished":
            work = self.quick.enabled(["copy_step"])
            return [call for call in work if call[1][0] == arguments[1]][:1]
        waiting = [f for f in self.view.frames if self.quick.answer("drain", (a, f)).done]
        if condition == "own posted words have drained":
            return [("drain", (a, f)) for f in waiting]
        frame = arguments[3]
        if condition == "line is present" and frame not in waiting:
            return [("fill", (a, arguments[2], frame))]
        return [("drain", (a, frame))]

    # -- alloc: the implementation chooses the place -------------------------------------------------------

    def _alloc(self, key: Key, kw: Arguments) -> Iterator[tuple[str, Key]]:
        a, r = self.view.number(kw, "agent"), self.view.number(kw, "region")
        lines, frames = self.world.regions[kw["region"]].lines, self.view.frames
        free = [f for f in frames if self.view.on(m.available, f)]
        fits = [f for f in free if self.relation._fits(r, f)]
        together = any(all(f + i in fits for i in range(lines)) for f in fits)
        if len(fits) >= lines and not together:
            yield "Fragmented", key
        if len(fits) < lines:
            yield "OutOfMemory", key
            if free:
                yield "Fragmented", key
        for chosen in permutations(fits, lines):
            self._load(key)
            blocks = self.view.unused()
            if len(blocks) < lines:
                return
            for block, frame in zip(blocks, chosen, strict=False):
                self.quick.step("alloc", (a, r, block, frame))
            yield "frames " + " ".join(map(str, chosen)), self._save()
