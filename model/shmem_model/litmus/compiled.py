"""A program as a scope: the machine with the program's calls as extra actions.

Every reader can run the result, since a compiled program is nothing but a machine in a scope: one counter per agent
says where it is, one function per register what it holds.  With `reduced` the hardware does less by itself, which no
answer can tell (`reduction` says why); without it the hardware is as honest as the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from shmem_model.language import FALSE, TRUE, Action, Function, Machine, Sort, Term, conj, disj, exists
from shmem_model.language import terms as t
from shmem_model.machine import vocabulary as m
from shmem_model.readers.scope import Scope

from . import statements as st
from . import syntax as sx
from .calls import CallMaker, Way
from .driver import environment
from .flow import Code, Leaf
from .instances import CallActions
from .lowering import Lowering
from .values import registers_of
from .views import CUSTODY, OUTCOME, view
from .world import World


@dataclass
class Compiled:
    """A compiled program: its scope, its world, the code of each agent, and which agent each action belongs to."""

    program: sx.Program
    scope: Scope
    world: World
    codes: list[Code]
    view: str
    reduced: bool
    owner: Mapping[str, tuple[Code, int]] = field(default_factory=dict)

    def ended(self, code: Code) -> Term:
        """The agent has ended, by itself, by a fault or by death."""
        over = code.at(code.end, code.failed)
        return over | m.dead(self.world.agent(code.agent)) if self.world.dies else over

    def all_ended(self) -> Term:
        """Every living agent has ended."""
        return conj(*(self.ended(code) for code in self.codes))

    def some_failed(self) -> Term:
        """Some call was refused, faulted or answered PeerLost."""
        return disj(*(code.at(code.failed) for code in self.codes))

    def lost(self) -> Term:
        """Some agent would have to decide by a number that is not known."""
        return FALSE if self.world.values.closed else disj(*(code.at(code.lost) for code in self.codes))

    def out_of_tokens(self) -> Term:
        """A loop has filled a slot, so what follows is not covered."""
        parts = []
        for (key, use), tokens in zip(self.world.slots.items(), self.world.tokens, strict=True):
            if self.world.counting and use.repeating:
                slot = self.world.element(m.Slot, list(self.world.slots).index(key))
                parts.append(conj(*(m.pending(self.world.element(m.Token, k), slot) for k in tokens)))
        return disj(*parts)


def compile_program(program: sx.Program, what: str = OUTCOME, reduced: bool = True) -> Compiled:
    """The program as a scope of the outcome, custody or full machine."""
    world = World(program, ghost=what != OUTCOME)
    machine = view(what)
    codes = [_code(world, block, what != CUSTODY) for block in program.blocks]
    actions, owner = _calls(world, codes, what)
    actions += environment(world, codes, machine, reduced)
    extra = {code.counter: t.TRUE for code in codes} | {f: t.TRUE for code in codes for f in code.registers.values()}
    sorts = (*machine.sorts, *(code.counter.result for code in codes))
    derived = replace(
        machine,
        name=str(program.name),
        sorts=sorts,
        functions=(*machine.functions, *extra),
        initial={**machine.initial, **extra},
        actions={one.name: one for one in actions},
        properties=(),
    )
    scope = _scope(world, codes, derived, reduced)
    return Compiled(program, scope, world, codes, what, reduced, owner)


def _code(world: World, block: sx.Block, hardware: bool) -> Code:
    agent = str(block.agent)
    names = sorted(_registers(block))
    registers = {n: Function(f"{agent}.{n}", (), m.Value, "software", f"register {n} of {agent}") for n in names}
    lowering = Lowering(CallMaker(world, agent, registers, hardware))
    lowering.body(block.body)
    counter = Function(f"{agent}.at", (), Sort(f"Place of {agent}"), "software", f"the statement at which {agent} is")
    return Code(agent, lowering.code, registers, counter, world.values)


def _registers(block: sx.Block) -> set[str]:
    """Every register that the agent sets or uses."""
    found: set[str] = set()
    for statement in st.walk(block.body):
        register = getattr(statement, "register", None)
        if register is not None:
            found.add(str(register))
        for name in ("value", "index", "old", "new", "condition"):
            node = getattr(statement, name, None)
            if node is not None:
                found |= set(registers_of(node))
    return found


# ---------------------------------------------------------------- calls


def _calls(world: World, codes: list[Code], what: str) -> tuple[list[Action], dict[str, tuple[Code, int]]]:
    refine = Refinement(world, what)
    actions: list[Action] = []
    owner: dict[str, tuple[Code, int]] = {}
    for code in codes:
        maker = CallActions(view(what), code, world.dies)
        for place in range(code.end):
            for one in maker.of(place, refine):
                actions.append(one)
                owner[one.name] = (code, place)
    return actions, owner


class Refinement:
    """Which notification or epoch a call takes, where the machine leaves that open.

    Notifications of one slot, and epochs of one team, are interchangeable until they are taken up, so a send takes the
    first free one and the first to arrive the first unused one.  Without the custody monitor the notifications of a
    slot do not differ at all, so a wait takes the last one.
    """

    def __init__(self, world: World, what: str) -> None:
        self.world = world
        self.alike = what == OUTCOME

    def __call__(self, way: Way) -> Iterable[tuple[dict[str, Term], Term]]:
        """The choices with their conditions."""
        if way.action == "send":
            return self._send(way.values["s"])
        if way.action in ("wait", "poll"):
            return self._take(way)
        if way.action in ("arrive", "leave"):
            return self._epochs(way)
        return [({}, TRUE)]

    def _tokens(self, slot: Term) -> list[Term]:
        assert isinstance(slot, t.Element)
        return [self.world.element(m.Token, i) for i in self.world.tokens[slot.index]]

    def _send(self, slot: Term) -> Iterator[tuple[dict[str, Term], Term]]:
        tokens = self._tokens(slot)
        for i, token in enumerate(tokens):
            yield {"t": token}, conj(*(m.pending(k, slot) for k in tokens[:i]))

    def _take(self, way: Way) -> Iterator[tuple[dict[str, Term], Term]]:
        tokens = self._tokens(way.values["s"])
        if way.values.get("got") is t.FALSE:
            tokens = tokens[:1]
        for i, token in enumerate(tokens):
            later = tokens[i + 1 :] if self.alike else []
            yield {"t": token}, conj(*(~m.pending(k, way.values["s"]) for k in later))

    def _epochs(self, way: Way) -> Iterator[tuple[dict[str, Term], Term]]:
        team = way.values["g"]
        assert isinstance(team, t.Element)
        epochs = [self.world.element(m.Epoch, i) for i in self.world.epochs[team.index]]
        for i, epoch in enumerate(epochs):
            busy = conj(*(_busy(team, e) for e in epochs[:i]))
            yield {"e": epoch}, m.collecting(team, epoch) | busy if way.action == "arrive" else TRUE


def _busy(team: Term, epoch: Term) -> Term:
    inside = exists(m.Agent, lambda c: m.arrived(team, epoch, c) & ~m.left(team, epoch, c) & ~m.dead(c))
    return m.collecting(team, epoch) | inside


# ---------------------------------------------------------------- scope


def _scope(world: World, codes: list[Code], machine: Machine, reduced: bool) -> Scope:
    names = dict(world.names) | {code.counter.result: code.place_names[: code.size] for code in codes}
    sizes = {sort: len(of) for sort, of in names.items()}
    platform = world.platform()
    start = {f: table for f, table in world.start(translated=reduced).items() if f in machine.functions}
    for code in codes:
        zero = {name: world.values.element(0) for name in code.registers}
        first = code.run(0, zero)
        assert isinstance(first, Leaf), "registers are known at the start"
        start[code.counter] = first.place
        for name, function in code.registers.items():
            value = first.registers[name]
            assert isinstance(value, t.Element)
            start[function] = value.index
    return Scope(machine.name, machine, sizes, {f: platform[f] for f in machine.platform}, start, names)
