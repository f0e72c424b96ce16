"""From threads to a machine in the project's language, so that every reader of machines can run algorithms.

An action is called `step@thread` (with the suffix of the step's label, `arrive_look@host.1`), so counts per action are
counts per step.  Besides the steps there are `drain`, `fill` (hardware that will happen), `evict`, `spurious`, `die` and
`lose` (what may happen, and no progress may count on).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from shmem_model.algorithms import programs as p
from shmem_model.algorithms.memory import Buffer, Changes, Line, Shared, Where
from shmem_model.algorithms.numbers import Num, Variable, number, numeral
from shmem_model.language import FALSE, TRUE, Action, Element, Function, Machine, Property, Sort, Term, conj, disj, ite
from shmem_model.language.actions import assemble, update, waits
from shmem_model.readers.scope import Scope

FAIR, UNFAIR = "hardware", "fault"
ASLEEP = "/asleep"


class Runner:
    """A thread as the machine has it: where it is, its registers, its buffer and its lines."""

    def __init__(self, thread: p.Thread, shared: Shared) -> None:
        self.thread, self.shared = thread, shared
        self.labels = [step.label for step in thread.steps]
        self.labels += [step.label + ASLEEP for step in thread.steps if isinstance(step.access, p.Sleep)]
        self.labels += [p.END, *([p.DEAD] if thread.mortal else [])]
        self.sort = Sort(f"At_{thread.name}")
        self.place = Function(f"{thread.name}_at", (), self.sort, "software", "The step that comes next.")
        self.registers = {
            name: Variable(f"{thread.name}_{name}", size, "software", "A register.", thread.start.get(name, 0))
            for name, size in thread.registers.items()
        }
        stores = [s.access for s in thread.steps if isinstance(s.access, p.Store) and s.access.order != p.SEQ_CST]
        places = dict.fromkeys(word for access in stores for _, word in self.where(access))
        self.buffer = Buffer(thread, list(places) if thread.buffer else [], shared)
        cached = [s.access for s in thread.steps if isinstance(s.access, p.ReadLine | p.WriteLine)]
        lines = dict.fromkeys(shared.words[word].at for access in cached for _, word in self.where(access))
        self.lines = {line: Line(thread, line, shared) for line in lines}

    @property
    def variables(self) -> list[Variable]:
        """All its numbers."""
        lines = [v for line in self.lines.values() for v in line.variables]
        return [*self.registers.values(), *self.buffer.variables, *lines]

    def values(self, changes: Changes | None = None) -> p.Registers:
        """The registers, as they are or as a step leaves them."""
        new = {} if changes is None else changes.new
        return p.Registers({name: new.get(v, v.number) for name, v in self.registers.items()})

    def where(self, access: p.Access) -> Where:
        """The word that an access means: which one under which condition."""
        return [(TRUE, access.word)] if isinstance(access.word, str) else access.word(self.values())

    def element(self, label: str) -> Element:
        """A label as an element."""
        return Element(label, self.sort, self.labels.index(label))

    def at(self, *labels: str) -> Term:
        """The thread is at one of these steps; a label without suffix stands for all with it."""
        known = [known for known in self.labels if any(known in (x, x + ASLEEP) or known.startswith(x + ".") for x in labels)]
        if not known:
            raise LookupError(f"{self.thread.name} has no step {labels}")
        return disj(FALSE, *(self.place().same(self.element(label)) for label in known))

    @property
    def alive(self) -> Term:
        """It has not died."""
        return ~self.at(p.DEAD) if self.thread.mortal else TRUE

    @property
    def asleep(self) -> Term:
        """It sleeps on some futex."""
        labels = [label for label in self.labels if label.endswith(ASLEEP)]
        return disj(FALSE, *(self.place().same(self.element(label)) for label in labels))

    @property
    def drained(self) -> Term:
        """Nothing of its stores is on its way."""
        return conj(self.buffer.empty, *(line.posted.is_(0) for line in self.lines.values()))

    def goes(self, goto: p.Goto, registers: p.Registers) -> Term:
        """Where a step leads."""
        ways = [(TRUE, goto)] if isinstance(goto, str) else goto(registers)
        result: Term = self.element(ways[-1][1])
        for condition, label in reversed(ways[:-1]):
            result = ite(condition, self.element(label), result)
        return result


class Algorithm:
    """Threads on shared words, as a machine with a scope; `claims` are added when it is complete."""

    def __init__(self, name: str, sentence: str, words: Sequence[p.Word], threads: Sequence[p.Thread]) -> None:
        self.name, self.sentence = name, sentence
        self.shared = Shared(words)
        self.runners = {thread.name: Runner(thread, self.shared) for thread in threads}
        self.claims: tuple[Property, ...] = ()
        self.too_large = Variable("too_large", 2, "ghost", "A number did not fit.")

    # -- what claims are made of

    def memory(self, word: str) -> Num:
        """What memory holds at a word."""
        return self.shared.cells[word].number

    def register(self, thread: str, name: str) -> Num:
        """A thread's register."""
        return self.runners[thread].registers[name].number

    def at(self, thread: str, *labels: str) -> Term:
        """A thread is at one of these steps (or asleep there)."""
        return self.runners[thread].at(*labels)

    def asleep(self, thread: str) -> Term:
        """A thread sleeps."""
        return self.runners[thread].asleep

    def dead(self, thread: str) -> Term:
        """A thread has died."""
        return ~self.runners[thread].alive

    def gone(self, thread: str) -> Term:
        """A thread has died and its stores have arrived: the system tells of the end of a process after that."""
        return conj(self.dead(thread), self.runners[thread].drained)

    def idle(self, thread: str) -> Term:
        """A thread will do nothing more by itself: it has ended, died or sleeps, and its stores have arrived."""
        runner = self.runners[thread]
        rest = disj(runner.at(p.END), ~runner.alive, runner.asleep)
        return conj(rest, runner.drained)

    def claim(self, name: str, sentence: str, body: Term) -> Property:
        """A claim about every state."""
        return Property(name, sentence, (), body)

    # -- the machine

    @property
    def variables(self) -> list[Variable]:
        """All numbers of the state."""
        own = [v for runner in self.runners.values() for v in runner.variables]
        return [*self.shared.cells.values(), *own, self.too_large]

    @cached_property
    def machine(self) -> Machine:
        """The machine."""
        runners = list(self.runners.values())
        functions = [v.function for v in self.variables]
        places = [runner.place for runner in runners]
        initial: dict[Function, Term] = {v.function: numeral(v.start, v.size) for v in self.variables}
        initial |= {r.place: r.element(r.thread.begin) for r in runners}
        sorts = dict.fromkeys([*(f.result for f in functions), *(r.sort for r in runners)])
        actions = {action.name: action for runner in runners for action in _actions(self, runner)}
        fits = self.claim("numbers_fit", "No number grows beyond what the scope gives it.", self.too_large.is_(0))
        properties = (*self.claims, fits)
        return Machine(self.name, tuple(sorts), (*functions, *places), initial, actions, (), properties)

    @cached_property
    def scope(self) -> Scope:
        """The machine with its sizes."""
        sizes = {v.function.result: v.size for v in self.variables}
        names = {v.function.result: tuple(map(str, range(v.size))) for v in self.variables}
        sizes |= {r.sort: len(r.labels) for r in self.runners.values()}
        names |= {r.sort: tuple(r.labels) for r in self.runners.values()}
        return Scope(self.name, self.machine, sizes, {}, names=names)

    @property
    def steps(self) -> frozenset[str]:
        """The names of all steps."""
        return frozenset(step.name for runner in self.runners.values() for step in runner.thread.steps)


