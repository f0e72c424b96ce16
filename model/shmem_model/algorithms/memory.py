"""How accesses reach memory: store buffers, line caches with posted write-backs, and the futex.

*Store buffer.*  A store that is not sequentially consistent waits in its thread's buffer.  A load finds the thread's
own newest store to the word first.  A buffered store may drain when every older one that it must not overtake has:
one to the same word, and for a `release` store all of them.  So `release` stores alone are total store order (x86), and
`relaxed` ones drain in any order.  A sequentially consistent access, a read-modify-write, a fence and a system call
wait until the buffer is empty.  (Loads are not reordered with later loads; a twin that wants that says so as a
program.)

*Line cache.*  A line is read and written in the thread's own copy, which hardware fills at any time.  A flush posts the
whole line, which arrives later; an eviction writes a dirty line back at any time.  Whole lines: neighbours are
overwritten (H3).  Atomics act on memory and leave the copy alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shmem_model.algorithms.numbers import Num, Variable, choose, number
from shmem_model.algorithms.programs import RELEASE, Thread, Word
from shmem_model.language import FALSE, TRUE, Term, conj, disj

Where = Sequence[tuple[Term, str]]


class Changes:
    """The new values that a step gives to variables; what it does not mention keeps its value."""

    def __init__(self) -> None:
        self.new: dict[Variable, Num] = {}

    def set(self, variable: Variable, value: Num | int, when: Term = TRUE) -> None:
        """The variable becomes that where the condition holds."""
        self.new[variable] = choose(when, value, self.new.get(variable, variable.number))


class Shared:
    """The words in memory."""

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = {word.name: word for word in words}
        self.cells = {
            word.name: Variable(f"m_{word.name}", word.size, "hardware", "What memory holds.", word.start)
            for word in words
        }

    def line(self, word: str) -> list[str]:
        """The words that share the word's line."""
        at = self.words[word].at
        return [name for name, other in self.words.items() if other.at == at]

    def found(self, where: Where) -> Num:
        """What memory holds at a place."""
        result = number(0)
        for condition, word in where:
            result = choose(condition, self.cells[word].number, result)
        return result


@dataclass(frozen=True)
class Entry:
    """One place of a store buffer: which word (0: none), which value, and whether it is a release store."""

    word: Variable
    value: Variable
    ordered: Variable

    def move(self, to: Entry, changes: Changes, when: Term) -> None:
        """This entry moves to another place."""
        for mine, other in ((self.word, to.word), (self.value, to.value), (self.ordered, to.ordered)):
            changes.set(other, mine.number, when)

    def clear(self, changes: Changes, when: Term) -> None:
        """The place becomes free."""
        for variable in (self.word, self.value, self.ordered):
            changes.set(variable, 0, when)


