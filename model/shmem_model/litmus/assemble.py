"""From the items of a file to a `Program`: order of the parts, what must occur, questions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from . import syntax as sx
from . import words
from .builder_names import fail
from .items import Ask, Expect, Mortal, Pool, Title
from .names import AgentName, Pos, Whole

_T = TypeVar("_T")
_ORDER = ("the name of the test", "a declaration", "an agent block", "a question")


def assemble(items: tuple[sx.Node, ...], lines: list[str], file: str) -> sx.Program:
    """Sort the items by kind and refuse what a file cannot be."""
    end = Pos(len(lines), len(lines[-1]) + 1)
    _check_order(items)
    title = items[0]
    assert isinstance(title, Title)
    blocks = _all(items, sx.Block)
    if not blocks:
        fail(end, "no agent block", "say what an agent does: 'dev0:' and indented statements")
    questions = tuple(_questions(items, lines))
    if not questions:
        fail(end, "no question", "end with 'ask dev0.r0 == 0' and 'expect allowed', or 'expect race-free'")
    program = sx.Program(
        title.name,
        _single(items, sx.Platform, "the platform") or sx.Platform(),
        _pool(_single(items, Pool, "the pool")),
        _all(items, sx.SlotGrant),
        _mortal(_all(items, Mortal)),
        _all(items, sx.Region),
        _all(items, sx.Init),
        _all(items, sx.Team),
        blocks,
        questions,
        file=file,
        pos=title.pos,
    )
    return _with_cached_agents(program)


def _with_cached_agents(program: sx.Program) -> sx.Program:
    """`cached=all` and `cached=none` as the sets that they stand for."""
    chosen: object = program.platform.cached
    if not isinstance(chosen, str):
        return program
    cached = program.agents if chosen == "all" else ()
    return replace(program, platform=replace(program.platform, cached=cached))


def _check_order(items: tuple[sx.Node, ...]) -> None:
    """Name, head, blocks, questions."""
    if not items or not isinstance(items[0], Title):
        fail(items[0].pos if items else Pos(1, 1), "the file has no name", "start with 'litmus NAME'")
    highest = 0
    for item in items[1:]:
        if isinstance(item, Title):
            fail(item.pos, "a second 'litmus' line", "one test per file")
        rank = 2 if isinstance(item, sx.Block) else 3 if isinstance(item, Ask | Expect) else 1
        if rank < highest:
            fail(item.pos, f"{_ORDER[rank]} after {_ORDER[highest]}", "the order is head, blocks, questions")
        highest = rank


def _all(items: Iterable[sx.Node], kind: type[_T]) -> tuple[_T, ...]:
    return tuple(item for item in items if isinstance(item, kind))


def _single(items: tuple[sx.Node, ...], kind: type[_T], what: str) -> _T | None:
    found = [item for item in items if isinstance(item, kind)]
    if len(found) > 1:
        second = found[1]
        assert isinstance(second, sx.Node)
        fail(second.pos, f"{what} is declared twice", "keep one of the two lines")
    return found[0] if found else None


def _pool(pool: Pool | None) -> Whole:
    return pool.lines if pool else Whole(0)


def _mortal(lines: tuple[Mortal, ...]) -> tuple[AgentName, ...]:
    found: dict[str, AgentName] = {}
    for agent in (agent for line in lines for agent in line.agents):
        if agent in found:
            fail(agent.pos, f"agent '{agent}' is named twice", "name it once")
        found[agent] = agent
    return tuple(found.values())


def _questions(items: tuple[sx.Node, ...], lines: list[str]) -> Iterator[sx.Question]:
    """Join each `ask` with the `expect` lines below it."""
    ask: Ask | None = None
    answered = True
    seen: dict[str, str] = {}
    for item in items:
        if isinstance(item, Ask):
            _check_answered(ask, answered)
            ask, answered = item, False
            if item.expect:
                yield _outcome(item, item.expect, answered, lines)
                answered = True
        elif isinstance(item, Expect):
            if words.ANSWERS[item.word] == "outcome":
                yield _outcome(ask, item, answered, lines)
                answered = True
            else:
                yield _of_the_whole(item, seen)
    _check_answered(ask, answered)


def _check_answered(ask: Ask | None, answered: bool) -> None:
    if ask is not None and not answered:
        fail(ask.pos, "this 'ask' has no answer", "add 'expect allowed' or 'expect forbidden' below it")


def _outcome(ask: Ask | None, expect: Expect, answered: bool, lines: list[str]) -> sx.Question:
    """`allowed` or `forbidden`: about the condition above."""
    if words.ANSWERS[expect.word] != "outcome":
        hint = "put it on a line of its own and give this 'ask' allowed or forbidden"
        fail(expect.pos, f"'{expect.word}' answers no condition", hint)
    if ask is None:
        fail(expect.pos, f"'expect {expect.word}' without 'ask'", "put 'ask CONDITION' above it")
    if answered:
        fail(expect.pos, "this 'ask' has two answers", "keep one of them")
    text = _source_text(lines[ask.pos.line - 1][ask.pos.column - 1 :])
    return sx.Question("outcome", expect.word, ask.condition, text, pos=ask.pos)


def _of_the_whole(expect: Expect, seen: dict[str, str]) -> sx.Question:
    """race, deadlock, fault: about the program, whatever is asked above."""
    kind = words.ANSWERS[expect.word]
    if kind in seen:
        message = f"'{expect.word}' is expected here, '{seen[kind]}' above"
        fail(expect.pos, message, "keep one of the two lines")
    seen[kind] = expect.word
    return sx.Question(kind, expect.word, None, kind, pos=expect.pos)


def _source_text(line: str) -> str:
    """The condition as it was written."""
    return re.sub(r"\s+expect\s+[a-z-]+$", "", line.removeprefix("ask").strip())
