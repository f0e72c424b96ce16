"""What can be said about a file before it runs: who is declared, what lies inside what, what is too much.

Not checked, because the machine answers it: rights, mappings, use of a freed region, membership of a team,
a wait that nobody sends to, a slot that nobody may send to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields

from . import statements as st
from . import syntax as sx
from . import words
from .builder_names import fail
from .errors import suggest
from .names import AgentName, Name, Pos, RegionName, RegisterName, SlotName, TeamName

_RESULTS = (st.Read, st.Set, st.WaitAny, st.Poll, st.AtomicAdd, st.AtomicSwap, st.CompareSwap)
_INDEXED = (st.Read, st.Write, st.AtomicAdd, st.AtomicSwap, st.CompareSwap)


def check(program: sx.Program) -> None:
    """Refuse the first thing that is wrong, in the order head, blocks, questions."""
    scope = Scope(program)
    _check_names(program, scope)
    _check_head(program, scope)
    for block in program.blocks:
        _check_size(block)
        for statement in st.walk(block.body):
            _check_statement(statement, block.agent, scope)
    for question in program.questions:
        if question.condition is not None:
            _check_question(question.condition, scope)


class Scope:
    """Who is declared."""

    def __init__(self, program: sx.Program) -> None:
        every = [(block.agent, s) for block in program.blocks for s in st.walk(block.body)]
        self.agents: dict[str, AgentName] = {agent: agent for agent in program.agents}
        self.allocated = [s.region for _, s in every if isinstance(s, st.Alloc)]
        self.regions: dict[str, sx.Region] = {r.name: r for r in (*program.regions, *self.allocated)}
        self.teams: dict[str, sx.Team] = {team.name: team for team in program.teams}
        self.registers: dict[str, dict[str, None]] = {agent: {} for agent in self.agents}
        self.copies: dict[str, set[str]] = {agent: set() for agent in self.agents}
        for agent, statement in every:
            if isinstance(statement, _RESULTS):
                self.registers[agent][statement.register] = None
            elif isinstance(statement, st.Copy):
                self.copies[agent].add(statement.name)

    def region(self, name: RegionName) -> sx.Region:
        """The region of that name."""
        if name not in self.regions:
            fail(name.pos, f"region '{name}' is not declared", suggest(name, self.regions, "region"))
        return self.regions[name]

    def agent(self, name: AgentName) -> None:
        """Refuse an agent that nothing declares."""
        if name not in self.agents:
            fail(name.pos, f"agent '{name}' is not declared", suggest(name, self.agents, "agent"))

    def word(self, region: RegionName, index: int, pos: Pos) -> None:
        """Refuse a word outside its region."""
        size = self.region(region).words
        if index >= size:
            fail(pos, f"word {index} lies outside region '{region}'", f"it has the words 0..{size - 1}")


# ---------------------------------------------------------------- names and head


def _check_names(program: sx.Program, scope: Scope) -> None:
    """One block per agent; regions, agents and teams share one name space."""
    blocks: dict[str, sx.Block] = {}
    for block in program.blocks:
        if block.agent in blocks:
            first = blocks[block.agent].pos.line
            fail(block.pos, f"agent '{block.agent}' has two blocks", f"the first is in line {first}: join them")
        blocks[block.agent] = block
    _check_name_space(program, scope)


def _check_name_space(program: sx.Program, scope: Scope) -> None:
    agents = program.agents
    if len(agents) > words.MAX_AGENTS:
        fail(agents[words.MAX_AGENTS].pos, f"{len(agents)} agents", f"the limit is {words.MAX_AGENTS}")
    declared: list[tuple[Name, str]] = [(region.name, "region") for region in program.regions]
    declared += [(region.name, "region") for region in scope.allocated]
    declared += [(team.name, "team") for team in program.teams] + [(agent, "agent") for agent in agents]
    seen: dict[str, tuple[Name, str]] = {}
    for name, noun in sorted(declared, key=lambda entry: entry[0].pos):
        if name in seen:
            first_name, first_noun = seen[name]
            fail(name.pos, _clash(name, noun, first_noun), f"the first is in line {first_name.pos.line}")
        seen[name] = (name, noun)


def _clash(name: Name, noun: str, first_noun: str) -> str:
    if noun == first_noun:
        return f"{noun} '{name}' is declared twice"
    return f"'{name}' names a {noun}, but is the name of a {first_noun} already".replace("a agent", "an agent")


def _check_head(program: sx.Program, scope: Scope) -> None:
    for agent in (*(program.platform.cached or ()), *program.mortal):
        scope.agent(agent)
    granted: dict[tuple[str, object], sx.SlotGrant] = {}
    for grant in program.slots:
        key = (str(grant.receiver), grant.slot)
        if key in granted:
            message = f"slot {grant.slot} of '{grant.receiver}' is declared twice"
            fail(grant.slot.pos, message, f"the first is in line {granted[key].pos.line}: join them")
        granted[key] = grant
    _check_memory(program, scope)
    _check_start_values(program, scope)


def _check_memory(program: sx.Program, scope: Scope) -> None:
    """All regions together: the machine is written out for every one of their words."""
    total = 0
    for region in (*program.regions, *scope.allocated):
        total += region.words
        if total > words.MAX_WORDS:
            message = f"with region '{region.name}' there are {total} words of memory"
            fail(region.name.pos, message, f"the limit is {words.MAX_WORDS} in all regions together")


def _check_start_values(program: sx.Program, scope: Scope) -> None:
    """Only regions of the head have start values: what `alloc` makes is scrubbed."""
    known = [region.name for region in program.regions]
    values: dict[tuple[str, int], sx.Init] = {}
    for init in program.inits:
        if init.region not in known:
            hint = suggest(init.region, known, "region")
            fail(init.region.pos, f"region '{init.region}' is not declared in the head", hint)
        scope.word(init.region, init.index, init.index.pos)
        where = (str(init.region), int(init.index))
        if where in values:
            message = f"'{init.region}[{init.index}]' has two start values"
            fail(init.pos, message, f"the first is in line {values[where].pos.line}")
        values[where] = init


def _check_size(block: sx.Block) -> None:
    steps = _steps(block.body)
    if steps > words.MAX_STEPS:
        first = next((s for s in st.walk(block.body) if isinstance(s, st.Repeat)), block)
        fail(first.pos, f"agent '{block.agent}' takes {steps} statements", f"the limit is {words.MAX_STEPS}")


def _steps(body: tuple[sx.Statement, ...]) -> int:
    """How many statements remain when every `repeat` is written out."""
    total = 0
    for statement in body:
        times = statement.count if isinstance(statement, st.Repeat) else 1
        total += 1 + times * sum(_steps(inner) for inner in st.bodies(statement))
    return total


# ---------------------------------------------------------------- statements


def _check_statement(statement: sx.Statement, agent: AgentName, scope: Scope) -> None:
    for item in _parts(statement):
        _check_part(item, agent, scope)
    if isinstance(statement, _INDEXED) and isinstance(statement.index, sx.Const):
        scope.word(statement.region, statement.index.value, statement.index.pos)
    if isinstance(statement, st.Copy):
        sizes = [_size(target, scope) for target in (statement.source, statement.destination)]
        if sizes[0] != sizes[1]:
            message = f"a copy of {sizes[0]} words to {sizes[1]} words"
            fail(statement.destination.pos, message, "make both ranges equally long")
    if isinstance(statement, st.CopyWait) and statement.name not in scope.copies[agent]:
        message = f"agent '{agent}' starts no copy '{statement.name}'"
        fail(statement.name.pos, message, suggest(statement.name, scope.copies[agent], "copy"))
    if isinstance(statement, st.SendBatch | st.WaitAny):
        _check_slots(statement)


def _parts(node: sx.Node) -> Iterator[object]:
    """What stands in a statement itself, in order; inner statements are visited on their own."""
    for field in fields(node):
        item = getattr(node, field.name)
        for part in item if isinstance(item, tuple) and not isinstance(item, Pos) else (item,):
            if not isinstance(part, sx.Statement):
                yield part


def _check_part(item: object, agent: AgentName, scope: Scope) -> None:
    match item:
        case RegionName():
            scope.region(item)
        case AgentName():
            scope.agent(item)
        case TeamName() if item not in scope.teams:
            fail(item.pos, f"team '{item}' is not declared", suggest(item, scope.teams, "team"))
        case RegisterName():
            _check_register(item, scope)
        case SlotName() if item in scope.registers[agent]:
            fail(item.pos, f"'{item}' is a register, not a slot", "a slot is a number or a name of its own")
        case sx.Target():
            scope.region(item.region)
            if item.last is not None:
                scope.word(item.region, item.last, item.last.pos)
        case sx.Region():
            for right in item.rights:
                scope.agent(right.agent)
        case sx.Node():
            for node in _inside(item):
                _check_operand(node, scope)


def _check_register(name: RegisterName, scope: Scope) -> None:
    if name in scope.regions:
        fail(name.pos, f"'{name}' is a region, not a register", f"name a word: {name}[0]")
    if name in scope.agents or name in scope.teams:
        noun = "an agent" if name in scope.agents else "a team"
        fail(name.pos, f"'{name}' is {noun}, not a register", "choose another name")


def _check_operand(node: sx.Node, scope: Scope) -> None:
    """Registers only: an agent reads memory by a read."""
    match node:
        case sx.Register():
            _check_register(node.name, scope)
        case sx.FinalWord():
            scope.region(node.region)
            fail(node.pos, "memory cannot be read here", f"read it first: r0 = {node.region}[{node.index}]")
        case sx.FinalRegister():
            fail(node.pos, "an agent sees its own registers only", "'agent.register' is for questions")


def _check_slots(statement: st.SendBatch | st.WaitAny) -> None:
    slots = statement.slots
    for i, slot in enumerate(slots):
        if slot in slots[:i]:
            fail(slot.pos, f"slot {slot} is named twice", "name it once")
        if isinstance(statement, st.WaitAny) and isinstance(slot, SlotName) != isinstance(slots[0], SlotName):
            fail(slot.pos, "numbers and names of slots are mixed", "the register could not tell which one came")


def _size(target: sx.Target, scope: Scope) -> int:
    if target.first is None or target.last is None:
        return scope.region(target.region).words
    return target.last - target.first + 1


# ---------------------------------------------------------------- questions


def _inside(root: sx.Node) -> Iterator[sx.Node]:
    """All nodes of an expression in the order of the text; without recursion, since it may be deep."""
    stack: list[tuple[sx.Node, int]] = [(root, 1)]
    while stack:
        node, depth = stack.pop()
        if depth > words.MAX_EXPRESSION_DEPTH:
            fail(node.pos, "nested too deep", f"the limit is {words.MAX_EXPRESSION_DEPTH} levels")
        yield node
        children = [part for part in _parts(node) if isinstance(part, sx.Node)]
        stack.extend((child, depth + 1) for child in reversed(children))


def _check_question(condition: sx.Condition, scope: Scope) -> None:
    for node in _inside(condition):
        match node:
            case sx.FinalWord():
                scope.word(node.region, node.index, node.pos)
            case sx.Register():
                _check_register(node.name, scope)
                fail(node.pos, f"'{node.name}' is a register of nobody", _whose(node.name, scope))
            case sx.FinalRegister():
                _check_final_register(node, scope)


def _whose(name: RegisterName, scope: Scope) -> str:
    owners = [f"{agent}.{name}" for agent, names in scope.registers.items() if name in names]
    return "write " + " or ".join(owners) if owners else "write agent.register"


def _check_final_register(node: sx.FinalRegister, scope: Scope) -> None:
    if node.agent in scope.regions and node.agent not in scope.agents:
        fail(node.pos, f"'{node.agent}' is a region, not an agent", f"for memory write {node.agent}[0]")
    scope.agent(node.agent)
    known: Iterable[str] = scope.registers[node.agent]
    if node.name not in scope.registers[node.agent]:
        message = f"agent '{node.agent}' never sets a register '{node.name}'"
        fail(node.name.pos, message, suggest(node.name, known) or "it would always be 0")
