"""Text in, checked `Program` out; whatever is wrong with the text ends in one `LitmusError`.

`lark` is imported when the first text is parsed, so `import shmem_model` works without it.

Where the format leaves details open, this is what holds:

* *Layout.* Blocks are indented, with spaces or tabs but one of them per file. `;` separates statements.
  A colon may be followed by statements on the same line (`if r0 == 1: send dev0 7 else: send dev0 8`);
  a statement that holds others (`if`, `repeat`, `until`) needs a line of its own there. Lists may be
  separated by blanks or commas. The order is: `litmus NAME`, head, agent blocks, questions.
* *Agents* are made by a block, a right of a region, a slot (receiver or sender) or a team. `cached`,
  `mortal`, statements and the rights of an `alloc` only refer to them. No agent is special, `host` neither.
* *Words* are numbered through the region: word i lies in line i // words-per-line.
  `exclusive dev0` and `broadcast host dev0` give read and write to those named; nobody else may map.
  To name a region without a right to it is no syntax error: the machine answers NotPermitted or NotMapped.
* *Names* of regions, agents and teams are one name space; an `alloc` makes its region's name once and
  every agent may use it. Registers and copies belong to their agent, slot names to their receiver. Slots
  need no declaration. A register may not be called like an agent, a region or a team.
* *Numbers* are 0..65535, decimal or hexadecimal; none is negative.
* `wait_any r0 n m` sets r0 to the number of the slot (named slots: to the position in the list,
  from 0; not mixed); `poll` sets 1 or 0; atomics set the old value. `copy c x y` copies from x to y.
  `until` runs its body before each test, so at least once. A failed `assert` is a fault of its agent.
* *Questions.* `allowed` and `forbidden` answer the `ask` above them, each `ask` exactly once. The other words
  are about the whole program, wherever they stand, at most one of each pair.
"""

from __future__ import annotations

import functools
import os
import stat
from importlib import resources
from typing import TYPE_CHECKING, Any, cast

from . import words
from .assemble import assemble
from .checks import check
from .errors import LitmusError
from .layout import Indentation, clean
from .syntax import Node, Program

if TYPE_CHECKING:
    from lark import Lark


def parse_text(text: str, file: str = "<text>") -> Program:
    """Parse one litmus file that is already text."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    try:
        lines = clean(text)
        program = assemble(_parse_items(lines), lines, file)
        check(program)
        return program
    except LitmusError as error:
        raise error.located(file, text.split("\n")) from None


def parse_file(path: str | os.PathLike[str]) -> Program:
    """Parse one litmus file; a file that cannot be read is a `LitmusError` too."""
    file = str(os.fspath(path))
    try:
        data = _bytes_of(path, file)
    except IsADirectoryError:
        raise LitmusError("this is a folder", file=file, hint="name a file in it") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LitmusError(f"cannot read the file: {reason}", file=file, hint="check its name and rights") from None
    return parse_text(_decode(data, file), file)


def _bytes_of(path: str | os.PathLike[str], file: str) -> bytes:
    """What the file holds, as far as it may be read; a pipe is refused, since it may never answer."""
    kind = stat.S_IFMT(os.stat(path).st_mode)
    if kind in (stat.S_IFIFO, stat.S_IFSOCK):
        raise LitmusError("this is a pipe, not a file", file=file, hint="save what it says as a file")
    with open(path, "rb") as stream:
        return stream.read(words.MAX_BYTES + 1)


def _decode(data: bytes, file: str) -> str:
    """UTF-8 text, or an error that says what the bytes look like instead."""
    if len(data) > words.MAX_BYTES:
        message = f"the file is larger than {words.MAX_BYTES} bytes"
        lines = data.count(b"\n")
        if lines > words.MAX_LINES:
            message = f"the file has more than {words.MAX_LINES} lines ({lines} in its first 256 KiB)"
        raise LitmusError(message, file=file, hint="a litmus test is one small protocol: split it")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise LitmusError("the file is UTF-16", file=file, hint="save it as UTF-8")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _odd_byte(data, error.start, file) from None


def _odd_byte(data: bytes, start: int, file: str) -> LitmusError:
    """The place of a byte that is no UTF-8, in characters as an editor counts them."""
    before = data[:start].decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return LitmusError(
        f"byte 0x{data[start]:02x} is not UTF-8",
        file=file,
        line=line,
        column=column,
        hint="save the file as UTF-8",
        source="" if "\0" in before else before[before.rfind("\n") + 1 :] + "?",
    )


@functools.cache
def _grammar() -> Lark:
    """The parser, built once per process; the builder runs inside it, so no deep tree is ever walked."""
    from lark import Lark

    from .builder import Builder

    grammar = resources.files(__package__).joinpath("grammar.lark").read_text("utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        postlex=Indentation(),
        transformer=Builder(),
        maybe_placeholders=True,
    )


def _parse_items(lines: list[str]) -> tuple[Node, ...]:
    from lark.exceptions import UnexpectedInput, VisitError

    from .messages import explain

    try:
        return cast("tuple[Node, ...]", cast(Any, _grammar()).parse("\n".join(lines)))
    except VisitError as error:
        raise error.orig_exc from None
    except UnexpectedInput as error:
        raise explain(error, lines) from None
