"""Barriers: the collective one (`arrive`, `leave`) and the writer-driven global one (`gb_begin`, `gb_ack`, `gb_end`).

A collective barrier is used again and again (H12): each use is an epoch, which the first member to arrive takes up
and which is free again when every member that arrived has left or died.

The global barrier is called by the writer alone, after it flushed and fenced the region.  The engines of the
members drop their clean lines and acknowledge; the members' custody does not change, they still wait and invalidate.
"""

from __future__ import annotations

from collections.abc import Iterator

from shmem_model.language import EACH, FALSE, TRUE, Term, action, becomes, exists, forall, ite, refused, waits
from shmem_model.language.actions import Part
from shmem_model.machine import custody
from shmem_model.machine import vocabulary as m
from shmem_model.machine.caches import some_dirty
from shmem_model.machine.translation import runs
from shmem_model.machine.vocabulary import Agent, Block, Epoch, Frame, Region, Team


def inside(g: Term, e: Term, a: Term) -> Term:
    """The member has arrived and not left yet."""
    return m.arrived(g, e, a) & ~m.left(g, e, a)


def _unused(e: Term) -> Term:
    def idle(g: Term, c: Term) -> Term:
        return ~m.collecting(g, e) & inside(g, e, c).implies(m.dead(c))

    return forall(Team, Agent, idle)


@action("software", a=Agent, g=Team, e=Epoch)
def arrive(a: Term, g: Term, e: Term) -> Iterator[Part]:
    """A member arrives at the barrier, bringing what it knows; the first one takes up an unused epoch."""
    yield runs(a)
    yield refused("InvalidArgument", forall(Epoch, lambda k: ~inside(g, k, a)))
    yield refused("NotPermitted", m.member(g, a))
    under_way = exists(Epoch, lambda k: m.collecting(g, k))
    yield waits("the current epoch, or an unused one", ite(under_way, m.collecting(g, e), _unused(e)))
    first = ~m.collecting(g, e)
    missing = exists(Agent, lambda c: m.member(g, c) & c.differs(a) & (first | ~m.arrived(g, e, c)))
    yield becomes(m.collecting, g, e, to=missing)
    yield becomes(m.arrived, EACH, e, EACH, to=lambda h, k, c: (h.same(g) & c.same(a)) | (~first & m.arrived(h, e, c)))
    yield becomes(m.left, EACH, e, EACH, to=FALSE, where=lambda *_: first)
    yield from custody.on_arrive(a, e, first)


@action("software", a=Agent, g=Team, e=Epoch)
def leave(a: Term, g: Term, e: Term) -> Iterator[Part]:
    """A member leaves when all have arrived; if one died before it arrived, everybody is told."""
    yield runs(a)
    yield refused("InvalidArgument", exists(Epoch, lambda k: inside(g, k, a)))
    yield refused("NotPermitted", m.member(g, a))
    yield waits("own epoch", inside(g, e, a))
    yield refused("PeerLost", forall(Agent, lambda c: (m.member(g, c) & m.dead(c)).implies(m.arrived(g, e, c))))
    yield waits("all have arrived", ~m.collecting(g, e))
    yield becomes(m.left, g, e, a, to=TRUE)
    yield from custody.on_leave(a, e)


@action("software", a=Agent, g=Team, r=Region)
def gb_begin(a: Term, g: Term, r: Term) -> Iterator[Part]:
    """The writer asks the members' engines to drop their clean lines of the region; an unfinished one starts anew."""
    yield runs(a)
    yield refused("StaleHandle", exists(Block, lambda b: m.part_of(b, r)))
    yield refused("NotPermitted", m.may_read(a, r))
    yield becomes(m.gb_open, a, EACH, EACH, to=lambda c, h, k: h.same(g) & k.same(r))
    yield becomes(m.gb_acked, a, EACH, EACH, to=FALSE)


@action("driver", a=Agent, g=Team, r=Region, c=Agent, b=Block, f=Frame)
def gb_ack(a: Term, g: Term, r: Term, c: Term, b: Term, f: Term) -> Iterator[Part]:
    """A member's engine (with multicast: every one's) drops its clean line, leaves a dirty one alone, acknowledges."""
    yield waits("asked", m.gb_open(a, g, r) & m.part_of(b, r) & m.at(b, f))
    yield waits("a living member", m.member(g, c) & ~m.dead(c))
    yield waits("not acknowledged yet", ~m.gb_acked(a, c, b))
    heard = lambda k: k.same(c) | (m.multicast() & m.member(g, k) & ~m.dead(k))
    yield becomes(m.gb_acked, a, EACH, b, to=TRUE, where=lambda x, k, y: heard(k))
    yield becomes(m.valid, EACH, f, to=FALSE, where=lambda k, y: heard(k) & ~some_dirty(k, f))


@action("software", a=Agent, g=Team, r=Region)
def gb_end(a: Term, g: Term, r: Term) -> Iterator[Part]:
    """The writer goes on when every member has acknowledged every line, or is told who died before that."""
    answered = lambda c, b: (m.member(g, c) & m.part_of(b, r)).implies(m.gb_acked(a, c, b))
    yield runs(a)
    yield refused("InvalidArgument", m.gb_open(a, g, r))
    yield refused("PeerLost", forall(Agent, Block, lambda c, b: m.dead(c).implies(answered(c, b))))
    yield waits("every member has acknowledged", forall(Agent, Block, answered))
    yield becomes(m.gb_open, a, EACH, EACH, to=FALSE)
    yield becomes(m.gb_acked, a, EACH, EACH, to=FALSE)


ACTIONS = (arrive, leave, gb_begin, gb_ack, gb_end)
