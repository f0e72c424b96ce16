"""Events as rows of numbers, which is what the check reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from shmem_model.conformance.traces import streams as st
from shmem_model.conformance.traces.events import ACTIONS, BIG, Event, Malformed, described

NUMBER = {name: number for number, name in enumerate(ACTIONS)}
"""Action -> its number."""
NAMES = tuple(ACTIONS)
_PAIRS = (
    ("region", st.NUMBER), ("range", st.OFFSET), ("target", st.TO_NUMBER), ("target_range", st.TO_OFFSET),
)  # fmt: skip
_DIGEST = re.compile("sha256:[0-9a-f]{64}", re.ASCII)
_WORD = 1 << 64


class Texts:
    """Texts and their numbers, in the order of their first use."""

    def __init__(self, known: tuple[str, ...] = ()) -> None:
        self.known: list[str] = list(known)
        self.number = {text: number for number, text in enumerate(known)}

    def of(self, text: str) -> int:
        """The number of a text, which is given one if it has none."""
        found = self.number.get(text)
        if found is None:
            found = self.number[text] = len(self.known)
            self.known.append(text)
        return found


class Columns:
    """Events to be checked: numbers in `ev`, what has no fixed length in `extra` (numbers) and `values` (bytes)."""

    def __init__(self, agents: Mapping[str, int], arrays: bool) -> None:
        self.agents, self.arrays = agents, arrays
        self.teams, self.places = Texts(), Texts()
        self.count = self.extras = self.bytes = 0
        self.cut: set[str] = set()
        """Agents that were killed, so that their last event may be missing."""
        self.at = 0
        """The first event that has not been fed."""
        self.ev: Any = np.zeros(0, "i8") if arrays else []
        self.extra: Any = np.zeros(0, "i8") if arrays else []
        self.values: Any = np.zeros(0, "u1") if arrays else bytearray()

    def room(self, events: int, extras: int, bytes_: int) -> None:
        """Room in the arrays for so many more."""
        if self.arrays:
            self.ev = _room(self.ev, (self.count + events) * st.EVENT_STRIDE)
            self.extra = _room(self.extra, self.extras + extras)
            self.values = _room(self.values, self.bytes + bytes_)

    def add(self, found: Event, line: int) -> None:
        """One event.  Raises `Malformed` for a field that says what cannot be."""
        row, extra, value = self._row(found, line)
        self.room(1, len(extra), len(value))
        put(self, "ev", self.count * st.EVENT_STRIDE, row)
        put(self, "extra", self.extras, extra)
        put(self, "values", self.bytes, value)
        self.count += 1
        self.extras += len(extra)
        self.bytes += len(value)

    def _row(self, found: Event, line: int) -> tuple[list[int], list[int], bytes]:
        row = [0] * st.EVENT_STRIDE
        action: str = found["action"]
        row[st.AGENT], row[st.N], row[st.ACTION] = self.agents[found["agent"]], found["n"], NUMBER[action]
        row[st.NUMBER] = row[st.TO_NUMBER] = -1
        row[st.AT_LINE], row[st.EXTRA_AT], row[st.VALUE_AT] = line, self.extras, self.bytes
        where = found.get("where")
        row[st.WHERE] = self.places.of(where) if where else -1 - found["n"]
        if "error" in found:
            row[st.ERROR] = 1
            return row, [], b""
        for key, at in (
            ("region", st.NUMBER),
            ("range", st.OFFSET),
            ("target", st.TO_NUMBER),
            ("target_range", st.TO_OFFSET),
        ):
            if key in found:
                row[at : at + 2] = found[key]
        if action == "die" and found.get("cut"):
            self.cut.add(found["agent"])
        row[st.FLAG] = int(bool(found.get("drop")) or bool(found.get("got")))
        extra: list[int] = []
        value = b""
        if action in ("read", "write"):
            row[st.FORM], value = form(found["value"], row[st.LENGTH])
        elif "operand" in ACTIONS[action]:
            row[st.VALUE], row[st.LEAVES] = _atomic(found)
        elif action == "send":
            row[st.WHO], row[st.SLOT], row[st.COUNT] = self._agent(found, found["to"]), *_small(found, "slot", "count")
        elif action in ("wait", "poll"):
            (row[st.SLOT],) = _small(found, "slot")
            extra = self._counts(found.get("upto", {}))
        elif action in ("arrive", "leave"):
            row[st.WHO] = self.teams.of(found["team"])
            (row[st.COUNT],) = _small(found, "epoch")
            extra = self._members(found) if action == "arrive" else []
        row[st.EXTRA_N] = len(extra)
        return row, extra, value

    def _agent(self, found: Event, name: str) -> int:
        if name not in self.agents:
            raise Malformed(f"{described(found)}: the receiver {name!r} is none of the agents")
        return self.agents[name]

    def _counts(self, upto: Any) -> list[int]:
        pairs: list[int] = []
        for name, count in upto.items() if isinstance(upto, dict) else (("", None),):
            if name not in self.agents or type(count) is not int or not 0 <= count < BIG:
                raise Malformed("`upto` must give a number for each sender by its name")
            pairs += self.agents[name], count
        return pairs

    def _members(self, found: Event) -> list[int]:
        members = found["members"]
        right = all(isinstance(name, str) and name in self.agents for name in members)
        if not right or found["agent"] not in members or len(set(members)) != len(members):
            raise Malformed(f"{described(found)}: the members must be agents, each once, {found['agent']} among them")
        return [self.agents[name] for name in members]

    def event(self, number: int) -> Event:
        """Enough of an event to describe it."""
        row = [int(n) for n in self.ev[number * st.EVENT_STRIDE : (number + 1) * st.EVENT_STRIDE]]
        name = next(name for name, at in self.agents.items() if at == row[st.AGENT])
        found: Event = {
            "agent": name,
            "n": row[st.N],
            "action": NAMES[row[st.ACTION]],
            "where": self.place(row[st.WHERE]),
        }
        if row[st.NUMBER] >= 0:
            found["region"] = row[st.NUMBER : st.NUMBER + 2]
            if "range" in ACTIONS[found["action"]]:
                found["range"] = row[st.OFFSET : st.OFFSET + 2]
        return found

    def place(self, where: int) -> str:
        """The place of a program, or nothing."""
        return self.places.known[where] if where >= 0 else ""

    def value(self, number: int) -> bytes:
        """The bytes (or the digest) that an event told."""
        row = self.ev[number * st.EVENT_STRIDE : (number + 1) * st.EVENT_STRIDE]
        length = st.LENGTH_OF_DIGEST if row[st.FORM] == st.DIGEST_HERE else int(row[st.LENGTH])
        return bytes(self.values[row[st.VALUE_AT] : row[st.VALUE_AT] + length])


def _room(table: Any, count: int) -> Any:
    if len(table) >= count:
        return table
    new = np.zeros(max(2 * len(table), count), table.dtype)
    new[: len(table)] = table
    return new


def put(columns: Columns, name: str, at: int, what: Any) -> None:
    """Put numbers at a place of a list that ends there, or of an array."""
    if columns.arrays:
        getattr(columns, name)[at : at + len(what)] = np.frombuffer(what, "u1") if isinstance(what, bytes) else what
    else:
        getattr(columns, name)[at:] = what


def form(value: str, length: int) -> tuple[int, bytes]:
    """How a value is told, and its bytes.  Raises `Malformed`."""
    if _DIGEST.fullmatch(value):
        return st.DIGEST_HERE, bytes.fromhex(value[7:])
    try:
        data = bytes.fromhex(value)
    except ValueError:
        raise Malformed("`value` must be bytes in hexadecimal, or sha256: and the 64 digits of a digest") from None
    if len(data) != length:
        raise Malformed(f"`value` has {len(data)} bytes and `range` {length}; they must agree")
    return st.BYTES_HERE, data


def _small(found: Event, *keys: str) -> list[int]:
    for key in keys:
        if not 0 <= found[key] < BIG:
            raise Malformed(f"{described(found)}: `{key}` must be at least 0 and less than 2^62")
    return [found[key] for key in keys]


def _atomic(found: Event) -> tuple[int, int]:
    """What an atomic found and what it leaves, as signed words."""
    for key in ("value", "operand", "old"):
        if not 0 <= found.get(key, 0) < _WORD:
            raise Malformed(f"{described(found)}: `{key}` must be a number of 64 bits")
    value, operand = found["value"], found["operand"]
    match found["action"]:
        case "atomic_add":
            leaves = (value + operand) % _WORD
        case "atomic_swap":
            leaves = operand
        case _:
            leaves = operand if value == found["old"] else value
    return _signed(value), _signed(leaves)


def _signed(value: int) -> int:
    return value - _WORD if value >= _WORD // 2 else value
