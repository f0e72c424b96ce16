"""Atomics: they act on memory in one step, whatever the agent's own cache holds."""

from __future__ import annotations

from collections.abc import Iterator

from shmem_model.language import TRUE, Returns, Term, action, becomes, ite, waits
from shmem_model.language.actions import Part
from shmem_model.machine import custody
from shmem_model.machine import vocabulary as m
from shmem_model.machine.translation import access
from shmem_model.machine.vocabulary import Agent, Block, Frame, Region, Value, Word


def _at_memory(a: Term, r: Term, b: Term, f: Term, w: Term) -> Iterator[Part]:
    yield from access(a, r, b, f, writing=TRUE)
    yield waits("own posted word has drained", ~m.posted(a, f, w))
    yield Returns(m.memory(f, w))


@action("software", a=Agent, r=Region, b=Block, f=Frame, w=Word, v=Value)
def atomic_add(a: Term, r: Term, b: Term, f: Term, w: Term, v: Term) -> Iterator[Part]:
    """The agent adds to a word of memory and gets its old value."""
    yield from _at_memory(a, r, b, f, w)
    yield becomes(m.memory, f, w, to=m.total(m.memory(f, w), v))
    yield from custody.on_atomic(a, b, w, m.total(m.last(b, w), v))


@action("software", a=Agent, r=Region, b=Block, f=Frame, w=Word, v=Value)
def atomic_swap(a: Term, r: Term, b: Term, f: Term, w: Term, v: Term) -> Iterator[Part]:
    """The agent replaces a word of memory and gets its old value."""
    yield from _at_memory(a, r, b, f, w)
    yield becomes(m.memory, f, w, to=v)
    yield from custody.on_atomic(a, b, w, v)


@action("software", a=Agent, r=Region, b=Block, f=Frame, w=Word, old=Value, v=Value)
def compare_swap(a: Term, r: Term, b: Term, f: Term, w: Term, old: Term, v: Term) -> Iterator[Part]:
    """The agent replaces a word of memory if it has the expected value, and gets its old value."""
    yield from _at_memory(a, r, b, f, w)
    yield becomes(m.memory, f, w, to=ite(m.memory(f, w).same(old), v, m.memory(f, w)))
    yield from custody.on_atomic(a, b, w, ite(m.last(b, w).same(old), v, m.last(b, w)))


ACTIONS = (atomic_add, atomic_swap, compare_swap)
