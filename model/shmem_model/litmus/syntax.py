"""The syntax tree of a litmus file.

A `Program` is the head sorted by kind, then one `Block` per agent, then the questions. All nodes are
frozen and compare by meaning: places (`pos`) and source text are left out, so two programs that
differ only in layout are equal and hash alike. Sequences are tuples.

A reader of the tree needs no further check: names are resolved, ranges lie inside their regions,
constants are small (see `checks.py`). What depends on the run (rights, mappings, freed regions,
membership of a team) is *not* checked here: the machine refuses it, and that is an answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .names import (
    NONE,
    NOWHERE,
    AgentName,
    Name,
    Pos,
    RegionName,
    RegisterName,
    SlotId,
    TeamName,
    Whole,
)


@dataclass(frozen=True)
class Node:
    """Anything in the tree; `pos` is the place of its first token."""

    pos: Pos = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


# ---------------------------------------------------------------- expressions and conditions


@dataclass(frozen=True)
class Const(Node):
    """A number."""

    value: int


@dataclass(frozen=True)
class Register(Node):
    """A register of the agent in whose block it stands; 0 until it is set."""

    name: RegisterName


@dataclass(frozen=True)
class FinalRegister(Node):
    """`dev0.r0` in a question: a register after its agent has ended."""

    agent: AgentName
    name: RegisterName


@dataclass(frozen=True)
class FinalWord(Node):
    """`x[1]` in a question: memory after everything has drained."""

    region: RegionName
    index: int


@dataclass(frozen=True)
class Arith(Node):
    """`left + right` or `left - right`."""

    op: str
    left: Expr
    right: Expr


Index = Const | Register
Expr = Const | Register | FinalRegister | FinalWord | Arith


@dataclass(frozen=True)
class Compare(Node):
    """`left op right`, op one of == != < <= > >=."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Not(Node):
    """Negation."""

    part: Condition


@dataclass(frozen=True)
class And(Node):
    """All of two or more parts, none of them an `And` itself."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Or(Node):
    """Any of two or more parts, none of them an `Or` itself."""

    parts: tuple[Condition, ...]


Condition = Compare | Not | And | Or


# ---------------------------------------------------------------- the head


@dataclass(frozen=True)
class Platform(Node):
    """A profile and what deviates from it; None: as the profile says."""

    profile: str = "weakest"
    write_back: str | None = None
    invalidate: str | None = None
    slots: str | None = None
    cached: tuple[AgentName, ...] | None = None
    multicast: str | None = None


@dataclass(frozen=True)
class Right(Node):
    """What one agent may do with a region: `r` or `rw`."""

    agent: AgentName
    right: str


@dataclass(frozen=True)
class Region(Node):
    """`name: LINES lines of WORDS words, SHARING …`; SHARING is broadcast, exclusive or rights."""

    name: RegionName
    lines: Whole
    words_per_line: Whole
    sharing: str
    rights: tuple[Right, ...]

    @property
    def words(self) -> int:
        """The number of words; they are numbered through the region from 0."""
        return self.lines * self.words_per_line


@dataclass(frozen=True)
class SlotGrant(Node):
    """`slot RECEIVER SLOT from SENDERS`: nobody else may send to it."""

    receiver: AgentName
    slot: SlotId
    senders: tuple[AgentName, ...]


@dataclass(frozen=True)
class Init(Node):
    """A start value, in memory, in nobody's cache."""

    region: RegionName
    index: Whole
    value: Whole


@dataclass(frozen=True)
class Team(Node):
    """The members of a collective barrier."""

    name: TeamName
    members: tuple[AgentName, ...]


# ---------------------------------------------------------------- blocks and questions


@dataclass(frozen=True)
class Target(Node):
    """The words first..last of a region (both included), or all of it (both None)."""

    region: RegionName
    first: Whole | None = None
    last: Whole | None = None


@dataclass(frozen=True)
class Statement(Node):
    """Anything that stands in a block; the classes are in `statements.py`."""


@dataclass(frozen=True)
class Block(Node):
    """What one agent does."""

    agent: AgentName
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Question(Node):
    """What is asked and the expected answer.

    `kind` is outcome (then `condition` is set; allowed / forbidden), race, deadlock or fault. `text` is
    the condition as it was written, or the kind.
    """

    kind: str
    expect: str
    condition: Condition | None = None
    text: str = field(default="", compare=False)


@dataclass(frozen=True)
class Program(Node):
    """One litmus file."""

    name: Name
    platform: Platform = Platform()
    pool: Whole = NONE
    slots: tuple[SlotGrant, ...] = ()
    mortal: tuple[AgentName, ...] = ()
    regions: tuple[Region, ...] = ()
    inits: tuple[Init, ...] = ()
    teams: tuple[Team, ...] = ()
    blocks: tuple[Block, ...] = ()
    questions: tuple[Question, ...] = ()
    file: str = field(default="<text>", compare=False)

    @property
    def agents(self) -> tuple[AgentName, ...]:
        """All agents, each once: those with a block in order, then those of the head."""
        return tuple(dict.fromkeys(self._mentioned()))

    def _mentioned(self) -> Iterator[AgentName]:
        """Who *makes* an agent: a block, a right, a slot, a team. `cached` and `mortal` only refer."""
        yield from (block.agent for block in self.blocks)
        yield from (right.agent for region in self.regions for right in region.rights)
        for grant in self.slots:
            yield from (grant.receiver, *grant.senders)
        yield from (member for team in self.teams for member in team.members)
