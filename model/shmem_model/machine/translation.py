"""Translation: page tables, translation caches, and what every access must pass."""

from __future__ import annotations

from collections.abc import Iterator

from shmem_model.language import (
    BOOL,
    EACH,
    FALSE,
    TRUE,
    Term,
    action,
    becomes,
    exists,
    faults,
    refused,
    waits,
)
from shmem_model.language.actions import Condition, Part
from shmem_model.machine import vocabulary as m
from shmem_model.machine.vocabulary import Agent, Block, Frame, Region, Word


def runs(a: Term) -> Condition:
    """Only a living agent that is no copy engine makes calls."""
    return waits("the agent runs", ~m.dead(a) & ~m.engine(a))


def handle(b: Term, r: Term) -> Condition:
    """The handle names a live region that has this line."""
    return refused("StaleHandle", m.part_of(b, r))


def access(a: Term, r: Term, b: Term, f: Term, writing: Term) -> Iterator[Condition]:
    """What an access to a line through the agent's translation must pass."""
    cached_entry = exists(Frame, lambda g: m.tlb(a, b, g))
    yield runs(a)
    yield handle(b, r)
    yield faults("NotMapped", m.mapped(a, b) | cached_entry)
    yield faults("ReadOnly", writing.implies(m.mapped_writable(a, b) | m.tlb_writable(a, b, f)))
    yield faults("Frozen", ~m.frozen(b) | cached_entry)
    yield waits("translated", m.tlb(a, b, f))
    yield waits("translated for writing", writing.implies(m.tlb_writable(a, b, f)))


def copies_touch(b: Term, busy: Term | None = None) -> Term:
    """A copy engine (of the agent `busy`, if given) still reads or writes the line."""

    mine = lambda e: TRUE if busy is None else m.serves(e, busy)
    reads = exists(Agent, Word, Block, Word, lambda e, w, y, p: mine(e) & m.copying(e, b, w, y, p))
    return reads | exists(Agent, Word, lambda e, p: mine(e) & m.landing(e, b, p))


@action("software", a=Agent, r=Region, b=Block, writable=BOOL)
def map_(a: Term, r: Term, b: Term, writable: Term) -> Iterator[Part]:
    """The driver enters the line into the agent's page table, if the access-control list allows it."""
    yield runs(a)
    yield handle(b, r)
    yield refused("NotPermitted", m.may_read(a, r) & writable.implies(m.may_write(a, r)))
    yield becomes(m.mapped, a, b, to=TRUE)
    yield becomes(m.mapped_writable, a, b, to=writable)


@action("software", a=Agent, c=Agent, r=Region, b=Block)
def unmap(a: Term, c: Term, r: Term, b: Term) -> Iterator[Part]:
    """The agent removes a mapping of c (its own, or any where it may write); c's translation cache keeps it (H7)."""
    yield runs(a)
    yield handle(b, r)
    yield refused("InvalidArgument", m.mapped(c, b))
    yield refused("NotPermitted", a.same(c) | m.may_write(a, r))
    yield refused("RegionBusy", ~copies_touch(b, busy=c))
    yield becomes(m.mapped, c, b, to=FALSE)
    yield becomes(m.mapped_writable, c, b, to=FALSE)


@action("hardware", a=Agent, b=Block, f=Frame)
def translate(a: Term, b: Term, f: Term) -> Iterator[Part]:
    """The translation cache walks the page table; also speculatively, also for a dead agent's device."""
    yield waits("no copy engine", ~m.engine(a))
    yield waits("mapped", m.mapped(a, b))
    yield waits("lives there", m.at(b, f))
    yield waits("not frozen", ~m.frozen(b))
    yield becomes(m.tlb, a, b, f, to=TRUE)
    yield becomes(m.tlb_writable, a, b, f, to=m.mapped_writable(a, b))


@action("driver", a=Agent, b=Block)
def shootdown(a: Term, b: Term) -> Iterator[Part]:
    """The driver empties the agent's translation cache of the line."""
    yield waits("an entry exists", exists(Frame, lambda f: m.tlb(a, b, f)))
    yield becomes(m.tlb, a, b, EACH, to=FALSE)
    yield becomes(m.tlb_writable, a, b, EACH, to=FALSE)


ACTIONS = (map_, unmap, translate, shootdown)
