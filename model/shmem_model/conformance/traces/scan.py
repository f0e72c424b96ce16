"""Lines of a trace into rows of numbers, without Python objects: for the compiled check of long traces.

Only lines in the plain form that programs write are read here: no escapes, no numbers with fractions, no field twice.
Any other line is left to `events.event`, which reads all of JSON and says what is wrong; so is every mistake.
"""

from __future__ import annotations

from typing import NamedTuple

from shmem_model.conformance.traces.streams import (  # isort: skip
    ACTION, AGENT, ARRIVE, AT_LINE, ATOMIC_ADD, BYTES_HERE, COMPARE_SWAP, COUNT, DIGEST_HERE, ERROR, EVENT_STRIDE,
    EXTRA_AT, EXTRA_N, FLAG, FORM, LEAVES, LENGTH, LENGTH_OF_DIGEST, NO_VALUE, NUMBER, OFFSET, POLL, READ, SLOT,
    TO_NUMBER, TO_OFFSET, VALUE, VALUE_AT, WAIT, WHERE, WHO, WRITE, N,
)  # fmt: skip
from shmem_model.conformance.traces.tables import Numbers

# The fields of a line, as bits of what was found, in the order of `FIELDS`.
FIELDS = (
    "agent", "n", "action", "where", "region", "range", "value", "slot", "count", "upto", "to", "from",
    "team", "epoch", "members", "operand", "old", "target", "target_range", "got", "drop", "error",
)  # fmt: skip
F_AGENT, F_N, F_ACTION, F_WHERE, F_REGION, F_RANGE, F_VALUE, F_SLOT = 1, 2, 4, 8, 16, 32, 64, 128
F_COUNT, F_UPTO, F_TO, F_FROM, F_TEAM, F_EPOCH, F_MEMBERS = 1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14
F_OPERAND, F_OLD, F_TARGET, F_TARGET_RANGE, F_GOT, F_DROP = 1 << 15, 1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 20
F_ERROR, F_NUMBER = 1 << 21, 1 << 22  # F_NUMBER: `value` where it is a number
ALWAYS, WIDE = F_AGENT | F_N | F_ACTION, F_NUMBER | F_OPERAND | F_OLD
TEXTS = F_AGENT | F_ACTION | F_WHERE | F_VALUE | F_TO | F_FROM | F_TEAM | F_ERROR

MOST_TENS = (2**64 - 1) // 10

# How a line ended.
GOOD, ODD = 0, 1
# What the scanner tells: the place behind the last line, lines and events so far, and what they take.
S_AT, S_LINE, S_COUNT, S_EXTRAS, S_BYTES, S_END = 0, 1, 2, 3, 4, 5
# What it keeps of the line it reads: the text of its value, and its numbers.
S_TEXT, S_TEXT_END, S_VALUE, S_OPERAND, S_OLD = 6, 7, 8, 9, 10
S_TOLD = 11


K_AGENT, K_ACTION, K_ERROR, K_FIELD, K_TEAM, K_PLACE = range(6)
"""Kinds of texts; each has its own numbers."""
KINDS = 6
START, KIND, NUMBER_IN_KIND, ENTRY_STRIDE = 0, 1, 2, 3


class Names(NamedTuple):
    """Texts and their numbers."""

    text: Numbers
    """All bytes in a row."""
    entry: Numbers
    """Where each text begins, its kind, and its number in its kind."""
    table: Numbers
    """A hash table of entries, + 1."""
    used: Numbers
    """How many entries there are of each kind, and of all."""


def same_text(names: Names, entry: int, kind: int, buf: Numbers, a: int, b: int) -> bool:
    """Whether an entry is this text of this kind."""
    start = names.entry[entry * ENTRY_STRIDE + START]
    length = names.entry[(entry + 1) * ENTRY_STRIDE + START] - start
    if length != b - a or names.entry[entry * ENTRY_STRIDE + KIND] != kind:
        return False
    for i in range(length):
        if names.text[start + i] != buf[a + i]:
            return False
    return True


