"""The errors that end a command with one line instead of a traceback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SuiteError(Exception):
    """What a command cannot go on with; `str()` is one line and `exit_code` what the command ends with."""

    exit_code = 2


class UsageError(SuiteError):
    """Something in the command line is wrong: an unknown name, an empty selection, an unreadable file."""


class ManifestError(SuiteError):
    """The manifest and the project do not fit together: something would be silently unchecked."""

    exit_code = 1


class MissingPart(SuiteError):
    """A part that the command needs is not installed; the line says which and how to get it."""


def did_you_mean(word: str, known: Iterable[str], noun: str) -> str:
    """One line that says that `word` is unknown, with the nearest names or the list of them."""
    names = sorted(dict.fromkeys(known))
    folded = {name.lower(): name for name in names}
    near = difflib.get_close_matches(word.lower(), list(folded), n=3, cutoff=0.5)
    if near:
        return f"no {noun} {word!r}; did you mean {' or '.join(folded[name] for name in near)}?"
    listed = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return f"no {noun} {word!r}; there are: {listed}" if names else f"no {noun} {word!r}; there are none"
