"""The custody monitor of a trace: the rules of `machine/custody.py`, with vector clocks instead of relations.

The machine keeps, for every agent and word, whether the agent knows the last write (`pub`), sees it (`cur`), and knows
that others have read (`over`).  All three are questions of time here.  Each agent counts its events and has a clock:
how far it knows every other agent.  The last write of a word remembers when it was *published* (its writer's first
fence after the flush), so `pub(a, w)` is *a's clock has reached that time*; `cur(a, w)` is that question asked of a's
clock at its last invalidate of the line; `over(a, r, w)` is *a's clock has reached r's last read of the word*.
Messages, epochs and atomic words carry clocks.  The cost of an event does not depend on how long the trace is or how
much memory there is.  That this is the same custody is tested step by step against the machine.

A broken rule is told in `told`: its cause, the other side, and the place of the other side's access.
"""

from __future__ import annotations

from shmem_model.conformance.traces.tables import (  # isort: skip
    AGENT_STRIDE, AGENTS, ATOMIC, BASE, CACHED, CLOCK, COPIES, FLAGS, GONE, KNOWN, MAY_DISCARD, NEXT, NOBODY, PENDING,
    PLACE, PUBLISH, READERS, REGION_STRIDE, ROW_STRIDE, SETTLED, SIZE, SNAP_STRIDE, TIMES, UNFLUSHED, WHOLE_LINES, WORD,
    WORDS, WRITER, Numbers, State, await_fence, forget_row, free_row, let_go, new_row, new_snap, piece,
)  # fmt: skip

# What is told of a broken rule, and its causes.
CAUSE, OTHER, OTHER_PLACE, MORE = 0, 1, 2, 3
NOT_FLUSHED, NOT_FENCED, NOT_TOLD, NOT_INVALIDATED, UNREAD, LOST = 1, 2, 3, 4, 5, 6
OTHER_VALUE, FOUND, NOT_FOUND = 7, 8, 9


def tick(s: State, agent: int) -> int:
    """A new event of the agent; its time."""
    at = agent * s.ctl[CLOCK] + agent
    s.clock[at] += 1
    return s.clock[at]


# -- questions -----------------------------------------------------------------------------------------------


def published(s: State, clock: Numbers, start: int, number: int) -> bool:
    """Whether who has this clock knows that the write is in memory.  What the dead never published is taken back."""
    at = number * s.ctl[ROW_STRIDE]
    writer, publish = s.row[at + WRITER], s.row[at + PUBLISH]
    if writer == NOBODY:
        return True
    if publish == -1:
        return writer < s.ctl[AGENTS] and s.agent[writer * AGENT_STRIDE + GONE] == 1
    return clock[start + writer] >= publish


def taken_back(s: State, number: int) -> bool:
    """Whether the write's words may hold anything, since its writer died before it published them."""
    at = number * s.ctl[ROW_STRIDE]
    writer = s.row[at + WRITER]
    return s.row[at + PUBLISH] == -1 and writer != NOBODY and s.agent[writer * AGENT_STRIDE + GONE] == 1