def number_of(names: Names, kind: int, buf: Numbers, a: int, b: int, add: bool) -> int:
    """The number of the text between `a` and `b` in its kind; -1 if it has none and none is added."""
    code = kind
    for i in range(a, b):
        code = (code * 31 + buf[i]) & 0xFFFFFFFF
    mask = len(names.table) - 1
    at = (code ^ (code >> 15)) & mask
    while names.table[at]:
        if same_text(names, names.table[at] - 1, kind, buf, a, b):
            return names.entry[(names.table[at] - 1) * ENTRY_STRIDE + NUMBER_IN_KIND]
        at = (at + 1) & mask
    if not add:
        return -1
    entry, number = names.used[KINDS], names.used[kind]
    start = names.entry[entry * ENTRY_STRIDE + START]
    for i in range(b - a):
        names.text[start + i] = buf[a + i]
    names.entry[entry * ENTRY_STRIDE + KIND] = kind
    names.entry[entry * ENTRY_STRIDE + NUMBER_IN_KIND] = number
    names.entry[(entry + 1) * ENTRY_STRIDE + START] = start + b - a
    names.table[at] = entry + 1
    names.used[KINDS] += 1
    names.used[kind] += 1
    return number


# -- parts of a line: each gives the place behind it, or -1 --------------------------------------------------


def skip(buf: Numbers, at: int) -> int:
    """Behind blanks."""
    while buf[at] == 32 or buf[at] == 9:
        at += 1
    return at


def text_end(buf: Numbers, at: int) -> int:
    """The closing quote of a plain text whose first quote is at `at`; -1 if it is none."""
    if buf[at] != 34:
        return -1
    at += 1
    while buf[at] != 34:
        if buf[at] == 92 or buf[at] < 32 or buf[at] > 126:
            return -1
        at += 1
    return at


def digits_end(buf: Numbers, at: int) -> int:
    """Behind a whole number of less than 2^64."""
    first = at
    while 48 <= buf[at] <= 57:
        at += 1
    if at == first or at - first > 20 or (buf[first] == 48 and at - first > 1):
        return -1
    if at - first == 20:
        tens = number_at(buf, first, at - 1) if buf[first] == 49 else MOST_TENS + 1
        if tens > MOST_TENS or (tens == MOST_TENS and buf[at - 1] > 53):
            return -1
    if buf[at] == 46 or buf[at] == 101 or buf[at] == 69:
        return -1
    return at


def number_at(buf: Numbers, at: int, end: int) -> int:
    """The number between the two places, modulo 2^64."""
    number = 0
    for i in range(at, end):
        number = number * 10 + (buf[i] - 48)
    return number


def pair(buf: Numbers, at: int, row: Numbers, to: int) -> int:
    """Two numbers below 2^62 in brackets."""
    if buf[at] != 91:
        return -1
    for k in range(2):
        at = skip(buf, at + 1)
        end = digits_end(buf, at)
        if end == -1 or end - at > 18:
            return -1
        row[to + k] = number_at(buf, at, end)
        at = skip(buf, end)
        if buf[at] != (44 if k == 0 else 93):
            return -1
    return at + 1


def is_word(buf: Numbers, at: int, end: int, word: bytes) -> bool:
    """Whether these bytes are the word."""
    if end - at != len(word):
        return False
    for i in range(len(word)):
        if buf[at + i] != word[i]:
            return False
    return True


def truth(buf: Numbers, at: int, row: Numbers, to: int) -> int:
    """true or false."""
    if is_word(buf, at, at + 4, b"true"):
        row[to] = 1
        return at + 4
    return at + 5 if is_word(buf, at, at + 5, b"false") else -1


def hex_digit(byte: int) -> int:
    """The number of a digit, or -1."""
    if 48 <= byte <= 57:
        return byte - 48
    if 97 <= byte <= 102:
        return byte - 87
    return byte - 55 if 65 <= byte <= 70 else -1


