"""Small things that all parts of the builder use: places, names, numbers, operands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeVar

from . import syntax as sx
from . import words
from .errors import LitmusError
from .names import Name, Pos, RegionName, SlotId, SlotName, Whole

if TYPE_CHECKING:
    from lark import Token

_N = TypeVar("_N", bound=Name)


@dataclass(frozen=True)
class Place:
    """`x[i]` before it is known whether it is read, written or asked about."""

    region: RegionName
    index: sx.Index
    pos: Pos


Operand = sx.Expr | sx.Condition | Place


def at(token: Token) -> Pos:
    """Where a token starts."""
    return Pos(token.line or 1, token.column or 1)


def fail(pos: Pos, message: str, hint: str = "") -> NoReturn:
    """Refuse the input at this place."""
    raise LitmusError(message, line=pos.line, column=pos.column, hint=hint)


def name(token: Token, kind: type[_N]) -> _N:
    """A name of some kind; the words of the language are none."""
    if token in words.RESERVED:
        fail(at(token), f"'{token}' is a reserved word", "choose another name")
    if len(token) > words.MAX_NAME:
        fail(at(token), f"a name of {len(token)} characters", f"the limit is {words.MAX_NAME}")
    return kind(str(token), at(token))


def number(token: Token, most: int = words.MAX_VALUE, least: int = 0) -> Whole:
    """A number within its limits. Python refuses to convert very long ones, so the length comes first."""
    digits = token.lower().removeprefix("0x").lstrip("0")
    value = int(str(token), 16 if token.lower().startswith("0x") else 10) if len(digits) < 10 else None
    if value is None or not least <= value <= most:
        shown = token if len(token) <= 20 else f"{token[:17]}..."
        fail(at(token), f"{shown} is out of range", f"use a number from {least} to {most}")
    return Whole(value, at(token))


def slot_id(token: Token) -> SlotId:
    """A slot is a number or a name."""
    return number(token) if token.type == "NUMBER" else name(token, SlotName)


def value(operand: Operand) -> sx.Expr:
    """A number in an expression. `x[i]` becomes memory at the end, which `checks.py` allows in `ask` only."""
    if isinstance(operand, Place):
        if not isinstance(operand.index, sx.Const):
            hint = "read it into a register first: r1 = x[r0]; a question takes a number: x[0]"
            fail(operand.pos, "memory at an index in a register cannot stand here", hint)
        return sx.FinalWord(operand.region, operand.index.value, pos=operand.pos)
    if isinstance(operand, sx.Compare | sx.Not | sx.And | sx.Or):
        fail(operand.pos, "a number is needed here, this is a condition", "use 'if' to act upon a condition")
    return operand
