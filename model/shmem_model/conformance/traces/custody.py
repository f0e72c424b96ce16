"""The custody monitor of a trace: the rules of `machine/custody.py`, with vector clocks instead of relations.

The machine keeps, for every agent and word, whether the agent knows the last write (`pub`), sees it (`cur`), and knows
that others have read (`over`).  All three are questions of time here.  Each agent counts its events and has a clock:
how far it knows every other agent.  The last write of a word remembers when it was *published* (its writer's first
fence after the flush), so `pub(a, w)` is *a's clock has reached that time*; `cur(a, w)` is that question asked of a's
clock at its last invalidate of the line; `over(a, r, w)` is *a's clock has reached r's last read of the word*.
Messages, epochs and atomic words carry clocks.  The cost of an event does not depend on how long the trace is or how
much memory there is.  That this is the same custody is tested step by step against the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

LINE, WORD = 64, 8
WORDS = LINE // WORD
NOBODY = -1
Clock = list[int]


class Write:
    """The last write of some words: by whom and when, and what has become of it."""

    __slots__ = ("atomic", "known", "pending", "publish", "readers", "size", "time", "unflushed", "where", "writer")

    def __init__(self, writer: int, time: int, where: str, size: int) -> None:
        self.writer, self.time, self.where, self.size = writer, time, where, size
        self.unflushed = False
        self.publish = 0 if writer == NOBODY else None
        self.atomic = self.pending = False
        """`pending`: the writer's next fence publishes it."""
        self.known = True
        """Whether the words hold what the trace says; not after a race, until they are written again."""
        self.readers: dict[int, tuple[int, str]] = {}

    def part(self, size: int) -> Write:
        """The same write, of some of its words only."""
        other = Write(self.writer, self.time, self.where, size)
        other.unflushed, other.publish, other.atomic = self.unflushed, self.publish, self.atomic
        other.known, other.pending, other.readers = self.known, self.pending, dict(self.readers)
        self.size -= size
        return other


