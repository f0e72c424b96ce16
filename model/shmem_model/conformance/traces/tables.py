"""What a check keeps in mind, as flat tables of numbers, and the book-keeping on them that needs no rule.

The functions here, in `custody` and in `streams` are the check's only text.  They run as they are on lists, ready at
once, and on arrays when numba compiles them (`compiled`), so they keep to loops, numbers and indices.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import NamedTuple, TypeAlias

LINE = 64
WORD = 8
WORDS = 8  # of a line
NOBODY = -1

# Counters and sizes, in `ctl`.
AGENTS, CLOCK, WHOLE_LINES, MAY_DISCARD, ROW_STRIDE, SNAP_STRIDE, TEAM_STRIDE = 0, 1, 2, 3, 4, 5, 6
ROW_FREE, ROWS_LEFT, SNAP_FREE, SNAPS_LEFT, REGIONS, REGIONS_ROOM, LINES, LINES_ROOM = 7, 8, 9, 10, 11, 12, 13, 14
HANDLES, SPANS, SLOTS, HANDLED, HANDLED_TELLS, EVENTS, QUIET, HELD, COUNTING = 15, 16, 17, 18, 19, 20, 21, 22, 23
CTL = 64
CLASS = 32  # from here on: the first free region of 1, 2, 4, ... lines

# An agent, in `agent`.
CACHED, COPIES, SETTLED, GONE, NEXT_N, CLOSED, HEAD, TAIL, AGENT_STRIDE = 0, 1, 2, 3, 4, 5, 6, 7, 8
# A write, in `row`; then, for each place of a clock, when it was read last, and where.
WRITER, SIZE, PUBLISH, PLACE, FLAGS, NEXT, READERS = 0, 1, 2, 3, 4, 5, 6
UNFLUSHED, ATOMIC, PENDING, KNOWN = 1, 2, 4, 8
# A clock that was kept, in `snap`: by how many, the next one in a queue, and then the clock.
REFS, AFTER, TIMES = 0, 1, 2
# A region, in `region`.
BYTES, BASE, SIZE_CLASS, NEXT_FREE, REGION_STRIDE = 0, 1, 2, 3, 4
# Hash tables: two keys, whether used, and then what they lead to.
USED = 2
REGION, HANDLE_STRIDE = 3, 4
LOW, HIGH, SPAN_STRIDE = 3, 4, 5
SENT, TAKEN, SAID, SAID_LAST, SLOT_STRIDE = 3, 4, 5, 6, 7
# A team, in `team`: its epochs of even and odd number, how many members, and then three fields for each agent.
EPOCH, EPOCH_STRIDE, ARRIVED, LEFT_BY, SAID_BY_ALL, MEMBERS, BY_AGENT = 0, 3, 0, 1, 2, 6, 7
MEMBER, INSIDE, LEFT, BY_AGENT_STRIDE = 0, 1, 2, 3


Numbers: TypeAlias = MutableSequence[int]
"""A list or an array of numbers."""


class State(NamedTuple):
    """The tables; each is a list or an array of numbers."""

    ctl: Numbers
    agent: Numbers
    clock: Numbers
    row: Numbers
    snap: Numbers
    region: Numbers
    word: Numbers
    """Word -> the number of its last write; 0 where nobody has written."""
    said: Numbers
    """Word -> the clock that its last atomic left."""
    data: Numbers
    dropped: Numbers
    """Line and agent -> the agent's clock when it last dropped the line."""
    handle: Numbers
    span: Numbers
    slot: Numbers
    team: Numbers


# -- writes --------------------------------------------------------------------------------------------------


def new_row(s: State, writer: int, size: int, place: int, flags: int) -> int:
    """A write of so many words."""
    ctl, row = s.ctl, s.row
    number = ctl[ROW_FREE]
    at = number * ctl[ROW_STRIDE]
    ctl[ROW_FREE] = row[at + NEXT]
    ctl[ROWS_LEFT] -= 1
    row[at + WRITER] = writer
    row[at + SIZE] = size
    row[at + PUBLISH] = 0 if writer == NOBODY else -1
    row[at + PLACE] = place
    row[at + FLAGS] = flags
    row[at + NEXT] = 0
    for i in range(at + READERS, at + READERS + ctl[CLOCK]):
        row[i] = 0
    return number


