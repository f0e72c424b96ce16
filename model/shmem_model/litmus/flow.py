"""Control flow: from one call of an agent to the next, and what its registers hold then.

Between two calls an agent only touches its registers.  That part is run symbolically once, and gives a decision tree:
conditions on registers (and on what the call answers), and at each leaf the next call and the new registers.  The
whole tree becomes part of the call's step, so register work costs no states.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from shmem_model.language import FALSE, TRUE, Function, Sort, Term, ite
from shmem_model.language import terms as t

from .calls import Call
from .lowering import Assign, Branch, Check, Instruction, Jump
from .values import Registers, Values, condition_term, registers_of, unclear, value_term


@dataclass
class Leaf:
    """Where the agent goes on, and its registers."""

    place: int
    registers: Registers


@dataclass
class Fork:
    """A decision."""

    condition: Term
    yes: Tree
    no: Tree


Tree = Leaf | Fork


@dataclass
class Code:
    """The compiled program of one agent: its calls in order of their places; then `end`, then `failed`.

    Where numbers may leave the range that is provided for there is one more place, `lost`: the agent would have to
    decide by a number that is not known, and what follows is not answered.
    """

    agent: str
    instructions: list[Instruction]
    registers: Mapping[str, Function]
    counter: Function
    values: Values

    def __post_init__(self) -> None:
        self.numbers = sorted(self._reachable())
        self.places = {number: place for place, number in enumerate(self.numbers)}
        self.calls = [call for n in self.numbers if isinstance(call := self.instructions[n], Call)]
        self.end = len(self.numbers)
        self.failed = self.end + 1
        self.lost = self.failed + 1
        self._ahead: dict[int, frozenset[int]] = {}

    @property
    def size(self) -> int:
        """How many places there are."""
        return self.failed + 1 if self.values.closed else self.lost + 1

    @cached_property
    def place_names(self) -> tuple[str, ...]:
        """What to call the places."""
        return (*(f"{call.statement.pos.line}: {call.text}" for call in self.calls), "end", "failed", "lost")

    def at(self, *places: int) -> Term:
        """The agent is at one of these places."""
        chosen = sorted(set(places))
        if len(chosen) * 2 > self.size:
            others = [p for p in range(self.size) if p not in set(chosen)]
            return ~t.disj(*(self._is(p) for p in others))
        return t.disj(*(self._is(p) for p in chosen))

    def _is(self, place: int) -> Term:
        return self.counter().same(self.place(place))

    def place(self, place: int) -> Term:
        """A place as a term."""
        sort: Sort = self.counter.result
        return t.Element(self.place_names[place], sort, place)

    # ------------------------------------------------------------ symbolic run

    def run(self, start: int, registers: Registers) -> Tree:
        """From an instruction to the next calls."""
        at, now = start, dict(registers)
        while at < len(self.instructions):
            match self.instructions[at]:
                case Call():
                    return Leaf(self.places[at], now)
                case Assign(register, value):
                    now[register] = value_term(value, self.values, now)
                    at += 1
                case Jump(target):
                    at = target
                case Branch() | Check() as instruction:
                    decided = self._decide(at, instruction, now)
                    if not isinstance(decided, int):
                        return decided
                    at = decided
        return Leaf(self.end, now)

    def _decide(self, at: int, instruction: Branch | Check, now: Registers) -> Tree | int:
        """What follows a condition: an instruction if its truth is known, else a decision."""
        holds = condition_term(instruction.condition, self.values, now)
        lost = unclear(instruction.condition, self.values, now)
        otherwise = instruction.otherwise if isinstance(instruction, Branch) else None
        if lost is TRUE:
            return Leaf(self.lost, now)
        if holds is TRUE and lost is FALSE:
            return at + 1
        no = Leaf(self.failed, now) if otherwise is None else self.run(otherwise, now)
        tree = no if holds is FALSE else Fork(holds, self.run(at + 1, now), no)
        return tree if lost is FALSE else Fork(lost, Leaf(self.lost, now), tree)

    def after(self, place: int, registers: Registers) -> Tree:
        """From behind the call at a place to the next calls."""
        return self.run(self.numbers[place] + 1, registers)

    def next_place(self, tree: Tree) -> Term:
        """The place where the agent goes on, as a term."""
        if isinstance(tree, Leaf):
            return self.place(tree.place)
        return ite(tree.condition, self.next_place(tree.yes), self.next_place(tree.no))

    def next_value(self, tree: Tree, register: str) -> Term:
        """What a register holds then, as a term."""
        if isinstance(tree, Leaf):
            return tree.registers[register]
        return ite(tree.condition, self.next_value(tree.yes, register), self.next_value(tree.no, register))

    # ------------------------------------------------------------ the graph of instructions

    def _successors(self, at: int) -> tuple[int, ...]:
        match self.instructions[at]:
            case Jump(target):
                return (target,)
            case Branch(_, otherwise):
                return (at + 1, otherwise)
        return (at + 1,)

    def _reachable(self) -> Iterator[int]:
        seen, stack = set(), [0]
        while stack:
            at = stack.pop()
            if at < len(self.instructions) and at not in seen:
                seen.add(at)
                stack.extend(self._successors(at))
        return (at for at in seen if isinstance(self.instructions[at], Call))

    def ahead(self, place: int) -> frozenset[int]:
        """The places that can come after the call at a place (itself only in a loop)."""
        found = self._ahead.get(place)
        if found is None:
            found = self._ahead[place] = self._find_ahead(place)
        return found

    def _find_ahead(self, place: int) -> frozenset[int]:
        seen: set[int] = set()
        stack = list(self._successors(self.numbers[place]))
        while stack:
            at = stack.pop()
            if at < len(self.instructions) and at not in seen:
                seen.add(at)
                stack.extend(self._successors(at))
        return frozenset(self.places[at] for at in seen if at in self.places)

    def live_registers(self, kept: frozenset[str]) -> list[set[str]]:
        """For every place the registers whose values can still matter; those in `kept` always do."""
        live: list[set[str]] = [set(kept) for _ in range(len(self.instructions) + 1)]
        changed = True
        while changed:
            changed = False
            for at in reversed(range(len(self.instructions))):
                inside = set().union(*(live[min(n, len(live) - 1)] for n in self._successors(at)))
                inside = (inside - self._sets(at)) | self._uses(at) | kept
                if inside != live[at]:
                    live[at], changed = inside, True
        return [*(live[n] for n in self.numbers), *(set(kept) for _ in range(3))]

    def _sets(self, at: int) -> set[str]:
        match self.instructions[at]:
            case Assign(register, _):
                return {register}
            case Call(register=str(register)):
                return {register}
        return set()

    def _uses(self, at: int) -> set[str]:
        match self.instructions[at]:
            case Assign(_, value):
                return set(registers_of(value))
            case Branch(condition) | Check(condition):
                return set(registers_of(condition))
            case Call(uses=uses):
                return set(uses)
        return set()
