"""Why every read returns the last write as long as custody is kept (T1): what the monitor says is true of hardware."""

from __future__ import annotations

from shmem_model.language import Parameter, Term, after, invariant, ite, step
from shmem_model.machine import custody
from shmem_model.machine import vocabulary as m
from shmem_model.machine.vocabulary import Agent, Block, Epoch, Frame, Token, Value, Word


def unpublished(a: Term, f: Term, w: Term) -> Term:
    """The agent holds a newer word than memory does, in its cache or on the way."""
    return m.dirty(a, f, w) | m.posted(a, f, w)


@invariant(a=Agent, b=Block, f=Frame, w=Word)
def dirty_words_are_unflushed(a: Term, b: Term, f: Term, w: Term) -> Term:
    """The monitor knows of every dirty word that it has not been flushed."""
    return (m.at(b, f) & m.dirty(a, f, w)).implies(m.unfl(a, b, w))


@invariant(a=Agent, b=Block, f=Frame, w=Word)
def current_caches_hold_the_last_write(a: Term, b: Term, f: Term, w: Term) -> Term:
    """Where a living agent is current, its cached word is the last write."""
    held = m.at(b, f) & m.cur(a, b, w) & m.valid(a, f) & ~m.dead(a)
    return (m.intact() & held).implies(m.data(a, f, w).same(m.last(b, w)))


@invariant(a=Agent, b=Block, f=Frame, w=Word)
def current_clean_words_are_in_memory(a: Term, b: Term, f: Term, w: Term) -> Term:
    """Where a living agent is current and holds nothing newer, memory has the last write."""
    held = m.at(b, f) & m.cur(a, b, w) & ~m.dead(a) & ~m.engine(a) & ~unpublished(a, f, w)
    return (m.intact() & held).implies(m.memory(f, w).same(m.last(b, w)))


@invariant(a=Agent, b=Block, f=Frame, w=Word)
def posted_words_are_the_last_write(a: Term, b: Term, f: Term, w: Term) -> Term:
    """What a current agent has on the way, and not changed since, is the last write."""
    held = m.at(b, f) & m.cur(a, b, w) & m.posted(a, f, w) & ~m.dirty(a, f, w)
    return (m.intact() & held).implies(m.posted_data(a, f, w).same(m.last(b, w)))


@invariant(a=Agent, b=Block, f=Frame, w=Word)
def published_words_are_in_memory(a: Term, b: Term, f: Term, w: Term) -> Term:
    """What an agent knows to be published is in memory."""
    return (m.intact() & m.at(b, f) & m.pub(a, b, w)).implies(m.memory(f, w).same(m.last(b, w)))


@invariant(t=Token, b=Block, f=Frame, w=Word)
def notifications_tell_the_truth(t: Term, b: Term, f: Term, w: Term) -> Term:
    """What a notification says is published is in memory."""
    return (m.intact() & m.at(b, f) & m.token_pub(t, b, w)).implies(m.memory(f, w).same(m.last(b, w)))


@invariant(e=Epoch, b=Block, f=Frame, w=Word)
def barriers_tell_the_truth(e: Term, b: Term, f: Term, w: Term) -> Term:
    """What was gathered at a barrier as published is in memory."""
    return (m.intact() & m.at(b, f) & m.epoch_pub(e, b, w)).implies(m.memory(f, w).same(m.last(b, w)))


@invariant(y=Block, q=Word, b=Block, f=Frame, w=Word)
def atomics_tell_the_truth(y: Term, q: Term, b: Term, f: Term, w: Term) -> Term:
    """What atomics on a word hand over as published is in memory."""
    told = m.intact() & m.at(b, f) & m.word_pub(y, q, b, w)
    return told.implies(m.memory(f, w).same(m.last(b, w)))


@invariant(b=Block, f=Frame, w=Word)
def atomics_leave_the_last_write_in_memory(b: Term, f: Term, w: Term) -> Term:
    """A word last written by an atomic is in memory."""
    return (m.intact() & m.at(b, f) & m.atomic(b, w)).implies(m.memory(f, w).same(m.last(b, w)))


