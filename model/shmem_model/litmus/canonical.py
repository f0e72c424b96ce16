"""A key that is equal for programs that differ only in names: the catalogue refuses duplicates with it.

Names of agents, regions, registers, slots, teams and copies, the order of the blocks, and the expected
answers do not count. Equal keys always mean equal programs up to that. The reverse can fail where nothing
tells things apart but their order (many look-alike agents, declarations that no statement uses).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import fields

from . import statements as st
from . import syntax as sx
from .names import AgentName, CopyName, RegionName, RegisterName, SlotId, SlotName, TeamName

MAX_ORDERS = 720
_FLIPPED = {">": "<", ">=": "<="}


def canonical_key(program: sx.Program) -> str:
    """The normal form up to renaming."""
    return min(_Form(program, order).key() for order in _orders(program))


def _orders(program: sx.Program) -> Iterator[Sequence[AgentName]]:
    """Orders of the agents: sorted by what they do, look-alikes in every order."""
    looks: dict[str, list[AgentName]] = {}
    for agent in program.agents:
        looks.setdefault(_Form(program, ()).look(agent), []).append(agent)
    groups = [looks[look] for look in sorted(looks)]
    products = itertools.product(*(itertools.permutations(group) for group in groups))
    for product in itertools.islice(products, MAX_ORDERS):
        yield tuple(itertools.chain.from_iterable(product))


def _slot_text(slot: SlotId) -> str:
    """Slot 7 and a slot called `7` cannot both exist, but a name and a number must never be confused."""
    return f"name {slot}" if isinstance(slot, SlotName) else str(slot)


class _Form:
    """Writes a program with numbers in the order of first use instead of names.

    With an empty order every agent is written `a?`, which gives the look of a block without its surroundings.
    """

    def __init__(self, program: sx.Program, order: Sequence[AgentName]) -> None:
        self.program = program
        self.order = list(order)
        self.blocks = {block.agent: block for block in program.blocks}
        self.me = AgentName("")
        self.numbers: dict[tuple[str, ...], int] = {}

    # ------------------------------------------------------------ names

    def agent(self, name: str) -> str:
        return f"a{self.order.index(AgentName(name))}" if self.order else "a?"

    def _number(self, kind: str, *key: str) -> str:
        known = self.numbers
        if (kind, *key) not in known:
            known[(kind, *key)] = sum(1 for other in known if other[0] == kind and other[1:-1] == key[:-1])
        return f"{kind}{known[(kind, *key)]}"

    def slot(self, receiver: str, slot: SlotId) -> str:
        return self._number("slot", receiver, _slot_text(slot))

    # ------------------------------------------------------------ nodes

    def text(self, item: object) -> str:
        """Anything that can stand in a node."""
        match item:
            case AgentName():
                return self.agent(item)
            case RegionName():
                return self._number("x", item)
            case TeamName():
                return self._number("g", item)
            case RegisterName():
                return self._number("r", self.me, item)
            case CopyName():
                return self._number("c", self.me, item)
            case tuple():
                return f"[{' '.join(map(self.text, item))}]"
            case sx.Node():
                return self.node(item)
        return str(item)

    def node(self, node: sx.Node) -> str:
        match node:
            case st.Send() | st.Broadcast() | st.Wait() | st.Poll() | st.Clear():
                return self._notification(node, (node.slot,))
            case st.SendBatch() | st.WaitAny():
                return self._notification(node, node.slots)
            case sx.FinalRegister():
                return f"{self.agent(node.agent)}.{self._number('r', node.agent, node.name)}"
            case sx.And() | sx.Or():
                return f"({type(node).__name__} {' '.join(sorted(map(self.text, node.parts)))})"
            case sx.Compare():
                return self._comparison(node)
            case st.GlobalBarrier():
                return f"(GlobalBarrier {self.text(node.region)} {self._sorted(node.agents)})"
            case sx.Region():
                return f"({self.text(node.name)} {self.shape(node)})"
        parts = [self.text(getattr(node, f.name)) for f in fields(node) if f.name != "pos"]
        return f"({' '.join((type(node).__name__, *parts))})"

    def _notification(self, node: sx.Node, slots: tuple[SlotId, ...]) -> str:
        receivers = getattr(node, "receivers", None) or (getattr(node, "receiver", self.me),)
        pairs = [f"{self.agent(agent)}.{self.slot(agent, slot)}" for agent in receivers for slot in slots]
        register = [self.text(node.register)] if isinstance(node, st.WaitAny | st.Poll) else []
        if isinstance(node, st.WaitAny):  # the register shows the number, so here it is not a mere name
            register += [str(i) if isinstance(slot, SlotName) else str(slot) for i, slot in enumerate(slots)]
        return f"({' '.join((type(node).__name__, *register, *pairs))})"

    def _comparison(self, node: sx.Compare) -> str:
        left, right = self.text(node.left), self.text(node.right)
        if node.op in _FLIPPED or (node.op in ("==", "!=") and right < left):
            left, right = right, left
        return f"({_FLIPPED.get(node.op, node.op)} {left} {right})"

    def _sorted(self, agents: Sequence[AgentName]) -> str:
        return f"[{' '.join(sorted(map(self.agent, agents)))}]"

    def shape(self, region: sx.Region) -> str:
        rights = sorted(f"{self.agent(right.agent)}:{right.right}" for right in region.rights)
        return f"{region.lines}*{region.words_per_line} {region.sharing} {' '.join(rights)}"

    # ------------------------------------------------------------ the whole

    def block(self, agent: AgentName) -> str:
        self.me = agent
        block = self.blocks.get(agent)
        return f"{self.agent(agent)}: {self.text(block.body) if block else '-'}"

    def look(self, agent: AgentName) -> str:
        """The block of one agent without its surroundings, and the agent's rights."""
        rights = sorted(r.right for region in self.program.regions for r in region.rights if r.agent == agent)
        mine = [s for s in self.program.slots if s.receiver == agent]
        place = (agent in self.program.mortal, agent in (self.program.platform.cached or ()), len(mine))
        return f"{self.block(agent)} {rights} {place}"

    def key(self) -> str:
        lines = [self.block(agent) for agent in self.order]
        lines += sorted(self._head())
        lines += sorted({self._question(question) for question in self.program.questions})
        return "\n".join(lines)

    def _question(self, question: sx.Question) -> str:
        return "ask " + (self.text(question.condition) if question.condition else question.kind)

    def _head(self) -> Iterator[str]:
        program, platform = self.program, self.program.platform
        cached = None if platform.cached is None else self._sorted(platform.cached)
        options = (platform.write_back, platform.invalidate, platform.slots, platform.multicast)
        yield f"platform {platform.profile} {options} {cached} pool {int(program.pool)}"
        yield f"mortal {self._sorted(program.mortal)}"
        used = {key[1] for key in self.numbers if key[0] == "x"}
        for region in sorted(program.regions, key=lambda r: (r.name not in used, self.shape(r))):
            yield f"region {self.text(region)}"
        for grant in program.slots:
            slot = self.slot(grant.receiver, grant.slot)
            yield f"slot {self.agent(grant.receiver)}.{slot} {self._sorted(grant.senders)}"
        for init in program.inits:
            yield f"init {self.text(init.region)} {int(init.index)} {int(init.value)}"
        for team in program.teams:
            yield f"team {self.text(team.name)} {self._sorted(team.members)}"
