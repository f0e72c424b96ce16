"""The actions of a thread: its steps, what hardware does for it, and its death."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from shmem_model.algorithms import programs as p
from shmem_model.algorithms.memory import Changes, Line, Shared, Where
from shmem_model.algorithms.numbers import Num, Variable, choose, number, numeral
from shmem_model.algorithms.runners import ASLEEP, Runner
from shmem_model.language import FALSE, TRUE, Action, Term, conj, disj, ite
from shmem_model.language.actions import Part, assemble, update, waits

FAIR, UNFAIR = "hardware", "fault"


class Whole(Protocol):
    """What a thread must know of the algorithm that it belongs to."""

    runners: dict[str, Runner]
    shared: Shared
    too_large: Variable

    def gone(self, thread: str) -> Term:
        """The thread has died and its stores have arrived."""
        ...


def make_actions(algorithm: Whole, runner: Runner) -> Iterator[Action]:
    """All actions of a thread."""
    make = _Maker(algorithm, runner)
    for step in runner.thread.steps:
        yield make.step(step)
        if isinstance(step.access, p.Sleep) and runner.thread.spurious:
            here = runner.place().same(runner.element(step.label + ASLEEP))
            woken = runner.goes(step.goto, runner.values())
            yield make.action("spurious", step.label, UNFAIR, here, Changes(), "A sleep ends without a reason.", woken)
    for number_, may, changes in runner.buffer.drains():
        yield make.action("drain", number_, FAIR, may, changes, "A store that waited reaches memory.")
    for line in runner.lines.values():
        for name, may, changes in line.hardware():
            alive = runner.alive if name == "fill" else TRUE
            group = UNFAIR if name == "evict" else FAIR
            yield make.action(name, line.name, group, conj(may, alive), changes, f"Hardware: {name} of a line.")
    if runner.thread.mortal:
        yield from _death(make, runner)


def _death(make: _Maker, runner: Runner) -> Iterator[Action]:
    ends = Changes()
    for register in runner.registers.values():
        ends.set(register, 0)
    dead = runner.element(p.DEAD)
    yield make.action("die", "", UNFAIR, runner.alive, ends, "The agent dies, at any step.", dead)
    if runner.buffer.entries or runner.lines:
        lost, dirty = Changes(), [line.has.is_(1) for line in runner.lines.values()]
        runner.buffer.lost(lost)
        for line in runner.lines.values():
            line.drop(lost)
            line.gone(lost)
        some = conj(~runner.alive, disj(~runner.drained, *dirty))
        yield make.action("lose", "", UNFAIR, some, lost, "What a dead agent left is lost.")


class _Maker:
    """Makes the actions of one thread."""

    def __init__(self, algorithm: Whole, runner: Runner) -> None:
        self.algorithm, self.runner = algorithm, runner

    def action(
        self, name: str, suffix: str, group: str, may: Term, changes: Changes, sentence: str, to: Term | None = None,
        wakes: str = "", when: Term = TRUE,
    ) -> Action:  # fmt: skip
        """One action: guard, new numbers, where the thread goes, whom it wakes."""
        tail = f".{suffix}" if suffix else ""
        parts: list[Part] = [waits("may", may), *self._updates(changes)]
        if to is not None:
            parts.append(update(self.runner.place, lambda: ite(when, to, self.runner.place())))
        if wakes:
            parts += [update(r.place, lambda r=r: _woken(r, wakes)) for r in self._others() if _sleepers(r, wakes)]
        return assemble(f"{name}@{self.runner.thread.name}{tail}", group, (), parts, sentence)

    def _others(self) -> list[Runner]:
        return [runner for runner in self.algorithm.runners.values() if runner is not self.runner]

    def _updates(self, changes: Changes) -> Iterator[Part]:
        beyond: Term = FALSE
        for variable, value in changes.new.items():
            beyond = disj(beyond, value.beyond(variable.size))
            yield update(variable.function, lambda value=value, size=variable.size: value.value(size))
        if beyond is not FALSE:
            flag = self.algorithm.too_large
            yield update(flag.function, lambda: ite(beyond, numeral(1, 2), flag.function()))

    def step(self, step: p.Step) -> Action:
        """The action of a step."""
        runner, changes = self.runner, Changes()
        guard, got = self._access(step.access, changes)
        before = runner.values()
        seen = p.Registers({**before._values, "got": got})
        for name, value in step.sets.items():
            changes.set(runner.registers[name], value if isinstance(value, int) else value(seen))
        after = p.Registers({**runner.values(changes)._values, "got": got})
        to = runner.goes(step.goto, after)
        if isinstance(step.access, p.Sleep):
            same = got.eq(_value(step.access.seen, before))
            to = ite(same, runner.element(step.label + ASLEEP), to)
        more = self.algorithm.gone(step.after_death) if step.after_death else TRUE
        may = conj(runner.place().same(runner.element(step.label)), guard, more)
        wakes = step.access.word if isinstance(step.access, p.Wake) else ""
        assert isinstance(wakes, str)
        text = f"Step {step.name} of {runner.thread.name}."
        suffix = step.label.partition(".")[2]
        return self.action(step.name, suffix, "software", may, changes, text, to, wakes)

    def _access(self, access: p.Access, changes: Changes) -> tuple[Term, Num]:
        """When the access can be made, and what it finds."""
        runner, registers = self.runner, self.runner.values()
        where = runner.where(access) if access.word else []
        memory = self.algorithm.shared.found(where)
        match access:
            case p.Load():
                return TRUE, runner.buffer.seen(where, memory)
            case p.Store() if access.order != p.SEQ_CST and runner.buffer.entries:
                value = number(_value(access.value, registers))
                runner.buffer.push(where, value, access.order, changes)
                return runner.buffer.room(), value
            case p.Store():
                value = number(_value(access.value, registers))
                self._put(where, value, changes)
                return self._drained(where), value
            case p.Change():
                seen = p.Registers({**registers._values, "got": memory})
                applies = TRUE if access.when is None else access.when(seen)
                self._put([(conj(condition, applies), word) for condition, word in where], access.to(seen), changes)
                return self._drained(where), memory
            case p.Take():
                self._put([(memory.ge(1), where[0][1])], 0, changes)
                other = self.algorithm.gone(access.peer) if self._mortal(access.peer) else FALSE
                return conj(runner.buffer.empty, disj(memory.ge(1), other)), memory
            case p.Fence():
                return runner.drained, number(0)
            case p.Sleep() | p.Wake():
                return runner.buffer.empty, memory
            case p.ReadLine() | p.WriteLine() | p.Flush() | p.Invalidate():
                return self._cached(access, where, changes)
        return TRUE, number(0)

    def _mortal(self, thread: str) -> bool:
        return thread in self.algorithm.runners and self.algorithm.runners[thread].thread.mortal

    def _put(self, where: Where, value: Num | int, changes: Changes) -> None:
        for condition, word in where:
            changes.set(self.algorithm.shared.cells[word], value, condition)

    def _drained(self, where: Where) -> Term:
        """The thread's own stores that the access must not overtake have arrived."""
        own = (self._line(word) for _, word in where)
        return conj(self.runner.buffer.empty, *(line.posted.is_(0) for line in own if line is not None))

    def _line(self, word: str) -> Line | None:
        return self.runner.lines.get(self.algorithm.shared.words[word].at)

    def _cached(self, access: p.Access, where: Where, changes: Changes) -> tuple[Term, Num]:
        guard: Term = TRUE
        got = number(0)
        for condition, word in where:
            line = self._line(word)
            if line is None:
                continue
            match access:
                case p.ReadLine() | p.WriteLine():
                    guard = conj(guard, condition.implies(line.has.is_(1) | line.posted.is_(0)))
                    line.fill(changes, conj(condition, line.has.is_(0)))
                    got = choose(condition, changes.new[line.copy[word]], got)
                    if isinstance(access, p.WriteLine):
                        changes.set(line.copy[word], _value(access.value, self.runner.values()), condition)
                        changes.set(line.dirty, 1, condition)
                case p.Flush():
                    guard = conj(guard, condition.implies(line.posted.is_(0)))
                    line.post(changes, condition)
                case _:
                    line.drop(changes, condition)
        return guard, got


def _value(value: p.Value, registers: p.Registers) -> Num | int:
    return value if isinstance(value, int) else value(registers)


def _sleepers(runner: Runner, word: str) -> list[p.Step]:
    return [s for s in runner.thread.steps if isinstance(s.access, p.Sleep) and s.access.word == word]


def _woken(runner: Runner, word: str) -> Term:
    """Where a thread is after a wake-up of a word."""
    result: Term = runner.place()
    for step in _sleepers(runner, word):
        here = runner.place().same(runner.element(step.label + ASLEEP))
        result = ite(here, runner.goes(step.goto, runner.values()), result)
    return result
