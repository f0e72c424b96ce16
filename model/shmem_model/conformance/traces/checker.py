"""Check a trace: its lines are read, its events are fed to `streams`, and what is found is told in words.

Order between agents comes from edges only: a wait after the sends that it took (`upto`), a leave after the arrivals
of its epoch, an access after the alloc of its handle, an atomic after the one that left what it found.  So the lines
of a file may stand in any order that keeps each agent's own, and what is kept in memory is what is held back and what
has been sent and not taken.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import numpy as np

from shmem_model.conformance.traces import compiled, streams
from shmem_model.conformance.traces import custody as c
from shmem_model.conformance.traces import streams as st
from shmem_model.conformance.traces import tables as t
from shmem_model.conformance.traces.answer import CODES, Answer, Problem, missing, short
from shmem_model.conformance.traces.columns import Columns
from shmem_model.conformance.traces.events import Event, Malformed, described, event, head, place
from shmem_model.conformance.traces.state import Memory

MOST = 20
"""So many problems are told of one trace; all are counted."""
LONG, VERY_LONG = 4 << 20, 256 << 20
"""Traces of so many bytes are worth the compiled text where it has been compiled before, or even if it has not."""
_AT_ONCE = 4096
_OPEN_END = "the last line has no end, so it may be cut off; end it with a newline"
_EMPTY = "the file is empty; a trace begins with a line about its agents and platform"


class Held(Exception):
    """A contradiction of an event that was held back, with its line."""

    def __init__(self, text: str, line: int) -> None:
        super().__init__(text)
        self.line = line


def check_file(path: Path, *, fast: bool | None = None) -> Answer:
    """Check a file.  `fast`: by the compiled text (default: where numba is installed and the file is long enough).

    Raises OSError where it cannot be read.
    """
    with path.open("rb") as file:
        begin = file.read(LONG)
        if fast is None:
            very_long = path.stat().st_size >= VERY_LONG and compiled.available()
            fast = len(begin) == LONG and (very_long or compiled.ready())
        return _check_bytes(begin, file) if fast else check_lines(_decoded(begin, file))


def _chunks(begin: bytes, file: IO[bytes]) -> Iterable[bytes]:
    """Whole lines, many at once; the last may have no end."""
    rest = b""
    while begin:
        end = begin.rfind(b"\n") + 1
        if end:
            yield rest + begin[:end]
            rest = begin[end:]
        else:
            rest += begin
        begin = file.read(compiled.CHUNK)
    if rest:
        yield rest


def _decoded(begin: bytes, file: IO[bytes]) -> Iterable[str]:
    for chunk in _chunks(begin, file):
        for line in chunk.splitlines(keepends=True) if b"\r" not in chunk else _lines(chunk):
            yield line.decode("utf-8", "strict")


def _lines(chunk: bytes) -> list[bytes]:
    parts = chunk.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def check_lines(lines: Iterable[str]) -> Answer:
    """Check the lines of a trace."""
    number, checker = 0, None
    try:
        for number, text in enumerate(lines, 1):
            if not text.endswith("\n"):
                raise Malformed(_OPEN_END)
            if checker is None:
                checker = Checker(head(text))
            else:
                checker.add(event(text, checker.number), number)
        return _finish(checker)
    except UnicodeDecodeError as error:
        return _malformed(error, checker, number + 1)
    except (Malformed, Held) as error:
        return _malformed(error, checker, number)


def _check_bytes(begin: bytes, file: IO[bytes]) -> Answer:
    number, checker, scanner = 0, None, None
    try:
        for data in _chunks(begin, file):
            if not data.endswith(b"\n"):
                data, tail = data[: data.rfind(b"\n") + 1], True
            else:
                tail = False
            if checker is None and data:
                end = data.index(b"\n") + 1
                number = 1
                checker = Checker(head(data[:end].decode("utf-8", "strict")), arrays=True)
                scanner = compiled.Scanner(checker.columns)
                data = data[end:]
            if scanner is not None and checker is not None:
                scanner.load(data, number)
                while True:
                    odd = scanner.scan()
                    number = scanner.line
                    if odd is None:
                        break
                    checker.columns.add(event(odd, checker.number), number)
                checker.run()
            if tail:
                number += 1
                raise Malformed(_OPEN_END)
        return _finish(checker)
    except UnicodeDecodeError as error:
        return _malformed(error, checker, 1 if scanner is None else scanner.line)
    except (Malformed, Held) as error:
        return _malformed(error, checker, number)


def _finish(checker: Checker | None) -> Answer:
    if checker is None:
        return Answer("malformed", why=_EMPTY)
    answer = checker.finish()
    if not answer.events:
        return Answer("malformed", why="no event follows the first line, so nothing was recorded", line=1)
    return answer


def _malformed(error: Exception, checker: Checker | None, line: int) -> Answer:
    why, events = str(error), checker.events if checker else 0
    if isinstance(error, UnicodeDecodeError):
        why = f"bytes that are no UTF-8 text: {error.reason}"
    elif isinstance(error, Held):
        line = error.line
    elif checker is not None:
        # What came before this line may contradict itself earlier.
        try:
            checker.run()
            events = checker.events
        except Held as held:
            why, line, events = str(held), held.line, checker.events
    return Answer("malformed", events, why=why, line=line)


class Checker:
    """One trace: events are added, and taken when they are run."""

    def __init__(self, first: Event, *, arrays: bool = False) -> None:
        names = first["agents"]
        self.names: list[str] = names
        self.number = {name: i for i, name in enumerate(names)}
        self.missing = [name for name in names if name not in first["complete"]]
        self.memory = Memory(first, arrays)
        self.columns = Columns(self.number, arrays)
        self.code: ModuleType = compiled.code() if arrays else streams
        self.told: Any = np.zeros(st.TOLD, "i8") if arrays else [0] * st.TOLD
        self.problems: list[Problem] = []
        self._told = 0

    @property
    def events(self) -> int:
        """How many events have been taken."""
        return int(self.memory.state.ctl[t.EVENTS])

    @property
    def count(self) -> int:
        """How many problems were found; `problems` holds the first of them."""
        return self._told + max(0, int(self.memory.state.ctl[t.QUIET]) - 1)

    # -- events --------------------------------------------------------------------------------------------

    def feed(self, found: Event, line: int) -> None:
        """The next event, taken at once if it can be.  Raises `Held` where it contradicts what was said."""
        self.columns.add(found, line)
        self.run()

    def add(self, found: Event, line: int) -> None:
        """The next event, taken with the others that come soon."""
        self.columns.add(found, line)
        if self.columns.count - self.columns.at >= _AT_ONCE:
            self.run()

    def run(self) -> None:
        """Take what was added.  Raises `Held` where it contradicts itself."""
        columns = self.columns
        while True:
            self.memory.teams(len(columns.teams.known))
            at, stopped = self.code.run(
                self.memory.state, columns.ev, columns.extra, columns.values, self.told, columns.at, columns.count
            )
            columns.at = int(at)
            if not stopped:
                break
            self._look(int(stopped))
        self._pack()

    def settle(self) -> None:
        """Nobody else will leave what the atomics that are held back have found: they are judged as they are."""
        columns = self.columns
        while True:
            stopped = self.code.settle_atomics(self.memory.state, columns.ev, columns.extra, columns.values, self.told)
            if not stopped:
                return
            self._look(int(stopped))
            self.run()

    def _pack(self) -> None:
        """Forget the events that were taken, if they are many."""
        columns, state = self.columns, self.memory.state
        if not state.ctl[t.HELD]:
            columns.count = columns.at = columns.extras = columns.bytes = 0
            if not columns.arrays:
                columns.ev.clear(), columns.extra.clear(), columns.values.clear()
        elif columns.count > 2 * self._packed + _AT_ONCE:
            used = [0, 0] if not columns.arrays else np.zeros(2, "i8")
            kept = self.code.pack(state, columns.ev, columns.extra, columns.values, columns.count, used)
            columns.count = columns.at = self._packed = int(kept)
            columns.extras, columns.bytes = int(used[0]), int(used[1])
            if not columns.arrays:
                del columns.ev[columns.count * st.EVENT_STRIDE :]
                del columns.extra[columns.extras :], columns.values[columns.bytes :]

    _packed = 0

    # -- what is found -------------------------------------------------------------------------------------

    def _look(self, stopped: int) -> None:
        """The check has stopped at an event: make room, tell a problem, or raise `Held`."""
        number, ctl = int(self.told[st.EVENT]), self.memory.state.ctl
        if stopped == st.ROOM:
            self.memory.make_room(int(self.told[st.NEED_WORDS]), int(self.told[st.NEED_LINES]))
            self.told[st.NEED_WORDS] = self.told[st.NEED_LINES] = 0
            return
        if stopped >= st.MALFORMED:
            found = self.columns.event(number)
            line = int(self.columns.ev[number * st.EVENT_STRIDE + st.AT_LINE])
            raise Held(self._contradiction(stopped, found), line)
        if stopped == st.DIGEST:
            ctl[t.HANDLED_TELLS] = 0
            problem = self._digest(number)
        else:
            problem = self._problem(number)
        ctl[t.HANDLED] = number
        if problem is not None:
            self._tell(problem)

    def _tell(self, problem: Problem) -> None:
        self._told += 1
        if len(self.problems) < MOST or (problem.kind == "violation" and self.problems[-1].kind == "race"):
            del self.problems[MOST - 1 :]
            self.problems.append(problem)
        if len(self.problems) == MOST and not self.memory.state.ctl[t.QUIET]:
            self.memory.state.ctl[t.QUIET] = 1

    def _at(self, number: int, field: int) -> int:
        return int(self.columns.ev[number * st.EVENT_STRIDE + field])

    def _memory(self, number: int) -> bytes:
        """What the memory of an event's range holds."""
        state = self.memory.state
        region = t.live(state, self._at(number, st.NUMBER), self._at(number, st.GENERATION))
        at = int(c.base_of(state, region)) * t.WORD + self._at(number, st.OFFSET)
        return bytes(state.data[at : at + self._at(number, st.LENGTH)])

    def _digest(self, number: int) -> Problem | None:
        """Compare a read of which only the digest is told with the last write."""
        value, expected = self.columns.value(number), self._memory(number)
        if hashlib.sha256(expected).digest() == value:
            return None
        state = self.memory.state
        region = t.live(state, self._at(number, st.NUMBER), self._at(number, st.GENERATION))
        word = int(c.base_of(state, region)) + self._at(number, st.OFFSET) // t.WORD
        row = int(state.word[word]) * self.memory.row_stride
        self.told[c.CAUSE] = c.OTHER_VALUE
        self.told[c.OTHER], self.told[c.OTHER_PLACE] = state.row[row + t.WRITER], state.row[row + t.PLACE]
        return self._problem(number)

    def _problem(self, number: int) -> Problem:
        """The broken rule in words."""
        cause, other, where = (int(self.told[k]) for k in (c.CAUSE, c.OTHER, c.OTHER_PLACE))
        found = self.columns.event(number)
        if cause == c.NOT_FOUND:
            text = f"it found no notification, although it knew of one of {self._name(other)}"
            return Problem("violation", described(found), "", text)
        what, side, by = described(found), self._name(other), self._place(other, where)
        match cause:
            case c.UNREAD:
                return Problem("race", what, f"read by {side} at {by}", missing(cause, found["agent"], side))
            case c.LOST:
                return Problem("race", what, f"written at {by}", missing(cause, found["agent"], side))
            case c.OTHER_VALUE:
                told = self.columns.value(number).hex()
                read = short(f"sha256:{told}" if self._at(number, st.FORM) == st.DIGEST_HERE else told)
                text = f"it read {read} and not the last write, {short(self._memory(number).hex())}"
                return Problem("violation", what, f"last written by {side} at {by}" if by else "", text)
            case c.FOUND:
                value, last = (n % 2**64 for n in (self._at(number, st.VALUE), int(self.told[c.MORE])))
                return Problem("violation", what, "", f"it found {value} and not the last write, {last}")
        return Problem("race", what, f"last written by {side} at {by}", missing(cause, found["agent"], side))

    def _name(self, agent: int) -> str:
        if agent == t.NOBODY:
            return "nobody"
        count = len(self.names)
        return self.names[agent] if agent < count else f"the copy engine of {self.names[agent - count]}"

    def _place(self, agent: int, where: int) -> str:
        if where >= 0 and agent != t.NOBODY:
            return self.columns.place(where)
        return "" if agent == t.NOBODY else f"event {-1 - where} of {self.names[agent % len(self.names)]}"

    def _contradiction(self, kind: int, found: Event) -> str:
        """Why an event cannot be, in words."""
        argument, told = int(self.told[st.ARGUMENT]), self._at(int(self.told[st.EVENT]), st.COUNT)
        what, agent = described(found), found["agent"]
        match kind:
            case st.OUT_OF_COUNT:
                return (
                    f"event {found['n']} of {agent} comes where {argument} should; each agent counts its own events "
                    "from 0, and none may be left out"
                )
            case st.AFTER_DEATH:
                return f"{agent} has died before this event"
            case st.PAST_END:
                return f"{what} goes past the end of its region, which has {self._size(found)} bytes"
            case st.SENT_COUNT:
                return f"{what}: count {told} follows {argument}; it goes up by one"
            case st.TOOK_BEFORE:
                other = self._name(int(self.told[c.OTHER]))
                return f"{what}: it took {argument} notifications of {other} before"
            case st.TOOK_MANY:
                return f"{what}: it took {argument} notifications at once; a counting slot gives one for each wait"
            case st.EPOCH_COUNT:
                return f"{what}: epoch {told} follows {argument}; it goes up by one"
        return f"{what}: {_CONTRADICTIONS[kind]}"

    def _size(self, found: Event) -> int:
        state = self.memory.state
        region = t.live(state, *found["region"])
        return int(state.region[region * t.REGION_STRIDE + t.BYTES])

    # -- the end -------------------------------------------------------------------------------------------

    def finish(self) -> Answer:
        """The answer, after the last event.  Raises `Held` for an event whose edge never came."""
        self.run()
        self.settle()
        heads = [int(self.memory.state.agent[a * t.AGENT_STRIDE + t.HEAD]) for a in range(len(self.names))]
        stuck = [number for number in heads if number != -1]
        cut = sorted(self.columns.cut) if stuck else []
        if stuck and not self.missing and not cut:
            found = self.columns.event(stuck[0])
            lacks = _LACKS.get(found["action"], "names a region that nobody has allocated")
            raise Held(f"{described(found)} {lacks}", self._at(stuck[0], st.AT_LINE))
        count, problems = self.count, self.problems
        if cut and not self.missing:
            why = f"{', '.join(cut)} was killed, and its last event may not be here; {len(stuck)} agents wait for it"
            return Answer("unknown", self.events, problems, count, why)
        if self.missing:
            why = f"the events of {', '.join(self.missing)} are not all here, so nothing is certain"
            why += f"; {count} accesses are not covered by what is here" if count else ""
            return Answer("unknown", self.events, problems, count, why)
        kinds = {problem.kind for problem in problems}
        answer = "violation" if "violation" in kinds else "race" if kinds else "clean"
        return Answer(answer, self.events, problems, count)


_LACKS = {
    "wait": "has taken more notifications than were ever sent",
    "poll": "has taken more notifications than were ever sent",
    "leave": "has left a barrier in which not all members have arrived",
}
_CONTRADICTIONS = {
    st.FREED_BEFORE: "it was freed before",
    st.GIVEN_BEFORE: "that number and generation were given out before",
    st.NOT_ARRIVED: "it leaves without having arrived",
    st.OTHER_EPOCH: "it arrived in another epoch",
    st.TOOK_NONE: "it took a notification, but `upto` counts none",
    st.SAYS_NONE: "it found no notification, but `upto` counts one more",
    st.OTHER_MEMBERS: "the team had other members before",
    st.STILL_INSIDE: "it is inside of the team and has to leave first",
    st.UNALIGNED: f"an atomic has an offset that is a multiple of {t.WORD}",
}

__all__ = ["CODES", "Answer", "Checker", "check_file", "check_lines", "place"]
