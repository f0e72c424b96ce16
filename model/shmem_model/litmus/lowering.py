"""From statements to a list of instructions: calls with jumps between them.

What only touches registers stands between calls and is done together with the call before it (`flow`).  `repeat` is
unrolled; an `until` whose body makes no call gets one that does nothing, since a loop must take a step.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from . import statements as st
from . import syntax as sx
from .calls import NOTHING, Call, CallMaker, Way
from .values import registers_of


@dataclass
class Assign:
    """A register gets a value."""

    register: str
    value: sx.Expr


@dataclass
class Branch:
    """Go on at the next instruction if the condition holds, else at `otherwise`."""

    condition: sx.Condition
    otherwise: int = -1


@dataclass
class Jump:
    """Go on elsewhere."""

    target: int = -1


@dataclass
class Check:
    """The agent ends with a fault unless the condition holds."""

    condition: sx.Condition


Instruction = Call | Assign | Branch | Jump | Check


MAX_FORKS = 3
"""How many decisions in a row are part of one step."""
MAX_DEPTH = 2
"""How many computations on top of each other are part of one step."""


class Lowering:
    """The instructions of one agent."""

    def __init__(self, maker: CallMaker) -> None:
        self.maker = maker
        self.code: list[Instruction] = []
        self.forks = 0
        self.depth: dict[str, int] = {}

    def body(self, body: Iterable[sx.Statement]) -> None:
        """Add the instructions of some statements."""
        for statement in body:
            match statement:
                case st.If():
                    self._if(statement)
                case st.Repeat():
                    for _ in range(statement.count):
                        self.body(statement.body)
                case st.Until():
                    self._until(statement)
                case st.Set():
                    self._pause(statement, statement.value)
                    self.code.append(Assign(str(statement.register), statement.value))
                    if isinstance(statement.value, sx.Arith):
                        self.depth[str(statement.register)] = 1 + self._depth(statement.value)
                case st.Assert():
                    self._pause(statement, statement.condition)
                    self.code.append(Check(statement.condition))
                case _:
                    self.code += self.maker.calls(statement)
                    self._forget()

    def _depth(self, node: sx.Expr | sx.Condition) -> int:
        """How many computations in a row the registers of an expression are away from the last call."""
        return max((self.depth.get(name, 0) for name in registers_of(node)), default=0)

    def _pause(self, statement: sx.Statement, node: sx.Expr | sx.Condition) -> None:
        """Take a step of its own where computations would pile up: choices among choices multiply."""
        if self._depth(node) >= MAX_DEPTH or self.forks >= MAX_FORKS:
            self.code.append(Call(statement, [Way(NOTHING, {"a": self.maker.agent})]))
            self._forget()

    def _forget(self) -> None:
        self.forks, self.depth = 0, {}

    def _if(self, statement: st.If) -> None:
        self._pause(statement, statement.condition)
        start, forks, before = len(self.code), self.forks, dict(self.depth)
        self._branches(statement)
        called = any(isinstance(each, Call) for each in self.code[start:])
        self.forks = forks if called else self.forks + 1
        for name in {**before, **self.depth}:
            self.depth[name] = max(self.depth.get(name, 0), before.get(name, 0)) + (not called)

    def _branches(self, statement: st.If) -> None:
        branch = Branch(statement.condition)
        self.code.append(branch)
        self.body(statement.then)
        if statement.otherwise:
            jump = Jump()
            self.code.append(jump)
            branch.otherwise = len(self.code)
            self.body(statement.otherwise)
            jump.target = len(self.code)
        else:
            branch.otherwise = len(self.code)

    def _until(self, statement: st.Until) -> None:
        start = len(self.code)
        self.body(statement.body)
        if not any(isinstance(each, Call) for each in self.code[start:]):
            self.code.insert(start, Call(statement, [Way(NOTHING, {"a": self.maker.agent})]))
            self._shift(start)
        self.code.append(Branch(sx.Not(statement.condition), otherwise=len(self.code) + 2))
        self.code.append(Jump(start))

    def _shift(self, start: int) -> None:
        """Jumps behind an instruction that was put in point one further."""
        for each in self.code[start + 1 :]:
            if isinstance(each, Branch):
                each.otherwise += each.otherwise > start
            elif isinstance(each, Jump):
                each.target += each.target > start
