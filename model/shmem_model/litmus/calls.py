"""From statements to calls: what an agent asks of the machine in one step.

Composites and sequences over several lines become several calls in program order.  A call that can be made in several
ways (a slot of `wait_any`, a value of an index register, both answers of `poll`) has one *way* for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from shmem_model.language import FALSE, TRUE, Function, Term, disj, exists
from shmem_model.language import terms as t
from shmem_model.machine import vocabulary as m

from . import statements as st
from . import syntax as sx
from .footprint import words_of
from .names import RegionName
from .printer import condition
from .printer import statement as text_of
from .values import Registers, equals, registers_of, value_term, wait_any_numbers
from .world import Handle, World

NOTHING = "nothing"
"""The action of a call that does nothing (a loop must take a step)."""


@dataclass
class Way:
    """One way to make a call: the machine's action, its parameters, a condition, and what the register gets."""

    action: str
    values: dict[str, Term] = field(default_factory=dict)
    when: Term = TRUE
    result: Term | None = None


@dataclass
class Call:
    """One step of an agent.  `joint`: it is refused only if every way is refused."""

    statement: sx.Statement
    ways: list[Way]
    register: str | None = None
    joint: bool = False
    bad: Term = FALSE
    uses: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The statement as text."""
        if isinstance(self.statement, st.If | st.Until):
            return f"{type(self.statement).__name__.lower()} {condition(self.statement.condition)}"
        return text_of(self.statement)

    @property
    def action(self) -> str:
        """The machine's action."""
        return self.ways[0].action

    def blocks(self, *names: str) -> set[int]:
        """The lines that the call names in parameters of these names."""
        found = (way.values.get(name) for way in self.ways for name in names)
        return {term.index for term in found if isinstance(term, t.Element) and term.sort is m.Block}


