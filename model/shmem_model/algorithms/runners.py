"""A thread as the machine has it: where it is, its registers, its store buffer and its lines."""

from __future__ import annotations

from shmem_model.algorithms import programs as p
from shmem_model.algorithms.memory import Buffer, Changes, Line, Shared, Where
from shmem_model.algorithms.numbers import Variable
from shmem_model.language import FALSE, TRUE, Element, Function, Sort, Term, conj, disj, ite

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
        known = [k for k in self.labels if any(k in (x, x + ASLEEP) or k.startswith(x + ".") for x in labels)]
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