def free_row(s: State, number: int) -> None:
    """Nothing names this write any more."""
    s.row[number * s.ctl[ROW_STRIDE] + NEXT] = s.ctl[ROW_FREE]
    s.ctl[ROW_FREE] = number
    s.ctl[ROWS_LEFT] += 1


def forget_row(s: State, number: int) -> None:
    """A word is of this write no more."""
    at = number * s.ctl[ROW_STRIDE]
    s.row[at + SIZE] -= 1
    if s.row[at + SIZE] == 0 and not s.row[at + FLAGS] & PENDING:
        free_row(s, number)


def await_fence(s: State, number: int) -> None:
    """The writer's next fence publishes the write."""
    at = number * s.ctl[ROW_STRIDE]
    queue = s.row[at + WRITER] * AGENT_STRIDE + SETTLED
    s.row[at + FLAGS] |= PENDING
    s.row[at + NEXT] = s.agent[queue]
    s.agent[queue] = number


def part(s: State, number: int, size: int) -> int:
    """The same write, of some of its words only."""
    row, stride = s.row, s.ctl[ROW_STRIDE]
    at = number * stride
    other = new_row(s, row[at + WRITER], size, row[at + PLACE], row[at + FLAGS])
    new = other * stride
    row[new + PUBLISH] = row[at + PUBLISH]
    for i in range(READERS, stride):
        row[new + i] = row[at + i]
    row[at + SIZE] -= size
    if row[new + FLAGS] & PENDING:
        await_fence(s, other)
    return other


def piece(s: State, at: int, last: int) -> int:
    """The end of the words from `at` on that have one last write; it is made a write of these words alone."""
    word = s.word
    number = word[at]
    end = at + 1
    while end < last and word[end] == number:
        end += 1
    if number == 0:
        number = new_row(s, NOBODY, end - at, 0, KNOWN)
    elif s.row[number * s.ctl[ROW_STRIDE] + SIZE] > end - at:
        number = part(s, number, end - at)
    else:
        return end
    for i in range(at, end):
        word[i] = number
    return end


# -- clocks --------------------------------------------------------------------------------------------------


def new_snap(s: State, agent: int, refs: int) -> int:
    """The agent's clock as it is, kept by so many."""
    ctl, snap, width = s.ctl, s.snap, s.ctl[CLOCK]
    number = ctl[SNAP_FREE]
    at = number * ctl[SNAP_STRIDE]
    ctl[SNAP_FREE] = snap[at + AFTER]
    ctl[SNAPS_LEFT] -= 1
    snap[at + REFS] = refs
    snap[at + AFTER] = 0
    for i in range(width):
        snap[at + TIMES + i] = s.clock[agent * width + i]
    return number


def let_go(s: State, number: int) -> None:
    """One keeper of a clock less."""
    if number == 0:
        return
    at = number * s.ctl[SNAP_STRIDE]
    s.snap[at + REFS] -= 1
    if s.snap[at + REFS] == 0:
        s.snap[at + AFTER] = s.ctl[SNAP_FREE]
        s.ctl[SNAP_FREE] = number
        s.ctl[SNAPS_LEFT] += 1


# -- hash tables ---------------------------------------------------------------------------------------------


def find(table: Numbers, stride: int, a: int, b: int) -> int:
    """Where the keys are, or where they would be put."""
    mask = len(table) // stride - 1
    at = (a + b * 40503) & mask
    while table[at * stride + USED] and (table[at * stride] != a or table[at * stride + 1] != b):
        at = (at + 1) & mask
    return at * stride


def put(table: Numbers, stride: int, a: int, b: int) -> int:
    """Where the keys are; they are put there, with all fields zero, if they were not."""
    at = find(table, stride, a, b)
    if not table[at + USED]:
        for i in range(stride):
            table[at + i] = 0
        table[at] = a
        table[at + 1] = b
        table[at + USED] = 1
    return at


