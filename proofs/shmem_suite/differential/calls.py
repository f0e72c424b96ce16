"""Which steps of the machine an adapter's call stands for, and what the machine says of them.

A call of an adapter names lines of regions; the machine's action also names the frame, the token or the epoch, which
are found here.  Where the machine *waits* for hardware that would come sooner or later (a translation, a fill, a
drain, the copy engine), the call demands it: the same hardware steps are taken first, as the implementation takes
them inside of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from shmem_model.conformance.relation import TOKENS, Relation
from shmem_model.machine import vocabulary as m
from shmem_model.readers.concrete import Answer, Call
from shmem_model.readers.quick import Quick

Arguments = Mapping[str, Any]
DEMANDED = {
    "translated", "translated for writing", "line is present", "in order", "own posted words have drained",
    "own posted word has drained", "the engine has finished",
}  # fmt: skip
"""Conditions that hardware brings about sooner or later when a call waits for it."""


@dataclass
class Said:
    """What the machine says of a call: its answer, and what it returns when it is done."""

    answer: Answer
    result: Any = None
    steps: list[Call] = field(default_factory=list)
    """The machine's steps that were taken."""
    demanded: list[tuple[str, str]] = field(default_factory=list)
    """The conditions that hardware brought about for it: (action, condition)."""


