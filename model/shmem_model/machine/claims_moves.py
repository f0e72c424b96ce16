"""What compaction (T8) and death (T10) leave untouched."""

from __future__ import annotations

from shmem_model.language import Parameter, Term, after, conj, step
from shmem_model.machine import vocabulary as m
from shmem_model.machine.allocation import quiet_frame
from shmem_model.machine.vocabulary import Agent, Block, Frame, Region, Token, Word

COMPACTION = ("freeze", "migrate", "unfreeze", "shootdown", "scrub")
DEATH = ("die", "lose")


def _unchanged(*terms: Term) -> Term:
    return conj(*(after(term).same(term) for term in terms))


@step("migrate", b=Block, f=Frame, g=Frame, w=Word)
def moving_keeps_contents(b: Term, f: Term, g: Term, w: Term) -> Term:
    """A line that moves, and every other line, holds the same words after the move."""
    return (m.at(b, f) & after(m.at(b, g))).implies(after(m.memory(g, w)).same(m.memory(f, w)))


@step(*COMPACTION, a=Agent, r=Region, b=Block)
def moving_keeps_rights(a: Term, r: Term, b: Term) -> Term:
    """Compaction changes no handle, no mapping and no right."""
    return _unchanged(m.part_of(b, r), m.retired(r), m.mapped(a, b), m.mapped_writable(a, b))


@step(*COMPACTION, a=Agent, c=Agent, b=Block, w=Word, t=Token)
def moving_keeps_custody(a: Term, c: Term, b: Term, w: Term, t: Term) -> Term:
    """Compaction changes no agent's custody, no last write, and nothing that notifications vouch for."""
    agent = _unchanged(m.cur(a, b, w), m.pub(a, b, w), m.unfl(a, b, w), m.readby(a, b, w), m.over(a, c, b, w))
    return agent & _unchanged(m.token_pub(t, b, w), m.last(b, w), m.atomic(b, w), m.intact())


@step("migrate", f=Frame)
def nothing_can_reach_a_line_that_moves(f: Term) -> Term:
    """While a line moves no cache holds it, nothing is on its way to it and no translation leads to it."""
    b = Parameter("b", Block)
    return m.at(b, f).implies(m.frozen(b) & quiet_frame(f))


@step(b=Block, f=Frame, w=Word)
def nobody_accesses_a_frozen_quiet_line(b: Term, f: Term, w: Term) -> Term:
    """A frozen line that nobody reaches stays so, unchanged, until it is moved or unfrozen."""
    still = m.frozen(b) & m.at(b, f) & quiet_frame(f)
    stays = after(m.memory(f, w)).same(m.memory(f, w)) & after(quiet_frame(f))
    return (still & after(m.frozen(b)) & after(m.at(b, f))).implies(stays)


@step(*DEATH, a=Agent, f=Frame, w=Word)
def death_keeps_what_survivors_have(a: Term, f: Term, w: Term) -> Term:
    """When an agent dies, or what it left is lost, memory and every other agent's cache and buffer stay as they are."""
    others = _unchanged(m.valid(a, f), m.dirty(a, f, w), m.data(a, f, w), m.posted(a, f, w), m.posted_data(a, f, w))
    return m.memory(f, w).same(after(m.memory(f, w))) & (m.dead(a) | after(m.dead(a)) | others)


@step(*DEATH, a=Agent, c=Agent, b=Block, w=Word, t=Token)
def death_keeps_custody(a: Term, c: Term, b: Term, w: Term, t: Term) -> Term:
    """Death by itself changes no custody: nothing unpublished becomes published by it."""
    agent = _unchanged(m.cur(a, b, w), m.pub(a, b, w), m.unfl(a, b, w), m.readby(a, b, w), m.over(a, c, b, w))
    return agent & _unchanged(m.token_pub(t, b, w), m.last(b, w), m.atomic(b, w), m.intact())


@step("reclaim", c=Agent, d=Block, w=Word)
def reclaiming_takes_nothing_from_survivors(c: Term, d: Term, w: Term) -> Term:
    """Reclaiming what a dead agent held takes no custody, and no last write, from a survivor."""
    a = Parameter("a", Agent)
    mine = c.same(a) | m.serves(c, a)
    kept = after(m.cur(c, d, w)) & after(m.last(d, w)).same(m.last(d, w))
    return (m.cur(c, d, w) & ~mine).implies(kept) & m.pub(c, d, w).implies(after(m.pub(c, d, w)))


@step("reclaim", c=Agent, w=Word)
def what_is_reclaimed_is_in_memory(c: Term, w: Term) -> Term:
    """What survivors get of a dead agent's unpublished words is exactly what memory holds."""
    b, f = Parameter("b", Block), Parameter("f", Frame)
    newly = after(m.pub(c, b, w)) & ~m.pub(c, b, w)
    return newly.implies(after(m.last(b, w)).same(m.memory(f, w)))


CLAIMS = tuple(value for value in list(globals().values()) if type(value).__name__ == "Property")