def remove(table: Numbers, stride: int, at: int) -> None:
    """Take out what is at this place, and close the gap."""
    mask = len(table) // stride - 1
    gap = at // stride
    table[gap * stride + USED] = 0
    now = (gap + 1) & mask
    while table[now * stride + USED]:
        wanted = (table[now * stride] + table[now * stride + 1] * 40503) & mask
        if (now - wanted) & mask >= (now - gap) & mask:
            for i in range(stride):
                table[gap * stride + i] = table[now * stride + i]
            table[now * stride + USED] = 0
            gap = now
        now = (now + 1) & mask


# -- regions -------------------------------------------------------------------------------------------------


def new_region(s: State, number: int, generation: int, size: int) -> int:
    """Room for a region under its handle; whether there is any."""
    ctl, region = s.ctl, s.region
    lines, kind = -(-size // LINE), 0
    while 1 << kind < lines:
        kind += 1
    index = ctl[CLASS + kind] if kind < CTL - CLASS else 0
    if index:
        ctl[CLASS + kind] = region[index * REGION_STRIDE + NEXT_FREE]
    else:
        if ctl[REGIONS] >= ctl[REGIONS_ROOM] or ctl[LINES] + (1 << kind) > ctl[LINES_ROOM]:
            return 0
        index = ctl[REGIONS]
        ctl[REGIONS] += 1
        region[index * REGION_STRIDE + BASE] = ctl[LINES] * WORDS
        region[index * REGION_STRIDE + SIZE_CLASS] = kind
        ctl[LINES] += 1 << kind
    region[index * REGION_STRIDE + BYTES] = size
    at = put(s.handle, HANDLE_STRIDE, number, generation)
    s.handle[at + REGION] = index
    ctl[HANDLES] += 1
    return index


def free_region(s: State, number: int, generation: int) -> None:
    """The handle is spent; what was known of the region's words is forgotten."""
    at = find(s.handle, HANDLE_STRIDE, number, generation)
    index = s.handle[at + REGION] * REGION_STRIDE
    first, agents = s.region[index + BASE], s.ctl[AGENTS]
    last = first + -(-s.region[index + BYTES] // LINE) * WORDS
    for i in range(first, last):
        if s.word[i]:
            forget_row(s, s.word[i])
            s.word[i] = 0
        if s.said[i]:
            let_go(s, s.said[i])
            s.said[i] = 0
    for i in range(first // WORDS * agents, last // WORDS * agents):
        let_go(s, s.dropped[i])
        s.dropped[i] = 0
    for i in range(first * WORD, last * WORD):
        s.data[i] = 0
    kind = CLASS + s.region[index + SIZE_CLASS]
    s.region[index + NEXT_FREE] = s.ctl[kind]
    s.ctl[kind] = index // REGION_STRIDE
    _spend(s, number, generation, at)


def _spend(s: State, number: int, generation: int, at: int) -> None:
    """Remember a spent handle; generations that follow one another take no more room than one."""
    used = find(s.span, SPAN_STRIDE, number, 0)
    if not s.span[used + USED]:
        s.ctl[SPANS] += 1
        put(s.span, SPAN_STRIDE, number, 0)
        s.span[used + LOW] = generation
        s.span[used + HIGH] = generation
    elif s.span[used + HIGH] + 1 == generation:
        s.span[used + HIGH] = generation
    else:
        s.handle[at + REGION] = 0
        return
    remove(s.handle, HANDLE_STRIDE, at)
    s.ctl[HANDLES] -= 1


def spent(s: State, number: int, generation: int) -> bool:
    """Whether the handle was freed."""
    at = find(s.handle, HANDLE_STRIDE, number, generation)
    if s.handle[at + USED]:
        return s.handle[at + REGION] == 0
    at = find(s.span, SPAN_STRIDE, number, 0)
    return bool(s.span[at + USED]) and s.span[at + LOW] <= generation <= s.span[at + HIGH]


def live(s: State, number: int, generation: int) -> int:
    """The region of the handle, or 0."""
    at = find(s.handle, HANDLE_STRIDE, number, generation)
    return s.handle[at + REGION] if s.handle[at + USED] else 0
