"""The one error of the litmus front end: a place, what is wrong there, and what to do about it.

Whatever is wrong with the input ends here, so that a caller catches one type and prints one line.
The text of the input is hostile by assumption: it may hold control characters, lone surrogates or
very long lines, and none of them may reach a terminal or make printing itself fail.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable

SHOWN_WIDTH = 100


class LitmusError(Exception):
    """Malformed litmus input. `str()` is one line `file:line:col: what is wrong; what to do`."""

    def __init__(
        self,
        message: str,
        *,
        file: str = "<text>",
        line: int = 1,
        column: int = 1,
        hint: str = "",
        source: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        self.hint = hint
        self.source = source

    def __str__(self) -> str:
        hint = f"; {self.hint}" if self.hint else ""
        return f"{printable(self.file)}:{self.line}:{self.column}: {printable(self.message + hint)}"

    def __reduce__(self) -> tuple[object, ...]:
        fields = {"file": self.file, "line": self.line, "column": self.column}
        return (_rebuild, (self.message, {**fields, "hint": self.hint, "source": self.source}))

    def located(self, file: str, lines: list[str]) -> LitmusError:
        """The same error with the file name and its source line filled in."""
        source = lines[self.line - 1] if 0 < self.line <= len(lines) else ""
        return LitmusError(self.message, file=file, line=self.line, column=self.column, hint=self.hint, source=source)

    def render(self) -> str:
        """The one line, then the source line, then a caret under the guilty column."""
        if not self.source.strip():
            return str(self)
        start = max(0, self.column - 1 - SHOWN_WIDTH * 3 // 4) if len(self.source) > SHOWN_WIDTH else 0
        shown = self.source[start : start + SHOWN_WIDTH]
        before = shown[: self.column - 1 - start].ljust(self.column - 1 - start)
        return f"{self}\n  {printable(shown, keep_tabs=True)}\n  {''.join(map(_blank, before))}^"


def _rebuild(message: str, fields: dict[str, object]) -> LitmusError:
    return LitmusError(message, **fields)  # type: ignore[arg-type]


def _blank(char: str) -> str:
    """White space exactly as wide as `char` on a terminal, so that the caret stands under its column."""
    if char == "\t":
        return "\t"
    if unicodedata.combining(char):
        return ""
    return "  " if unicodedata.east_asian_width(char) in "WF" else " "


def printable(text: str, keep_tabs: bool = False) -> str:
    """`text` with everything that a terminal would act upon, or could not encode, shown as `?`."""
    return "".join(c if c.isprintable() or (keep_tabs and c == "\t") else "?" for c in text)


def quoted(text: str) -> str:
    """`text` in quotes, shortened if it is long."""
    return f"'{text}'" if len(text) <= 40 else f"'{text[:37]}...'"


def suggest(word: str, known: Iterable[str], noun: str = "") -> str:
    """A hint for a word that is not among `known`: the nearest one, or the list if it is short."""
    names = list(dict.fromkeys(str(name) for name in known))
    folded = {name.lower(): name for name in names}
    near = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=0.6 if len(word) > 3 else 0.5)
    if near:
        return f"did you mean '{folded[near[0]]}'?"
    if not names:
        return f"no {noun} is declared" if noun else ""
    listed = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return f"known{' ' + noun + 's' if noun else ''}: {listed}"