@invariant(a=Agent, b=Block, f=Frame, w=Word)
def who_holds_newer_words_is_current(a: Term, b: Term, f: Term, w: Term) -> Term:
    """Only a current agent holds a word that memory does not have yet."""
    return (m.intact() & m.at(b, f) & unpublished(a, f, w)).implies(m.cur(a, b, w))


@invariant(a=Agent, c=Agent, b=Block, f=Frame, w=Word)
def who_holds_newer_words_is_alone(a: Term, c: Term, b: Term, f: Term, w: Term) -> Term:
    """While a word is newer than memory, nobody else is current."""
    held = m.intact() & m.at(b, f) & unpublished(a, f, w) & m.cur(c, b, w)
    return held.implies(a.same(c))


@invariant(a=Agent, c=Agent, b=Block, f=Frame, w=Word)
def newer_words_are_not_published(a: Term, c: Term, b: Term, f: Term, w: Term) -> Term:
    """While a word is newer than memory, nobody believes it published."""
    return (m.intact() & m.at(b, f) & unpublished(a, f, w)).implies(~m.pub(c, b, w))


@invariant(a=Agent, t=Token, b=Block, f=Frame, w=Word)
def newer_words_are_in_no_notification(a: Term, t: Term, b: Term, f: Term, w: Term) -> Term:
    """While a word is newer than memory, no notification calls it published."""
    return (m.intact() & m.at(b, f) & unpublished(a, f, w)).implies(~m.token_pub(t, b, w))


@invariant(a=Agent, e=Epoch, b=Block, f=Frame, w=Word)
def newer_words_are_in_no_barrier(a: Term, e: Term, b: Term, f: Term, w: Term) -> Term:
    """While a word is newer than memory, no barrier calls it published."""
    return (m.intact() & m.at(b, f) & unpublished(a, f, w)).implies(~m.epoch_pub(e, b, w))


@invariant(a=Agent, y=Block, q=Word, b=Block, f=Frame, w=Word)
def newer_words_are_in_no_atomic(a: Term, y: Term, q: Term, b: Term, f: Term, w: Term) -> Term:
    """While a word is newer than memory, no atomic hands it over as published, and none wrote it last."""
    held = m.intact() & m.at(b, f) & unpublished(a, f, w)
    return held.implies(~m.word_pub(y, q, b, w) & ~m.atomic(b, w))


@invariant(e=Agent, b=Block, f=Frame, w=Word)
def engines_have_brought_what_landed(e: Term, b: Term, f: Term, w: Term) -> Term:
    """What an engine wrote last, and has not still to bring, is in memory."""
    landed = m.at(b, f) & m.engine(e) & m.cur(e, b, w) & ~m.landing(e, b, w)
    return (m.intact() & landed).implies(m.memory(f, w).same(m.last(b, w)))


@invariant(e=Agent, b=Block, w=Word, c=Block, p=Word)
def copies_bring_the_last_write(e: Term, b: Term, w: Term, c: Term, p: Term) -> Term:
    """A copy under way will bring the last value of its target, which is that of its source."""
    kept = m.landing(e, c, p) & m.readby(e, b, w) & m.last(c, p).same(m.last(b, w))
    return (m.intact() & m.copying(e, b, w, c, p)).implies(kept)


@invariant(e=Agent, b=Block, w=Word)
def landing_words_belong_to_the_engine(e: Term, b: Term, w: Term) -> Term:
    """A word on which a copy is to land is current for that engine alone."""
    return (m.intact() & m.landing(e, b, w)).implies(m.cur(e, b, w) & m.engine(e) & ~m.atomic(b, w))


@invariant(e=Agent, c=Agent, b=Block, w=Word)
def landing_words_are_unknown_to_others(e: Term, c: Term, b: Term, w: Term) -> Term:
    """Nobody else is current on, or believes published, a word on which a copy is to land."""
    others = (m.cur(c, b, w).implies(c.same(e))) & ~m.pub(c, b, w)
    return (m.intact() & m.landing(e, b, w)).implies(others)


