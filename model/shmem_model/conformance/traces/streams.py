"""Bring the agents' streams into an order that their edges allow, and ask custody of each event.

An event whose edge has not come yet holds its agent's stream back; the others go on.  Every function here that takes
an event answers whether it waits, is taken, or tells others; or why a person must look at it.
"""

from __future__ import annotations

from shmem_model.conformance.traces.custody import (  # isort: skip
    CAUSE, FOUND, MORE, NOT_FOUND, OTHER, OTHER_PLACE, OTHER_VALUE, atomic, base_of, copy_start, copy_wait, fence,
    flush, invalidate, known, learn, read, tell, tick, write,
)  # fmt: skip
from shmem_model.conformance.traces.tables import (  # isort: skip
    AFTER, AGENT_STRIDE, AGENTS, ARRIVED, BY_AGENT, BY_AGENT_STRIDE, BYTES, CLOCK, CLOSED, COUNTING, EPOCH,
    EPOCH_STRIDE, EVENTS, GONE, HANDLE_STRIDE, HANDLED, HANDLED_TELLS, HANDLES, HEAD, HELD, INSIDE, LEFT, LEFT_BY, LINE,
    MEMBER, MEMBERS, NEXT_N, NOBODY, PLACE, QUIET, REGION_STRIDE, ROW_STRIDE, ROWS_LEFT, SAID, SAID_BY_ALL, SAID_LAST,
    SENT, SLOT_STRIDE, SLOTS, SNAP_STRIDE, SNAPS_LEFT, SPAN_STRIDE, SPANS, TAIL, TAKEN, TEAM_STRIDE, TIMES, USED, WORD,
    WORDS, WRITER, Numbers, State, find, free_region, let_go, live, new_region, new_snap, put, spent,
)  # fmt: skip

# Actions, in the order of `events.ACTIONS`.
ALLOC, FREE, MAP, UNMAP, READ, WRITE, FLUSH, INVALIDATE, FENCE, SEND, WAIT, POLL, ARRIVE, LEAVE = range(14)
GB_BEGIN, GB_END, ATOMIC_ADD, ATOMIC_SWAP, COMPARE_SWAP, COPY_START, COPY_WAIT, COMPACT, DIE = range(14, 23)

# An event, in `ev`.
AGENT, N, ACTION, ERROR, NUMBER, GENERATION, OFFSET, LENGTH, TO_NUMBER, TO_GENERATION, TO_OFFSET, TO_LENGTH = range(12)
FLAG, FORM, VALUE_AT, WHO, SLOT, COUNT, EXTRA_AT, EXTRA_N, VALUE, LEAVES, WHERE, AT_LINE, QUEUED, BEHIND, AT_NEW = (
    range(12, 27)
)
EVENT_STRIDE = 27
LENGTH_OF_DIGEST = 32
NO_VALUE, BYTES_HERE, DIGEST_HERE = 0, 1, 2
"""`FORM`: how the value is told."""

# Answers.
WAITS, TAKES, TELLS, ROOM, BROKEN, DIGEST, MALFORMED = 0, 1, 2, 3, 4, 5, 10
(
    OUT_OF_COUNT, AFTER_DEATH, PAST_END, FREED_BEFORE, GIVEN_BEFORE, NOT_ARRIVED, OTHER_EPOCH, SENT_COUNT, TOOK_BEFORE,
    TOOK_NONE, OTHER_MEMBERS, STILL_INSIDE, EPOCH_COUNT, UNALIGNED, TOOK_MANY, SAYS_NONE,
) = range(10, 26)  # fmt: skip
# What is told with an answer, besides the broken rule.
EVENT, ARGUMENT, NEED_WORDS, NEED_LINES = 4, 5, 6, 7
TOLD = 8


# -- one event -----------------------------------------------------------------------------------------------


