"""Which custody rule a run broke: the word, the other side, and the step that is missing between the two."""

from __future__ import annotations

from collections.abc import Iterator

from shmem_model.language import Function
from shmem_model.language import terms as t
from shmem_model.machine import vocabulary as m
from shmem_model.readers.packed import PackedAction

from .calls import Call
from .flow import Code
from .search import Reached


def why_race(reached: Reached, state: int) -> str:
    """One sentence about the last step of the shortest run to a state with a broken rule."""
    path = reached.path(state)
    before, action, _ = path[-1]
    found = reached.compiled.owner.get(action.source.action.name)
    if found is None:
        return "a custody rule is broken"
    return _Diagnosis(reached, path, found[0], found[0].calls[found[1]]).sentence(before)


class _Diagnosis:
    def __init__(self, reached: Reached, path: list[tuple[int, PackedAction, int]], code: Code, call: Call) -> None:
        self.reached, self.path, self.code, self.call = reached, path, code, call
        self.world = reached.compiled.world
        self.me = self.world.agents.index(code.agent)

    def holds(self, state: int, function: Function, *indices: int) -> bool:
        """A ghost cell in a state (false where the search left the function out)."""
        ground = self.reached.packed.ground
        return function in ground.partial.cells and bool(ground.value(state, function, indices))

    def sentence(self, state: int) -> str:
        """What is wrong with the step from this state."""
        for block, word in self._words():
            said = self._not_entitled(state, block, word) or self._readers(state, block, word)
            if said:
                return said
        return f"{self._here()} breaks a custody rule"

    def _here(self) -> str:
        return f"{self.code.agent}:{self.call.statement.pos.line} '{self.call.text}'"

    def _words(self) -> Iterator[tuple[int, int]]:
        """The words that the step needs custody of."""
        for way in self.call.ways:
            for block_name, word_name in (("b", "w"), ("c", "p")):
                block, word = way.values.get(block_name), way.values.get(word_name)
                if not isinstance(block, t.Element) or block.sort is not m.Block:
                    continue
                if isinstance(word, t.Element) and not self._whole_line():
                    yield block.index, word.index
                else:
                    yield from ((block.index, w) for w in range(len(self.world.names[m.Word])))

    def _whole_line(self) -> bool:
        line = self.world.option("write_back") == "line" and self.world.is_cached(self.code.agent)
        return self.call.action == "write" and line

    def _not_entitled(self, state: int, block: int, word: int) -> str:
        if self.call.action == "invalidate":
            if self.holds(state, m.unfl, self.me, block, word):
                return (
                    f"{self._here()} throws away {self.world.word_name(block, word)}, which was written and not flushed"
                )
            return ""
        cur, pub = (self.holds(state, f, self.me, block, word) for f in (m.cur, m.pub))
        atomic = self.call.action in ("atomic_add", "atomic_swap", "compare_swap")
        at_memory = atomic or self.call.action == "copy_start" or not self.world.is_cached(self.code.agent)
        if (pub and at_memory) or (cur and not (atomic or self.call.action == "copy_start")):
            return ""
        if atomic and self.holds(state, m.atomic, block, word):
            return ""
        other, line = self._last_writer(block, word)
        missing = self._missing(state, block, word, other)
        return f"{self._here()} needs {self.world.word_name(block, word)}, last written by {line}: {missing}"

    def _missing(self, state: int, block: int, word: int, other: int | None) -> str:
        me = self.code.agent
        if other is None:
            return f"{me} has no custody of it"
        name = self.world.agents[other]
        if self._copied(block) and not self.holds(state, m.pub, other, block, word):
            return f"{name} has not waited for the copy"
        if self.holds(state, m.pub, self.me, block, word):
            return f"{me} was told, but has not invalidated the line since"
        if self.holds(state, m.unfl, other, block, word):
            return f"{name} has not flushed it"
        if not self.holds(state, m.pub, other, block, word) and not self.holds(state, m.atomic, block, word):
            return f"{name} has not fenced after it"
        if other == self.me:
            return f"{me} has not fenced after it"
        return f"no notification that says so has come from {name} to {me}"

    def _copied(self, block: int) -> bool:
        """The line was last written by a copy."""
        writes = ("write", "atomic_add", "atomic_swap", "compare_swap")
        for _, call in self._calls_before():
            if block in call.blocks("c"):
                return True
            if call.action in writes and block in call.blocks("b"):
                return False
        return False

    def _readers(self, state: int, block: int, word: int) -> str:
        if self.call.action not in ("write", "atomic_add", "atomic_swap", "compare_swap", "copy_start"):
            return ""
        for reader in range(len(self.world.agents)):
            if reader != self.me and self.holds(state, m.readby, reader, block, word):
                if not self.holds(state, m.over, self.me, reader, block, word):
                    who = self.world.agents[reader]
                    return (
                        f"{self._here()} overwrites {self.world.word_name(block, word)} while {who} may still read it: "
                        f"nothing told {self.code.agent} that the read at {self._reader(reader, block)} is finished"
                    )
        return ""

    def _reader(self, reader: int, block: int) -> str:
        for code, call in self._calls_before():
            if self.world.agents.index(code.agent) == reader and block in call.blocks("b"):
                if call.action in ("read", "copy_start"):
                    return f"{code.agent}:{call.statement.pos.line}"
        return self.world.agents[reader]

    def _last_writer(self, block: int, word: int) -> tuple[int | None, str]:
        for code, call in self._calls_before():
            writes = ("write", "atomic_add", "atomic_swap", "compare_swap")
            if (call.action in writes and block in call.blocks("b")) or block in call.blocks("c"):
                where = f"{code.agent}:{call.statement.pos.line} '{call.text}'"
                return self.world.agents.index(code.agent), where
        return None, "nobody in this run"

    def _calls_before(self) -> Iterator[tuple[Code, Call]]:
        """The calls of the run before its last step, the latest first."""
        for _, action, _ in reversed(self.path[:-1]):
            found = self.reached.compiled.owner.get(action.source.action.name)
            if found is not None:
                yield found[0], found[0].calls[found[1]]
