"""Which part of the machine a question needs: three machines that are computed from THE machine.

* `outcome`: everything but the custody monitor, which no other part reads;
* `custody`: the custody view (no hardware at all), where the program's actions permit it;
* `full`: the machine as it is, for custody questions of programs that unmap, free, move or die.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace

from shmem_model.language import EACH, FALSE, Action, Machine, Term, action, becomes, refused
from shmem_model.language.actions import Part
from shmem_model.machine import MACHINE
from shmem_model.machine import vocabulary as m
from shmem_model.machine.translation import runs
from shmem_model.readers.custody_view import NOT_IN_VIEW, custody_view

OUTCOME, CUSTODY, FULL = "outcome", "custody", "full"


@action("software", a=m.Agent, s=m.Slot)
def clear(a: Term, s: Term) -> Iterator[Part]:
    """The receiver drops whatever is pending in its slot and learns nothing from it."""
    yield runs(a)
    yield refused("NotPermitted", m.receiver(s).same(a))
    yield becomes(m.token_pub, EACH, EACH, EACH, to=FALSE, where=lambda t, x, p: m.pending(t, s))
    yield becomes(m.token_over, EACH, EACH, EACH, EACH, to=FALSE, where=lambda t, r, x, p: m.pending(t, s))
    yield becomes(m.sender, EACH, EACH, to=FALSE, where=lambda t, c: m.pending(t, s))
    yield becomes(m.pending, EACH, s, to=FALSE)


@action("software", a=m.Agent)
def nothing(a: Term) -> Iterator[Part]:
    """The agent does nothing that anybody notices."""
    yield runs(a)


def _without_ghost(one: Action) -> Action:
    return replace(one, updates={f: u for f, u in one.updates.items() if f.layer != "ghost"})


@functools.cache
def view(name: str) -> Machine:
    """One of the three machines, with the actions that litmus programs add."""
    every = [*MACHINE.actions.values(), clear, nothing]
    if name == FULL:
        return MACHINE.with_actions(every)
    if name == CUSTODY:
        kept = [one for one in every if one.base not in NOT_IN_VIEW]
        viewed = custody_view(MACHINE.with_actions(kept))
        return viewed.with_actions([*viewed.actions.values(), nothing])
    functions = tuple(f for f in MACHINE.functions if f.layer != "ghost")
    initial = {f: value for f, value in MACHINE.initial.items() if f.layer != "ghost"}
    bare = replace(MACHINE, functions=functions, initial=initial, properties=())
    return bare.with_actions([_without_ghost(one) for one in every])