def take(s: State, ev: Numbers, extra: Numbers, values: Numbers, told: Numbers, i: int, force: bool) -> int:
    """Take the event if everything has come that it follows.  `force`: nobody will leave what an atomic has found."""
    at = i * EVENT_STRIDE
    action, agent = ev[at + ACTION], ev[at + AGENT]
    if ev[at + ERROR]:
        return TAKES
    told[CAUSE] = 0
    region, target = 0, 0
    if ev[at + NUMBER] >= 0 and action != ALLOC:
        region = live(s, ev[at + NUMBER], ev[at + GENERATION])
        if not region:
            if action not in (FREE, UNMAP) or not spent(s, ev[at + NUMBER], ev[at + GENERATION]):
                return WAITS
            tick(s, agent)
            return FREED_BEFORE if action == FREE else TAKES
    if ev[at + TO_NUMBER] >= 0:
        target = live(s, ev[at + TO_NUMBER], ev[at + TO_GENERATION])
        if not target:
            return WAITS
    if action in (READ, WRITE, FLUSH, INVALIDATE, ATOMIC_ADD, ATOMIC_SWAP, COMPARE_SWAP, COPY_START):
        return access(s, ev, values, told, at, region, target, force)
    if s.ctl[SNAPS_LEFT] < 4:
        return ROOM
    if action == SEND:
        return take_send(s, ev, told, at)
    if action in (WAIT, POLL):
        return take_wait(s, ev, extra, told, at)
    if action == ARRIVE:
        return take_arrive(s, ev, extra, told, at)
    if action == LEAVE:
        return take_leave(s, ev, at)
    if action == ALLOC:
        return take_alloc(s, ev, told, at)
    return take_alone(s, ev, at)


def take_alone(s: State, ev: Numbers, at: int) -> int:
    """What an agent does by itself."""
    action, agent = ev[at + ACTION], ev[at + AGENT]
    if action == FENCE:
        fence(s, agent)
    elif action == COPY_WAIT:
        copy_wait(s, agent)
    elif action == FREE:
        if 2 * SPAN_STRIDE * (s.ctl[SPANS] + 1) > len(s.span):
            return ROOM
        tick(s, agent)
        free_region(s, ev[at + NUMBER], ev[at + GENERATION])
    else:
        tick(s, agent)
        if action == DIE:
            s.agent[agent * AGENT_STRIDE + GONE] = 1
    return TAKES


