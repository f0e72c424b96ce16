"""What a program uses, counted before it is compiled: slots and sends, barriers, copies, allocations.

Sizes must be known before anything runs: how many notifications can wait in a slot, how often a region is allocated
again, how many uses of a barrier can overlap.  Loops with a fixed count are counted through; what stands in an `until`
is marked as repeating, and an answer for which its share of elements did not suffice is `unknown`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from . import statements as st
from . import syntax as sx

SlotKey = tuple[str, str | int]
"""A slot: its receiver, and its number or name."""


@dataclass(frozen=True)
class Occurrence:
    """A statement of an agent, how often it is unrolled, and whether a loop repeats it further."""

    agent: str
    statement: sx.Statement
    times: int
    repeating: bool


def occurrences(program: sx.Program) -> Iterator[Occurrence]:
    """Every statement that holds no others."""
    for block in program.blocks:
        yield from _inside(block.agent, block.body, 1, False)


def _inside(agent: str, body: tuple[sx.Statement, ...], times: int, repeating: bool) -> Iterator[Occurrence]:
    for statement in body:
        match statement:
            case st.Repeat():
                yield from _inside(agent, statement.body, times * statement.count, repeating)
            case st.Until():
                yield from _inside(agent, statement.body, times, True)
            case st.If():
                yield from _inside(agent, statement.then, times, repeating)
                yield from _inside(agent, statement.otherwise, times, repeating)
            case _:
                yield Occurrence(agent, statement, times, repeating)


@dataclass
class SlotUse:
    """How a slot is used: sends in the unrolled program, whether some are repeated, who takes from it and how."""

    sends: int = 0
    repeating: bool = False
    only_waits: bool = True


def slot_key(agent: str, slot: str | int) -> SlotKey:
    """The key of a slot."""
    return agent, str(slot) if isinstance(slot, str) else int(slot)


def slot_uses(program: sx.Program) -> dict[SlotKey, SlotUse]:
    """The slots of a program in the order in which they are mentioned."""
    uses: dict[SlotKey, SlotUse] = {}
    for grant in program.slots:
        uses.setdefault(slot_key(grant.receiver, grant.slot), SlotUse())
    for each in occurrences(program):
        for key, sends in _slots_of(each):
            use = uses.setdefault(key, SlotUse())
            if sends:
                use.sends += each.times
                use.repeating |= each.repeating
            elif not isinstance(each.statement, st.Wait):
                use.only_waits = False
    return uses


def _slots_of(each: Occurrence) -> Iterator[tuple[SlotKey, bool]]:
    match each.statement:
        case st.Send(receiver=receiver, slot=slot):
            yield slot_key(receiver, slot), True
        case st.SendBatch(receiver=receiver, slots=slots):
            for slot in slots:
                yield slot_key(receiver, slot), True
        case st.Broadcast(receivers=receivers, slot=slot):
            for receiver in receivers:
                yield slot_key(receiver, slot), True
        case st.Wait(slot=slot) | st.Poll(slot=slot) | st.Clear(slot=slot):
            yield slot_key(each.agent, slot), False
        case st.WaitAny(slots=slots):
            for slot in slots:
                yield slot_key(each.agent, slot), False


def arrivals(program: sx.Program) -> dict[str, bool]:
    """The teams at whose barrier somebody arrives, and whether some member does so more than once."""
    counts: dict[tuple[str, str], int] = {}
    for each in occurrences(program):
        if isinstance(each.statement, st.Arrive | st.Barrier):
            key = (str(each.statement.team), each.agent)
            counts[key] = counts.get(key, 0) + each.times * (2 if each.repeating else 1)
    teams = dict.fromkeys(team for team, _ in counts)
    return {team: any(n > 1 for (of, _), n in counts.items() if of == team) for team in teams}


def copies(program: sx.Program) -> list[tuple[str, str]]:
    """The copies of a program as (agent, name); each has an engine of its own."""
    found: dict[tuple[str, str], None] = {}
    for each in occurrences(program):
        if isinstance(each.statement, st.Copy | st.CopyWait):
            found.setdefault((each.agent, str(each.statement.name)))
    return list(found)


def barrier_sets(program: sx.Program) -> list[tuple[str, ...]]:
    """The agents named by each kind of `global_barrier`."""
    sets: dict[tuple[str, ...], None] = {}
    for each in occurrences(program):
        if isinstance(each.statement, st.GlobalBarrier):
            sets.setdefault(tuple(map(str, each.statement.agents)))
    return list(sets)


def allocations(program: sx.Program) -> list[tuple[sx.Region, int, bool]]:
    """The regions that are allocated, how often each, and whether a loop repeats that further."""
    found = [
        (each.statement.region, each.times, each.repeating)
        for each in occurrences(program)
        if isinstance(each.statement, st.Alloc)
    ]
    return found


def mentions(program: sx.Program, *kinds: type[sx.Statement]) -> bool:
    """Some statement is of one of these kinds."""
    return any(isinstance(each.statement, kinds) for each in occurrences(program))
