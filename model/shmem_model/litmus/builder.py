"""From grammar rules to the tree: one method per rule, called while the text is parsed.

What a single line can tell is refused here: reserved words as names, numbers out of range, a number
where a condition is needed. What needs the whole file is in `checks.py`.
"""

from __future__ import annotations

from typing import Any

from lark import Token, v_args

from . import statements as st
from . import syntax as sx
from . import words
from .builder_names import Operand, Place, at, fail, name, number, value
from .builder_statements import StatementBuilder
from .names import AgentName, RegionName, RegisterName

Body = tuple[sx.Statement, ...]


@v_args(inline=True)
class Builder(StatementBuilder):
    """The transformer of the grammar."""

    # ------------------------------------------------------------ expressions

    def constant(self, token: Token) -> sx.Const:
        """A number."""
        return sx.Const(int(number(token)), pos=at(token))

    def register(self, token: Token) -> sx.Register:
        """A name in expression position."""
        return sx.Register(name(token, RegisterName), pos=at(token))

    def final_register(self, agent: Token, register: Token) -> sx.FinalRegister:
        """`dev0.r0`"""
        return sx.FinalRegister(name(agent, AgentName), name(register, RegisterName), pos=at(agent))

    def word(self, place: Place) -> Place:
        """`x[i]` in an expression; what it means depends on what stands around it."""
        return place

    def group(self, inner: Operand) -> Operand:
        """`( … )`"""
        return inner

    def place(self, region: Token, index: Operand) -> Place:
        """`x[i]`"""
        inside = value(index)
        if not isinstance(inside, sx.Const | sx.Register):
            fail(inside.pos, "an index is a number or a register", "compute it first: r1 = r0 + 1")
        return Place(name(region, RegionName), inside, at(region))

    def arithmetic(self, first: Operand, *rest: Any) -> sx.Expr:
        """`a + b - c`, from the left."""
        result = value(first)
        for sign, operand in zip(rest[::2], rest[1::2], strict=True):
            result = sx.Arith(str(sign), result, value(operand), pos=result.pos)
        return result

    def comparison(self, left: Operand, operator: Token, right: Operand) -> sx.Compare:
        """`a == b`"""
        first = value(left)
        return sx.Compare(str(operator), first, value(right), pos=first.pos)

    def negation(self, word: Token, part: Operand) -> sx.Not:
        """`not c`"""
        return sx.Not(self.condition(part), pos=at(word))

    def any_of(self, *parts: Operand) -> sx.Condition:
        """`a or b or c`"""
        flat = [inner for part in map(self.condition, parts) for inner in _flat(part, sx.Or)]
        return sx.Or(tuple(flat), pos=flat[0].pos)

    def all_of(self, *parts: Operand) -> sx.Condition:
        """`a and b and c`"""
        flat = [inner for part in map(self.condition, parts) for inner in _flat(part, sx.And)]
        return sx.And(tuple(flat), pos=flat[0].pos)

    def condition(self, part: Operand) -> sx.Condition:
        """What must be true or false."""
        if isinstance(part, sx.Compare | sx.Not | sx.And | sx.Or):
            return part
        fail(value(part).pos, "a condition is needed here, this is a number", "compare it: r0 == 1")

    # ------------------------------------------------------------ blocks and control

    def block(self, agent: Token, body: Body) -> sx.Block:
        """`dev0: …`"""
        return sx.Block(name(agent, AgentName), body, pos=at(agent))

    def suite(self, *parts: Any) -> Body:
        """Indented lines, or the inline statements as they are."""
        return parts[0] if isinstance(parts[0], tuple) else parts

    def inline(self, *parts: sx.Statement) -> Body:
        """Statements behind a colon."""
        return parts

    def choice(self, word: Token, condition: sx.Condition, then: Body, _: Token | None, other: Body | None) -> st.If:
        """`if … else …`"""
        return st.If(condition, then, other or (), pos=at(word))

    def repeat(self, word: Token, count: Token, body: Body) -> st.Repeat:
        """`repeat 3: …`"""
        return st.Repeat(number(count, words.MAX_REPEAT, 1), body, pos=at(word))

    def until(self, word: Token, condition: sx.Condition, body: Body) -> st.Until:
        """`until r0 == 1: …`"""
        return st.Until(condition, body, pos=at(word))

    def assertion(self, word: Token, condition: sx.Condition) -> st.Assert:
        """`assert c`"""
        return st.Assert(condition, pos=at(word))


def _flat(part: sx.Condition, kind: type[sx.And] | type[sx.Or]) -> tuple[sx.Condition, ...]:
    """`a and (b and c)` is `a and b and c`."""
    return part.parts if isinstance(part, kind) else (part,)
