"""What an algorithm is written in: threads that take named atomic steps on shared words.

A *step* makes one access to shared memory and then decides, on the thread's own registers, where to go on.  Its name
stands in the real source, too, beside the line that it stands for (`steps.py`).  How accesses reach memory is not said
here but in `memory.py`: store buffers, line caches, the futex.

    Step("send_look_for_waiter", Load("waiting"), lambda r: [(r.got.eq(0), "end"), (TRUE, "send_ring")])

`r.got` is what the access found; other names are the thread's registers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shmem_model.algorithms.numbers import Num
from shmem_model.language import Term

SEQ_CST, RELEASE, RELAXED = "seq_cst", "release", "relaxed"
END, DEAD = "end", "dead"


class Registers:
    """A thread's registers and, as `got`, what the access of the step found."""

    def __init__(self, values: Mapping[str, Num]) -> None:
        self._values = dict(values)

    def __getattr__(self, name: str) -> Num:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._values[name]

    def __getitem__(self, name: str) -> Num:
        return self._values[name]


Value = int | Callable[[Registers], Num | int]
Place = str | Callable[[Registers], Sequence[tuple[Term, str]]]
"""The name of a word, or which word under which condition."""
Goto = str | Callable[[Registers], Sequence[tuple[Term, str]]]
"""The next step, or which one under which condition: the first that holds."""


@dataclass(frozen=True)
class Access:
    """One access to shared memory; `Access()` makes none."""

    word: Place = ""


@dataclass(frozen=True)
class Load(Access):
    """Find the value of a word: the thread's own newest store to it, or what memory holds."""


@dataclass(frozen=True)
class Store(Access):
    """Write a word: at once (`seq_cst`), or through the store buffer, in order (`release`) or in any (`relaxed`)."""

    value: Value = 0
    order: str = SEQ_CST


@dataclass(frozen=True)
class Change(Access):
    """An indivisible read-modify-write: finds the old value, leaves `to` (a function of `got`) where `when` holds."""

    to: Callable[[Registers], Num | int] = lambda r: r.got
    when: Callable[[Registers], Term] | None = None


def add(word: Place, by: int) -> Change:
    """Add to a word."""
    return Change(word, lambda r: r.got + by)


@dataclass(frozen=True)
class Fence(Access):
    """Wait until the thread's own stores and flushes have reached memory."""


@dataclass(frozen=True)
class Sleep(Access):
    """The futex: if the word still has the value that was seen then sleep until woken, else go on at once."""

    seen: Value = 0


@dataclass(frozen=True)
class Wake(Access):
    """The futex: everybody who sleeps on the word goes on."""


@dataclass(frozen=True)
class Take(Access):
    """A whole `wait` on a sticky slot, as T11 has shown it to be: takes what is there, or learns that `peer` is
    dead."""

    peer: str = ""


@dataclass(frozen=True)
class ReadLine(Access):
    """Read a word through the thread's own cache."""


@dataclass(frozen=True)
class WriteLine(Access):
    """Write a word in the thread's own cache."""

    value: Value = 0


@dataclass(frozen=True)
class Flush(Access):
    """Post the line of a word to memory, where it is dirty; it arrives later."""


@dataclass(frozen=True)
class Invalidate(Access):
    """Drop the line of a word, so that the next read finds memory."""


@dataclass(frozen=True)
class Step:
    """One atomic step.  A label may carry a suffix (`arrive_look.1`) where one line of source is several steps.

    `sets` gives registers new values; `after_death` names a thread that must have died before (what a driver waits
    for).
    """

    label: str
    access: Access
    goto: Goto = END
    sets: Mapping[str, Callable[[Registers], Num | int] | int] = field(default_factory=dict)
    after_death: str = ""

    @property
    def name(self) -> str:
        """The name in the source."""
        return self.label.partition(".")[0]


@dataclass(frozen=True)
class Thread:
    """A sequence of steps with registers (name -> number of values), run by one agent.

    `buffer` is the length of its store buffer, `mortal` says that it may die at any step, `start` gives registers other
    values than 0 at the start, `spurious` says that its sleep may end without a reason.
    """

    name: str
    steps: tuple[Step, ...]
    registers: Mapping[str, int] = field(default_factory=dict)
    start: Mapping[str, int] = field(default_factory=dict)
    buffer: int = 0
    mortal: bool = False
    first: str = ""
    spurious: bool = True

    @property
    def begin(self) -> str:
        """The label of the first step."""
        return self.first or self.steps[0].label


@dataclass(frozen=True)
class Word:
    """A shared word: how many values it has, what it holds at the start, and the line that it lies on ("": its own)."""

    name: str
    size: int
    start: int = 0
    line: str = ""

    @property
    def at(self) -> str:
        """The line."""
        return self.line or self.name


def branch(*ways: Any) -> list[tuple[Term, str]]:
    """`branch(condition, label, condition, label, ..., label)` as the ways of a step."""
    from shmem_model.language import TRUE

    pairs = list(zip(ways[:-1:2], ways[1:-1:2], strict=True))
    return [*pairs, (TRUE, ways[-1])]
