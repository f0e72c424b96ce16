"""From threads to a machine in the project's language, so that every reader of machines can run algorithms.

An action is called `step@thread` (with the suffix of the step's label, `arrive_look@host.1`), so counts per action are
counts per step.  Besides the steps there are `drain`, `fill` (hardware that will happen), `evict`, `spurious`, `die`
and `lose` (what may happen, and no progress may count on).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from shmem_model.algorithms import programs as p
from shmem_model.algorithms.acting import make_actions
from shmem_model.algorithms.memory import Shared
from shmem_model.algorithms.numbers import Num, Variable, numeral
from shmem_model.algorithms.runners import Runner
from shmem_model.language import Function, Machine, Property, Term, conj, disj
from shmem_model.readers.scope import Scope


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
        actions = {action.name: action for runner in runners for action in make_actions(self, runner)}
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
