"""Answers: what a litmus file asks, what the exploration says, and the run that shows it.

    answer = answer_file("message-passing.litmus")
    answer.as_json()        # file, name, questions (question, expect, answer, ok), states, seconds
    print(answer)           # the same for people, with the runs that decide

Outcome, deadlock and fault questions share one search of the machine without its monitor; race questions are asked of
the custody view, or of the full machine where the program unmaps, frees, moves or dies.  Wherever a bound was hit (the
limit of states, a slot filled by a loop, a number out of range) the answer is `unknown`, unless a run was found that
decides the question all the same.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shmem_model.language import FALSE, Term, exists
from shmem_model.machine import vocabulary as m

from . import statements as st
from . import syntax as sx
from .compiled import Compiled, compile_program
from .deadlock import stuck_states, where_it_hangs, why_stuck
from .errors import LitmusError
from .inventory import mentions
from .parser import parse_file, parse_text
from .questions import Outcome, asked, final, kept_registers, observed, outcomes, overflow, satisfies
from .race import why_race
from .search import Reached, search
from .story import story
from .views import CUSTODY, FULL, OUTCOME

UNKNOWN = "unknown"
LIMIT = 400_000
"""States after which a search gives up."""
_NEED_HARDWARE = (st.Unmap, st.Shootdown, st.Free, st.Compact, st.Die)
"""After these statements custody depends on stale translations or on what memory holds of the dead."""


@dataclass
class QuestionAnswer:
    """One question with its answer; `run` is the shortest run that decides it, `why` says what went wrong in it."""

    question: str
    expect: str
    answer: str
    run: list[str] = field(default_factory=list)
    why: str = ""

    @property
    def ok(self) -> bool:
        """The answer is the expected one."""
        return self.answer == self.expect

    def as_json(self) -> dict[str, Any]:
        """As other tools read it."""
        return {"question": self.question, "expect": self.expect, "answer": self.answer, "ok": self.ok}


@dataclass
class FileAnswer:
    """All answers about one program.  `outcomes` is the complete set of assignments of what the questions mention."""

    file: str
    name: str
    questions: list[QuestionAnswer]
    states: int
    seconds: float
    outcomes: list[Outcome] = field(default_factory=list)
    error: str | None = None

    @property
    def ok(self) -> bool:
        """Every answer is the expected one."""
        return self.error is None and all(question.ok for question in self.questions)

    def as_json(self) -> dict[str, Any]:
        """As other tools read it."""
        if self.error is not None:
            return {"file": self.file, "error": self.error}
        return {
            "file": self.file,
            "name": self.name,
            "questions": [question.as_json() for question in self.questions],
            "states": self.states,
            "seconds": round(self.seconds, 3),
        }

    def __str__(self) -> str:
        if self.error is not None:
            return self.error
        lines = [f"{self.name}: {self.states} states, {self.seconds:.2f} s"]
        for question in self.questions:
            mark = "as expected" if question.ok else f"EXPECTED {question.expect}"
            lines.append(f"  {question.question}: {question.answer} ({mark})")
            lines += [f"      {line}" for line in question.run]
            lines += [f"      => {question.why}"] if question.why else []
        return "\n".join(lines)


def answer_file(path: str | os.PathLike[str], *, limit: int = LIMIT, runs: bool = True) -> FileAnswer:
    """Answer the questions of a file; a malformed file gives an answer that has only `file` and `error`."""
    begin = time.perf_counter()
    file = str(os.fspath(path))
    try:
        program = parse_file(path)
    except LitmusError as error:
        return FileAnswer(file, "", [], 0, time.perf_counter() - begin, error=str(error))
    return answer_program(program, file=file, limit=limit, runs=runs, begin=begin)


def answer_text(text: str, file: str = "<text>", *, limit: int = LIMIT, runs: bool = True) -> FileAnswer:
    """Answer the questions of a text."""
    begin = time.perf_counter()
    try:
        program = parse_text(text, file)
    except LitmusError as error:
        return FileAnswer(file, "", [], 0, time.perf_counter() - begin, error=str(error))
    return answer_program(program, file=file, limit=limit, runs=runs, begin=begin)


def answer_program(
    program: sx.Program,
    *,
    file: str = "<text>",
    limit: int = LIMIT,
    runs: bool = True,
    everything: bool = False,
    begin: float | None = None,
) -> FileAnswer:
    """Answer the questions of a parsed program; `runs=False` leaves the witnessing runs out.

    With `everything` the outcomes are complete assignments of all registers (and of the words that are asked about),
    also for a program without a question about outcomes.
    """
    begin = time.perf_counter() if begin is None else begin
    work = _Answering(program, limit, runs, everything)
    if everything:
        work.plain()
    questions = [work.answer(question) for question in program.questions]
    seconds = time.perf_counter() - begin
    return FileAnswer(file, str(program.name), questions, work.states, seconds, work.outcomes)


class _Answering:
    """The searches of one program, made when they are first needed."""

    def __init__(self, program: sx.Program, limit: int, runs: bool, everything: bool) -> None:
        self.program, self.limit, self.runs = program, limit, runs
        self.cells = asked(program, everything)
        self.states = 0
        self.outcomes: list[Outcome] = []
        self._found: list[tuple[Outcome, int]] = []
        self._plain: Reached | None = None
        self._bounded = False

    def answer(self, question: sx.Question) -> QuestionAnswer:
        """The answer to one question."""
        kinds: dict[str, Callable[[sx.Question], QuestionAnswer]] = {
            "outcome": self._outcome,
            "race": self._race,
            "deadlock": self._deadlock,
            "fault": self._fault,
        }
        return kinds[question.kind](question)

    # ------------------------------------------------------------ the machine without its monitor

    def plain(self) -> Reached:
        """All states, the outcomes, and whether a bound was hit."""
        if self._plain is None:
            compiled = compile_program(self.program, OUTCOME)
            words = any(isinstance(cell, sx.FinalWord) for cell in self.cells)
            self._plain = reached = search(
                compiled,
                observed(compiled, self.cells),
                kept_registers(self.cells),
                stop=FALSE if words else final(compiled, self.cells),
                rescues=any(q.kind == "deadlock" for q in self.program.questions),
                limit=self.limit,
            )
            self.states += reached.states
            self._bounded = bounded(reached)
            if self.cells:
                self._found = outcomes(reached, self.cells)
                self.outcomes = [outcome for outcome, _ in self._found]
        return self._plain

    def _outcome(self, question: sx.Question) -> QuestionAnswer:
        reached = self.plain()
        assert question.condition is not None
        condition = question.condition
        hits = [state for outcome, state in self._found if satisfies(outcome, condition)]
        answer = "allowed" if hits else UNKNOWN if self._bounded else "forbidden"
        return self._say(question, answer, reached, min(hits, key=_order(reached), default=None))

    def _fault(self, question: sx.Question) -> QuestionAnswer:
        reached = self.plain()
        hits = reached.where(reached.compiled.some_failed())
        answer = "fault" if hits else UNKNOWN if self._bounded else "no-fault"
        return self._say(question, answer, reached, hits[0] if hits else None)

    def _deadlock(self, question: sx.Question) -> QuestionAnswer:
        reached = self.plain()
        if self._bounded:
            return self._say(question, UNKNOWN, reached, None)
        stuck = stuck_states(reached)
        if not stuck:
            return self._say(question, "no-deadlock", reached, None)
        hung = where_it_hangs(reached, stuck)
        said = self._say(question, "deadlock", reached, hung)
        said.why = why_stuck(reached, hung)
        return said

    # ------------------------------------------------------------ custody

    def _race(self, question: sx.Question) -> QuestionAnswer:
        compiled = race_machine(self.program)
        watched = [m.intact(), compiled.out_of_tokens(), *(c.counter().same(c.place(0)) for c in compiled.codes)]
        reached = search(compiled, watched, {}, bad=~m.intact(), limit=self.limit)
        self.states += reached.states
        hits = reached.where(~m.intact())
        answer = "race" if hits else UNKNOWN if bounded(reached) else "race-free"
        if hits and self.runs:
            # The question needs less of the monitor than its explanation: look again with all of it in sight.
            explained = search(compiled, [*watched, _whole_monitor()], {}, bad=~m.intact(), limit=self.limit)
            shown = explained.where(~m.intact())
            reached, hits = (explained, shown) if shown else (reached, hits)
        said = self._say(question, answer, reached, hits[0] if hits else None)
        if hits and self.runs:
            said.why = why_race(reached, hits[0])
        return said

    def _say(self, question: sx.Question, answer: str, reached: Reached, state: int | None) -> QuestionAnswer:
        run = story(reached, state) if state is not None and self.runs else []
        return QuestionAnswer(question.text or question.kind, question.expect, answer, run)


def _whole_monitor() -> Term:
    """A formula that mentions all that an explanation looks at, so that the search leaves none of it out."""
    known = exists(m.Agent, m.Block, m.Word, lambda a, b, w: m.pub(a, b, w) & m.unfl(a, b, w) & m.cur(a, b, w))
    read = exists(m.Agent, m.Agent, m.Block, m.Word, lambda a, r, b, w: m.over(a, r, b, w) & m.readby(r, b, w))
    return known | read | exists(m.Block, m.Word, lambda b, w: m.atomic(b, w))


def _order(reached: Reached) -> Callable[[int], int]:
    return lambda state: len(reached.path(state))


def bounded(reached: Reached) -> bool:
    """A bound was hit, so what was not found may exist all the same."""
    terms: tuple[Term, ...] = (reached.compiled.out_of_tokens(), reached.compiled.lost(), overflow(reached))
    return not reached.complete or any(reached.where(term) for term in terms)


def race_machine(program: sx.Program) -> Compiled:
    """The custody view where it is sound for the program, else the full machine."""
    full = bool(program.mortal) or mentions(program, *_NEED_HARDWARE)
    return compile_program(program, FULL if full else CUSTODY)