class Calls:
    """The machine in its current state, called as an adapter is called."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self.quick = Quick(relation.scope)
        self.blocks: dict[int, tuple[str, int]] = {}
        """Block -> the (region, line) that it stands for, or stood for last."""
        self._initial = self.quick.state
        self.restart()
        self._place = {f: {p: i for i, p in enumerate(relation.scope.places(f))} for f in relation.scope.machine.state}
        self._index = {
            "agent": relation.agents, "of": relation.agents, "member": relation.agents, "region": relation.regions,
            "to_region": relation.regions, "slot": relation.slots, "team": relation.teams,
        }  # fmt: skip

    def restart(self) -> None:
        """Go back to the start state."""
        self.quick.restore(self._initial)
        self.blocks = dict(enumerate(self.relation.start))

    def is_(self, function: Any, *place: int) -> int:
        """The value of a function at a place."""
        return self.quick.cells(function)[self._place[function][place]]

    def number(self, kw: Arguments, key: str) -> int:
        """The element that an argument names."""
        names = self._index.get(key)
        return int(kw[key]) if names is None else names.index(kw[key])

    def block(self, kw: Arguments, region: str = "region", line: str = "line") -> int:
        """The block of a line; of a region that was freed the one that it had.  Gone where that has a new owner."""
        wanted = kw[region], kw[line]
        for block, place in self.blocks.items():
            if place == wanted:
                return block
        raise Gone(f"line {kw[line]} of {kw[region]} has no address any more")

    def lines(self, kw: Arguments, region: str = "region") -> list[int]:
        """The blocks of all lines of a region."""
        count = self.relation.world.regions[kw[region]].lines
        return [self.block({region: kw[region], "line": i}, region) for i in range(count)]

    def frame(self, agent: int, block: int) -> int:
        """Where the agent's access to a line goes: through its old translation, or where the line lives."""
        frames = range(self.relation.world.frames)
        held = [f for f in frames if self.is_(m.tlb, agent, block, f)]
        return (held or [f for f in frames if self.is_(m.at, block, f)] or [0])[0]

    # -- calling -------------------------------------------------------------------------------------------

    def call(self, action: str, kw: Arguments) -> Said:
        """Take the step if it can be taken; what the machine says of it.

        Raises `Gone` where the machine has no element for what is named, so that nothing can be said.
        """
        try:
            calls = list(_EXPANSIONS[action](self, kw))
        except Gone:
            if self._group(action) != "software":
                raise
            dead = self.is_(m.dead, self.number(kw, "agent"))
            return Said(Answer("waits", "the agent runs") if dead else Answer("refused", "StaleHandle"))
        if len(calls) > 1:
            # A region of several lines is treated as one: it is refused as a whole, before anything changes.
            answers = [self.quick.answer(name, arguments) for name, arguments in calls]
            refused = [a for a in answers if not a.done and not (a.kind == "waits" and a.name in DEMANDED)]
            if refused:
                return Said(min(refused, key=lambda a: _rank(calls[0][0], a, self)))
        said = Said(Answer("done"))
        for call in calls:
            said = self._take(call, said)
            if not said.answer.done:
                return said
        return said

    def would(self, action: str, kw: Arguments) -> bool:
        """Whether the call would be taken (perhaps after hardware steps that it demands).  Raises `Gone`."""
        answers = [self.quick.answer(name, arguments) for name, arguments in _EXPANSIONS[action](self, kw)]
        demands = self._group(action) == "software"
        return all(a.done or (demands and a.kind == "waits" and a.name in DEMANDED) for a in answers)

    def _take(self, call: Call, before: Said) -> Said:
        name, arguments = call
        for _ in range(100):
            arguments = _again(self, name, arguments)
            answer = self.quick.answer(name, arguments)
            if answer.done:
                result = self.quick.step(name, arguments)
                return Said(answer, result, [*before.steps, (name, tuple(arguments))], before.demanded)
            demanded = self._demanded(name, arguments, answer)
            if not demanded:
                return Said(answer, None, before.steps, before.demanded)
            before.demanded.append((name, answer.name))
            for step in demanded:
                before.steps.append(step)
                self.quick.step(*step)
        raise AssertionError(f"{name}{tuple(arguments)} demands hardware steps without end")

    def _demanded(self, name: str, arguments: tuple[int, ...], answer: Answer) -> list[Call]:
        """The hardware steps that a waiting call brings about; none where it waits for somebody else."""
        if answer.kind != "waits" or answer.name not in DEMANDED or self._group(name) != "software":
            return []
        a = arguments[0]
        if answer.name in ("translated", "translated for writing"):
            block = arguments[2]
            walk = "translate", (a, block, _home(self, block))
            return [walk] if self.quick.answer(*walk).done else []
        if answer.name == "the engine has finished":
            return list(self._engine_work(arguments[1]))
        if answer.name == "own posted words have drained":
            return [("drain", (a, f)) for f in range(self.relation.world.frames) if self._posted(a, f)]
        frame = arguments[3]
        if answer.name == "line is present" and not self._posted(a, frame):
            return [("fill", (a, arguments[2], frame))]
        return [("drain", (a, frame))]

    def _group(self, name: str) -> str:
        return self.relation.scope.machine.actions[name].group

    def _posted(self, agent: int, frame: int) -> bool:
        return any(self.is_(m.posted, agent, frame, w) for w in range(self.relation.world.words))

    def _engine_work(self, engine: int) -> Iterator[Call]:
        frames = range(self.relation.world.frames)
        for (e, b, w, c, p), i in self._place[m.copying].items():
            if e == engine and self.quick.cells(m.copying)[i]:
                here = next(f for f in frames if self.is_(m.at, b, f))
                there = next(f for f in frames if self.is_(m.at, c, f))
                yield "copy_step", (engine, engine - len(self.relation.agents), b, here, w, c, there, p)

    # -- alloc, whose places the implementation chooses ----------------------------------------------------

    def allocated(self, kw: Arguments, frames: list[int]) -> Said:
        """The region was given these frames: the machine must be able to do the same."""
        a, r = self.number(kw, "agent"), self.number(kw, "region")
        said = Said(Answer("done"))
        for line, frame in enumerate(frames):
            free = [b for b in range(self.relation.scope.size(m.Block)) if self._unused(b)]
            if not free:
                raise Exhausted("no address is unused")
            answer = self.quick.answer("alloc", (a, r, free[0], frame))
            if not answer.done:
                return Said(answer)
            self.quick.step("alloc", (a, r, free[0], frame))
            said.steps.append(("alloc", (a, r, free[0], frame)))
            self.blocks[free[0]] = kw["region"], line
        return said

    def _unused(self, block: int) -> bool:
        agents, frames = range(self.relation.scope.size(m.Agent)), range(self.relation.world.frames)
        live = any(self.is_(m.part_of, block, k) for k in range(len(self.relation.regions)))
        return not live and not any(self.is_(m.tlb, a, block, f) for a in agents for f in frames)

    def room(self, region: str) -> tuple[int, bool]:
        """How many frames a region could get, and whether its lines fit side by side."""
        r, lines = self.relation.regions.index(region), self.relation.world.regions[region].lines
        fits = self.relation.scope.platform[m.fits]
        assert callable(fits)
        free = [f for f in range(self.relation.world.frames) if self.is_(m.available, f) and fits(r, f)]
        return len(free), any(all(f + i in free for i in range(lines)) for f in free)