def entitled(s: State, agent: int, number: int, at: int, end: int) -> bool:
    """Whether the agent sees the write in all lines of these words."""
    row = number * s.ctl[ROW_STRIDE]
    writer = s.row[row + WRITER]
    if writer == NOBODY or (writer == agent and not s.row[row + FLAGS] & ATOMIC):
        return True
    if not s.agent[agent * AGENT_STRIDE + CACHED]:
        return published(s, s.clock, agent * s.ctl[CLOCK], number)
    seen = -1
    for line in range(at // WORDS, (end - 1) // WORDS + 1):
        dropped = s.dropped[line * s.ctl[AGENTS] + agent]
        if dropped != seen:
            seen = dropped
            if dropped == 0:
                if not taken_back(s, number):
                    return False
            elif not published(s, s.snap, dropped * s.ctl[SNAP_STRIDE] + TIMES, number):
                return False
    return True


def missing(s: State, agent: int, number: int, told: Numbers) -> None:
    """Which step is missing between the last write and this access."""
    at = number * s.ctl[ROW_STRIDE]
    writer, publish = s.row[at + WRITER], s.row[at + PUBLISH]
    told[OTHER] = writer
    told[OTHER_PLACE] = s.row[at + PLACE]
    if s.row[at + FLAGS] & UNFLUSHED:
        told[CAUSE] = NOT_FLUSHED
    elif publish == -1:
        told[CAUSE] = NOT_FENCED
    elif s.clock[agent * s.ctl[CLOCK] + writer] < publish:
        told[CAUSE] = NOT_TOLD
    else:
        told[CAUSE] = NOT_INVALIDATED


def unread(s: State, agent: int, number: int, told: Numbers) -> None:
    """Tell of a reader of whom the agent does not know that it has finished."""
    width = s.ctl[CLOCK]
    at = number * s.ctl[ROW_STRIDE] + READERS
    for reader in range(width):
        time = s.row[at + reader]
        if time and reader != agent and s.clock[agent * width + reader] < time:
            told[CAUSE] = UNREAD
            told[OTHER] = reader
            told[OTHER_PLACE] = s.row[at + width + reader]
            return


def may_write(s: State, agent: int, number: int, is_entitled: bool, told: Numbers) -> None:
    """Tell why the agent may not overwrite the write."""
    if is_entitled:
        unread(s, agent, number, told)
    else:
        missing(s, agent, number, told)


def known(s: State, first: int, last: int) -> bool:
    """Whether these words hold what the trace says."""
    for i in range(first, last):
        number = s.word[i]
        if number and (not s.row[number * s.ctl[ROW_STRIDE] + FLAGS] & KNOWN or taken_back(s, number)):
            return False
    return True


# -- accesses ------------------------------------------------------------------------------------------------


def mark_read(s: State, reader: int, time: int, place: int, first: int, last: int, open_now: bool) -> None:
    """Remember the read; after a race nothing is known of the words."""
    stride, at = s.ctl[ROW_STRIDE], first
    while at < last:
        end = piece(s, at, last)
        row = s.word[at] * stride
        s.row[row + READERS + reader] = time
        s.row[row + READERS + s.ctl[CLOCK] + reader] = place
        if open_now:
            s.row[row + FLAGS] &= ~KNOWN
        at = end


def read(s: State, agent: int, first: int, last: int, place: int, told: Numbers) -> None:
    """A read of these words; the value is compared elsewhere."""
    time, at = tick(s, agent), first
    while at < last and not told[CAUSE]:
        end = piece(s, at, last)
        if not entitled(s, agent, s.word[at], at, end):
            missing(s, agent, s.word[at], told)
        at = end
    mark_read(s, agent, time, place, first, last, told[CAUSE] != 0)


def replace(s: State, low: int, high: int, first: int, last: int, new: int, is_open: bool, opens: bool) -> None:
    """Put the write there; words before `first` and from `last` on stay open if they were.

    `opens`: the values of the other words are not known either; `is_open`: nothing is known after a race.
    """
    stride, other = s.ctl[ROW_STRIDE], 0
    for i in range(low, high):
        old = s.word[i]
        was_open = old != 0 and not s.row[old * stride + FLAGS] & KNOWN
        if is_open or (opens if first <= i < last else was_open):
            if other == 0:
                row = new * stride
                other = new_row(s, s.row[row + WRITER], 0, s.row[row + PLACE], s.row[row + FLAGS] & ~KNOWN)
                s.row[other * stride + PUBLISH] = s.row[row + PUBLISH]
            number = other
        else:
            number = new
        if old:
            forget_row(s, old)
        s.word[i] = number
        s.row[number * stride + SIZE] += 1
    for number in (new, other):
        if number and s.row[number * stride + SIZE] == 0:
            free_row(s, number)
        elif number and s.row[number * stride + FLAGS] & PENDING:
            await_fence(s, number)


def write(s: State, agent: int, base: int, offset: int, length: int, has_data: bool, place: int, told: Numbers) -> None:
    """A write of these bytes of the region at `base`; they are put there elsewhere."""
    tick(s, agent)
    first, last = base + offset // WORD, base + -(-(offset + length) // WORD)
    low, high = first, last
    if s.ctl[WHOLE_LINES] and s.agent[agent * AGENT_STRIDE + CACHED]:
        low, high = first // WORDS * WORDS, -(-last // WORDS) * WORDS
    at = low
    while at < high:
        end = piece(s, at, high)
        if not told[CAUSE]:
            may_write(s, agent, s.word[at], entitled(s, agent, s.word[at], at, end), told)
        at = end
    flags = KNOWN | (UNFLUSHED if s.agent[agent * AGENT_STRIDE + CACHED] else PENDING)
    # A word of which only some bytes are written stays open if it was.
    whole_first = first if offset % WORD == 0 or not has_data else first + 1
    whole_last = last if (offset + length) % WORD == 0 or not has_data else last - 1
    new = new_row(s, agent, 0, place, flags)
    replace(s, low, high, whole_first, whole_last, new, told[CAUSE] != 0, not has_data)


def atomic(s: State, agent: int, word: int, place: int, told: Numbers) -> None:
    """An atomic on this word: it is in memory at once, and hands on what the atomics before it knew."""
    piece(s, word, word + 1)
    old, width = s.word[word], s.ctl[CLOCK]
    row = old * s.ctl[ROW_STRIDE]
    may = s.row[row + FLAGS] & ATOMIC != 0 or published(s, s.clock, agent * width, old)
    may_write(s, agent, old, may, told)
    time = tick(s, agent)
    if s.said[word]:
        learn(s, agent, s.said[word])
        let_go(s, s.said[word])
    s.said[word] = new_snap(s, agent, 1)
    forget_row(s, old)
    new = new_row(s, agent, 1, place, ATOMIC if told[CAUSE] else ATOMIC | KNOWN)
    s.row[new * s.ctl[ROW_STRIDE] + PUBLISH] = time
    s.word[word] = new


def check_copied(s: State, agent: int, first: int, last: int, writes: bool, told: Numbers) -> bool:
    """Tell why a copy may not read (or write) these words; whether all of them are known."""
    at, all_known = first, True
    while at < last:
        end = piece(s, at, last)
        number = s.word[at]
        all_known = all_known and s.row[number * s.ctl[ROW_STRIDE] + FLAGS] & KNOWN != 0
        if not told[CAUSE]:
            if not published(s, s.clock, agent * s.ctl[CLOCK], number):
                missing(s, agent, number, told)
            elif writes:
                unread(s, agent, number, told)
        at = end
    return all_known


def copy_start(
    s: State, agent: int, source: int, offset: int, target: int, to: int, length: int, place: int, told: Numbers
) -> None:
    """A copy counts as a read and a write by the agent's engine when it is started, on the agent's knowledge."""
    tick(s, agent)
    engine = s.ctl[AGENTS] + agent
    s.agent[agent * AGENT_STRIDE + COPIES] += 1
    time = s.agent[agent * AGENT_STRIDE + COPIES]
    read_first, read_last = source + offset // WORD, source + -(-(offset + length) // WORD)
    first, last = target + to // WORD, target + -(-(to + length) // WORD)
    all_known = check_copied(s, agent, read_first, read_last, False, told)
    check_copied(s, agent, first, last, True, told)
    mark_read(s, engine, time, place, read_first, read_last, False)
    new = new_row(s, engine, 0, place, KNOWN)
    s.row[new * s.ctl[ROW_STRIDE] + PUBLISH] = time
    replace(s, first, last, first, last, new, told[CAUSE] != 0, not all_known)
    from_byte, to_byte = source * WORD + offset, target * WORD + to
    if from_byte < to_byte:
        for i in range(length - 1, -1, -1):
            s.data[to_byte + i] = s.data[from_byte + i]
    else:
        for i in range(length):
            s.data[to_byte + i] = s.data[from_byte + i]


def copy_wait(s: State, agent: int) -> None:
    """The agent's copies have ended, and it knows it."""
    tick(s, agent)
    s.clock[agent * s.ctl[CLOCK] + s.ctl[AGENTS] + agent] = s.agent[agent * AGENT_STRIDE + COPIES]


# -- maintenance ---------------------------------------------------------------------------------------------


def flush(s: State, agent: int, first: int, last: int, drop: bool) -> None:
    """Lines are on their way; `drop`: and out of the cache."""
    tick(s, agent)
    settle(s, agent, first * WORDS, last * WORDS)
    if drop:
        drop_lines(s, agent, first, last)


def settle(s: State, agent: int, at: int, last: int) -> None:
    """What the agent has written there waits for its fence."""
    while at < last:
        if s.word[at] == 0:
            at += 1
            continue
        end = piece(s, at, last)
        row = s.word[at] * s.ctl[ROW_STRIDE]
        if s.row[row + WRITER] == agent and s.row[row + FLAGS] & UNFLUSHED:
            s.row[row + FLAGS] &= ~UNFLUSHED
            await_fence(s, s.word[at])
        at = end


def drop_lines(s: State, agent: int, first: int, last: int) -> None:
    """The agent reads these lines from memory again: as it is known to the agent now."""
    if first == last:
        return
    now, agents = new_snap(s, agent, last - first), s.ctl[AGENTS]
    for line in range(first, last):
        let_go(s, s.dropped[line * agents + agent])
        s.dropped[line * agents + agent] = now


def fence(s: State, agent: int) -> None:
    """What the agent has flushed is in memory, and it knows it."""
    time, stride = tick(s, agent), s.ctl[ROW_STRIDE]
    number = s.agent[agent * AGENT_STRIDE + SETTLED]
    s.agent[agent * AGENT_STRIDE + SETTLED] = 0
    while number:
        row = number * stride
        after = s.row[row + NEXT]
        if s.row[row + PUBLISH] == -1:
            s.row[row + PUBLISH] = time
        s.row[row + FLAGS] &= ~PENDING
        if s.row[row + SIZE] == 0:
            free_row(s, number)
        number = after


def invalidate(s: State, agent: int, first: int, last: int, told: Numbers) -> None:
    """Lines leave the cache; it is told if unflushed words may be lost with them."""
    tick(s, agent)
    at = first * WORDS
    while at < last * WORDS and s.ctl[MAY_DISCARD]:
        if s.word[at] == 0:
            at += 1
            continue
        end = piece(s, at, last * WORDS)
        row = s.word[at] * s.ctl[ROW_STRIDE]
        if s.row[row + WRITER] == agent and s.row[row + FLAGS] & UNFLUSHED:
            s.row[row + FLAGS] &= ~KNOWN
            if not told[CAUSE]:
                told[CAUSE] = LOST
                told[OTHER] = agent
                told[OTHER_PLACE] = s.row[row + PLACE]
        at = end
    settle(s, agent, first * WORDS, last * WORDS)
    drop_lines(s, agent, first, last)


# -- edges ---------------------------------------------------------------------------------------------------


def tell(s: State, agent: int) -> int:
    """What a notification says: the agent's clock."""
    tick(s, agent)
    return new_snap(s, agent, 1)


def learn(s: State, agent: int, snap: int) -> None:
    """The agent receives what was said."""
    width = s.ctl[CLOCK]
    mine, other = agent * width, snap * s.ctl[SNAP_STRIDE] + TIMES
    for i in range(width):
        if s.snap[other + i] > s.clock[mine + i]:
            s.clock[mine + i] = s.snap[other + i]


def base_of(s: State, region: int) -> int:
    """The first word of a region."""
    return s.region[region * REGION_STRIDE + BASE]
