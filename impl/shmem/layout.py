"""Where each word lies in the shared pages, and what its numbers mean.

`_core.c` has the same constants (a test compares them).  Every page has one writer unless said otherwise, and
no page holds an address: offsets only, so each process maps them where it likes.

| page | written by | read by | holds |
| ----- | ---------- | ------- | ----- |
| board | driver | all | which agents live, and who may send to which slot |
| bell | receiver, its senders, driver | the same | one futex word per receiver |
| own | its agent | its senders, driver, team members | waiters, consumed notifications, answers of its engine |
| pair | one sender | one receiver, driver | notifications sent so far, per slot |
| table | driver | agents on the arena's list | the regions of an arena, under sequence locks |
| rights | driver | one agent | that agent's page table for one arena |
| pins | one agent | driver | what that agent uses right now in one arena |
| team | its members | its members, driver | arrivals of a barrier |
"""

LINE = 64
"""Bytes of a cache line."""
WORD = 8
"""Bytes of a word, the unit of atomics."""
PAGE = 4096
"""Bytes of a page; extents and shared pages are multiples of it."""

MAX_AGENTS = 32
"""Agents that one driver serves at a time."""
SLOTS = 256
"""Notification slots of one receiver, numbered from 0."""
REGIONS = 4096
"""Live regions of one arena."""
TEAMS = 64
"""Teams of one driver."""

# board: 64 bytes for each agent, then the grants: MAX_AGENTS x MAX_AGENTS bit sets of SLOTS bits
BOARD_EVENTS = MAX_AGENTS * 64
BOARD_GRANTS = 4096
BOARD_SIZE = BOARD_GRANTS + MAX_AGENTS * MAX_AGENTS * (SLOTS // 8)
AGENT_STATE = 0
AGENT_INCARNATION = 8
FREE, ALIVE, DEAD = 0, 1, 2

# own
OWN_WAITING = 0
OWN_GB_ACKED = 2048  # per writer: number of the last global barrier that this agent's engine has served
OWN_CONSUMED = 4096
OWN_SIZE = OWN_CONSUMED + MAX_AGENTS * SLOTS * WORD

PAIR_GB = SLOTS * WORD  # number of the sender's latest global barrier that asks the receiver
PAIR_SIZE = SLOTS * WORD + 64
BELL = 0
ENGINE = 64  # futex word of the agent's engine (on multicast platforms in a page of the whole tenant)
BELL_SIZE = PAGE

# table: one 64-byte entry for each region
ENTRY = 64
E_SEQ, E_STATE, E_GENERATION, E_OFFSET, E_SIZE, E_EXTENT, E_PHYSICAL, E_FLAGS = 0, 4, 8, 16, 24, 32, 40, 48
LIVE, FROZEN, CLOSED = 1, 2, 3
TABLE_SIZE = REGIONS * ENTRY
RIGHTS_SIZE = REGIONS * WORD
PINS_SIZE = REGIONS * WORD
READ, WRITE = 1, 2
LINGER = 1 << 32
"""Upper half of a pin word: arrays that outlived their view."""

# team: a header, then one line for each member
TEAM_EPOCH = 0  # futex word: bumped at each completed epoch and each death
TEAM_ASKED = 64  # futex word for the multicast form of the global barrier
TEAM_MEMBER = 128
TEAM_ROUNDS = 128 + 64 * MAX_AGENTS  # per member, per round: number of the epoch signalled; and its futex word
TEAM_SIZE = 2 * PAGE * 2

# codes of Access
OK, STALE, RANGE, NOT_MAPPED, READ_ONLY, IS_FROZEN, TORN, MOVED = range(8)
RECHECK, TIMED_OUT = -1, -2


def rights_of(text: str) -> int:
    """The bits of a rights string: `"r"`, `"w"` (which includes reading) or `"rw"`."""
    return {"r": READ, "w": READ | WRITE, "rw": READ | WRITE}[text]


def row_of_grants(receiver: int, sender: int) -> int:
    """Offset in the board of the slots of `receiver` to which `sender` may send."""
    return BOARD_GRANTS + (receiver * MAX_AGENTS + sender) * (SLOTS // 8)
