"""Copies: an engine moves words from memory to memory, later and in any order.

The engine works with the rights of the agent it serves, checked when the copy is started; the driver refuses to
unmap, free or move a line while a copy of it is under way.
"""

from __future__ import annotations

from collections.abc import Iterator

from shmem_model.language import FALSE, TRUE, Term, action, becomes, faults, forall, refused, waits
from shmem_model.language.actions import Part
from shmem_model.machine import custody
from shmem_model.machine import vocabulary as m
from shmem_model.machine.translation import handle, runs
from shmem_model.machine.vocabulary import Agent, Block, Frame, Region, Word


@action("software", a=Agent, e=Agent, r=Region, b=Block, w=Word, s=Region, c=Block, p=Word)
def copy_start(a: Term, e: Term, r: Term, b: Term, w: Term, s: Term, c: Term, p: Term) -> Iterator[Part]:
    """The agent asks its engine to copy word w of line b to word p of line c."""
    yield runs(a)
    yield waits("own engine", m.serves(e, a))
    yield handle(b, r)
    yield handle(c, s)
    yield refused("InvalidArgument", ~(b.same(c) & w.same(p)))
    yield faults("NotMapped", m.mapped(a, b) & m.mapped(a, c))
    yield faults("ReadOnly", m.mapped_writable(a, c))
    yield faults("Frozen", ~m.frozen(b) & ~m.frozen(c))
    yield waits("no earlier copy is to land there", ~m.landing(e, c, p))
    yield becomes(m.copying, e, b, w, c, p, to=TRUE)
    yield becomes(m.landing, e, c, p, to=TRUE)
    yield from custody.on_copy_start(a, e, b, w, c, p)


@action("hardware", e=Agent, a=Agent, b=Block, f=Frame, w=Word, c=Block, g=Frame, p=Word)
def copy_step(e: Term, a: Term, b: Term, f: Term, w: Term, c: Term, g: Term, p: Term) -> Iterator[Part]:
    """The engine copies one word for the agent that it serves, memory to memory."""
    yield waits("on whose behalf", m.serves(e, a))
    yield waits("asked to", m.copying(e, b, w, c, p))
    yield waits("lives there", m.at(b, f) & m.at(c, g))
    yield becomes(m.memory, g, p, to=m.memory(f, w))
    yield becomes(m.copying, e, b, w, c, p, to=FALSE)
    yield becomes(m.landing, e, c, p, to=FALSE)


@action("software", a=Agent, e=Agent)
def copy_wait(a: Term, e: Term) -> Iterator[Part]:
    """The agent waits until its engine has finished."""
    yield runs(a)
    yield waits("own engine", m.serves(e, a))
    yield waits("the engine has finished", forall(Block, Word, lambda c, p: ~m.landing(e, c, p)))
    yield from custody.on_copy_wait(a, e)


ACTIONS = (copy_start, copy_step, copy_wait)