class CallMaker:
    """Makes the calls of one agent."""

    def __init__(self, world: World, agent: str, registers: Mapping[str, Function], hardware: bool) -> None:
        self.world = world
        self.name = agent
        self.agent = world.agent(agent)
        self.registers: Registers = {name: function() for name, function in registers.items()}
        self.hardware = hardware
        self.generations: dict[str, int] = {}
        self.own = self._accessed()

    def _accessed(self) -> set[str]:
        """The regions that the agent reads or writes by plain accesses."""
        bodies = [b.body for b in self.world.program.blocks if b.agent == self.name]
        accesses = (s for body in bodies for s in st.walk(body))
        return {str(s.region) for s in accesses if isinstance(s, st.Read | st.Write)}

    def calls(self, s: sx.Statement) -> Iterator[Call]:
        """The calls of a statement that holds no others."""
        match s:
            case st.Read():
                yield self._access(s, "read", s.index, {}, str(s.register))
            case st.Write():
                yield self._access(s, "write", s.index, {"v": s.value})
            case st.AtomicAdd():
                yield self._access(s, "atomic_add", s.index, {"v": s.value}, str(s.register))
            case st.AtomicSwap():
                yield self._access(s, "atomic_swap", s.index, {"v": s.value}, str(s.register))
            case st.CompareSwap():
                yield self._access(s, "compare_swap", s.index, {"old": s.old, "v": s.new}, str(s.register))
            case st.Flush():
                yield from self._lines(s, "flush", s.target, drop=TRUE if s.drop else FALSE)
            case st.Invalidate():
                yield from self._lines(s, "invalidate", s.target)
            case st.Fence():
                yield self._call(s, "fence")
            case st.Copy() | st.CopyWait():
                yield from self._copy(s)
            case st.GlobalBarrier() | st.Arrive() | st.Leave() | st.Barrier():
                yield from self._barrier(s)
            case st.MapRegion() | st.Unmap() | st.Shootdown() | st.Alloc() | st.Free() | st.Compact() | st.Die():
                yield from self._life(s)
            case _:
                yield from self._notify(s)

    def _call(self, statement: sx.Statement, action: str, **values: Term) -> Call:
        return Call(statement, [Way(action, {"a": self.agent, **values})])

    def _handle(self, region: str) -> int:
        return self.world.handle(region, self.generations.get(region, 1) - 1)

    def _place(self, region: str, index: int) -> dict[str, Term]:
        number = self._handle(region)
        block, word = self.world.place(number, index)
        line = self.world.handles[number].blocks.index(block)
        return self._line(number, line) | {"w": self.world.element(m.Word, word)}

    def _line(self, handle: int, line: int) -> dict[str, Term]:
        block = self.world.handles[handle].blocks[line]
        found: dict[str, Term] = {"r": self.world.element(m.Region, handle), "b": self.world.element(m.Block, block)}
        if not self.world.moves:
            found["f"] = self.world.element(m.Frame, block)
        return found

    def _access(
        self,
        s: st.Read | st.Write | st.AtomicAdd | st.AtomicSwap | st.CompareSwap,
        action: str,
        index: sx.Index,
        operands: dict[str, sx.Expr],
        register: str | None = None,
    ) -> Call:
        values = {name: value_term(e, self.world.values, self.registers) for name, e in operands.items()}
        uses = {name for e in (index, *operands.values()) for name in registers_of(e)}
        places: list[tuple[Term, int]] = [(TRUE, int(index.value))] if isinstance(index, sx.Const) else []
        if isinstance(index, sx.Register):
            places = list(self._indices(index, s.region))
        ways = [Way(action, {"a": self.agent, **self._place(s.region, i), **values}, when) for when, i in places]
        bad = FALSE if isinstance(index, sx.Const) else ~disj(*(when for when, _ in places))
        return Call(s, ways or [Way(NOTHING, {"a": self.agent}, FALSE)], register, bad=bad, uses=tuple(sorted(uses)))

    def _indices(self, index: sx.Register, region: str) -> Iterator[tuple[Term, int]]:
        """The words that an index register can mean, each with its condition."""
        words = self.world.handles[self._handle(region)].region.words
        for word in range(words):
            if self.world.values.holds(word):
                yield equals(self.registers[str(index.name)], self.world.values.element(word)), word

    def _lines(self, s: sx.Statement, action: str, target: sx.Target | None, **values: Term) -> Iterator[Call]:
        """One call per line; `*` means the lines of all regions that the agent has mapped."""
        if target is not None:
            handle = self._handle(target.region)
            for line in self._covered(self.world.handles[handle], target):
                yield self._call(s, action, **self._line(handle, line), **values)
            return
        for number, handle_ in enumerate(self.world.handles):
            if not self.world.right(self.world.agents.index(self.name), number):
                continue
            if not self.world.remaps and str(handle_.region.name) not in self.own:
                continue  # no access of this agent can tell whether it was done
            for line in range(len(handle_.blocks)):
                call = self._call(s, action, **self._line(number, line), **values)
                yield self._if_mapped(call) if self.world.remaps else call

    def _if_mapped(self, call: Call) -> Call:
        block = call.ways[0].values["b"]
        region = call.ways[0].values["r"]
        open_ = m.part_of(block, region) & (m.mapped(self.agent, block) | self._entry(self.agent, block))
        call.ways[0].when = open_
        call.ways.append(Way(NOTHING, {"a": self.agent}, ~open_))
        return call

    def _entry(self, agent: Term, block: Term) -> Term:
        """The agent's translation cache knows the line."""
        return exists(m.Frame, lambda f: m.tlb(agent, block, f)) if self.hardware else FALSE

    @staticmethod
    def _covered(handle: Handle, target: sx.Target) -> range:
        region = handle.region
        if target.first is None or target.last is None:
            return range(region.lines)
        return range(target.first // region.words_per_line, target.last // region.words_per_line + 1)

    def _regions(self, s: sx.Statement, regions: Iterable[RegionName]) -> Iterator[Call]:
        """Flush the regions and fence."""
        for region in regions:
            yield from self._lines(s, "flush", sx.Target(region), drop=FALSE)
        yield self._call(s, "fence")

    # ------------------------------------------------------------ notifications

    def _notify(self, s: sx.Statement) -> Iterator[Call]:
        match s:
            case st.Send():
                yield self._send(s, s.receiver, s.slot)
            case st.SendBatch():
                for slot in s.slots:
                    yield self._send(s, s.receiver, slot)
            case st.Broadcast():
                for receiver in s.receivers:
                    yield self._send(s, receiver, s.slot)
            case st.Wait():
                yield self._call(s, "wait", s=self._slot(self.name, s.slot))
            case st.Clear():
                yield self._call(s, "clear", s=self._slot(self.name, s.slot))
            case st.WaitAny():
                yield self._wait_any(s)
            case st.Poll():
                ways = [self._polled(self._slot(self.name, s.slot), got) for got in (True, False)]
                yield Call(s, ways, str(s.register), joint=True)
            case _:
                raise t.LanguageError(f"no call for the statement {type(s).__name__}")

    def _slot(self, agent: str, slot: str | int) -> Term:
        return self.world.element(m.Slot, self.world.slot_number(agent, slot))

    def _send(self, s: sx.Statement, receiver: str, slot: str | int) -> Call:
        return self._call(s, "send", s=self._slot(receiver, slot))

    def _polled(self, slot: Term, got: bool) -> Way:
        values = {"a": self.agent, "s": slot, "got": TRUE if got else FALSE}
        return Way("poll", values, result=self.world.values.element(int(got)))

    def _wait_any(self, s: st.WaitAny) -> Call:
        ways = []
        for slot, number in zip(s.slots, wait_any_numbers(s), strict=True):
            values: dict[str, Term] = {"a": self.agent, "s": self._slot(self.name, slot)}
            ways.append(Way("wait", values, result=self.world.values.element(number)))
        return Call(s, ways, str(s.register), joint=True)

    # ------------------------------------------------------------ barriers, copies, life

    def _barrier(self, s: st.GlobalBarrier | st.Arrive | st.Leave | st.Barrier) -> Iterator[Call]:
        if isinstance(s, st.GlobalBarrier):
            yield from self._regions(s, (s.region,))
            team = "{" + " ".join(map(str, s.agents)) + "}"
            named = {"g": self.world.team(team), "r": self.world.element(m.Region, self._handle(s.region))}
            yield self._call(s, "gb_begin", **named)
            yield self._call(s, "gb_end", **named)
            return
        if isinstance(s, st.Arrive | st.Barrier):
            yield from self._regions(s, s.regions)
            yield self._call(s, "arrive", g=self.world.team(s.team))
        if isinstance(s, st.Leave | st.Barrier):
            yield self._call(s, "leave", g=self.world.team(s.team))

    def _copy(self, s: st.Copy | st.CopyWait) -> Iterator[Call]:
        engine = self.world.agent(f"{self.name}.{s.name}")
        if isinstance(s, st.CopyWait):
            yield self._call(s, "copy_wait", e=engine)
            return
        source, target = self._words(s.source), self._words(s.destination)
        for one, other in zip(source, target, strict=True):
            yield self._call(s, "copy_start", e=engine, **one, s=other["r"], c=other["b"], p=other["w"])

    def _words(self, target: sx.Target) -> list[dict[str, Term]]:
        size = self.world.handles[self._handle(target.region)].region.words
        return [self._place(target.region, i) for i in words_of(target, size)]

    def _life(self, s: sx.Statement) -> Iterator[Call]:
        match s:
            case st.Die():
                yield self._call(s, "die")
            case st.Compact():
                frozen = exists(m.Block, lambda b: m.frozen(b))
                yield Call(s, [Way(NOTHING, {"a": self.agent}, ~frozen)])
            case st.Alloc():
                self.generations[s.region.name] = self.generations.get(s.region.name, 0) + 1
                yield from self._each_line(s, s.region.name, "alloc")
            case st.Free():
                yield from self._each_line(s, s.region, "free")
            case st.MapRegion():
                writable = "w" in self.world.right(self.world.agents.index(self.name), self._handle(s.region))
                yield from self._each_line(s, s.region, "map", writable=TRUE if writable else FALSE)
            case st.Unmap():
                whose = self.agent if s.agent is None else self.world.agent(s.agent)
                yield from self._each_line(s, s.region, "unmap", c=whose)
            case st.Shootdown():
                yield from self._shootdown(s)

    def _each_line(self, s: sx.Statement, region: str, action: str, **values: Term) -> Iterator[Call]:
        handle = self._handle(region)
        for line in range(len(self.world.handles[handle].blocks)):
            yield self._call(s, action, **self._line(handle, line), **values)

    def _shootdown(self, s: st.Shootdown) -> Iterator[Call]:
        whose = self.world.agent(s.agent)
        for block in self.world.handles[self._handle(s.region)].blocks:
            line = self.world.element(m.Block, block)
            entry = self._entry(whose, line)
            yield Call(s, [Way("shootdown", {"a": whose, "b": line}, entry), Way(NOTHING, {"a": self.agent}, ~entry)])
