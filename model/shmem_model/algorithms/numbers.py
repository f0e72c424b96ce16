"""Small numbers in a language that has none: a number is the cases that it may be, each with its condition.

The language of machines has sorts and equality, no arithmetic.  Algorithms count epochs and notifications, so a
variable of an algorithm ranges over a sort of as many elements as it has values, and arithmetic is done case by case
while the machine is written.  A result that does not fit is never cut off: it raises the flag `too_large`, which every
algorithm claims to be down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shmem_model.language import FALSE, TRUE, Element, Function, LanguageError, Sort, Term, conj, disj, ite


def below(size: int) -> Sort:
    """The sort of the numbers from 0 to size - 1."""
    return Sort(f"Below{size}")


def numeral(value: int, size: int) -> Element:
    """A number as an element of its sort."""
    return Element(str(value), below(size), value)


@dataclass(frozen=True)
class Num:
    """A number that depends on the state: value -> when it is that."""

    cases: Mapping[int, Term]

    def map(self, function: Callable[[int], int]) -> Num:
        """The number with a Python function applied to each case."""
        found: dict[int, Term] = {}
        for value, when in self.cases.items():
            new = function(value)
            found[new] = disj(found.get(new, FALSE), when)
        return Num(found)

    def __add__(self, other: Num | int) -> Num:
        if isinstance(other, int):
            return self.map(lambda value: value + other)
        found: dict[int, Term] = {}
        for value, when in self.cases.items():
            for more, then in other.cases.items():
                found[value + more] = disj(found.get(value + more, FALSE), conj(when, then))
        return Num(found)

    def __sub__(self, other: int) -> Num:
        return self + -other

    def __mod__(self, other: int) -> Num:
        return self.map(lambda value: value % other)

    def test(self, other: Num | int, holds: Callable[[int, int], bool]) -> Term:
        """A relation between two numbers."""
        right = number(other)
        pairs = ((a, b) for a in self.cases for b in right.cases if holds(a, b))
        return disj(FALSE, *(conj(self.cases[a], right.cases[b]) for a, b in pairs))

    def eq(self, other: Num | int) -> Term:
        """Equal."""
        return self.test(other, lambda a, b: a == b)

    def ne(self, other: Num | int) -> Term:
        """Not equal."""
        return self.test(other, lambda a, b: a != b)

    def ge(self, other: Num | int) -> Term:
        """At least."""
        return self.test(other, lambda a, b: a >= b)

    def lt(self, other: Num | int) -> Term:
        """Less than."""
        return self.test(other, lambda a, b: a < b)

    def value(self, size: int) -> Term:
        """The number as a term of the sort of that size; where it does not fit, 0 (see `beyond`)."""
        result: Term = numeral(0, size)
        for value, when in self.cases.items():
            if 0 < value < size:
                result = ite(when, numeral(value, size), result)
        return result

    def beyond(self, size: int) -> Term:
        """The number does not fit into the sort of that size."""
        return disj(FALSE, *(when for value, when in self.cases.items() if not 0 <= value < size))


def number(value: Num | int) -> Num:
    """A number, also from a Python one."""
    return value if isinstance(value, Num) else Num({value: TRUE})


def choose(condition: Term, then: Num | int, otherwise: Num | int) -> Num:
    """`then` where the condition holds, else `otherwise`."""
    left, right = number(then), number(otherwise)
    return Num(
        {
            value: disj(conj(condition, left.cases.get(value, FALSE)), conj(~condition, right.cases.get(value, FALSE)))
            for value in {**left.cases, **right.cases}
        }
    )


@dataclass(frozen=True)
class Variable:
    """A state function without arguments that holds a number."""

    name: str
    size: int
    layer: str
    sentence: str
    start: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.size:
            raise LanguageError(f"variable {self.name} cannot start as {self.start}: it has {self.size} values")

    @property
    def function(self) -> Function:
        """The state function."""
        return Function(self.name, (), below(self.size), self.layer, self.sentence)

    @property
    def number(self) -> Num:
        """Its value in a state."""
        return Num({value: self.is_(value) for value in range(self.size)})

    def is_(self, value: int) -> Term:
        """It has this value."""
        return self.function().same(numeral(value, self.size))
