"""The values that can occur in a program, and expressions over registers as terms.

Numbers are elements of the sort Value.  Those that can occur are found by closing the constants under the arithmetic
of the program; where that does not end, one more element, `other`, stands for all further numbers.  An answer in whose
exploration `other` occurred is `unknown`, so nothing is ever answered on the ground of a wrong number.

Whatever is computed from registers becomes a choice among the few values that these can have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product

from shmem_model.language import FALSE, TRUE, Element, Term, conj, disj, ite
from shmem_model.language import terms as t
from shmem_model.machine import vocabulary as m

from . import statements as st
from . import syntax as sx
from .inventory import Occurrence, occurrences

MODULUS = 65536
MAX_VALUES = 24
MAX_ROUNDS = 20
Registers = Mapping[str, Term]
"""What stands in the registers of an agent."""


class Values:
    """The elements of the sort Value for one program."""

    def __init__(self, numbers: Iterable[int], closed: bool) -> None:
        self.numbers = tuple(sorted(set(numbers)))
        self.closed = closed
        self._index = {number: i for i, number in enumerate(self.numbers)}

    @property
    def names(self) -> tuple[str, ...]:
        """What to call the elements."""
        return (*map(str, self.numbers), *(() if self.closed else ("other",)))

    @property
    def other(self) -> int | None:
        """The index of the element that stands for all further numbers."""
        return None if self.closed else len(self.numbers)

    def index(self, number: int) -> int:
        """The index of a number."""
        found = self._index.get(number % MODULUS)
        return found if found is not None else 0 if self.other is None else self.other

    def element(self, number: int) -> Element:
        """A number as a term."""
        index = self.index(number)
        return Element(self.names[index], m.Value, index)

    def holds(self, number: int) -> bool:
        """The number can occur."""
        return number % MODULUS in self._index

    def total(self, left: int, right: int) -> int:
        """The index of the sum of two elements."""
        if self.other in (left, right):
            return self.other or 0
        return self.index(self.numbers[left] + self.numbers[right])


def registers_of(node: sx.Expr | sx.Condition) -> dict[str, None]:
    """The registers that an expression or condition mentions, in order."""
    match node:
        case sx.Register():
            return {str(node.name): None}
        case sx.Arith() | sx.Compare():
            return registers_of(node.left) | registers_of(node.right)
        case sx.Not():
            return registers_of(node.part)
        case sx.And() | sx.Or():
            return {name: None for part in node.parts for name in registers_of(part)}
    return {}


def number_of(node: sx.Expr, known: Callable[[sx.Expr], int]) -> int:
    """The value of an expression; `known` gives registers and words."""
    match node:
        case sx.Const():
            return int(node.value)
        case sx.Arith():
            left, right = number_of(node.left, known), number_of(node.right, known)
            return (left + right if node.op == "+" else left - right) % MODULUS
    return known(node)


_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
}


def truth_of(node: sx.Condition, known: Callable[[sx.Expr], int]) -> bool:
    """The truth of a condition; `known` gives registers and words."""
    match node:
        case sx.Compare():
            return _COMPARE[node.op](number_of(node.left, known), number_of(node.right, known))
        case sx.Not():
            return not truth_of(node.part, known)
        case sx.And():
            return all(truth_of(part, known) for part in node.parts)
    return any(truth_of(part, known) for part in node.parts)


# ---------------------------------------------------------------- expressions as terms


def equals(term: Term, element: Element) -> Term:
    """The term has this value (two elements are compared at once)."""
    if isinstance(term, Element):
        return TRUE if term is element else FALSE
    return term.same(element)


def _cases(names: Iterable[str], values: Values, registers: Registers) -> Iterator[tuple[Term, dict[str, int]]]:
    """All values that the registers can have together, each with its condition."""
    names = tuple(names)
    for numbers in product(values.numbers, repeat=len(names)):
        parts = [equals(registers[n], values.element(v)) for n, v in zip(names, numbers, strict=True)]
        if FALSE not in parts:
            yield conj(*parts), dict(zip(names, numbers, strict=True))


def _look(chosen: Mapping[str, int]) -> Callable[[sx.Expr], int]:
    def known(node: sx.Expr) -> int:
        assert isinstance(node, sx.Register)
        return chosen[str(node.name)]

    return known


def value_term(node: sx.Expr, values: Values, registers: Registers) -> Term:
    """An expression as a term of sort Value."""
    if isinstance(node, sx.Register):
        return registers[str(node.name)]
    by_result: dict[Element, list[Term]] = {}
    for condition, chosen in _cases(registers_of(node), values, registers):
        by_result.setdefault(values.element(number_of(node, _look(chosen))), []).append(condition)
    return _choice(by_result, values if registers_of(node) else None)


def _choice(by_result: dict[Element, list[Term]], values: Values | None) -> Term:
    """One of these elements; `other` where none of the conditions holds (or the last one, if that cannot be)."""
    choices = list(by_result.items())
    term: Term = choices[-1][0]
    if values is not None and values.other is not None:
        term = Element(values.names[values.other], m.Value, values.other)
    else:
        choices.pop()
    for element, conditions in choices:
        term = ite(disj(*conditions), element, term)
    return term


def unclear(node: sx.Condition, values: Values, registers: Registers) -> Term:
    """Some register that the condition mentions has left the range of numbers that is provided for."""
    if values.other is None:
        return FALSE
    other = Element(values.names[values.other], m.Value, values.other)
    return disj(*(equals(registers[name], other) for name in registers_of(node)))


def with_sums(term: Term, values: Values) -> Term:
    """The term with every sum of the platform written out as a choice among the sums that can occur."""
    sums = [node for node in t.walk(term) if isinstance(node, t.Apply) and node.function is m.total]
    return t.replace(term, {node: _sum_term(node.fields[1], node.fields[2], values) for node in sums}) if sums else term


def _sum_term(left: Term, right: Term, values: Values) -> Term:
    by_result: dict[Element, list[Term]] = {}
    for x, y in product(values.numbers, repeat=2):
        condition = conj(equals(left, values.element(x)), equals(right, values.element(y)))
        if condition is not FALSE:
            by_result.setdefault(values.element(x + y), []).append(condition)
    return _choice(by_result, values)


def condition_term(node: sx.Condition, values: Values, registers: Registers) -> Term:
    """A condition on registers as a formula."""
    names = registers_of(node)
    return disj(*(c for c, chosen in _cases(names, values, registers) if truth_of(node, _look(chosen))))


# ---------------------------------------------------------------- which values can occur


def values_of(program: sx.Program) -> Values:
    """The values that can occur in a program."""
    every = list(occurrences(program))
    numbers = {0, *(int(init.value) for init in program.inits)}
    for each in every:
        numbers |= _constants(each)
    rounds = min(MAX_ROUNDS, sum(_rounds(each) for each in every))
    for _ in range(rounds):
        more = numbers | _computed(every, numbers)
        if more == numbers or len(more) > MAX_VALUES:
            break
        numbers = more
    return Values(numbers, closed=_computed(every, numbers) <= numbers)


def _value_parts(statement: sx.Statement) -> tuple[sx.Expr, ...]:
    match statement:
        case st.Write() | st.Set() | st.AtomicSwap():
            return (statement.value,)
        case st.CompareSwap():
            return (statement.old, statement.new)
    return ()


def _constants(each: Occurrence) -> set[int]:
    statement = each.statement
    found = {number_of(part, lambda _: 0) for part in _value_parts(statement) if not registers_of(part)}
    match statement:
        case st.AtomicAdd() if not registers_of(statement.value):
            found.add(number_of(statement.value, lambda _: 0))
        case st.WaitAny():
            found |= set(wait_any_numbers(statement))
        case st.Poll():
            found.add(1)
    return found


def wait_any_numbers(statement: st.WaitAny) -> list[int]:
    """What the register gets for each slot: its number, or its position where slots have names."""
    return [i if isinstance(slot, str) else int(slot) for i, slot in enumerate(statement.slots)]


def _rounds(each: Occurrence) -> int:
    """How many steps of arithmetic the statement can do."""
    changing = [p for p in _value_parts(each.statement) if isinstance(p, sx.Arith) and registers_of(p)]
    if not changing and not _adds(each.statement):
        return 0
    return each.times * (8 if each.repeating else 1)


def _adds(statement: sx.Statement) -> bool:
    """An atomic that may change what it adds to."""
    if not isinstance(statement, st.AtomicAdd):
        return False
    return bool(registers_of(statement.value)) or number_of(statement.value, lambda _: 0) != 0


def _computed(every: list[Occurrence], numbers: set[int]) -> set[int]:
    """What one more step of arithmetic can give."""
    found: set[int] = set()
    for each in every:
        for part in _value_parts(each.statement):
            names = tuple(registers_of(part))
            if isinstance(part, sx.Arith) and names:
                for chosen in product(numbers, repeat=len(names)):
                    found.add(number_of(part, _look(dict(zip(names, chosen, strict=True)))))
        if isinstance(each.statement, st.AtomicAdd) and _adds(each.statement):
            found |= _sums(each.statement, numbers)
    return found


def _sums(statement: st.AtomicAdd, numbers: set[int]) -> set[int]:
    names = tuple(registers_of(statement.value))
    addends = {
        number_of(statement.value, _look(dict(zip(names, c, strict=True)))) for c in product(numbers, repeat=len(names))
    }
    return {(number + addend) % MODULUS for number in numbers for addend in addends}
