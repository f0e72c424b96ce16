"""A program under every kind of coherence: who must flush, who must invalidate, whole lines or dirty words.

A configuration says whether agents that write have a cache in front of memory (they must flush), whether agents that
read have one (they must invalidate), and whether write-back takes the whole line or only dirty words.  An agent that
does both has a cache if one of the two asks for it.  For each configuration the questions are answered, and every
maintenance call (`flush`, `invalidate`, `fence`) that can be taken out without changing an answer or the set of
outcomes is a no-op there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from . import statements as st
from . import syntax as sx
from .answers import LIMIT, UNKNOWN, FileAnswer, answer_program
from .errors import LitmusError
from .names import AgentName
from .parser import parse_file
from .printer import statement as text_of

MAINTENANCE = (st.Flush, st.Invalidate, st.Fence)


@dataclass(frozen=True)
class Configuration:
    """One kind of coherence."""

    writer_must_flush: bool
    reader_must_invalidate: bool
    write_back: str

    def __str__(self) -> str:
        flush, invalidate = ("yes" if on else "no" for on in (self.writer_must_flush, self.reader_must_invalidate))
        return f"flush {flush}, invalidate {invalidate}, {self.write_back}"


CONFIGURATIONS = tuple(Configuration(*c) for c in product((True, False), (True, False), ("line", "masked")))


@dataclass
class Row:
    """The answers in one configuration, and the maintenance calls that do nothing there."""

    configuration: Configuration
    answer: FileAnswer
    no_ops: list[str]

    def as_json(self) -> dict[str, Any]:
        """As other tools read it."""
        return {
            "writer_must_flush": self.configuration.writer_must_flush,
            "reader_must_invalidate": self.configuration.reader_must_invalidate,
            "write_back": self.configuration.write_back,
            "answers": {q.question: q.answer for q in self.answer.questions},
            "no_ops": self.no_ops,
        }


@dataclass
class Matrix:
    """A file under all configurations; `calls` are its maintenance calls."""

    file: str
    name: str
    calls: list[str]
    rows: list[Row]
    error: str | None = None

    def as_json(self) -> dict[str, Any]:
        """As other tools read it."""
        if self.error is not None:
            return {"file": self.file, "error": self.error}
        return {"file": self.file, "name": self.name, "calls": self.calls, "rows": [r.as_json() for r in self.rows]}

    def __str__(self) -> str:
        if self.error is not None:
            return self.error
        lines = [self.name]
        for row in self.rows:
            lines.append(f"  {row.configuration}")
            lines += [f"      {q.question}: {q.answer}" for q in row.answer.questions]
            lines.append(f"      no-ops: {', '.join(row.no_ops) or 'none'}")
        return "\n".join(lines)


def matrix_file(path: str | os.PathLike[str], *, limit: int = LIMIT) -> Matrix:
    """The matrix of a file."""
    file = str(os.fspath(path))
    try:
        return matrix(parse_file(path), file=file, limit=limit)
    except LitmusError as error:
        return Matrix(file, "", [], [], str(error))


def matrix(program: sx.Program, *, file: str = "<text>", limit: int = LIMIT) -> Matrix:
    """The matrix of a program."""
    calls = [_name(agent, statement) for agent, statement in maintenance(program)]
    rows = [_row(configured(program, c), c, limit) for c in CONFIGURATIONS]
    return Matrix(file, str(program.name), calls, rows)


def configured(program: sx.Program, configuration: Configuration) -> sx.Program:
    """The program on a platform of this kind."""
    cached = [agent for agent in program.agents if _has_cache(program, agent, configuration)]
    platform = replace(program.platform, write_back=configuration.write_back, cached=tuple(cached))
    return replace(program, platform=platform)


def _has_cache(program: sx.Program, agent: AgentName, configuration: Configuration) -> bool:
    every = [s for block in program.blocks if block.agent == agent for s in st.walk(block.body)]
    writes = any(isinstance(s, st.Write) for s in every)
    reads = any(isinstance(s, st.Read) for s in every)
    return (writes and configuration.writer_must_flush) or (reads and configuration.reader_must_invalidate)


def maintenance(program: sx.Program) -> Iterator[tuple[str, sx.Statement]]:
    """The maintenance calls of a program with their agents."""
    for block in program.blocks:
        for statement in st.walk(block.body):
            if isinstance(statement, MAINTENANCE):
                yield str(block.agent), statement


def _name(agent: str, statement: sx.Statement) -> str:
    return f"{agent}:{statement.pos.line} {text_of(statement)}"


def _row(program: sx.Program, configuration: Configuration, limit: int) -> Row:
    answer = answer_program(program, limit=limit, runs=False, everything=True)
    verdict = _verdict(answer)
    no_ops = []
    for agent, statement in maintenance(program):
        other = answer_program(without(program, statement), limit=limit, runs=False, everything=True)
        if UNKNOWN not in verdict[0] and _verdict(other) == verdict:
            no_ops.append(_name(agent, statement))
    return Row(configuration, answer, no_ops)


def _verdict(answer: FileAnswer) -> tuple[list[str], list[dict[str, int]]]:
    return [question.answer for question in answer.questions], answer.outcomes


def without(program: sx.Program, statement: sx.Statement) -> sx.Program:
    """The program less one statement (this very one, not its equals)."""
    blocks = tuple(replace(block, body=tuple(_less(block.body, statement))) for block in program.blocks)
    return replace(program, blocks=blocks)


def _less(body: Iterable[sx.Statement], gone: sx.Statement) -> Iterator[sx.Statement]:
    for statement in body:
        match statement:
            case st.If():
                then, otherwise = (tuple(_less(part, gone)) for part in (statement.then, statement.otherwise))
                yield replace(statement, then=then, otherwise=otherwise)
            case st.Repeat() | st.Until():
                yield replace(statement, body=tuple(_less(statement.body, gone)))
            case _ if statement is not gone:
                yield statement