class Buffer:
    """One thread's store buffer; the oldest store stands first."""

    def __init__(self, thread: Thread, words: Sequence[str], shared: Shared) -> None:
        self.words, self.shared = list(words), shared
        most = max((shared.words[word].size for word in words), default=1)
        name, layer = f"{thread.name}_buffer", "hardware"
        self.entries = [
            Entry(
                Variable(f"{name}{i}_word", len(self.words) + 1, layer, "Which word the store is to; 0: no store."),
                Variable(f"{name}{i}_value", most, layer, "The value that waits."),
                Variable(f"{name}{i}_ordered", 2, layer, "Whether it must not overtake older stores."),
            )
            for i in range(thread.buffer)
        ]

    @property
    def variables(self) -> list[Variable]:
        """Its state."""
        return [v for entry in self.entries for v in (entry.word, entry.value, entry.ordered)]

    @property
    def empty(self) -> Term:
        """No store waits."""
        return self.entries[0].word.is_(0) if self.entries else TRUE

    def _to(self, entry: Entry, word: str) -> Term:
        return entry.word.is_(self.words.index(word) + 1) if word in self.words else FALSE

    def seen(self, where: Where, memory: Num) -> Num:
        """What the thread finds: its newest store to the word, or memory."""
        result = memory
        for entry in self.entries:
            here = disj(FALSE, *(conj(condition, self._to(entry, word)) for condition, word in where))
            result = choose(here, entry.value.number, result)
        return result

    def room(self) -> Term:
        """There is a free place."""
        return self.entries[-1].word.is_(0) if self.entries else TRUE

    def push(self, where: Where, value: Num, order: str, changes: Changes) -> None:
        """A store joins the buffer."""
        free: Term = TRUE
        for entry in self.entries:
            here = conj(free, entry.word.is_(0))
            for condition, word in where:
                changes.set(entry.word, self.words.index(word) + 1, conj(here, condition))
            changes.set(entry.value, value, here)
            changes.set(entry.ordered, int(order == RELEASE), here)
            free = conj(free, ~entry.word.is_(0))

    def drains(self) -> Iterator[tuple[str, Term, Changes]]:
        """For each place: its name, when its store may reach memory, and what happens then."""
        for i, entry in enumerate(self.entries):
            overtaken = [conj(entry.ordered.is_(0), ~entry.word.number.eq(old.word.number)) for old in self.entries[:i]]
            changes = Changes()
            for word in self.words:
                changes.set(self.shared.cells[word], entry.value.number, self._to(entry, word))
            for place in range(i, len(self.entries) - 1):
                self.entries[place + 1].move(self.entries[place], changes, TRUE)
            self.entries[-1].clear(changes, TRUE)
            yield str(i), conj(~entry.word.is_(0), *overtaken), changes

    def lost(self, changes: Changes) -> None:
        """Everything that waits is lost."""
        for entry in self.entries:
            entry.clear(changes, TRUE)


class Line:
    """One thread's copy of one line, and its posted write-back."""

    def __init__(self, thread: Thread, line: str, shared: Shared) -> None:
        self.name, self.shared = line, shared
        self.words = [name for name, word in shared.words.items() if word.at == line]
        made = lambda what, size, text: Variable(f"{thread.name}_{what}", size, "hardware", text)
        self.has = made(f"has_{line}", 2, "The line is in the cache.")
        self.dirty = made(f"dirty_{line}", 2, "The copy differs from what was filled.")
        self.posted = made(f"posted_{line}", 2, "A write-back is on its way.")
        sizes = {word: shared.words[word].size for word in self.words}
        self.copy = {word: made(f"copy_{word}", size, "The word in the cache.") for word, size in sizes.items()}
        self.sent = {word: made(f"sent_{word}", size, "The word on its way.") for word, size in sizes.items()}

    @property
    def variables(self) -> list[Variable]:
        """Its state."""
        return [self.has, self.dirty, self.posted, *self.copy.values(), *self.sent.values()]

    def fill(self, changes: Changes, when: Term) -> None:
        """The line comes from memory."""
        changes.set(self.has, 1, when)
        for word in self.words:
            changes.set(self.copy[word], self.shared.cells[word].number, when)

    def drop(self, changes: Changes, when: Term = TRUE) -> None:
        """The copy is gone."""
        for variable in (self.has, self.dirty, *self.copy.values()):
            changes.set(variable, 0, when)

    def gone(self, changes: Changes) -> None:
        """The posted write-back is no more."""
        for variable in (self.posted, *self.sent.values()):
            changes.set(variable, 0)

    def post(self, changes: Changes, when: Term) -> None:
        """A dirty line is posted, whole, and stays as a clean copy."""
        here = conj(when, self.dirty.is_(1))
        changes.set(self.posted, 1, here)
        changes.set(self.dirty, 0, here)
        for word in self.words:
            changes.set(self.sent[word], self.copy[word].number, here)

    def hardware(self) -> Iterator[tuple[str, Term, Changes]]:
        """What hardware may do with the line: fill, evict, drain."""
        fill, evict, drain = Changes(), Changes(), Changes()
        self.fill(fill, TRUE)
        for word in self.words:
            cell = self.shared.cells[word]
            evict.set(cell, self.copy[word].number, self.dirty.is_(1))
            drain.set(cell, self.sent[word].number)
        self.drop(evict)
        self.gone(drain)
        yield "fill", conj(self.has.is_(0), self.posted.is_(0)), fill
        yield "evict", conj(self.has.is_(1), self.posted.is_(0)), evict
        yield "drain", self.posted.is_(1), drain