def take_alloc(s: State, ev: Numbers, told: Numbers, at: int) -> int:
    """A region of this generation has not been there before."""
    number, generation = ev[at + NUMBER], ev[at + GENERATION]
    if live(s, number, generation) or spent(s, number, generation):
        return GIVEN_BEFORE
    told[NEED_LINES] = -(-ev[at + LENGTH] // LINE)
    full = 2 * HANDLE_STRIDE * (s.ctl[HANDLES] + 1) > len(s.handle)
    if full or not new_region(s, number, generation, ev[at + LENGTH]):
        return ROOM
    tick(s, ev[at + AGENT])
    return TELLS


def access(
    s: State, ev: Numbers, values: Numbers, told: Numbers, at: int, region: int, target: int, force: bool
) -> int:
    """An access or maintenance of a range."""
    action, agent, place = ev[at + ACTION], ev[at + AGENT], ev[at + WHERE]
    offset, length, base = ev[at + OFFSET], ev[at + LENGTH], base_of(s, region)
    size = s.region[region * REGION_STRIDE + BYTES]
    if offset > size or length > size - offset:
        return PAST_END
    need = length // WORD + 4 * WORDS
    if action == COPY_START:
        size = s.region[target * REGION_STRIDE + BYTES]
        if ev[at + TO_OFFSET] > size or length > size - ev[at + TO_OFFSET]:
            return PAST_END
        need *= 2
    told[NEED_WORDS] = need
    if s.ctl[ROWS_LEFT] < need or s.ctl[SNAPS_LEFT] < 4:
        return ROOM
    first, last = base + offset // WORD, base + -(-(offset + length) // WORD)
    lines_first, lines_last = first // WORDS, -(-last // WORDS)
    if action == READ:
        read(s, agent, first, last, place, told)
        if told[CAUSE] == 0 and length and known(s, first, last):
            if ev[at + FORM] == DIGEST_HERE:
                return DIGEST
            compare(s, values, told, ev[at + VALUE_AT], base * WORD + offset, length, first)
    elif action == WRITE:
        write(s, agent, base, offset, length, ev[at + FORM] == BYTES_HERE, place, told)
        if ev[at + FORM] == BYTES_HERE:
            for k in range(length):
                s.data[base * WORD + offset + k] = values[ev[at + VALUE_AT] + k]
        return broken(s, told, TELLS)
    elif action == FLUSH:
        flush(s, agent, lines_first, lines_last, ev[at + FLAG] != 0)
    elif action == INVALIDATE:
        invalidate(s, agent, lines_first, lines_last, told)
    elif action == COPY_START:
        copy_start(s, agent, base, offset, base_of(s, target), ev[at + TO_OFFSET], length, place, told)
    else:
        return take_atomic(s, ev, told, at, base, force)
    return broken(s, told, TAKES)


def broken(s: State, told: Numbers, answer: int) -> int:
    """The answer, or that a rule was broken; races are only counted when enough were told."""
    if told[CAUSE] == 0:
        return answer
    if s.ctl[QUIET] and told[CAUSE] < OTHER_VALUE:
        s.ctl[QUIET] += 1
        return answer
    s.ctl[HANDLED_TELLS] = answer == TELLS
    return BROKEN


def compare(s: State, values: Numbers, told: Numbers, value: int, byte: int, length: int, first: int) -> None:
    """Tell if what was read is not the last write."""
    for k in range(length):
        if s.data[byte + k] != values[value + k]:
            row = s.word[first] * s.ctl[ROW_STRIDE]
            told[CAUSE] = OTHER_VALUE
            told[OTHER] = s.row[row + WRITER]
            told[OTHER_PLACE] = s.row[row + PLACE]
            return


def take_atomic(s: State, ev: Numbers, told: Numbers, at: int, base: int, force: bool) -> int:
    """An atomic follows the one that left what it found."""
    offset = ev[at + OFFSET]
    if offset % WORD:
        return UNALIGNED
    word = base + offset // WORD
    byte, was_known, same = word * WORD, known(s, word, word + 1), True
    for k in range(WORD):
        same = same and s.data[byte + k] == (ev[at + VALUE] >> (8 * k)) & 255
    if was_known and not same and not force:
        return WAITS
    atomic(s, ev[at + AGENT], word, ev[at + WHERE], told)
    if told[CAUSE] == 0 and was_known and not same:
        told[CAUSE] = FOUND
        told[OTHER] = NOBODY
        told[MORE] = 0
        for k in range(WORD - 1, -1, -1):
            told[MORE] = (told[MORE] << 8) | s.data[byte + k]
    for k in range(WORD):
        s.data[byte + k] = (ev[at + LEAVES] >> (8 * k)) & 255
    return broken(s, told, TELLS)


# -- notifications and barriers ------------------------------------------------------------------------------


def take_send(s: State, ev: Numbers, told: Numbers, at: int) -> int:
    """The receiver may learn what the sender knows."""
    agent = ev[at + AGENT]
    if 2 * SLOT_STRIDE * (s.ctl[SLOTS] + 1) > len(s.slot):
        return ROOM
    slot = find(s.slot, SLOT_STRIDE, agent * s.ctl[AGENTS] + ev[at + WHO], ev[at + SLOT])
    if not s.slot[slot + USED]:
        s.ctl[SLOTS] += 1
        put(s.slot, SLOT_STRIDE, agent * s.ctl[AGENTS] + ev[at + WHO], ev[at + SLOT])
    if ev[at + COUNT] != s.slot[slot + SENT] + 1:
        told[ARGUMENT] = s.slot[slot + SENT]
        return SENT_COUNT
    said = tell(s, agent)
    s.slot[slot + SENT] += 1
    if s.slot[slot + SAID]:
        s.snap[s.slot[slot + SAID_LAST] * s.ctl[SNAP_STRIDE] + AFTER] = said
    else:
        s.slot[slot + SAID] = said
    s.slot[slot + SAID_LAST] = said
    return TELLS


def take_wait(s: State, ev: Numbers, extra: Numbers, told: Numbers, at: int) -> int:
    """A wait follows the sends that it took, and learns what they said."""
    agent, agents, fresh = ev[at + AGENT], s.ctl[AGENTS], 0
    pairs = range(ev[at + EXTRA_AT], ev[at + EXTRA_AT] + ev[at + EXTRA_N], 2)
    for k in pairs:
        slot = find(s.slot, SLOT_STRIDE, extra[k] * agents + agent, ev[at + SLOT])
        if extra[k + 1] and (not s.slot[slot + USED] or s.slot[slot + SENT] < extra[k + 1]):
            return WAITS
    tick(s, agent)
    for k in pairs:
        slot = find(s.slot, SLOT_STRIDE, extra[k] * agents + agent, ev[at + SLOT])
        if not s.slot[slot + USED]:
            continue
        if extra[k + 1] < s.slot[slot + TAKEN]:
            told[ARGUMENT] = s.slot[slot + TAKEN]
            told[OTHER] = extra[k]
            return TOOK_BEFORE
        for _ in range(extra[k + 1] - s.slot[slot + TAKEN]):
            said = s.slot[slot + SAID]
            learn(s, agent, said)
            s.slot[slot + SAID] = s.snap[said * s.ctl[SNAP_STRIDE] + AFTER]
            let_go(s, said)
            fresh += 1
        s.slot[slot + TAKEN] = extra[k + 1]
    if ev[at + ACTION] == POLL and not ev[at + FLAG]:
        return SAYS_NONE if fresh else take_nothing(s, ev, told, at)
    if fresh > 1 and s.ctl[COUNTING]:
        told[ARGUMENT] = fresh
        return TOOK_MANY
    return TAKES if fresh else TOOK_NONE


def take_nothing(s: State, ev: Numbers, told: Numbers, at: int) -> int:
    """A poll that found nothing: nothing may have come of which the agent knows."""
    agent, agents, width = ev[at + AGENT], s.ctl[AGENTS], s.ctl[CLOCK]
    for sender in range(agents):
        slot = find(s.slot, SLOT_STRIDE, sender * agents + agent, ev[at + SLOT])
        if s.slot[slot + USED] and s.slot[slot + SAID]:
            said = s.slot[slot + SAID] * s.ctl[SNAP_STRIDE] + TIMES
            if s.clock[agent * width + sender] >= s.snap[said + sender]:
                told[CAUSE] = NOT_FOUND
                told[OTHER] = sender
                told[OTHER_PLACE] = -1
                return broken(s, told, TAKES)
    return TAKES


def take_arrive(s: State, ev: Numbers, extra: Numbers, told: Numbers, at: int) -> int:
    """All members may learn what those know who arrive."""
    agent, team, epoch = ev[at + AGENT], ev[at + WHO] * s.ctl[TEAM_STRIDE], ev[at + COUNT]
    members, width = ev[at + EXTRA_N], s.ctl[CLOCK]
    same = s.team[team + MEMBERS] in (0, members)
    for k in range(members):
        member = team + BY_AGENT + k * BY_AGENT_STRIDE + MEMBER
        if s.team[team + MEMBERS] == 0:
            s.team[member] = extra[ev[at + EXTRA_AT] + k]
        same = same and s.team[member] == extra[ev[at + EXTRA_AT] + k]
    s.team[team + MEMBERS] = members
    if not same:
        return OTHER_MEMBERS
    mine = team + BY_AGENT + agent * BY_AGENT_STRIDE
    if s.team[mine + INSIDE]:
        return STILL_INSIDE
    if epoch != s.team[mine + LEFT] + 1:
        told[ARGUMENT] = s.team[mine + LEFT]
        return EPOCH_COUNT
    s.team[mine + INSIDE] = epoch
    # Two epochs at most are open: nobody arrives in the one after next before all have left this one.
    now = team + EPOCH + epoch % 2 * EPOCH_STRIDE
    s.team[now + ARRIVED] += 1
    tick(s, agent)
    if s.team[now + SAID_BY_ALL] == 0:
        s.team[now + SAID_BY_ALL] = new_snap(s, agent, 1)
    said = s.team[now + SAID_BY_ALL] * s.ctl[SNAP_STRIDE] + TIMES
    for k in range(width):
        if s.clock[agent * width + k] > s.snap[said + k]:
            s.snap[said + k] = s.clock[agent * width + k]
    return TELLS


def take_leave(s: State, ev: Numbers, at: int) -> int:
    """A leave follows all arrivals of its epoch."""
    agent, team, epoch = ev[at + AGENT], ev[at + WHO] * s.ctl[TEAM_STRIDE], ev[at + COUNT]
    mine = team + BY_AGENT + agent * BY_AGENT_STRIDE
    if s.team[mine + INSIDE] == 0:
        return NOT_ARRIVED
    if s.team[mine + INSIDE] != epoch:
        return OTHER_EPOCH
    now = team + EPOCH + epoch % 2 * EPOCH_STRIDE
    if s.team[now + ARRIVED] < s.team[team + MEMBERS]:
        return WAITS
    s.team[mine + INSIDE] = 0
    s.team[mine + LEFT] = epoch
    tick(s, agent)
    learn(s, agent, s.team[now + SAID_BY_ALL])
    s.team[now + LEFT_BY] += 1
    if s.team[now + LEFT_BY] == s.team[now + ARRIVED]:
        let_go(s, s.team[now + SAID_BY_ALL])
        for k in range(EPOCH_STRIDE):
            s.team[now + k] = 0
    return TAKES


# -- streams -------------------------------------------------------------------------------------------------


def enqueue(s: State, ev: Numbers, i: int) -> None:
    """The event holds its agent's stream back, or is behind one that does."""
    agent = ev[i * EVENT_STRIDE + AGENT] * AGENT_STRIDE
    ev[i * EVENT_STRIDE + QUEUED] = 1
    ev[i * EVENT_STRIDE + BEHIND] = -1
    if s.agent[agent + HEAD] == -1:
        s.agent[agent + HEAD] = i
        s.ctl[HELD] += 1
    else:
        ev[s.agent[agent + TAIL] * EVENT_STRIDE + BEHIND] = i
    s.agent[agent + TAIL] = i


def dequeue(s: State, ev: Numbers, agent: int) -> None:
    """The first event of the agent is done."""
    i = s.agent[agent * AGENT_STRIDE + HEAD]
    ev[i * EVENT_STRIDE + QUEUED] = 0
    s.agent[agent * AGENT_STRIDE + HEAD] = ev[i * EVENT_STRIDE + BEHIND]
    s.ctl[EVENTS] += 1
    if s.agent[agent * AGENT_STRIDE + HEAD] == -1:
        s.ctl[HELD] -= 1


def advance(s: State, ev: Numbers, extra: Numbers, values: Numbers, told: Numbers, agent: int, force: bool) -> int:
    """Take what the agent can take now; whether others may go on, or what stopped it."""
    answer = WAITS
    while s.agent[agent * AGENT_STRIDE + HEAD] != -1:
        i = s.agent[agent * AGENT_STRIDE + HEAD]
        if s.ctl[HANDLED] == i:
            one = TELLS if s.ctl[HANDLED_TELLS] else TAKES
            s.ctl[HANDLED] = -1
        else:
            one = take(s, ev, extra, values, told, i, force)
        if one == WAITS:
            return answer
        if one > TELLS:
            told[EVENT] = i
            return one
        if one == TELLS:
            answer = TELLS
        dequeue(s, ev, agent)
        if force:
            return TELLS
    return answer


def go_on(s: State, ev: Numbers, extra: Numbers, values: Numbers, told: Numbers) -> int:
    """Take what all can take now; 0, or what stopped it."""
    again = s.ctl[HELD] > 0
    while again:
        again = False
        for agent in range(s.ctl[AGENTS]):
            if s.agent[agent * AGENT_STRIDE + HEAD] != -1:
                answer = advance(s, ev, extra, values, told, agent, False)
                if answer > TELLS:
                    return answer
                again = again or answer == TELLS
    return 0


def run(s: State, ev: Numbers, extra: Numbers, values: Numbers, told: Numbers, at: int, end: int) -> tuple[int, int]:
    """Feed the events from `at` on; where it stopped, and why (0: at the end)."""
    stopped = go_on(s, ev, extra, values, told)
    if stopped:
        return at, stopped
    for i in range(at, end):
        agent = ev[i * EVENT_STRIDE + AGENT] * AGENT_STRIDE
        told[EVENT] = i
        if ev[i * EVENT_STRIDE + N] != s.agent[agent + NEXT_N]:
            told[ARGUMENT] = s.agent[agent + NEXT_N]
            return i, OUT_OF_COUNT
        if s.agent[agent + CLOSED]:
            return i, AFTER_DEATH
        if ev[i * EVENT_STRIDE + ACTION] == DIE:
            s.agent[agent + CLOSED] = 1
        s.agent[agent + NEXT_N] += 1
        if s.agent[agent + HEAD] != -1:
            enqueue(s, ev, i)
            continue
        answer = take(s, ev, extra, values, told, i, False)
        if answer == WAITS:
            enqueue(s, ev, i)
        elif answer > TELLS:
            enqueue(s, ev, i)
            return i + 1, answer
        else:
            s.ctl[EVENTS] += 1
            if answer == TELLS and s.ctl[HELD]:
                stopped = go_on(s, ev, extra, values, told)
                if stopped:
                    return i + 1, stopped
    return end, 0


def settle_atomics(s: State, ev: Numbers, extra: Numbers, values: Numbers, told: Numbers) -> int:
    """Nobody else will leave what the atomics that are held back have found: they are judged as they are."""
    agent = 0
    while agent < s.ctl[AGENTS]:
        i = s.agent[agent * AGENT_STRIDE + HEAD]
        at = i * EVENT_STRIDE
        agent += 1
        if i == -1 or not ATOMIC_ADD <= ev[at + ACTION] <= COMPARE_SWAP:
            continue
        if not live(s, ev[at + NUMBER], ev[at + GENERATION]):
            continue
        answer = advance(s, ev, extra, values, told, agent - 1, True)
        if answer > TELLS:
            return answer
        answer = go_on(s, ev, extra, values, told)
        if answer:
            return answer
        agent = 0
    return 0


def pack(s: State, ev: Numbers, extra: Numbers, values: Numbers, count: int, used: Numbers) -> int:
    """Move the events that wait to the front; how many there are.  `used`: what they take of the other two."""
    kept, extras, bytes_ = 0, 0, 0
    for i in range(count):
        if ev[i * EVENT_STRIDE + QUEUED]:
            ev[i * EVENT_STRIDE + AT_NEW] = kept
            kept += 1
    for agent in range(s.ctl[AGENTS]):
        for field in (HEAD, TAIL):
            i = s.agent[agent * AGENT_STRIDE + field]
            if i != -1 and s.agent[agent * AGENT_STRIDE + HEAD] != -1:
                s.agent[agent * AGENT_STRIDE + field] = ev[i * EVENT_STRIDE + AT_NEW]
    for i in range(count):
        at = i * EVENT_STRIDE
        if ev[at + QUEUED]:
            if ev[at + BEHIND] != -1:
                ev[at + BEHIND] = ev[ev[at + BEHIND] * EVENT_STRIDE + AT_NEW]
            for k in range(ev[at + EXTRA_N]):
                extra[extras + k] = extra[ev[at + EXTRA_AT] + k]
            ev[at + EXTRA_AT] = extras
            extras += ev[at + EXTRA_N]
            held = LENGTH_OF_DIGEST if ev[at + FORM] == DIGEST_HERE else ev[at + LENGTH] if ev[at + FORM] else 0
            for k in range(held):
                values[bytes_ + k] = values[ev[at + VALUE_AT] + k]
            ev[at + VALUE_AT] = bytes_
            bytes_ += held
            to = ev[at + AT_NEW] * EVENT_STRIDE
            for k in range(EVENT_STRIDE):
                ev[to + k] = ev[at + k]
    used[0] = extras
    used[1] = bytes_
    return kept
