"""Notifications: slots that count or are sticky (H9), and that may overtake posted writes (H5).

A slot belongs to its receiver.  A pending notification is a token: a counting slot holds any number of them, a
sticky one at most one, to which further sends add what they know.
"""

from __future__ import annotations

from collections.abc import Iterator

from shmem_model.language import (
    BOOL,
    FALSE,
    TRUE,
    Returns,
    Term,
    action,
    becomes,
    exists,
    forall,
    ite,
    refused,
    waits,
)
from shmem_model.language.actions import Part
from shmem_model.machine import custody
from shmem_model.machine import vocabulary as m
from shmem_model.machine.translation import runs
from shmem_model.machine.vocabulary import Agent, Slot, Token


def _holds_some(s: Term) -> Term:
    return exists(Token, lambda t: m.pending(t, s))


def someone_can_send(a: Term, s: Term) -> Term:
    """Somebody else who may send to the slot is alive (or nobody else ever could)."""
    others = lambda c: m.may_send(c, s) & c.differs(a)
    return exists(Agent, lambda c: others(c) & ~m.dead(c)) | forall(Agent, lambda c: ~others(c))


@action("software", a=Agent, s=Slot, t=Token)
def send(a: Term, s: Term, t: Term) -> Iterator[Part]:
    """The agent notifies a slot, at once: the notification does not wait for posted writes (H5)."""
    yield runs(a)
    yield refused("NotPermitted", m.may_send(a, s))
    fresh = forall(Slot, lambda z: ~m.pending(t, z))
    joins = ~m.counting() & _holds_some(s)
    yield waits("a new token, or the sticky one", ite(joins, m.pending(t, s), fresh))
    yield becomes(m.pending, t, s, to=TRUE)
    yield from custody.on_send(a, t, first=~m.pending(t, s))


@action("software", a=Agent, s=Slot, t=Token)
def wait(a: Term, s: Term, t: Term) -> Iterator[Part]:
    """The receiver takes a notification; if its slot is empty and every possible sender is dead, it is told."""
    yield runs(a)
    yield refused("NotPermitted", m.receiver(s).same(a))
    yield refused("PeerLost", _holds_some(s) | someone_can_send(a, s))
    yield waits("a notification", m.pending(t, s))
    yield becomes(m.pending, t, s, to=FALSE)
    yield from custody.on_take(a, t, taken=TRUE)


@action("software", a=Agent, s=Slot, t=Token, got=BOOL)
def poll(a: Term, s: Term, t: Term, got: Term) -> Iterator[Part]:
    """The receiver takes a notification if there is one, and says whether it did."""
    yield runs(a)
    yield refused("NotPermitted", m.receiver(s).same(a))
    yield waits("the answer is true", ite(got, m.pending(t, s), ~_holds_some(s)))
    yield becomes(m.pending, t, s, to=FALSE, where=lambda *_: got)
    yield Returns(got)
    yield from custody.on_take(a, t, taken=got)


ACTIONS = (send, wait, poll)
