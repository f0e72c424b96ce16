"""Deadlocks: states from which the living agents cannot all come to their end.

What may be counted on are the steps of programs, drains, copies, the driver, and those fills and translations that an
agent's current statement asks for; spontaneous fills and evictions may lead into such a state but not out of it.
"""

from __future__ import annotations

from collections.abc import Iterable

from .search import Reached

Edges = dict[int, list[int]]


def stuck_states(reached: Reached) -> list[int]:
    """The states from which the living agents cannot all come to their end, the nearest first."""
    before: Edges = {}
    for target, source in reached.rescues:
        before.setdefault(target, []).append(source)
    saved = _reach(reached.where(reached.compiled.all_ended()), before)
    return [state for state in reached.parents if state not in saved]


def _reach(start: Iterable[int], edges: Edges) -> dict[int, None]:
    """Everything that can be reached, in the order of discovery."""
    found = dict.fromkeys(start)
    stack = list(found)
    while stack:
        for state in edges.get(stack.pop(), ()):
            if state not in found:
                found[state] = None
                stack.append(state)
    return found


def where_it_hangs(reached: Reached, stuck: list[int]) -> int:
    """A state in which the agents hang for good: every step that can be counted on leads back to it.

    The nearest stuck state may be long before that; its run would not show what everybody waits for in the end.
    """
    lost = set(stuck)
    edges: Edges = {}
    back: Edges = {}
    for target, source in reached.rescues:
        if source in lost:
            edges.setdefault(source, []).append(target)
            back.setdefault(target, []).append(source)
    ahead = _reach(stuck[:1], edges)
    while True:
        deepest = list(ahead)[-1]
        ahead = _reach([deepest], edges)
        returning = _reach([deepest], back)
        beyond = [state for state in ahead if state not in returning]
        if not beyond:
            return next(state for state in stuck if state in ahead)
        ahead = _reach(beyond[-1:], edges)


def why_stuck(reached: Reached, state: int) -> str:
    """Where the agents stand that cannot come to their end."""
    standing = []
    for counter in reached.counters:
        code = counter.code
        place = counter.keys[state >> counter.low & counter.mask]
        if place < code.end:
            call = code.calls[place]
            standing.append(f"{code.agent} stays at {code.agent}:{call.statement.pos.line} '{call.text}'")
    return "; ".join(standing) + ": nothing that is bound to happen lets them end"
