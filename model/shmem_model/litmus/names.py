"""Names and numbers that remember where they were written.

They *are* strings and integers, so a reader of the tree never unwraps anything; the position is there
only for messages and never takes part in a comparison. Each kind of name has its own type: `mypy` then
refuses to look up a register among the regions, and the renaming in `canonical.py` needs no table.
"""

from __future__ import annotations

from typing import NamedTuple


class Pos(NamedTuple):
    """A place in the source; both numbers start at 1 (0 for a node that was not parsed)."""

    line: int
    column: int


NOWHERE = Pos(0, 0)


class Name(str):
    """An identifier with its place."""

    pos: Pos

    def __new__(cls, text: str, pos: Pos = NOWHERE) -> Name:
        name = super().__new__(cls, text)
        name.pos = pos
        return name


class AgentName(Name):
    """A host or a device: any identifier."""


class RegionName(Name):
    """A region of the head, or one that an `alloc` names."""


class RegisterName(Name):
    """A register; it belongs to the agent in whose block it stands."""


class TeamName(Name):
    """The members of a collective barrier."""


class CopyName(Name):
    """A copy under way; it belongs to the agent that started it."""


class SlotName(Name):
    """A slot that has a name instead of a number; it belongs to its receiver."""


class Whole(int):
    """A natural number with its place."""

    pos: Pos

    def __new__(cls, value: int, pos: Pos = NOWHERE) -> Whole:
        number = super().__new__(cls, value)
        number.pos = pos
        return number


NONE = Whole(0)
SlotId = SlotName | Whole