@invariant(e=Agent, t=Token, k=Epoch, y=Block, q=Word, b=Block, w=Word)
def landing_words_are_in_no_message(e: Term, t: Term, k: Term, y: Term, q: Term, b: Term, w: Term) -> Term:
    """No notification, barrier or atomic calls a word published on which a copy is to land."""
    silent = ~m.token_pub(t, b, w) & ~m.epoch_pub(k, b, w) & ~m.word_pub(y, q, b, w)
    return (m.intact() & m.landing(e, b, w)).implies(silent)


@invariant(e=Agent, b=Block, w=Word, c=Block, p=Word, f=Frame)
def copies_find_their_source_in_memory(e: Term, b: Term, w: Term, c: Term, p: Term, f: Term) -> Term:
    """While a copy is under way, memory holds the last write of its source."""
    read = m.intact() & m.copying(e, b, w, c, p) & m.at(b, f)
    return read.implies(m.memory(f, w).same(m.last(b, w)))


@invariant(e=Agent, b=Block, w=Word, c=Block, p=Word, f=Frame, a=Agent)
def copies_find_their_source_at_rest(e: Term, b: Term, w: Term, c: Term, p: Term, f: Term, a: Term) -> Term:
    """While a copy is under way, nobody holds a newer word of its source and no copy is to land there."""
    read = m.intact() & m.copying(e, b, w, c, p) & m.at(b, f)
    return read.implies(~unpublished(a, f, w) & ~m.landing(a, b, w))


@invariant(e=Agent, b=Block, w=Word, c=Block, p=Word, d=Agent, y=Block, q=Word)
def one_copy_lands_on_a_word(e: Term, b: Term, w: Term, c: Term, p: Term, d: Term, y: Term, q: Term) -> Term:
    """Two copies never land on one word."""
    both = m.intact() & m.copying(e, b, w, c, p) & m.copying(d, y, q, c, p)
    return both.implies(e.same(d) & b.same(y) & w.same(q))


@invariant(e=Agent, b=Block, w=Word, c=Block, p=Word, a=Agent)
def nobody_thinks_a_copy_has_read(e: Term, b: Term, w: Term, c: Term, p: Term, a: Term) -> Term:
    """While a copy is under way, nobody believes that its engine has finished reading."""
    return (m.intact() & m.copying(e, b, w, c, p) & ~m.engine(a)).implies(~m.over(a, e, b, w))


@invariant(e=Agent, b=Block, w=Word, c=Block, p=Word, t=Token, k=Epoch, y=Block, q=Word)
def no_message_says_a_copy_has_read(
    e: Term, b: Term, w: Term, c: Term, p: Term, t: Term, k: Term, y: Term, q: Term
) -> Term:
    """While a copy is under way, no message says that its engine has finished reading."""
    silent = ~m.token_over(t, e, b, w) & ~m.epoch_over(k, e, b, w) & ~m.word_over(y, q, e, b, w)
    return (m.intact() & m.copying(e, b, w, c, p)).implies(silent)


@step("read", "atomic_add", "atomic_swap", "compare_swap")
def a_read_returns_the_last_write() -> Term:
    """Every read (and atomic) returns the last write, as long as no custody rule is or was broken."""
    b, w = Parameter("b", Block), Parameter("w", Word)
    return after(m.intact()).implies(Parameter("answer", Value).same(m.last(b, w)))


@invariant(a=Agent, b=Block, f=Frame, w=Word)
def uncached_reads_see_the_last_write(a: Term, b: Term, f: Term, w: Term) -> Term:
    """An agent without a cache that may read a word finds the last write in its buffer or in memory."""
    seen = ite(m.posted(a, f, w), m.posted_data(a, f, w), m.memory(f, w))
    may = m.at(b, f) & ~m.cached(a) & ~m.engine(a) & ~m.dead(a) & custody.entitled(a, b, w)
    return (m.intact() & may).implies(seen.same(m.last(b, w)))


CLAIMS = tuple(value for value in list(globals().values()) if type(value).__name__ == "Property")
