"""Runs: every path through a function on numbers that are terms, each with the inputs that take it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import z3

from shmem.layout import LINE
from shmem_suite.placement.numbers import Broken, Number, Undecided

MACHINE_WORD = 1 << 64
EFFORT = 20_000_000
"""Z3 resource units for one question; more and the answer is unknown."""
CRASHES = (LookupError, ValueError, ArithmeticError)
"""What no call may raise, whatever the input."""


class _NoInput(Exception):
    """What was supposed, or a fact that was added, leaves no input that takes this path."""


class Run:
    """One path: the conditions met so far, and the decisions that are prescribed for its beginning.

    `alignment` fixes every power of two to this one, for which masks are then exact; without it they may be any.
    """

    def __init__(self, prescribed: Sequence[bool] = (), alignment: int | None = None) -> None:
        self.solver = z3.SimpleSolver()
        self.solver.set("rlimit", EFFORT)
        self.decisions = list(prescribed)
        self.met = 0
        self.untried: list[tuple[bool, ...]] = []
        self.notes: set[str] = set()
        self.questions = 0
        self._alignment = alignment
        self._inputs: dict[str, Any] = {}
        self._duties: list[Any] = []
        self._multiples: list[tuple[Any, Any, Any]] = []
        self._supposing = False

    def number(self, name: str, below: int = MACHINE_WORD, step: int = 1) -> Number:
        """An input: any multiple of the step from 0 up to a bound that it does not reach."""
        term = step * z3.Int(name)
        self._inputs[name] = term
        self.solver.add(term >= 0, term < below)
        return Number(self, term)

    def power(self, name: str, most: int) -> Number:
        """An input that is a power of two, from 1 to `most`."""
        term = z3.Int(name) if self._alignment is None else z3.IntVal(self._alignment)
        self._inputs[name] = term
        self.solver.add(term >= 1, term <= most)
        return Number(self, term)

    def suppose(self, condition: Callable[[], object]) -> None:
        """Look only at inputs for which every comparison in the condition holds."""
        self._supposing = True
        try:
            condition()
        finally:
            self._supposing = False
        self._go_on()

    def every(self, check: Callable[[], None]) -> None:
        """Run a check on all its own paths, and come back to this one: what it distinguishes is forgotten again."""
        outer = self.decisions, self.met, self.untried
        multiples, duties = len(self._multiples), len(self._duties)
        waiting: list[tuple[bool, ...]] = [()]
        while waiting:
            self.decisions, self.met, self.untried = list(waiting.pop()), 0, []
            self.solver.push()
            try:
                check()
            except _NoInput:
                pass
            self.solver.pop()  # not after `Broken`, whose input is asked for
            del self._multiples[multiples:], self._duties[duties:]
            waiting += self.untried
        self.decisions, self.met, self.untried = outer

    def note(self, what: str) -> None:
        """Remember that this path has seen something."""
        self.notes.add(what)

    def bounded(self, term: Any) -> Number:
        """A sum, which must fit into a machine word."""
        self._duties.append(term < MACHINE_WORD)
        return Number(self, term)

    def difference(self, left: Any, right: Any, mask: tuple[str, Any] | None = None) -> Number:
        """A difference, which must not be negative."""
        self._duties.append(left >= right)
        return Number(self, left - right, mask)

    def masked(self, term: Any, mask: tuple[str, Any]) -> Number:
        """`term & mask`, which is the multiple of an alignment below the term, or what the term lies above it."""
        what, align = mask
        lower = term - term % align if z3.is_int_value(align) else self._multiple(term, align)
        return Number(self, lower if what == "multiple" else term - lower)

    def _multiple(self, term: Any, align: Any) -> Any:
        """The multiple of a power of two below a number: what `rounding.FACTS` says of it and all others so far."""
        for known, of, multiple in self._multiples:
            if known.eq(term) and of.eq(align):
                return multiple
        multiple = z3.Int(f"multiple{len(self._multiples)}")
        self.solver.add(multiple >= 0, multiple <= term, term < multiple + align)
        self.solver.add(z3.Implies(z3.And(align <= LINE, term % LINE == 0), multiple == term))
        self.solver.add(z3.Implies(align >= LINE, multiple % LINE == 0))
        for _, of, other in self._multiples:
            if of.eq(align):
                for low, high in ((multiple, other), (other, multiple)):
                    self.solver.add(z3.Implies(low < high, low + align <= high))
        self._multiples.append((term, align, multiple))
        self._go_on()
        return multiple

    def _go_on(self) -> None:
        """Every later question takes for granted that some input takes this path."""
        if not self._possible(z3.BoolVal(True)):
            raise _NoInput

    def decide(self, condition: Any) -> bool:
        """Whether the condition holds on this path; where both is possible, both paths will be run."""
        if self._supposing:
            self.solver.add(condition)
            return True
        condition = z3.simplify(condition)
        if z3.is_true(condition) or z3.is_false(condition):
            return bool(z3.is_true(condition))
        if self.met == len(self.decisions):
            self.decisions.append(self._either(condition))
        answer = self.decisions[self.met]
        self.met += 1
        self.solver.add(condition if answer else z3.Not(condition))
        return answer

    def _either(self, condition: Any) -> bool:
        if not self._possible(z3.Not(condition)):
            return True
        if not self._possible(condition):
            return False
        self.untried.append((*self.decisions, False))
        return True

    def _possible(self, condition: Any) -> bool:
        self.questions += 1
        self.solver.push()
        self.solver.add(condition)
        answer = self.solver.check()
        why = self.solver.reason_unknown() if answer == z3.unknown else ""
        self.solver.pop()
        if answer == z3.unknown:
            raise Undecided(f"the solver gave up: {why}")
        return bool(answer == z3.sat)

    def check_duties(self) -> None:
        """No value on this path leaves a machine word."""
        broken = z3.Not(z3.And(*self._duties))
        if self._duties and self._possible(broken):
            self.solver.add(broken)
            raise Broken("a value does not fit into 64 bits, or a difference is negative", on_terms_only=True)

    def values(self) -> dict[str, int]:
        """An input that takes this path."""
        if self.solver.check() != z3.sat:
            raise Undecided("a path without input")
        model = self.solver.model()
        return {name: model.eval(term, model_completion=True).as_long() for name, term in self._inputs.items()}


@dataclass
class Explored:
    """What all paths through a function have seen."""

    paths: int = 0
    questions: int = 0
    notes: Counter[str] = field(default_factory=Counter)

    def add(self, run: Run) -> None:
        """Count one more path."""
        self.paths += 1
        self.questions += run.questions
        self.notes.update(run.notes)


def explore(
    function: Callable[[Run], None], limit: int = 20_000, alignment: int | None = None, until: str | None = None
) -> Explored:
    """Run a function on every input, or until a path has the note `until`.

    `Broken`, with an input that shows it, if an assertion in it fails; `Undecided` if that cannot be said.
    """
    shared = z3.z3._main_ctx
    z3.z3._main_ctx = None  # a context of its own: the effort of a question must not depend on what was asked before
    try:
        return _explored(function, limit, alignment, until)
    finally:
        z3.z3._main_ctx = shared


def _explored(function: Callable[[Run], None], limit: int, alignment: int | None, until: str | None) -> Explored:
    found = Explored()
    waiting: list[tuple[bool, ...]] = [()]
    while waiting and (until is None or until not in found.notes):
        run = Run(waiting.pop(), alignment)
        try:
            function(run)
            run.check_duties()
            found.add(run)
        except _NoInput:
            pass
        except Broken as broken:
            broken.values = run.values()
            raise
        except CRASHES as error:
            crash = Broken(f"the call raises {type(error).__name__}")
            crash.values = run.values()
            raise crash from error
        except (TypeError, AttributeError) as error:
            raise Undecided(f"the code does with a number what a term cannot: {error}") from error
        waiting += run.untried
        if found.paths > limit:
            raise Undecided(f"more than {limit} paths")
    return found
