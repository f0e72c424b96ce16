"""Check a trace: bring the agents' streams into an order that their edges allow, and ask the custody monitor.

Order between agents comes from edges only: a wait after the sends that it took (`upto`), a leave after the arrivals
of its epoch, an access after the alloc of its handle, an atomic after the one that left what it found.  An event whose
edge has not come yet holds its agent's stream back; the others go on.  So the lines of a file may stand in any order
that keeps each agent's own, and what is kept in memory is what is held back and what has been sent and not taken.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shmem_model.conformance.traces.custody import LINE, WORD, Clock, Monitor, Problem, Region
from shmem_model.conformance.traces.events import Event, Malformed, described, event, head, place

MOST = 20
"""So many problems are told of one trace; all are counted."""
CODES = {"clean": 0, "race": 1, "violation": 1, "malformed": 2, "unknown": 3}
"""The exit code of each answer."""


@dataclass
class Answer:
    """What is so of a trace: *clean*, *race*, *violation*, *malformed* or *unknown*, and why."""

    answer: str
    events: int = 0
    problems: list[Problem] = field(default_factory=list)
    count: int = 0
    """Problems found; `problems` holds the first of them."""
    why: str = ""
    line: int = 0

    def as_json(self, file: str) -> dict[str, Any]:
        """The answer as plain data."""
        told = [{"kind": p.kind, "what": p.what, "other": p.other, "missing": p.missing} for p in self.problems]
        return {
            "file": file, "answer": self.answer, "events": self.events, "problems": told, "count": self.count,
            "why": self.why, "line": self.line,
        }  # fmt: skip


def check_file(path: Path) -> Answer:
    """Check a file.  Raises OSError where it cannot be read."""
    with path.open(encoding="utf-8", errors="strict") as lines:
        try:
            return check_lines(lines)
        except UnicodeDecodeError as error:
            return Answer("malformed", why=f"bytes that are no UTF-8 text: {error.reason}", line=0)


def check_lines(lines: Iterable[str]) -> Answer:
    """Check the lines of a trace."""
    number, checker = 0, None
    try:
        for number, text in enumerate(lines, 1):
            if not text.endswith("\n"):
                raise Malformed("the last line has no end, so it may be cut off; end it with a newline")
            if checker is None:
                checker = Checker(head(text))
            else:
                checker.feed(event(text, checker.number), number)
        if checker is None:
            raise Malformed("the file is empty; a trace begins with a line about its agents and platform")
        number = 0
        return checker.finish()
    except Malformed as error:
        return Answer("malformed", checker.events if checker else 0, why=str(error), line=number)
    except Held as error:
        return Answer("malformed", checker.events if checker else 0, why=str(error), line=error.line)


class Held(Exception):
    """A contradiction of an event that was held back, with its line."""

    def __init__(self, text: str, line: int) -> None:
        super().__init__(text)
        self.line = line


class Checker:
    """One trace, event by event."""

    def __init__(self, first: Event) -> None:
        names = first["agents"]
        self.names: list[str] = names
        self.number = {name: i for i, name in enumerate(names)}
        self.missing = [name for name in names if name not in first["complete"]]
        platform = first["platform"]
        self.monitor = Monitor(
            names, platform["cached"], platform["write_back"] == "line", platform["invalidate"] != "write_back"
        )
        self.events = 0
        self.problems: list[Problem] = []
        self.count = 0
        self.queues: list[deque[tuple[Event, int]]] = [deque() for _ in names]
        self.next = [0] * len(names)
        self.dead: set[int] = set()
        self.regions: dict[tuple[int, int], Region] = {}
        self.freed: set[tuple[int, int]] = set()
        self.sent: dict[tuple[int, int, int], int] = defaultdict(int)
        self.taken: dict[tuple[int, int, int], int] = defaultdict(int)
        self.said: dict[tuple[int, int, int], deque[Clock]] = defaultdict(deque)
        self.epochs: dict[tuple[str, int], tuple[set[int], Clock, set[int]]] = {}
        self.members: dict[str, tuple[str, ...]] = {}
        self.inside: dict[tuple[str, int], int] = {}
        self.left: dict[tuple[str, int], int] = defaultdict(int)
        self.words: dict[tuple[tuple[int, int], int], Clock] = {}

    # -- streams -------------------------------------------------------------------------------------------

    def feed(self, found: Event, line: int) -> None:
        """The next line.  Raises `Malformed` where it contradicts what was said."""
        agent = self.number[found["agent"]]
        if found["n"] != self.next[agent]:
            raise Malformed(
                f"event {found['n']} of {found['agent']} comes where {self.next[agent]} should; each agent counts its "
                "own events from 0, and none may be left out"
            )
        if agent in self.dead:
            raise Malformed(f"{found['agent']} has died before this event")
        if found["action"] == "die":
            self.dead.add(agent)
        self.next[agent] += 1
        self.queues[agent].append((found, line))
        if len(self.queues[agent]) == 1 and self._advance(agent):
            self._go_on()

    def _advance(self, agent: int) -> bool:
        """Take what the agent can take now; whether it took anything that others may wait for."""
        queue, told = self.queues[agent], False
        while queue:
            found, line = queue[0]
            if "error" not in found:
                try:
                    ready = self._ready(agent, found)
                    if ready:
                        self._take(agent, found)
                except Malformed as error:
                    raise Held(str(error), line) from None
                if not ready:
                    return told
                told = told or found["action"] in _TELLING
            queue.popleft()
            self.events += 1
        return told

    def _go_on(self) -> None:
        told = True
        while told:
            told = False
            for agent, queue in enumerate(self.queues):
                if queue:
                    told = self._advance(agent) or told

    def settle(self) -> None:
        """Nobody else will leave what the atomics that are held back have found: they are judged as they are."""
        while True:
            held = [a for a, queue in enumerate(self.queues) if queue and self._atomic_at_odds(queue[0][0])]
            if not held:
                return
            found, line = self.queues[held[0]].popleft()
            try:
                self._take(held[0], found)
            except Malformed as error:
                raise Held(str(error), line) from None
            self.events += 1
            self._advance(held[0])
            self._go_on()

    def _atomic_at_odds(self, found: Event) -> bool:
        return found["action"] in _ATOMICS and tuple(found["region"]) in self.regions

    def finish(self) -> Answer:
        """The answer, after the last line."""
        self.settle()
        stuck = [queue[0] for queue in self.queues if queue]
        if stuck and not self.missing:
            found, line = stuck[0]
            raise Held(f"{described(found)} {self._lacks(found)}", line)
        count, problems = self.count, self.problems
        if self.missing:
            why = f"the events of {', '.join(self.missing)} are not all here, so nothing is certain"
            why += f"; {count} accesses are not covered by what is here" if count else ""
            return Answer("unknown", self.events, problems, count, why)
        kinds = {problem.kind for problem in problems}
        answer = "violation" if "violation" in kinds else "race" if kinds else "clean"
        return Answer(answer, self.events, problems, count)

    def _lacks(self, found: Event) -> str:
        match found["action"]:
            case "wait" | "poll":
                return "has taken more notifications than were ever sent"
            case "leave":
                return "has left a barrier in which not all members have arrived"
        return "names a region that nobody has allocated"

    # -- edges ---------------------------------------------------------------------------------------------

    def _ready(self, agent: int, found: Event) -> bool:
        """Whether everything has come that this event follows."""
        for key in ("region", "target"):
            if key in found and found["action"] != "alloc" and tuple(found[key]) not in self.regions:
                return found["action"] in ("free", "unmap") and tuple(found[key]) in self.freed
        match found["action"]:
            case "wait" | "poll":
                upto = found.get("upto", {})
                return all(self.sent[self._slot(name, agent, found)] >= count for name, count in self._counts(upto))
            case "leave":
                if (found["team"], agent) not in self.inside:
                    raise Malformed(f"{found['agent']} leaves {found['team']} without having arrived")
                members = self.members[found["team"]]
                arrived = self.epochs.get((found["team"], found["epoch"]), (set(), [], set()))[0]
                return all(self.number[name] in arrived for name in members)
            case "atomic_add" | "atomic_swap" | "compare_swap":
                return self._found(found)
        return True

    def _counts(self, upto: Any) -> Iterable[tuple[str, int]]:
        for name, count in upto.items():
            if name not in self.number or type(count) is not int:
                raise Malformed("`upto` must give a number for each sender by its name")
            yield name, count

    def _slot(self, sender: str, receiver: int, found: Event) -> tuple[int, int, int]:
        return self.number[sender], receiver, found["slot"]

    def _found(self, found: Event) -> bool:
        """Whether the atomic's word holds what it found (or may hold anything)."""
        region = self.regions[tuple(found["region"])]
        self._inside(found, region, "range")
        now = self.monitor.agrees(region, found["range"][0], WORD)
        return now is None or int.from_bytes(now, "little") == found["value"]

    # -- events --------------------------------------------------------------------------------------------

    def _take(self, agent: int, found: Event) -> None:
        getattr(self, f"_on_{found['action']}", self._on_other)(agent, found)

    def _on_other(self, agent: int, found: Event) -> None:
        self.monitor.tick(agent)

    def _on_die(self, agent: int, found: Event) -> None:
        self.monitor.die(agent)

    def _tell(self, problem: Problem | None) -> None:
        if problem is not None:
            self.count += 1
            if len(self.problems) < MOST or (problem.kind == "violation" and self.problems[-1].kind == "race"):
                del self.problems[MOST - 1 :]
                self.problems.append(problem)

    def _inside(self, found: Event, region: Region, key: str) -> tuple[int, int]:
        offset, length = found[key]
        if offset + length > region.size:
            raise Malformed(f"{described(found)} goes past the end of its region, which has {region.size} bytes")
        return offset, length

    def _place(self, found: Event, where: str = "region", key: str = "range") -> tuple[Region, int, int]:
        region = self.regions[tuple(found[where])]
        return region, *self._inside(found, region, key)

    def _on_alloc(self, agent: int, found: Event) -> None:
        handle = tuple(found["region"])
        if handle in self.regions or handle in self.freed:
            raise Malformed(f"{described(found)}: that number and generation were given out before")
        self.monitor.tick(agent)
        self.regions[handle] = Region(found["range"][1], len(self.names), place(found))

    def _on_free(self, agent: int, found: Event) -> None:
        handle = tuple(found["region"])
        if handle in self.freed:
            raise Malformed(f"{described(found)}: it was freed before")
        self.freed.add(handle)
        self.monitor.tick(agent)
        del self.regions[handle]
        self.words = {key: clock for key, clock in self.words.items() if key[0] != handle}

    def _on_read(self, agent: int, found: Event) -> None:
        region, offset, length = self._place(found)
        problem = self.monitor.read(agent, region, offset, length, described(found), place(found))
        if problem is None and length:
            expected = self.monitor.agrees(region, offset, length)
            if expected is not None and not _same(found["value"], expected):
                write = region.words[offset // WORD]
                other = f"last written by {self.monitor._name(write.writer)} at {write.where}"
                missing = f"it read {_short(found['value'])} and not the last write, {_short(expected.hex())}"
                problem = Problem("violation", described(found), other, missing)
        self._tell(problem)

    def _on_write(self, agent: int, found: Event) -> None:
        region, offset, length = self._place(found)
        data = _bytes(found["value"], length)
        self._tell(self.monitor.write(agent, region, offset, length, data, described(found), place(found)))

    def _on_flush(self, agent: int, found: Event) -> None:
        region, offset, length = self._place(found)
        self.monitor.flush(agent, region, offset, length, bool(found.get("drop")))

    def _on_invalidate(self, agent: int, found: Event) -> None:
        region, offset, length = self._place(found)
        self._tell(self.monitor.invalidate(agent, region, offset, length, described(found)))

    def _on_fence(self, agent: int, found: Event) -> None:
        self.monitor.fence(agent)

    def _on_send(self, agent: int, found: Event) -> None:
        if found["to"] not in self.number:
            raise Malformed(f"{described(found)}: the receiver {found['to']!r} is none of the agents")
        slot = agent, self.number[found["to"]], found["slot"]
        if found["count"] != self.sent[slot] + 1:
            raise Malformed(f"{described(found)}: count {found['count']} follows {self.sent[slot]}; it goes up by one")
        self.sent[slot] += 1
        self.said[slot].append(self.monitor.tell(agent))

    def _on_wait(self, agent: int, found: Event) -> None:
        self.monitor.tick(agent)
        fresh = 0
        for name, count in self._counts(found.get("upto", {})):
            slot = self._slot(name, agent, found)
            if count < self.taken[slot]:
                raise Malformed(f"{described(found)}: it took {self.taken[slot]} notifications of {name} before")
            for _ in range(count - self.taken[slot]):
                self.monitor.learn(agent, self.said[slot].popleft())
                fresh += 1
            self.taken[slot] = count
        if not fresh and (found["action"] == "wait" or found.get("got")):
            raise Malformed(f"{described(found)}: it took a notification, but `upto` counts none")

    _on_poll = _on_wait

    def _on_arrive(self, agent: int, found: Event) -> None:
        team, epoch, members = found["team"], found["epoch"], tuple(found["members"])
        if self.members.setdefault(team, members) != members:
            raise Malformed(f"{described(found)}: the team {team} had other members before")
        if found["agent"] not in members or not set(members) <= set(self.number):
            raise Malformed(f"{described(found)}: the members must be agents, {found['agent']} among them")
        if (team, agent) in self.inside:
            raise Malformed(f"{described(found)}: it is inside of {team} and has to leave first")
        if epoch != self.left[team, agent] + 1:
            raise Malformed(f"{described(found)}: epoch {epoch} follows {self.left[team, agent]}; it goes up by one")
        self.inside[team, agent] = epoch
        arrived, clock, _ = self.epochs.setdefault((team, epoch), (set(), [0] * 2 * len(self.names), set()))
        arrived.add(agent)
        for i, time in enumerate(self.monitor.tell(agent)):
            clock[i] = max(clock[i], time)

    def _on_leave(self, agent: int, found: Event) -> None:
        team, epoch = found["team"], found["epoch"]
        if self.inside.pop((team, agent)) != epoch:
            raise Malformed(f"{described(found)}: it arrived in another epoch")
        self.left[team, agent] = epoch
        self.monitor.tick(agent)
        arrived, clock, gone = self.epochs[team, epoch]
        self.monitor.learn(agent, clock)
        gone.add(agent)
        if gone == arrived:
            del self.epochs[team, epoch]

    def _on_atomic_add(self, agent: int, found: Event) -> None:
        self._atomic(agent, found, (found["value"] + found["operand"]) % 2**64)

    def _on_atomic_swap(self, agent: int, found: Event) -> None:
        self._atomic(agent, found, found["operand"])

    def _on_compare_swap(self, agent: int, found: Event) -> None:
        self._atomic(agent, found, found["operand"] if found["value"] == found["old"] else found["value"])

    def _atomic(self, agent: int, found: Event, after: int) -> None:
        region, offset, _ = self._place(found)
        if offset % WORD:
            raise Malformed(f"{described(found)}: an atomic has an offset that is a multiple of {WORD}")
        key = tuple(found["region"]), offset // WORD
        now = self.monitor.agrees(region, offset, WORD)
        data = (after % 2**64).to_bytes(WORD, "little")
        problem, clock = self.monitor.atomic(
            agent, region, offset, data, self.words.get(key), described(found), place(found)
        )
        self.words[key] = clock
        if problem is None and now is not None and int.from_bytes(now, "little") != found["value"]:
            missing = f"it found {found['value']} and not the last write, {int.from_bytes(now, 'little')}"
            problem = Problem("violation", described(found), "", missing)
        self._tell(problem)

    def _on_copy_start(self, agent: int, found: Event) -> None:
        source, offset, length = self._place(found)
        target, at, _ = self._place(found, "target", "target_range")
        self._tell(self.monitor.copy_start(agent, source, offset, target, at, length, described(found), place(found)))

    def _on_copy_wait(self, agent: int, found: Event) -> None:
        self.monitor.copy_wait(agent)


_ATOMICS = ("atomic_add", "atomic_swap", "compare_swap")
_TELLING = {"alloc", "send", "arrive", "atomic_add", "atomic_swap", "compare_swap", "write"}
"""Actions after which another agent's stream may go on."""


def _bytes(value: str, length: int) -> bytes | None:
    """The bytes of a value; None of a digest.  Raises `Malformed`."""
    if value.startswith("sha256:"):
        return None
    try:
        data = bytes.fromhex(value)
    except ValueError:
        raise Malformed("`value` must be bytes in hexadecimal, or sha256: and a digest") from None
    if len(data) != length:
        raise Malformed(f"`value` has {len(data)} bytes and `range` {length}; they must agree")
    return data


def _same(value: str, expected: bytes) -> bool:
    if value.startswith("sha256:"):
        return value == f"sha256:{hashlib.sha256(expected).hexdigest()}"
    return _bytes(value, len(expected)) == expected


def _short(value: str) -> str:
    return value if len(value) <= 32 else f"{value[:32]}..."


__all__ = ["CODES", "LINE", "Answer", "Checker", "check_file", "check_lines"]