class Region:
    """The words of a region, and each agent's last invalidate of its lines."""

    def __init__(self, size: int, agents: int, where: str) -> None:
        self.size = size
        count = -(-size // LINE) * WORDS
        self.words: list[Write] = [Write(NOBODY, 0, where, count)] * count
        self.data = bytearray(count * WORD)
        self.dropped: list[list[Sequence[int] | None]] = [[None] * (count // WORDS) for _ in range(agents)]


@dataclass(frozen=True)
class Problem:
    """A broken rule (`race`), or a read of something else although none was broken (`violation`)."""

    kind: str
    what: str
    other: str
    missing: str

    def __str__(self) -> str:
        return f"{self.what}: {self.missing}" + (f" ({self.other})" if self.other else "")


class Monitor:
    """Custody of every word of every region, event by event."""

    def __init__(self, agents: Sequence[str], cached: Iterable[str], whole_lines: bool, may_discard: bool) -> None:
        self.agents = list(agents)
        wanted = set(cached)
        self.cached = [name in wanted for name in agents]
        self.whole_lines, self.may_discard = whole_lines, may_discard
        # Behind the agents stand their copy engines, each with a place in every clock.
        self.clocks: list[Clock] = [[0] * (2 * len(agents)) for _ in agents]
        self.settled: list[list[Write]] = [[] for _ in agents]
        """Writes that the agent's next fence publishes."""
        self.dead: set[int] = set()
        self.copies: list[int] = [0] * len(agents)

    def die(self, agent: int) -> None:
        """What the agent never published is taken back by the driver: it may hold anything, and all may know it."""
        self.tick(agent)
        self.dead.add(agent)

    def tick(self, agent: int) -> int:
        """A new event of the agent; its time."""
        clock = self.clocks[agent]
        clock[agent] += 1
        return clock[agent]

    # -- questions -----------------------------------------------------------------------------------------

    def _published(self, clock: Sequence[int] | None, write: Write) -> bool:
        """Whether who has this clock knows that the write is in memory."""
        if write.writer == NOBODY or (write.publish is None and write.writer in self.dead):
            return True
        return clock is not None and write.publish is not None and clock[write.writer] >= write.publish

    def _entitled(self, agent: int, write: Write, dropped: Sequence[int] | None) -> bool:
        if write.writer == NOBODY or (write.writer == agent and not write.atomic):
            return True
        return self._published(self.clocks[agent] if not self.cached[agent] else dropped, write)

    def _missing(self, agent: int, write: Write) -> str:
        """Which step is missing between the last write and this access."""
        writer = self._name(write.writer)
        if write.unflushed:
            return f"{writer} has not flushed what it wrote"
        if write.publish is None:
            return f"{writer} has not fenced since"
        if self.clocks[agent][write.writer] < write.publish:
            return f"{self.agents[agent]} was not told since: no notification or barrier after {writer}'s fence"
        return f"{self.agents[agent]} was told, but has not invalidated the line since"

    def _name(self, agent: int) -> str:
        if agent == NOBODY:
            return "nobody"
        count = len(self.agents)
        return self.agents[agent] if agent < count else f"the copy engine of {self.agents[agent - count]}"

    def _unread(self, agent: int, write: Write) -> tuple[int, str] | None:
        """A reader of whom the agent does not know that it has finished."""
        clock = self.clocks[agent]
        for reader, (time, where) in write.readers.items():
            if reader != agent and clock[reader] < time:
                return reader, where
        return None

    def _may_write(self, what: str, agent: int, write: Write, entitled: bool) -> Problem | None:
        if not entitled:
            other = f"last written by {self._name(write.writer)} at {write.where}"
            return Problem("race", what, other, self._missing(agent, write))
        found = self._unread(agent, write)
        if found is None:
            return None
        reader = self._name(found[0])
        missing = f"{self.agents[agent]} does not know that {reader} has finished reading"
        return Problem("race", what, f"read by {reader} at {found[1]}", missing)

    # -- words ---------------------------------------------------------------------------------------------

    def _pieces(self, region: Region, first: int, last: int) -> Iterator[tuple[Write, int, int]]:
        """The writes of these words, each split so that it is of these words alone."""
        words, at = region.words, first
        while at < last:
            write, end = words[at], at + 1
            while end < last and words[end] is write:
                end += 1
            if write.size > end - at:
                write = write.part(end - at)
                words[at:end] = [write] * (end - at)
                if write.pending:
                    self.settled[write.writer].append(write)
            yield write, at, end
            at = end

    def _by_line(self, pieces: Iterable[tuple[Write, int, int]], region: Region, agent: int) -> Iterator[
        tuple[Write, Sequence[int] | None]
    ]:  # fmt: skip
        """Each write with the agent's clock at its last invalidate, line by line where the lines differ."""
        dropped = region.dropped[agent]
        for write, first, last in pieces:
            if write.writer in (NOBODY, agent):
                yield write, None if not write.atomic else dropped[first // WORDS]
                continue
            seen: Sequence[int] | None = None
            for number, line in enumerate(range(first // WORDS, (last - 1) // WORDS + 1)):
                if number == 0 or dropped[line] is not seen:
                    seen = dropped[line]
                    yield write, seen

    # -- accesses ------------------------------------------------------------------------------------------

    def read(self, agent: int, region: Region, offset: int, length: int, what: str, where: str) -> Problem | None:
        """A read; the broken rule.  What was read is compared by `agrees`."""
        time = self.tick(agent)
        found: Problem | None = None
        pieces = list(self._pieces(region, offset // WORD, -(-(offset + length) // WORD)))
        for write, dropped in self._by_line(pieces, region, agent):
            if found is None and not self._entitled(agent, write, dropped):
                other = f"last written by {self._name(write.writer)} at {write.where}"
                found = Problem("race", what, other, self._missing(agent, write))
        for write, _, _ in pieces:
            write.readers[agent] = time, where
            if found is not None:
                write.known = False
        return found

    def agrees(self, region: Region, offset: int, length: int) -> bytes | None:
        """The last write of these bytes; None where a race has left them open."""
        for write in region.words[offset // WORD : -(-(offset + length) // WORD)]:
            if not write.known or (write.publish is None and write.writer in self.dead):
                return None
        return bytes(region.data[offset : offset + length])

    def write(
        self, agent: int, region: Region, offset: int, length: int, data: bytes | None, what: str, where: str
    ) -> Problem | None:
        """A write of these bytes (None: only their digest is known); the broken rule."""
        time = self.tick(agent)
        first, last = offset // WORD, -(-(offset + length) // WORD)
        low, high = first, last
        if self.whole_lines and self.cached[agent]:
            low, high = first // WORDS * WORDS, -(-last // WORDS) * WORDS
        found: Problem | None = None
        unknown: list[tuple[int, int]] = []
        pieces = list(self._pieces(region, low, high))
        for write, dropped in self._by_line(pieces, region, agent):
            if found is None:
                found = self._may_write(what, agent, write, self._entitled(agent, write, dropped))
        unknown = [(at, end) for write, at, end in pieces if not write.known]
        self._settle(region, agent, low, high, Write(agent, time, where, high - low))
        for at, end in unknown if found is None else ((low, high),):
            self._leave_open(region, at, end, (first, last) if found is None and data is not None else (0, 0))
        if data is None:
            self._leave_open(region, first, last, (0, 0))
        else:
            region.data[offset : offset + length] = data
        return found

    def _settle(self, region: Region, agent: int, low: int, high: int, write: Write) -> None:
        region.words[low:high] = [write] * (high - low)
        if self.cached[agent]:
            write.unflushed = True
        else:
            self._await_fence(agent, write)

    def _await_fence(self, agent: int, write: Write) -> None:
        write.pending = True
        self.settled[agent].append(write)

    def _leave_open(self, region: Region, low: int, high: int, but: tuple[int, int]) -> None:
        """The values of these words are not known (but of those in between)."""
        for at, end in ((low, min(high, max(low, but[0]))), (max(low, min(high, but[1])), high)):
            for write, _, _ in list(self._pieces(region, at, end)) if at < end else ():
                write.known = False

    # -- maintenance ---------------------------------------------------------------------------------------

    def flush(self, agent: int, region: Region, offset: int, length: int, drop: bool) -> None:
        """Lines of the range are on their way; `drop`: and out of the cache."""
        self.tick(agent)
        first, last = offset // LINE, -(-(offset + length) // LINE)
        self._flushed(agent, region, first, last)
        if drop:
            self._drop(agent, region, first, last)

    def _flushed(self, agent: int, region: Region, first: int, last: int) -> None:
        for write, _, _ in list(self._pieces(region, first * WORDS, last * WORDS)):
            if write.writer == agent and write.unflushed:
                write.unflushed = False
                self._await_fence(agent, write)

    def _drop(self, agent: int, region: Region, first: int, last: int) -> None:
        region.dropped[agent][first:last] = [tuple(self.clocks[agent])] * (last - first)

    def fence(self, agent: int) -> None:
        """What the agent has flushed is in memory, and it knows it."""
        time = self.tick(agent)
        for write in self.settled[agent]:
            if write.publish is None:
                write.publish = time
            write.pending = False
        self.settled[agent].clear()

    def invalidate(self, agent: int, region: Region, offset: int, length: int, what: str) -> Problem | None:
        """Lines of the range leave the cache; the broken rule, if unflushed words may be lost with them."""
        self.tick(agent)
        first, last = offset // LINE, -(-(offset + length) // LINE)
        found: Problem | None = None
        for write, _, _ in list(self._pieces(region, first * WORDS, last * WORDS)):
            if write.writer == agent and write.unflushed:
                if self.may_discard:
                    missing = f"{self.agents[agent]} has not flushed what it wrote"
                    found = found or Problem("race", what, f"written at {write.where}", missing)
                    write.known = False
                write.unflushed = False
                self._await_fence(agent, write)
        self._drop(agent, region, first, last)
        return found

    # -- edges ---------------------------------------------------------------------------------------------

    def tell(self, agent: int) -> Clock:
        """What a notification or an arrival says: the agent's clock."""
        self.tick(agent)
        return list(self.clocks[agent])

    def learn(self, agent: int, clock: Sequence[int]) -> None:
        """The agent receives what was said."""
        mine = self.clocks[agent]
        for i, time in enumerate(clock):
            if time > mine[i]:
                mine[i] = time

    def atomic(
        self, agent: int, region: Region, offset: int, data: bytes, said: Clock | None, what: str, where: str
    ) -> tuple[Problem | None, Clock]:
        """An atomic that leaves these bytes; the broken rule, and what now lies at the word."""
        first = offset // WORD
        ((write, _, _),) = list(self._pieces(region, first, first + 1))
        may = write.atomic or self._published(self.clocks[agent], write)
        found = self._may_write(what, agent, write, may)
        before = list(self.clocks[agent])
        time = self.tick(agent)
        if said is not None:
            self.learn(agent, said)
        new = Write(agent, time, where, 1)
        new.publish, new.atomic, new.known = time, True, found is None
        region.words[first] = new
        region.data[offset : offset + WORD] = data
        before[agent] = time
        return found, [max(a, b) for a, b in zip(before, said or before, strict=True)]

    def copy_start(
        self, agent: int, source: Region, offset: int, target: Region, at: int, length: int, what: str, where: str
    ) -> Problem | None:
        """A copy counts as a read and a write by the agent's engine when it is started, on the agent's knowledge."""
        self.tick(agent)
        engine = len(self.agents) + agent
        self.copies[agent] += 1
        time = self.copies[agent]
        found: Problem | None = None
        read = list(self._pieces(source, offset // WORD, -(-(offset + length) // WORD)))
        written = list(self._pieces(target, at // WORD, -(-(at + length) // WORD)))
        for pieces, writing in ((read, False), (written, True)):
            for write, _, _ in pieces:
                if found is None and not self._published(self.clocks[agent], write):
                    other = f"last written by {self._name(write.writer)} at {write.where}"
                    found = Problem("race", what, other, self._missing(agent, write))
                elif found is None and writing:
                    found = self._may_write(what, agent, write, True)
        known = found is None and all(write.known for write, _, _ in read)
        for write, _, _ in read:
            write.readers[engine] = time, where
        first, last = at // WORD, -(-(at + length) // WORD)
        new = Write(engine, time, where, last - first)
        new.publish, new.known = time, known
        target.words[first:last] = [new] * (last - first)
        target.data[at : at + length] = source.data[offset : offset + length]
        return found

    def copy_wait(self, agent: int) -> None:
        """The agent's copies have ended, and it knows it."""
        self.tick(agent)
        self.clocks[agent][len(self.agents) + agent] = self.copies[agent]