def _actions(algorithm: Algorithm, runner: Runner) -> Iterator[Action]:
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

    def __init__(self, algorithm: Algorithm, runner: Runner) -> None:
        self.algorithm, self.runner = algorithm, runner

    def action(
        self, name: str, suffix: str, group: str, may: Term, changes: Changes, sentence: str, to: Term | None = None,
        wakes: str = "", when: Term = TRUE,
    ) -> Action:  # fmt: skip
        """One action: guard, new numbers, where the thread goes, whom it wakes."""
        tail = f".{suffix}" if suffix else ""
        parts = [waits("may", may), *self._updates(changes)]
        if to is not None:
            parts.append(update(self.runner.place, lambda: ite(when, to, self.runner.place())))
        if wakes:
            parts += [update(r.place, lambda r=r: _woken(r, wakes)) for r in self._others() if _sleepers(r, wakes)]
        return assemble(f"{name}@{self.runner.thread.name}{tail}", group, (), parts, sentence)

    def _others(self) -> list[Runner]:
        return [runner for runner in self.algorithm.runners.values() if runner is not self.runner]

    def _updates(self, changes: Changes) -> Iterator[object]:
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
                case p.ReadLine():
                    guard = conj(guard, condition.implies(line.has.is_(1)))
                    got = _pick(condition, line.copy[word].number, got)
                case p.WriteLine():
                    guard = conj(guard, condition.implies(line.has.is_(1)))
                    changes.set(line.copy[word], _value(access.value, self.runner.values()), condition)
                    changes.set(line.dirty, 1, condition)
                case p.Flush():
                    guard = conj(guard, condition.implies(line.posted.is_(0)))
                    line.post(changes, condition)
                case _:
                    line.drop(changes, condition)
        return guard, got


def _pick(condition: Term, then: Num, otherwise: Num) -> Num:
    from shmem_model.algorithms.numbers import choose

    return choose(condition, then, otherwise)


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


Build = Callable[[], Algorithm]