class Gone(Exception):
    """A line of a freed region, whose address in the machine stands for another one by now."""


class Exhausted(Exception):
    """The scope has no element left for what the implementation did; a run ends here."""


def _rank(name: str, answer: Answer, calls: Calls) -> int:
    conditions = calls.relation.scope.machine.actions[name].conditions
    return next(i for i, c in enumerate(conditions) if (c.kind, c.name) == (answer.kind, answer.name))


def _again(calls: Calls, name: str, arguments: tuple[int, ...]) -> tuple[int, ...]:
    """The arguments after a demanded step: an access goes through the new translation."""
    if name in _THROUGH_TRANSLATION:
        return (*arguments[:3], calls.frame(arguments[0], arguments[2]), *arguments[4:])
    return arguments


_THROUGH_TRANSLATION = ("read", "write", "flush", "invalidate", "atomic_add", "atomic_swap", "compare_swap")
Expansion = Callable[[Calls, Arguments], Iterator[Call]]


def _access(name: str, *rest: str) -> Expansion:
    def expand(calls: Calls, kw: Arguments) -> Iterator[Call]:
        a, r, b = calls.number(kw, "agent"), calls.number(kw, "region"), calls.block(kw)
        yield name, (a, r, b, calls.frame(a, b), *(int(kw[key]) for key in rest))

    return expand


def _plain(name: str, *keys: str) -> Expansion:
    def expand(calls: Calls, kw: Arguments) -> Iterator[Call]:
        yield name, tuple(calls.number(kw, key) for key in keys)

    return expand


def _home(calls: Calls, block: int) -> int:
    return next((f for f in range(calls.relation.world.frames) if calls.is_(m.at, block, f)), 0)


def _free(calls: Calls, kw: Arguments) -> Iterator[Call]:
    for b in calls.lines(kw):
        yield "free", (calls.number(kw, "agent"), calls.number(kw, "region"), b, _home(calls, b))


def _map(calls: Calls, kw: Arguments) -> Iterator[Call]:
    for b in calls.lines(kw):
        yield "map", (calls.number(kw, "agent"), calls.number(kw, "region"), b, int(kw["writable"]))


def _unmap(calls: Calls, kw: Arguments) -> Iterator[Call]:
    for b in calls.lines(kw):
        yield "unmap", (calls.number(kw, "agent"), calls.number(kw, "of"), calls.number(kw, "region"), b)


def _invalidate(calls: Calls, kw: Arguments) -> Iterator[Call]:
    keep = kw.get("keep")
    if keep is None:
        keep = calls.relation.world.invalidate == "write_back"
    a, r, b = calls.number(kw, "agent"), calls.number(kw, "region"), calls.block(kw)
    yield "invalidate", (a, r, b, calls.frame(a, b), int(keep))


def _send(calls: Calls, kw: Arguments) -> Iterator[Call]:
    a, s, tokens = calls.number(kw, "agent"), calls.number(kw, "slot"), range(TOKENS)
    could = [t for t in tokens if calls.quick.answer("send", (a, s, t)).done]
    yield "send", (a, s, (could or [0])[0])


def _wait(calls: Calls, kw: Arguments) -> Iterator[Call]:
    a, s = calls.number(kw, "agent"), calls.number(kw, "slot")
    held = [t for t in range(TOKENS) if calls.is_(m.pending, t, s)]
    yield "wait", (a, s, (held or [0])[0])


def _poll(calls: Calls, kw: Arguments) -> Iterator[Call]:
    a, s = calls.number(kw, "agent"), calls.number(kw, "slot")
    held = [t for t in range(TOKENS) if calls.is_(m.pending, t, s)]
    yield "poll", (a, s, (held or [0])[0], int(bool(held)))


def _arrive(calls: Calls, kw: Arguments) -> Iterator[Call]:
    a, g = calls.number(kw, "agent"), calls.number(kw, "team")
    could = [e for e in range(calls.relation.epochs) if calls.quick.answer("arrive", (a, g, e)).done]
    if could:
        yield "fence", (a,)
    yield "arrive", (a, g, (could or [0])[0])


