"""What the parser says when it meets a token that cannot stand there.

A list of expected tokens helps nobody. So the commonest mistakes are recognised from the token, what could
have stood there and the word with which the statement starts; only then is the list shown, if it is short.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from . import words
from .errors import LitmusError, quoted, suggest
from .layout import bad_character

_HUMAN = {
    "_NL": "end of line",
    "_INDENT": "an indented block",
    "NAME": "a name",
    "NUMBER": "a number",
    "TITLE": "a name",
    "VERDICT": "an answer such as 'allowed' or 'race-free'",
    "OPERATOR": "a comparison such as '=='",
    "SIGN": "'+' or '-'",
    **{
        "EQUAL": "'='",
        "COLON": "':'",
        "COMMA": "','",
        "SEMICOLON": "';'",
        "DOT": "'.'",
        "STAR": "'*'",
        "RANGE": "'..'",
    },
    **{"LSQB": "'['", "RSQB": "']'", "LBRACE": "'{'", "RBRACE": "'}'", "LPAR": "'('", "RPAR": "')'"},
}
_STARTS = (*words.STATEMENTS, *words.CONTROL)


@dataclass(frozen=True)
class Spot:
    """The unexpected token in its surroundings."""

    line: int
    column: int
    kind: str
    text: str
    expected: frozenset[str]
    before: str
    first: str
    first_column: int

    @property
    def indented(self) -> bool:
        """Does the line stand inside a block?"""
        return self.before[:1] in (" ", "\t") or (not self.before and self.column > 1)


def explain(error: UnexpectedInput, lines: list[str]) -> LitmusError:
    """The message for what lark refused."""
    if isinstance(error, UnexpectedCharacters):
        line, column = error.line, error.column
        message, hint = bad_character(lines[line - 1][column - 1], lines[line - 1][column - 1 :])
        return LitmusError(message, line=line, column=column, hint=hint)
    if not isinstance(error, UnexpectedToken):
        return LitmusError("the file ends too early", line=len(lines), hint="complete the last line")
    spot = _spot(error, lines)
    for rule in (_layout, _start, _operators, _early_end):
        found = rule(spot)
        if found:
            message, hint, column = found
            return LitmusError(message, line=spot.line, column=column, hint=hint)
    return LitmusError(f"unexpected {quoted(spot.text)}", line=spot.line, column=spot.column, hint=_wanted(spot))


def _spot(error: UnexpectedToken, lines: list[str]) -> Spot:
    token: Token = error.token
    line, column = token.line or len(lines), token.column or len(lines[-1]) + 1
    expected = frozenset(error.accepts or error.expected)
    if token.type == "$END":
        line, column = len(lines), len(lines[-1]) + 1
    if expected == {"_INDENT"}:  # the place to complain about is the end of the line before
        last = line + (token.type == "$END")  # a text that ends there has no line behind it
        line = max((row for row in range(1, last) if lines[row - 1]), default=line)
        column = len(lines[line - 1]) + 1
    before = lines[line - 1][: column - 1]
    start = max(before.rfind(";"), before.rfind(":")) + 1
    first = re.match(r"\s*([A-Za-z_]\w*)", before[start:])
    word, at = (first[1], start + first.start(1) + 1) if first else ("", column)
    return Spot(line, column, token.type, str(token).strip(), expected, before, word, at)


Found = tuple[str, str, int] | None


def _layout(spot: Spot) -> Found:
    """Indentation that is missing or in excess."""
    if spot.kind == "_INDENT":
        return "unexpected indentation", "only the statements of a block are indented", spot.column
    if spot.expected == {"_INDENT"} or (spot.kind == "_NL" and "_INDENT" in spot.expected):
        return "an indented block is missing here", "indent the statements after ':'", spot.column
    return None


def _start(spot: Spot) -> Found:
    """The statement starts with a word that starts none here."""
    if spot.before[spot.first_column - 1 :].strip() != spot.first or not spot.first:
        return None
    as_name = spot.expected & {"EQUAL", "COLON"}
    if spot.first in words.RESERVED:
        message, hint = _reserved(spot) if as_name or spot.text == "=" else ("", "")
    elif not spot.indented and spot.text[:1] in ("=", "["):
        message, hint = "a statement outside an agent block", "indent it under 'dev0:'"
    elif spot.text == ":":
        message, hint = f"'{spot.first}:' inside a block", "an agent block starts in the first column"
    elif as_name:
        known = _STARTS if spot.indented else (*words.HEAD, *words.QUESTION)
        message = f"unknown {'statement' if spot.indented else 'declaration'} {quoted(spot.first)}"
        hint = words.ALIASES.get(spot.first) or suggest(spot.first, known)
    else:
        return None
    return (message, hint, spot.first_column) if message else None


def _reserved(spot: Spot) -> tuple[str, str]:
    """A word of the language at a place where it means nothing."""
    word, alone = spot.first, not spot.before[: spot.first_column - 1].strip()
    if spot.text == "=":
        return f"'{word}' is a reserved word", "choose another name"
    if word == "else":
        return "'else' without an 'if' above it", "align it with its 'if'"
    if word in words.CONTROL and not alone:
        return f"'{word}' behind ':' or ';' on the same line", "give it an indented line of its own"
    if word in words.ATOMICS:
        return f"'{word}' starts no statement", words.ALIASES[word]
    if word in _STARTS and not spot.indented:
        return f"'{word}' outside an agent block", "indent it under 'dev0:'"
    if word in (*words.HEAD, *words.QUESTION) and spot.indented:
        return f"'{word}' inside a block", "it starts in the first column"
    return f"unexpected '{word}'", "it is a word of the language and no name"


def _operators(spot: Spot) -> Found:
    """Operators of other languages, and signs."""
    if spot.text == "-" and spot.expected & {"NUMBER", "NAME"}:
        return "negative numbers are not allowed", f"numbers are 0..{words.MAX_VALUE}", spot.column
    if spot.text == "=" and "OPERATOR" in spot.expected:
        return "'=' compares nothing", "write '=='", spot.column
    if spot.text[:1].isdigit() and spot.kind not in ("NUMBER", "_NL"):
        return (
            f"bad number {quoted(spot.text)}",
            "numbers are 12 or 0x0c, names start with a letter",
            spot.column,
        )
    if spot.kind == "OPERATOR" and "AND" in spot.expected:
        return f"unexpected '{spot.text}'", "compare two numbers at a time and join with 'and'", spot.column
    if spot.text == ":" and "RANGE" in spot.expected:
        return "unexpected ':'", "a range is written x[0..3]", spot.column
    if spot.text == "[" and spot.before.rstrip().endswith(tuple(_final_registers(spot.before))):
        return "memory belongs to no agent", "write x[1] for memory, dev0.r0 for a register", spot.column
    return None


def _final_registers(before: str) -> list[str]:
    return re.findall(r"[A-Za-z_]\w*\.[A-Za-z_]\w*$", before.rstrip())


def _early_end(spot: Spot) -> Found:
    if spot.kind in ("_NL", "$END", "_DEDENT"):
        return "the line ends too early", _wanted(spot), spot.column
    return None


def _wanted(spot: Spot) -> str:
    """What could have stood there, if that is a short list."""
    names = dict.fromkeys(_HUMAN.get(kind, f"'{kind.lower()}'") for kind in sorted(spot.expected))
    if {"a name", "a number"} <= set(names) and len(names) > 4:
        return "expected a value"
    if 0 < len(names) <= 5:
        return "expected " + " or ".join(names)
    return f"see how '{spot.first}' is written" if spot.first else "see the table of the litmus language"
