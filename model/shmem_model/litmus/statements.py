"""The statements of an agent block, one class per form of the language.

Their action (the name in the machine, in traces and in the implementation) is the class name in
snake case, except `MapRegion` (`map`) and the register-only forms `Set`, `If`, `Repeat`, `Until`, `Assert`.
`CONTROL` lists the classes that hold other statements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .names import AgentName, CopyName, RegionName, RegisterName, SlotId, TeamName, Whole
from .syntax import Condition, Expr, Index, Region, Statement, Target


@dataclass(frozen=True)
class Write(Statement):
    """`x[i] = v`"""

    region: RegionName
    index: Index
    value: Expr


@dataclass(frozen=True)
class Read(Statement):
    """`r0 = x[i]`"""

    register: RegisterName
    region: RegionName
    index: Index


@dataclass(frozen=True)
class Set(Statement):
    """`r1 = r0 + 1`: registers only, no access."""

    register: RegisterName
    value: Expr


@dataclass(frozen=True)
class Flush(Statement):
    """`flush x`, `flush x[0..3]`, `flush *` (no target); `drop` also invalidates."""

    target: Target | None
    drop: bool = False


@dataclass(frozen=True)
class Invalidate(Statement):
    """`invalidate x`, `invalidate x[0..3]`, `invalidate *` (no target)."""

    target: Target | None


@dataclass(frozen=True)
class Fence(Statement):
    """`fence`"""


@dataclass(frozen=True)
class Send(Statement):
    """`send dev0 n`"""

    receiver: AgentName
    slot: SlotId


@dataclass(frozen=True)
class SendBatch(Statement):
    """`send_batch dev0 n m`"""

    receiver: AgentName
    slots: tuple[SlotId, ...]


@dataclass(frozen=True)
class Broadcast(Statement):
    """`broadcast {dev0 dev1} n`: one send per receiver, in this order."""

    receivers: tuple[AgentName, ...]
    slot: SlotId


@dataclass(frozen=True)
class Wait(Statement):
    """`wait n`"""

    slot: SlotId


@dataclass(frozen=True)
class WaitAny(Statement):
    """`wait_any r0 n m`: r0 is the number of the slot that was taken, or the position of its name."""

    register: RegisterName
    slots: tuple[SlotId, ...]


@dataclass(frozen=True)
class Poll(Statement):
    """`poll r0 n`: r0 is 1 if a notification was taken, else 0."""

    register: RegisterName
    slot: SlotId


@dataclass(frozen=True)
class Clear(Statement):
    """`clear n`: drops what is pending, learns nothing."""

    slot: SlotId


@dataclass(frozen=True)
class GlobalBarrier(Statement):
    """`global_barrier x {dev0 dev1}`: called by the writer alone."""

    region: RegionName
    agents: tuple[AgentName, ...]


@dataclass(frozen=True)
class Arrive(Statement):
    """`arrive g x y`: flushes the regions named, fences, arrives."""

    team: TeamName
    regions: tuple[RegionName, ...] = ()


@dataclass(frozen=True)
class Leave(Statement):
    """`leave g`"""

    team: TeamName


@dataclass(frozen=True)
class Barrier(Statement):
    """`barrier g x y`: arrive and leave."""

    team: TeamName
    regions: tuple[RegionName, ...] = ()


@dataclass(frozen=True)
class AtomicAdd(Statement):
    """`r0 = atomic_add x[i] v`: r0 is the old value."""

    register: RegisterName
    region: RegionName
    index: Index
    value: Expr


@dataclass(frozen=True)
class AtomicSwap(Statement):
    """`r0 = atomic_swap x[i] v`: r0 is the old value."""

    register: RegisterName
    region: RegionName
    index: Index
    value: Expr


@dataclass(frozen=True)
class CompareSwap(Statement):
    """`r0 = compare_swap x[i] old new`: r0 is the old value; it was swapped if that equals `old`."""

    register: RegisterName
    region: RegionName
    index: Index
    old: Expr
    new: Expr


@dataclass(frozen=True)
class MapRegion(Statement):
    """`map x`"""

    region: RegionName


@dataclass(frozen=True)
class Unmap(Statement):
    """`unmap x` (own mapping) or `unmap x dev0` (that agent's)."""

    region: RegionName
    agent: AgentName | None = None


@dataclass(frozen=True)
class Shootdown(Statement):
    """`shootdown x dev0`: dev0's cached translation of x goes."""

    region: RegionName
    agent: AgentName


@dataclass(frozen=True)
class Alloc(Statement):
    """`alloc y: 1 line of 2 words, exclusive dev0`; the new region is mapped by nobody."""

    region: Region


@dataclass(frozen=True)
class Free(Statement):
    """`free x`"""

    region: RegionName


@dataclass(frozen=True)
class Compact(Statement):
    """`compact`"""


@dataclass(frozen=True)
class Die(Statement):
    """`die`"""


@dataclass(frozen=True)
class Copy(Statement):
    """`copy c x[0..3] y[0..3]`: from x to y."""

    name: CopyName
    source: Target
    destination: Target


@dataclass(frozen=True)
class CopyWait(Statement):
    """`copy_wait c`"""

    name: CopyName


@dataclass(frozen=True)
class If(Statement):
    """`if C: …` and perhaps `else: …` (empty: none)."""

    condition: Condition
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


@dataclass(frozen=True)
class Repeat(Statement):
    """`repeat N: …`"""

    count: Whole
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Until(Statement):
    """`until C: …`: the body, then the test, until it holds; so the body runs at least once."""

    condition: Condition
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Assert(Statement):
    """`assert C`: if it does not hold, the agent ends there with the fault `AssertionFailed`."""

    condition: Condition


CONTROL = (If, Repeat, Until)


def bodies(statement: Statement) -> tuple[tuple[Statement, ...], ...]:
    """The statement lists inside a statement."""
    if isinstance(statement, If):
        return (statement.then, statement.otherwise)
    return (statement.body,) if isinstance(statement, Repeat | Until) else ()


def walk(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Every statement of a body, outer before inner, in the order of the text."""
    for statement in body:
        yield statement
        for inner in bodies(statement):
            yield from walk(inner)
