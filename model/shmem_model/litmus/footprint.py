"""The words that a program can tell apart.

A region may have many words of which a program uses a few.  The words of a line that no access, copy or question names
all fare alike (they are touched with the line or not at all), so one of them stands for the rest; where the custody
monitor is left out not even that one is needed, since its value is never asked for.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import statements as st
from . import syntax as sx
from .inventory import occurrences
from .values import Values

Word = tuple[str, int]
"""A word by region and number."""


def used_words(program: sx.Program, values: Values) -> dict[str, set[int]]:
    """The words that accesses, copies and questions name, by region."""
    sizes = {str(r.name): r.words for r in program.regions}
    sizes |= {str(s.region.name): s.region.words for s in _statements(program) if isinstance(s, st.Alloc)}
    used: dict[str, set[int]] = {name: set() for name in sizes}
    for statement in _statements(program):
        for region, word in _words(statement, sizes, values):
            used[region].add(word)
    for question in program.questions:
        if question.condition is not None:
            for region, word in _asked(question.condition):
                used[region].add(word)
    return used


def _statements(program: sx.Program) -> Iterator[sx.Statement]:
    return (each.statement for each in occurrences(program))


def _words(statement: sx.Statement, sizes: dict[str, int], values: Values) -> Iterator[Word]:
    match statement:
        case st.Read() | st.Write() | st.AtomicAdd() | st.AtomicSwap() | st.CompareSwap():
            region = str(statement.region)
            if isinstance(statement.index, sx.Const):
                yield region, int(statement.index.value)
            else:
                yield from ((region, n) for n in values.numbers if n < sizes[region])
        case st.Copy():
            for target in (statement.source, statement.destination):
                yield from ((str(target.region), word) for word in words_of(target, sizes[str(target.region)]))


def words_of(target: sx.Target, size: int) -> range:
    """The words of a target in a region of this size."""
    if target.first is None or target.last is None:
        return range(size)
    return range(int(target.first), int(target.last) + 1)


def _asked(node: sx.Expr | sx.Condition) -> Iterator[Word]:
    match node:
        case sx.FinalWord():
            yield str(node.region), int(node.index)
        case sx.Compare() | sx.Arith():
            yield from _asked(node.left)
            yield from _asked(node.right)
        case sx.Not():
            yield from _asked(node.part)
        case sx.And() | sx.Or():
            for part in node.parts:
                yield from _asked(part)


def line_words(region: sx.Region, line: int, used: set[int], rest: bool) -> tuple[int, ...]:
    """The words of a line that are kept, by their place in the line; with `rest` one that stands for all others."""
    size = region.words_per_line
    kept = [offset for offset in range(size) if line * size + offset in used]
    others = [offset for offset in range(size) if offset not in kept]
    return tuple(kept + others[:1] if rest or not kept else kept)