def _leave(calls: Calls, kw: Arguments) -> Iterator[Call]:
    a, g = calls.number(kw, "agent"), calls.number(kw, "team")
    own = [e for e in range(calls.relation.epochs) if calls.is_(m.arrived, g, e, a) and not calls.is_(m.left, g, e, a)]
    yield "leave", (a, g, (own or [0])[0])


def _copy_start(calls: Calls, kw: Arguments) -> Iterator[Call]:
    a = calls.number(kw, "agent")
    b, c = calls.block(kw), calls.block(kw, "to_region", "to_line")
    source, target = (calls.number(kw, "region"), b, kw["word"]), (calls.number(kw, "to_region"), c, kw["to_word"])
    yield "copy_start", (a, calls.relation.engine(a), *source, *target)


def _copy_wait(calls: Calls, kw: Arguments) -> Iterator[Call]:
    a = calls.number(kw, "agent")
    yield "copy_wait", (a, calls.relation.engine(a))


def _copy_step(calls: Calls, kw: Arguments) -> Iterator[Call]:
    a, b, c = calls.number(kw, "agent"), calls.block(kw), calls.block(kw, "to_region", "to_line")
    source, target = (b, _home(calls, b), kw["word"]), (c, _home(calls, c), kw["to_word"])
    yield "copy_step", (calls.relation.engine(a), a, *source, *target)


def _fill(calls: Calls, kw: Arguments) -> Iterator[Call]:
    a, b = calls.number(kw, "agent"), calls.block(kw)
    yield "fill", (a, b, calls.frame(a, b))


def _translate(calls: Calls, kw: Arguments) -> Iterator[Call]:
    b = calls.block(kw)
    yield "translate", (calls.number(kw, "agent"), b, _home(calls, b))


def _driver(name: str) -> Expansion:
    def expand(calls: Calls, kw: Arguments) -> Iterator[Call]:
        yield name, (calls.block(kw),)

    return expand


def _shootdown(calls: Calls, kw: Arguments) -> Iterator[Call]:
    yield "shootdown", (calls.number(kw, "agent"), calls.block(kw))


def _migrate(calls: Calls, kw: Arguments) -> Iterator[Call]:
    b = calls.block(kw)
    yield "migrate", (b, _home(calls, b), kw["frame"])


def _gb_ack(calls: Calls, kw: Arguments) -> Iterator[Call]:
    b, who = calls.block(kw), [calls.number(kw, key) for key in ("agent", "team", "region", "member")]
    yield "gb_ack", (*who, b, _home(calls, b))


def _reclaim(calls: Calls, kw: Arguments) -> Iterator[Call]:
    for b in calls.lines(kw):
        yield "reclaim", (calls.number(kw, "agent"), b, _home(calls, b))


_EXPANSIONS: Mapping[str, Expansion] = {
    "free": _free, "map": _map, "unmap": _unmap, "read": _access("read", "word"),
    "write": _access("write", "word", "value"), "flush": _access("flush", "drop"), "invalidate": _invalidate,
    "fence": _plain("fence", "agent"), "send": _send, "wait": _wait, "poll": _poll, "arrive": _arrive,
    "leave": _leave, "gb_begin": _plain("gb_begin", "agent", "team", "region"),
    "gb_end": _plain("gb_end", "agent", "team", "region"), "atomic_add": _access("atomic_add", "word", "value"),
    "atomic_swap": _access("atomic_swap", "word", "value"),
    "compare_swap": _access("compare_swap", "word", "old", "new"), "copy_start": _copy_start,
    "copy_wait": _copy_wait, "fill": _fill, "evict": _plain("evict", "agent", "frame"),
    "drain": _plain("drain", "agent", "frame"), "translate": _translate, "lose": _plain("lose", "agent", "frame"),
    "copy_step": _copy_step, "shootdown": _shootdown, "scrub": _plain("scrub", "frame"),
    "freeze": _driver("freeze"), "migrate": _migrate, "unfreeze": _driver("unfreeze"), "gb_ack": _gb_ack,
    "reclaim": _reclaim, "die": _plain("die", "agent"),
}  # fmt: skip
