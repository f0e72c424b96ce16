"""Death: an agent stops at any step; what it leaves is lost or arrives late until the driver has reclaimed it."""

from __future__ import annotations

from collections.abc import Iterator

from shmem_model.language import EACH, FALSE, TRUE, Term, action, becomes, exists, forall, update, waits
from shmem_model.language.actions import Part
from shmem_model.machine import vocabulary as m
from shmem_model.machine.caches import nothing_posted
from shmem_model.machine.translation import copies_touch
from shmem_model.machine.vocabulary import Agent, Block, Frame, Word


@action("fault", a=Agent)
def die(a: Term) -> Iterator[Part]:
    """H11: the agent makes no further call; its caches, buffers, translations, slots and seats stay."""
    yield waits("alive", ~m.dead(a) & ~m.engine(a))
    yield becomes(m.dead, a, to=TRUE)


@action("hardware", a=Agent, f=Frame)
def lose(a: Term, f: Term) -> Iterator[Part]:
    """What a dead agent left of a line in cache and buffer is lost (or it still arrives, by `evict` and `drain`)."""
    yield waits("dead", m.dead(a))
    yield waits("something is left", m.valid(a, f) | exists(Word, lambda w: m.posted(a, f, w)))
    yield becomes(m.valid, a, f, to=FALSE)
    yield becomes(m.dirty, a, f, EACH, to=FALSE)
    yield becomes(m.posted, a, f, EACH, to=FALSE)


def _its(a: Term, c: Term) -> Term:
    """The dead agent itself, or an engine that worked for it."""
    return c.same(a) | m.serves(c, a)


@action("driver", a=Agent, b=Block, f=Frame)
def reclaim(a: Term, b: Term, f: Term) -> Iterator[Part]:
    """Once nothing of a dead agent can reach the line, its mapping ends; what only it had is what memory holds."""
    yield waits("dead", m.dead(a))
    yield waits("lives there", m.at(b, f))
    yield waits("nothing is left", ~m.valid(a, f) & nothing_posted(a, f) & forall(Frame, lambda y: ~m.tlb(a, b, y)))
    yield waits("its copies have ended", ~copies_touch(b, busy=a))
    mine = lambda w: exists(Agent, lambda c: _its(a, c) & m.cur(c, b, w))
    orphan = lambda w: mine(w) & forall(Agent, lambda c: m.cur(c, b, w).implies(_its(a, c)))
    yield becomes(m.mapped, a, b, to=FALSE)
    yield becomes(m.mapped_writable, a, b, to=FALSE)
    yield becomes(m.last, b, EACH, to=lambda x, p: m.memory(f, p), where=lambda x, p: orphan(p))
    yield becomes(m.pub, EACH, b, EACH, to=TRUE, where=lambda c, x, p: orphan(p))
    yield update(m.cur, lambda c, x, p: m.cur(c, x, p) & ~(x.same(b) & _its(a, c)))
    yield update(m.unfl, lambda c, x, p: m.unfl(c, x, p) & ~(x.same(b) & _its(a, c)))
    yield update(m.readby, lambda c, x, p: m.readby(c, x, p) & ~(x.same(b) & _its(a, c)))


ACTIONS = (die, lose, reclaim)
