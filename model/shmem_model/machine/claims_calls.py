"""What calls require, and what they hand over: the small print of T1, T5, T6 and T10."""

from __future__ import annotations

from shmem_model.language import BOOL, Parameter, Term, after, invariant, step
from shmem_model.machine import vocabulary as m
from shmem_model.machine.names import ACTION_NAMES
from shmem_model.machine.vocabulary import Agent, Block, Epoch, Region, Slot, Token, Word

CALLS = tuple(name.name for name in ACTION_NAMES if name.group == "software")
_A, _R, _B, _W = Parameter("a", Agent), Parameter("r", Region), Parameter("b", Block), Parameter("w", Word)


@step(*CALLS)
def the_dead_make_no_calls() -> Term:
    """Neither a dead agent nor a copy engine makes a call."""
    return ~m.dead(_A) & ~m.engine(_A)


@step("free")
def only_writers_free() -> Term:
    """A region is freed only by an agent that may write it."""
    return m.may_write(_A, _R)


@step("unmap")
def only_writers_unmap_others() -> Term:
    """An agent removes another's mapping only where it may write."""
    return _A.same(Parameter("c", Agent)) | m.may_write(_A, _R)


@step("gb_begin")
def global_barriers_need_the_right() -> Term:
    """A global barrier over a region is begun only by an agent on its access-control list."""
    return m.may_read(_A, _R)


@invariant(e=Agent, b=Block, w=Word, c=Block, p=Word, a=Agent)
def copies_are_between_mapped_lines(e: Term, b: Term, w: Term, c: Term, p: Term, a: Term) -> Term:
    """While a copy is under way, the agent that it serves has both lines mapped."""
    under_way = m.copying(e, b, w, c, p) & m.serves(e, a)
    return under_way.implies(m.mapped(a, b) & m.mapped(a, c))


@step(r=Region)
def a_freed_handle_stays_freed(r: Term) -> Term:
    """No step revives a handle."""
    return m.retired(r).implies(after(m.retired(r)))


@step("free")
def freeing_ends_the_handle() -> Term:
    """Once a line is freed its handle is given out no more."""
    return after(m.retired(_R))


@step("alloc")
def a_freed_handle_is_not_given_out_again() -> Term:
    """A region is allocated only under a handle that was never freed."""
    return ~m.retired(_R)


@step("free", c=Agent, w=Word)
def nothing_is_known_of_a_freed_line(c: Term, w: Term) -> Term:
    """Nobody has custody of a freed line."""
    known = m.cur(c, _B, w) | m.pub(c, _B, w) | m.readby(c, _B, w) | m.unfl(c, _B, w)
    return ~after(known)


@step("alloc", c=Agent, w=Word)
def everybody_may_use_a_new_line(c: Term, w: Term) -> Term:
    """Everybody is current on a new line and knows it published."""
    return after(m.cur(c, _B, w)) & after(m.pub(c, _B, w))


@step("read")
def a_read_is_remembered() -> Term:
    """The monitor remembers that the agent has read the word."""
    return after(m.readby(_A, _B, _W))


@step("read", c=Agent)
def nobody_believes_a_new_read_finished(c: Term) -> Term:
    """After a read nobody believes that the reader has finished."""
    return ~after(m.over(c, _A, _B, _W))


@step("write", r=Agent)
def a_write_over_unfinished_reads_breaks_the_rule(r: Term) -> Term:
    """A write over reads that are not known to be finished breaks a rule."""
    unfinished = m.readby(r, _B, _W) & r.differs(_A) & ~m.over(_A, r, _B, _W)
    return unfinished.implies(~after(m.intact()))


@step("fence", b=Block, w=Word)
def a_fence_publishes_what_was_flushed(b: Term, w: Term) -> Term:
    """After a fence the agent knows published what it is current on and has flushed."""
    return (m.cur(_A, b, w) & ~m.unfl(_A, b, w)).implies(after(m.pub(_A, b, w)))


@step("invalidate", w=Word)
def an_invalidate_makes_published_words_current(w: Term) -> Term:
    """After an invalidate the agent is current on what it knows to be published."""
    return m.pub(_A, _B, w).implies(after(m.cur(_A, _B, w)))


@step("flush", w=Word)
def a_flush_that_drops_is_an_invalidate(w: Term) -> Term:
    """After a flush that drops the line the agent is current on what it knew to be published."""
    return (Parameter("drop", BOOL) & m.pub(_A, _B, w)).implies(after(m.cur(_A, _B, w)))


@step("flush", "invalidate", w=Word)
def maintenance_settles_what_was_written(w: Term) -> Term:
    """After a flush or an invalidate the agent owes no flush of the line."""
    return ~after(m.unfl(_A, _B, w))


@step("wait", "poll", r=Agent, b=Block, w=Word)
def taking_learns_what_was_sent(r: Term, b: Term, w: Term) -> Term:
    """Who takes a notification learns of published words and of finished reads."""
    t, s = Parameter("t", Token), Parameter("s", Slot)
    taken = m.pending(t, s) & ~after(m.pending(t, s))
    reads = (taken & m.token_over(t, r, b, w)).implies(after(m.over(_A, r, b, w)))
    return reads & (taken & m.token_pub(t, b, w)).implies(after(m.pub(_A, b, w)))


@step("leave", r=Agent, b=Block, w=Word)
def leaving_learns_of_finished_reads(r: Term, b: Term, w: Term) -> Term:
    """Who leaves a barrier learns of the finished reads that were gathered."""
    return m.epoch_over(Parameter("e", Epoch), r, b, w).implies(after(m.over(_A, r, b, w)))


@step("copy_wait", b=Block, w=Word)
def waiting_for_a_copy_learns_of_it(b: Term, w: Term) -> Term:
    """Who has waited for a copy knows its words published and its reads finished."""
    e = Parameter("e", Agent)
    reads = m.readby(e, b, w).implies(after(m.over(_A, e, b, w)))
    return m.cur(e, b, w).implies(after(m.pub(_A, b, w))) & reads


ABOUT_DEATH = (the_dead_make_no_calls,)
ABOUT_RIGHTS = (
    only_writers_free,
    only_writers_unmap_others,
    global_barriers_need_the_right,
    copies_are_between_mapped_lines,
)
ABOUT_REUSE = (
    a_freed_handle_stays_freed,
    freeing_ends_the_handle,
    a_freed_handle_is_not_given_out_again,
    nothing_is_known_of_a_freed_line,
    everybody_may_use_a_new_line,
)
ABOUT_CUSTODY = (
    a_read_is_remembered,
    nobody_believes_a_new_read_finished,
    a_write_over_unfinished_reads_breaks_the_rule,
    a_fence_publishes_what_was_flushed,
    an_invalidate_makes_published_words_current,
    a_flush_that_drops_is_an_invalidate,
    maintenance_settles_what_was_written,
    taking_learns_what_was_sent,
    leaving_learns_of_finished_reads,
    waiting_for_a_copy_learns_of_it,
)
CLAIMS = (*ABOUT_CUSTODY, *ABOUT_RIGHTS, *ABOUT_REUSE, *ABOUT_DEATH)
