"""What happens before and after the lexer: size, odd characters, comments; then indentation.

`clean` takes the comments out without moving a column, so that the grammar needs to know nothing of them.
`Indentation` turns the white space after a line end into _INDENT and _DEDENT, as lark's own does, but
answers a wrong depth with a place.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING

from . import words
from .errors import LitmusError

if TYPE_CHECKING:
    from lark import Token

_PUNCTUATION = {
    "&": "write 'and'",
    "|": "write 'or'",
    "!": "write 'not'",
    "/": "a comment starts with '#'",
    '"': "names and values need no quotes",
    "'": "names and values need no quotes",
}


def clean(text: str) -> list[str]:
    """The lines of `text` without comments and trailing blanks; odd input is a `LitmusError`."""
    lines = text.split("\n")
    _check_size(text, lines)
    cleaned = [line.split("#", 1)[0].rstrip(" \t") for line in lines]
    _check_indentation_characters(cleaned)
    for row, line in enumerate(cleaned, 1):
        _check_characters(row, line)
    if not any(cleaned):
        raise LitmusError("the file is empty", hint="start with 'litmus NAME'")
    return cleaned


def _check_size(text: str, lines: list[str]) -> None:
    """Binary files and huge ones, before any work is done on them."""
    zero = text.find("\0")
    if zero >= 0:
        line, column = text.count("\n", 0, zero) + 1, zero - text.rfind("\n", 0, zero)
        raise LitmusError("NUL byte: this is no text", line=line, column=column, hint="give a litmus file")
    split = "a litmus test is one small protocol: split it"
    if len(lines) > words.MAX_LINES + 1:
        message = f"the file has {len(lines)} lines; the limit is {words.MAX_LINES}"
        raise LitmusError(message, line=words.MAX_LINES + 1, hint=split)
    if len(text) > words.MAX_BYTES:
        message = f"the file has {len(text)} characters; the limit is {words.MAX_BYTES}"
        raise LitmusError(message, hint=split)


def _check_indentation_characters(cleaned: list[str]) -> None:
    """One kind of white space per file: what looks aligned must be aligned."""
    first = ""
    for number, line in enumerate(cleaned, 1):
        blanks = line[: len(line) - len(line.lstrip(" \t"))]
        first = first or blanks[:1]
        odd = next((i for i, char in enumerate(blanks, 1) if char != first), 0)
        if odd:
            raise LitmusError(
                "tabs and spaces are mixed in the indentation",
                line=number,
                column=odd,
                hint="use spaces everywhere",
            )


def _check_characters(number: int, line: str) -> None:
    if len(line) > words.MAX_COLUMNS:
        raise LitmusError(
            f"the line has {len(line)} characters; the limit is {words.MAX_COLUMNS}",
            line=number,
            column=words.MAX_COLUMNS + 1,
            hint="one statement per line",
        )
    if line.isascii() and line.isprintable():
        return
    for column, char in enumerate(line, 1):
        if char != "\t" and not (char.isascii() and char.isprintable()):
            name = unicodedata.name(char, "control character")
            shown = f"'{char}' " if char.isprintable() and not char.isspace() else ""
            raise LitmusError(
                f"unexpected character {shown}U+{ord(char):04X} ({name})",
                line=number,
                column=column,
                hint="outside comments only ASCII is used",
            )


def bad_character(char: str, rest: str) -> tuple[str, str]:
    """What to say about an ASCII character that starts no word of the language."""
    if char.isdigit():
        word = rest.split()[0]
        return f"bad number '{word[:20]}'", "numbers are 12 or 0x0c, names start with a letter"
    return f"unexpected character '{char}'", _PUNCTUATION.get(char, "see the table of the litmus language")


class Indentation:
    """The `postlex` of the grammar."""

    always_accept = ("_NL",)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        """Passes tokens on; after each line end come the changes of depth."""
        depths, last = [0], None
        for token in stream:
            if last is None and token.type != "_NL" and (token.column or 1) > 1:
                raise _unexpected(token.line, 1, "unexpected indentation", "the head starts in the first column")
            last = token
            yield token
            if token.type == "_NL":
                yield from self._change(token, depths)
        if last is not None:
            if last.type != "_NL":
                yield _marker("_NL", last)
            for _ in depths[1:]:
                yield _marker("_DEDENT", last)

    def _change(self, token: Token, depths: list[int]) -> Iterator[Token]:
        """_INDENT or _DEDENTs for the depth at which the next line starts."""
        depth = len(token) - token.rindex("\n") - 1
        if depth > depths[-1]:
            depths.append(depth)
            if len(depths) > words.MAX_INDENTS:
                raise _unexpected(token.end_line, depth + 1, "nested too deep", f"the limit is {words.MAX_INDENTS}")
            yield _marker("_INDENT", token)
        while depth < depths[-1]:
            depths.pop()
            if depth > depths[-1]:
                message = "this indentation matches no block around it"
                raise _unexpected(token.end_line, depth + 1, message, "align it with the block that it belongs to")
            yield _marker("_DEDENT", token)


def _marker(kind: str, after: Token) -> Token:
    """A token without text at the end of another one."""
    from lark import Token

    return Token(kind, "", line=after.end_line, column=after.end_column)


def _unexpected(line: int | None, column: int, message: str, hint: str) -> LitmusError:
    return LitmusError(message, line=line or 1, column=column, hint=hint)
