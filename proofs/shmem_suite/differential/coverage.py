"""Which answers of which actions the lock-step test has seen, and what it cannot see, with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from shmem_model.machine import MACHINE

_ENGINES = "copy engines are no agents that make calls, and each agent has one of its own"
_PLACE = "the call names a line; both sides look up where it lives"
_TOKENS = "the call names no token or epoch; the one that can be taken is looked up"
_ADDRESS = "the implementation chooses the place; that the machine could choose it too is checked"
NOT_SEEN: Mapping[tuple[str, str], str] = {
    ("invalidate", "hardware does this"): "what hardware does with dirty words is chosen among what the world allows",
    ("translate", "no copy engine"): _ENGINES,
    ("translate", "lives there"): _PLACE,
    ("send", "a new token, or the sticky one"): _TOKENS,
    ("poll", "the answer is true"): _TOKENS,
    ("arrive", "the current epoch, or an unused one"): _TOKENS,
    ("leave", "own epoch"): _TOKENS,
    ("leave", "NotPermitted"): "who is no member has not arrived, which is answered first",
    ("copy_start", "own engine"): _ENGINES,
    (
        "copy_start",
        "no earlier copy is to land there",
    ): "a second copy to one place: their order is open",
    ("copy_step", "on whose behalf"): _ENGINES,
    ("copy_step", "lives there"): _PLACE,
    ("copy_wait", "own engine"): _ENGINES,
    ("alloc", "StaleHandle"): "a handle comes from alloc, so nobody can ask with a used one",
    ("alloc", "InvalidArgument"): "every region fits somewhere in these worlds",
    ("alloc", "a frame that fits"): _ADDRESS,
    ("alloc", "an unused address"): _ADDRESS,
    ("alloc", "no old translation of it"): _ADDRESS,
    ("free", "lives there"): _PLACE,
    ("migrate", "lives there"): _PLACE,
}
"""Conditions that no call of an adapter can find unmet, and why."""
NOT_COMPARED: Mapping[str, str] = {
    "arrived": "compared as `inside`, since the implementation counts epochs and the machine takes them up again",
    "left": "compared as `inside`",
    "landing": "what is still to land is what is still being copied, as long as copies have targets of their own",
}
"""Functions that are no line of the projection, and why."""


def answers() -> list[tuple[str, str]]:
    """Every action with `done` and with the name of each of its conditions."""
    found = []
    for action in MACHINE.actions.values():
        found += [(action.name, name) for name in ("done", *dict.fromkeys(c.name for c in action.conditions))]
    return found


def missing(seen: Counter[tuple[str, str]]) -> list[tuple[str, str]]:
    """Answers that were neither seen nor are said to be invisible."""
    return [pair for pair in answers() if not seen[pair] and pair not in NOT_SEEN]


def table(seen: Counter[tuple[str, str]]) -> str:
    """The coverage as a Markdown table: per action what was answered, and what cannot be, with the reason."""
    lines = ["| action | answers seen | not to be seen |", "| --- | --- | --- |"]
    for action in MACHINE.actions.values():
        mine = [name for owner, name in answers() if owner == action.name]
        met = ", ".join(name for name in mine if seen[action.name, name])
        why = "; ".join(f"*{name}*: {NOT_SEEN[action.name, name]}" for name in mine if (action.name, name) in NOT_SEEN)
        lines.append(f"| `{action.name}` | {met} | {why} |")
    return "\n".join(lines)
