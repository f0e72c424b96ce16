"""Numbers that are Z3 terms, so that the allocator's own code can be run on all inputs at once.

A `Number` stands where an `int` stands.  Arithmetic builds terms; a comparison is a real `bool`, decided by the
*run* (`runs.Run`): if the conditions met so far leave one answer, it is that; if they leave two, the code is run
twice.  `runs.explore` runs a function once per path through it, so what it asserts is asserted of every input.
Nothing of the code is written again, and nothing in it needs to know: `bisect`, `sorted`, `max`, tuples and
dictionaries work as they are.

Terms are integers, as Python's are; that every sum fits into a machine word, and that no difference is negative, is
asked at the end of every path.  Masks (`x & -align`, `x & (align - 1)`) become "the multiple of the alignment below x",
of which the run knows the facts that `rounding` proves for bit-vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import z3

if TYPE_CHECKING:
    from shmem_suite.placement.runs import Run


class Broken(AssertionError):
    """A law does not hold on this path; `values` is an input that shows it.

    `on_terms_only`: plain numbers have no word to leave, so running the input on them shows nothing.
    """

    def __init__(self, why: str, on_terms_only: bool = False) -> None:
        super().__init__(why)
        self.values: dict[str, int] = {}
        self.on_terms_only = on_terms_only


class Undecided(Exception):
    """The solver gave up, or the code did something to a number that has no meaning here."""


class Number:
    """A whole number that is not known; `Run.number` makes one.  `mask` is what it masks with, if it is a mask."""

    __slots__ = ("mask", "run", "term")

    def __init__(self, run: Run, term: Any, mask: tuple[str, Any] | None = None) -> None:
        self.run = run
        self.term = term
        self.mask = mask

    def __hash__(self) -> int:
        return 0  # all in one bucket, so that a dictionary asks for equality

    def __format__(self, how: str) -> str:
        return "?"  # the texts of errors name numbers; laws do not read them

    def __add__(self, other: object) -> Number:
        return self.run.bounded(self.term + _term(other))

    __radd__ = __add__

    def __sub__(self, other: object) -> Number:
        mask = ("within", self.term) if isinstance(other, int) and other == 1 else None
        return self.run.difference(self.term, _term(other), mask)

    def __rsub__(self, other: object) -> Number:
        return self.run.difference(_term(other), self.term)

    def __neg__(self) -> Number:
        """Only good as a mask: `x & -align`."""
        return Number(self.run, -self.term, ("multiple", self.term))

    def __and__(self, other: object) -> Number:
        return self.run.masked(self.term, _mask(other))

    def __floordiv__(self, other: int) -> Number:
        return Number(self.run, self.term / _term(other))  # of integers by what is positive: rounds down, as in Python

    def __mul__(self, other: int) -> Number:
        return self.run.bounded(self.term * _term(other))

    def __mod__(self, other: object) -> Number:
        return Number(self.run, self.term % _term(other))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number | int) and self.run.decide(self.term == _term(other))

    def __lt__(self, other: object) -> bool:
        return self.run.decide(self.term < _term(other))

    def __le__(self, other: object) -> bool:
        return self.run.decide(self.term <= _term(other))

    def __gt__(self, other: object) -> bool:
        return self.run.decide(self.term > _term(other))

    def __ge__(self, other: object) -> bool:
        return self.run.decide(self.term >= _term(other))

    def __bool__(self) -> bool:
        return not self == 0


def _term(other: object) -> Any:
    if isinstance(other, Number):
        return other.term
    if isinstance(other, int):
        return z3.IntVal(other)
    raise Undecided(f"a number meets {other!r}")


def _mask(other: object) -> tuple[str, Any]:
    """What a mask masks with: the multiples of an alignment, or what lies between two of them."""
    if isinstance(other, Number) and other.mask is not None:
        return other.mask
    if isinstance(other, int) and other < 0 and -other & (-other - 1) == 0:
        return "multiple", z3.IntVal(-other)
    if isinstance(other, int) and other >= 0 and other & (other + 1) == 0:
        return "within", z3.IntVal(other + 1)
    raise Undecided("a number is masked with something that is no alignment")