def hex_bytes(buf: Numbers, at: int, end: int, values: Numbers, to: int) -> int:
    """Hexadecimal digits into bytes; how many, or -1."""
    if (end - at) % 2:
        return -1
    for k in range((end - at) // 2):
        high, low = hex_digit(buf[at + 2 * k]), hex_digit(buf[at + 2 * k + 1])
        if high < 0 or low < 0:
            return -1
        values[to + k] = high * 16 + low
    return (end - at) // 2


def pairs(buf: Numbers, at: int, names: Names, extra: Numbers, to: int) -> tuple[int, int]:
    """An object of agents and numbers; the place behind it, and how many numbers were put into `extra`."""
    count = 0
    if buf[at] != 123:
        return -1, 0
    at = skip(buf, at + 1)
    if buf[at] == 125:
        return at + 1, 0
    while True:
        end = text_end(buf, at)
        if end == -1:
            return -1, 0
        agent = number_of(names, K_AGENT, buf, at + 1, end, False)
        for k in range(0, count, 2):
            if extra[to + k] == agent:
                return -1, 0
        at = skip(buf, end + 1)
        if agent == -1 or buf[at] != 58:
            return -1, 0
        at = skip(buf, at + 1)
        end = digits_end(buf, at)
        if end == -1 or end - at > 18:
            return -1, 0
        extra[to + count] = agent
        extra[to + count + 1] = number_at(buf, at, end)
        count += 2
        at = skip(buf, end)
        if buf[at] == 125:
            return at + 1, count
        if buf[at] != 44:
            return -1, 0
        at = skip(buf, at + 1)


def members(buf: Numbers, at: int, names: Names, extra: Numbers, to: int) -> tuple[int, int]:
    """A list of agents, each once; the place behind it, and how many."""
    count = 0
    if buf[at] != 91:
        return -1, 0
    while True:
        at = skip(buf, at + 1)
        end = text_end(buf, at)
        if end == -1:
            return -1, 0
        agent = number_of(names, K_AGENT, buf, at + 1, end, False)
        for k in range(count):
            if extra[to + k] == agent:
                return -1, 0
        if agent == -1:
            return -1, 0
        extra[to + count] = agent
        count += 1
        at = skip(buf, end + 1)
        if buf[at] == 93:
            return at + 1, count
        if buf[at] != 44:
            return -1, 0


# -- lines ---------------------------------------------------------------------------------------------------


def text_field(field: int, buf: Numbers, a: int, b: int, names: Names, row: Numbers, told: Numbers) -> bool:
    """A field whose value is a text, the one between `a` and `b`; whether it can be."""
    kind, to = K_AGENT, WHO
    if field == F_VALUE:
        told[S_TEXT] = a
        told[S_TEXT_END] = b
        return True
    if field == F_FROM:
        return True
    if field == F_AGENT:
        to = AGENT
    elif field == F_ACTION:
        kind, to = K_ACTION, ACTION
    elif field == F_ERROR:
        kind, to = K_ERROR, ERROR
    elif field == F_TEAM:
        kind = K_TEAM
    elif field == F_WHERE:
        kind, to = K_PLACE, WHERE
    row[to] = number_of(names, kind, buf, a, b, kind >= K_TEAM)
    return row[to] != -1 and (field != F_WHERE or b > a)


def number_field(field: int, found: int, row: Numbers, told: Numbers) -> None:
    """A field whose value is one number."""
    if field == F_N:
        row[N] = found
    elif field == F_SLOT:
        row[SLOT] = found
    elif field == F_COUNT or field == F_EPOCH:
        row[COUNT] = found
    elif field == F_NUMBER:
        told[S_VALUE] = found
    elif field == F_OPERAND:
        told[S_OPERAND] = found
    else:
        told[S_OLD] = found


def field_value(field: int, buf: Numbers, at: int, names: Names, row: Numbers, extra: Numbers, told: Numbers) -> int:
    """The value of a field; the place behind it, or -1."""
    if field & TEXTS:
        end = text_end(buf, at)
        if end == -1 or not text_field(field, buf, at + 1, end, names, row, told):
            return -1
        return end + 1
    if field == F_REGION:
        return pair(buf, at, row, NUMBER)
    if field == F_RANGE:
        return pair(buf, at, row, OFFSET)
    if field == F_TARGET:
        return pair(buf, at, row, TO_NUMBER)
    if field == F_TARGET_RANGE:
        return pair(buf, at, row, TO_OFFSET)
    if field == F_UPTO:
        at, row[EXTRA_N] = pairs(buf, at, names, extra, told[S_EXTRAS])
        return at
    if field == F_MEMBERS:
        at, row[EXTRA_N] = members(buf, at, names, extra, told[S_EXTRAS])
        return at
    if field == F_GOT or field == F_DROP:
        return truth(buf, at, row, FLAG)
    end = digits_end(buf, at)
    if end == -1 or (end - at > 18 and not field & WIDE):
        return -1
    number_field(field, number_at(buf, at, end), row, told)
    return end


def fields(buf: Numbers, at: int, names: Names, row: Numbers, extra: Numbers, told: Numbers) -> tuple[int, int]:
    """All fields of an object; the place behind it, or -1, and which there were."""
    have = 0
    if buf[at] != 123:
        return -1, 0
    while True:
        at = skip(buf, at + 1)
        end = text_end(buf, at)
        if end == -1:
            return -1, 0
        number = number_of(names, K_FIELD, buf, at + 1, end, False)
        field = 1 << number if number >= 0 else have
        at = skip(buf, end + 1)
        if have & field or buf[at] != 58:
            return -1, 0
        at = skip(buf, at + 1)
        if field == F_VALUE and buf[at] != 34:
            field = F_NUMBER
        have |= field
        at = field_value(field, buf, at, names, row, extra, told)
        if at == -1:
            return -1, 0
        at = skip(buf, at)
        if buf[at] == 125:
            return at + 1, have
        if buf[at] != 44:
            return -1, 0


def line(
    buf: Numbers, at: int, names: Names, row: Numbers, extra: Numbers, values: Numbers, needs: Numbers,
    told: Numbers,
) -> int:  # fmt: skip
    """One line into `row`; the place behind its end, or -1 for a line that is odd."""
    at, have = fields(buf, skip(buf, at), names, row, extra, told)
    if at == -1:
        return -1
    at = skip(buf, at)
    if buf[at] != 10 or have & ALWAYS != ALWAYS:
        return -1
    if not have & F_WHERE:
        row[WHERE] = -1 - row[N]
    if have & F_ERROR:
        row[ERROR] = 1
        # Of a call that failed nothing else is looked at.
        row[NUMBER] = -1
        row[TO_NUMBER] = -1
        row[EXTRA_N] = 0
        return at + 1
    if have & needs[row[ACTION]] != needs[row[ACTION]]:
        return -1
    for twice in (F_VALUE | F_NUMBER, F_COUNT | F_EPOCH, F_TO | F_TEAM, F_UPTO | F_MEMBERS):
        if have & twice == twice:
            return -1
    return at + 1 if of_action(buf, row, extra, values, told) else -1


def of_action(buf: Numbers, row: Numbers, extra: Numbers, values: Numbers, told: Numbers) -> bool:
    """What the fields say together; whether that can be."""
    action = row[ACTION]
    if action == READ or action == WRITE:
        row[EXTRA_N] = 0
        return value(buf, told[S_TEXT], told[S_TEXT_END], row, values, told)
    if ATOMIC_ADD <= action <= COMPARE_SWAP:
        row[VALUE] = told[S_VALUE]
        row[LEAVES] = told[S_OPERAND]
        if action == ATOMIC_ADD:
            row[LEAVES] = told[S_VALUE] + told[S_OPERAND]
        elif action == COMPARE_SWAP and told[S_VALUE] != told[S_OLD]:
            row[LEAVES] = told[S_VALUE]
    elif action == ARRIVE:
        mine = False
        for k in range(row[EXTRA_N]):
            mine = mine or extra[told[S_EXTRAS] + k] == row[AGENT]
        if not mine:
            return False
    if action != WAIT and action != POLL and action != ARRIVE:
        row[EXTRA_N] = 0
    told[S_EXTRAS] += row[EXTRA_N]
    return True


def value(buf: Numbers, a: int, b: int, row: Numbers, values: Numbers, told: Numbers) -> bool:
    """The value of an access; whether it fits its range."""
    length, here, to = row[LENGTH], BYTES_HERE, told[S_BYTES]
    if b - a == 71 and is_word(buf, a, a + 7, b"sha256:"):
        for i in range(a + 7, b):
            if 65 <= buf[i] <= 70:
                return False
        a, length, here = a + 7, LENGTH_OF_DIGEST, DIGEST_HERE
    if hex_bytes(buf, a, b, values, to) != length:
        return False
    row[FORM] = here
    told[S_BYTES] = to + length
    return True


def scan(
    buf: Numbers, names: Names, ev: Numbers, extra: Numbers, values: Numbers, needs: Numbers, told: Numbers
) -> int:
    """Lines up to the first that is odd, or to the end; `buf` ends with a line's end."""
    while told[S_AT] < told[S_END]:
        at = told[S_COUNT] * EVENT_STRIDE
        row = ev[at : at + EVENT_STRIDE]
        for i in range(EVENT_STRIDE):
            row[i] = 0
        row[NUMBER] = -1
        row[TO_NUMBER] = -1
        row[FORM] = NO_VALUE
        row[AT_LINE] = told[S_LINE] + 1
        row[EXTRA_AT] = told[S_EXTRAS]
        row[VALUE_AT] = told[S_BYTES]
        after = line(buf, told[S_AT], names, row, extra, values, needs, told)
        if after == -1:
            return ODD
        told[S_AT] = after
        told[S_LINE] += 1
        told[S_COUNT] += 1
    return GOOD
