"""Caches and write buffers: what hardware does by itself, and the accesses and maintenance of programs."""

from __future__ import annotations

from collections.abc import Iterator

from shmem_model.language import (
    BOOL,
    EACH,
    FALSE,
    TRUE,
    Returns,
    Term,
    action,
    becomes,
    exists,
    forall,
    ite,
    waits,
)
from shmem_model.language.actions import Part
from shmem_model.machine import custody
from shmem_model.machine import vocabulary as m
from shmem_model.machine.translation import access, runs
from shmem_model.machine.vocabulary import Agent, Block, Frame, Region, Value, Word


def nothing_posted(a: Term, f: Term) -> Term:
    """No word of the agent is on its way to this line."""
    return forall(Word, lambda w: ~m.posted(a, f, w))


def some_dirty(a: Term, f: Term) -> Term:
    """The agent's cached line is newer than what it wrote back."""
    return exists(Word, lambda w: m.dirty(a, f, w))


def _dirty_not_posted(a: Term, f: Term) -> Term:
    return forall(Word, lambda w: m.dirty(a, f, w).implies(~m.posted(a, f, w)))


def _post_dirty(a: Term, f: Term, where: Term) -> Iterator[Part]:
    """Dirty words of the line set out for memory."""
    yield becomes(m.posted, a, f, EACH, to=TRUE, where=lambda c, y, p: where & m.dirty(a, f, p))
    yield becomes(
        m.posted_data,
        a,
        f,
        EACH,
        to=lambda c, y, p: m.data(a, f, p),
        where=lambda c, y, p: where & m.dirty(a, f, p),
    )


@action("hardware", a=Agent, b=Block, f=Frame)
def fill(a: Term, b: Term, f: Term) -> Iterator[Part]:
    """H1: any translated line may enter the cache at any time, but not past the agent's own posted words."""
    yield waits("has a cache", m.cached(a))
    yield waits("translated", m.tlb(a, b, f))
    yield waits("not cached yet", ~m.valid(a, f))
    yield waits("own posted words have drained", nothing_posted(a, f))
    yield becomes(m.valid, a, f, to=TRUE)
    yield becomes(m.data, a, f, EACH, to=lambda c, y, p: m.memory(f, p))


@action("hardware", a=Agent, f=Frame)
def evict(a: Term, f: Term) -> Iterator[Part]:
    """H2: any line leaves the cache at any time; a dirty one is written back, after what was posted before."""
    yield waits("cached", m.valid(a, f))
    yield waits("in order", some_dirty(a, f).implies(nothing_posted(a, f)))
    yield becomes(m.valid, a, f, to=FALSE)
    yield becomes(m.dirty, a, f, EACH, to=FALSE)
    yield becomes(m.memory, f, EACH, to=lambda y, p: m.data(a, f, p), where=lambda y, p: m.dirty(a, f, p))


@action("hardware", a=Agent, f=Frame)
def drain(a: Term, f: Term) -> Iterator[Part]:
    """H4: the posted words of a line arrive in memory, together; lines in any order."""
    yield waits("something is posted", exists(Word, lambda w: m.posted(a, f, w)))
    yield becomes(m.posted, a, f, EACH, to=FALSE)
    yield becomes(m.memory, f, EACH, to=lambda y, p: m.posted_data(a, f, p), where=lambda y, p: m.posted(a, f, p))


def _present(a: Term, f: Term) -> Term:
    return m.cached(a).implies(m.valid(a, f))


@action("software", a=Agent, r=Region, b=Block, f=Frame, w=Word)
def read(a: Term, r: Term, b: Term, f: Term, w: Term) -> Iterator[Part]:
    """The agent loads one word (H10): from its cache, or (H14) from its own write buffer or memory."""
    yield from access(a, r, b, f, writing=FALSE)
    yield waits("line is present", _present(a, f))
    straight = ite(m.posted(a, f, w), m.posted_data(a, f, w), m.memory(f, w))
    yield Returns(ite(m.cached(a), m.data(a, f, w), straight))
    yield from custody.on_read(a, b, w)


@action("software", a=Agent, r=Region, b=Block, f=Frame, w=Word, v=Value)
def write(a: Term, r: Term, b: Term, f: Term, w: Term, v: Term) -> Iterator[Part]:
    """The agent stores one word (H10): into its cache, where the whole line turns dirty (H3), or its buffer (H14)."""
    yield from access(a, r, b, f, writing=TRUE)
    yield waits("line is present", _present(a, f))
    turned = custody.touched_by(a, b, w)
    yield becomes(m.dirty, a, f, EACH, to=TRUE, where=lambda c, y, p: m.cached(a) & turned(b, p))
    yield becomes(m.data, a, f, w, to=v, where=lambda *_: m.cached(a))
    yield becomes(m.posted, a, f, w, to=TRUE, where=lambda *_: ~m.cached(a))
    yield becomes(m.posted_data, a, f, w, to=v, where=lambda *_: ~m.cached(a))
    yield from custody.on_write(a, b, w, v, turned)


@action("software", a=Agent, r=Region, b=Block, f=Frame, drop=BOOL)
def flush(a: Term, r: Term, b: Term, f: Term, drop: Term) -> Iterator[Part]:
    """The agent posts the dirty words of a line; the line stays clean, or is dropped as well."""
    yield from access(a, r, b, f, writing=FALSE)
    yield waits("in order", _dirty_not_posted(a, f))
    yield from _post_dirty(a, f, where=TRUE)
    yield becomes(m.dirty, a, f, EACH, to=FALSE)
    yield becomes(m.valid, a, f, to=FALSE, where=lambda *_: drop)
    yield from custody.on_flush(a, b, drop)


@action("software", a=Agent, r=Region, b=Block, f=Frame, keep=BOOL)
def invalidate(a: Term, r: Term, b: Term, f: Term, keep: Term) -> Iterator[Part]:
    """The agent drops a line.  H6: hardware throws dirty words away, or keeps them by writing them back."""
    yield from access(a, r, b, f, writing=FALSE)
    yield waits("hardware does this", ite(keep, m.may_write_back(), m.may_discard()))
    yield waits("in order", keep.implies(_dirty_not_posted(a, f)))
    yield from _post_dirty(a, f, where=keep)
    yield becomes(m.dirty, a, f, EACH, to=FALSE)
    yield becomes(m.valid, a, f, to=FALSE)
    yield from custody.on_invalidate(a, b)


@action("software", a=Agent)
def fence(a: Term) -> Iterator[Part]:
    """The agent waits until all that it has posted has reached memory: its flushes, and stores of an uncached agent."""
    yield runs(a)
    yield waits("own posted words have drained", forall(Frame, lambda f: nothing_posted(a, f)))
    yield from custody.on_fence(a)


ACTIONS = (fill, evict, drain, read, write, flush, invalidate, fence)
