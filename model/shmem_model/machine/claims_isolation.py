"""What holds of placement, translation and rights: nobody reaches a frame that is not its own (T5, T6)."""

from __future__ import annotations

from shmem_model.language import Parameter, Term, after, exists, forall, invariant, step
from shmem_model.machine import vocabulary as m
from shmem_model.machine.allocation import quiet_frame
from shmem_model.machine.vocabulary import Agent, Block, Frame, Region, Word


def live(b: Term) -> Term:
    """The line belongs to a live region."""
    return exists(Region, lambda r: m.part_of(b, r))


@invariant(b=Block, r=Region, s=Region)
def a_line_has_one_region(b: Term, r: Term, s: Term) -> Term:
    """A line address belongs to one region at a time."""
    return (m.part_of(b, r) & m.part_of(b, s)).implies(r.same(s))


@invariant(b=Block, f=Frame)
def only_live_lines_live_somewhere(b: Term, f: Term) -> Term:
    """A line that lives in a frame belongs to a live region."""
    return m.at(b, f).implies(live(b))


@invariant(b=Block, f=Frame, g=Frame)
def a_line_lives_in_one_frame(b: Term, f: Term, g: Term) -> Term:
    """A line lives in one frame."""
    return (m.at(b, f) & m.at(b, g)).implies(f.same(g))


@invariant(b=Block, d=Block, f=Frame)
def lines_never_share_a_frame(b: Term, d: Term, f: Term) -> Term:
    """Two lines never live in one frame."""
    return (m.at(b, f) & m.at(d, f)).implies(b.same(d))


@invariant(b=Block, r=Region, f=Frame)
def regions_stay_in_their_window(b: Term, r: Term, f: Term) -> Term:
    """A region's lines live inside its address window, also after compaction."""
    return (m.at(b, f) & m.part_of(b, r)).implies(m.fits(r, f))


@invariant(b=Block, f=Frame)
def a_frame_in_use_is_not_available(b: Term, f: Term) -> Term:
    """A frame in use is not given out a second time."""
    return m.at(b, f).implies(~m.available(f))


@invariant(a=Agent, b=Block)
def only_live_lines_are_mapped(a: Term, b: Term) -> Term:
    """Page tables map lines of live regions only."""
    return m.mapped(a, b).implies(live(b))


@invariant(a=Agent, b=Block, r=Region)
def mappings_are_permitted(a: Term, b: Term, r: Term) -> Term:
    """A page table maps a line only for an agent on the region's access-control list."""
    return (m.mapped(a, b) & m.part_of(b, r)).implies(m.may_read(a, r))


@invariant(a=Agent, b=Block, r=Region)
def writable_mappings_are_permitted(a: Term, b: Term, r: Term) -> Term:
    """A page table lets an agent write only where it has the right to."""
    return (m.mapped_writable(a, b) & m.part_of(b, r)).implies(m.may_write(a, r))


@invariant(a=Agent, b=Block)
def writable_mappings_are_mappings(a: Term, b: Term) -> Term:
    """A right to write exists only together with the mapping."""
    return m.mapped_writable(a, b).implies(m.mapped(a, b))


@invariant(a=Agent, b=Block, f=Frame)
def translations_of_live_lines_are_true(a: Term, b: Term, f: Term) -> Term:
    """A translation of a live line leads to the frame where the line lives."""
    return (m.tlb(a, b, f) & live(b)).implies(m.at(b, f))


@invariant(a=Agent, b=Block, d=Block, f=Frame)
def translations_never_lead_elsewhere(a: Term, b: Term, d: Term, f: Term) -> Term:
    """No translation leads to a frame where another line lives: old ones end before a frame is reused."""
    return (m.tlb(a, b, f) & m.at(d, f)).implies(b.same(d))


@invariant(a=Agent, b=Block, f=Frame, r=Region)
def translations_are_permitted(a: Term, b: Term, f: Term, r: Term) -> Term:
    """A translation of a live line exists only for an agent on the region's access-control list."""
    return (m.tlb(a, b, f) & m.part_of(b, r)).implies(m.may_read(a, r))


@invariant(a=Agent, b=Block, f=Frame, r=Region)
def writable_translations_are_permitted(a: Term, b: Term, f: Term, r: Term) -> Term:
    """A translation lets an agent write only where it has the right to."""
    return (m.tlb_writable(a, b, f) & m.part_of(b, r)).implies(m.may_write(a, r))


@invariant(a=Agent, b=Block, f=Frame)
def writable_translations_are_translations(a: Term, b: Term, f: Term) -> Term:
    """A right to write is cached only together with its translation."""
    return m.tlb_writable(a, b, f).implies(m.tlb(a, b, f))


@invariant(a=Agent, b=Block, f=Frame)
def no_translation_to_available_frames(a: Term, b: Term, f: Term) -> Term:
    """No translation leads to a frame that may be given out."""
    return m.tlb(a, b, f).implies(~m.available(f))


@invariant(a=Agent, b=Block, f=Frame, r=Region)
def caches_hold_only_permitted_lines(a: Term, b: Term, f: Term, r: Term) -> Term:
    """An agent's cache holds a line of a region only if the access-control list lets it read."""
    return (m.valid(a, f) & m.at(b, f) & m.part_of(b, r)).implies(m.may_read(a, r))


@invariant(a=Agent, b=Block, f=Frame, r=Region, w=Word)
def dirty_words_are_permitted(a: Term, b: Term, f: Term, r: Term, w: Term) -> Term:
    """A cache holds a dirty word of a region only if its agent may write there."""
    return (m.dirty(a, f, w) & m.at(b, f) & m.part_of(b, r)).implies(m.may_write(a, r))


@invariant(a=Agent, b=Block, f=Frame, r=Region, w=Word)
def posted_words_are_permitted(a: Term, b: Term, f: Term, r: Term, w: Term) -> Term:
    """A word is on its way to a region only from an agent that may write there; nothing arrives late from others."""
    return (m.posted(a, f, w) & m.at(b, f) & m.part_of(b, r)).implies(m.may_write(a, r))


@invariant(f=Frame)
def available_frames_are_quiet(f: Term) -> Term:
    """No cache holds a line of a frame that may be given out."""
    return m.available(f).implies(forall(Agent, lambda a: ~m.valid(a, f)))


@invariant(f=Frame, a=Agent, w=Word)
def nothing_posted_to_available_frames(f: Term, a: Term, w: Term) -> Term:
    """Nothing is on its way to a frame that may be given out."""
    return m.available(f).implies(~m.posted(a, f, w))


@invariant(f=Frame, w=Word)
def available_frames_are_scrubbed(f: Term, w: Term) -> Term:
    """A frame that may be given out is zero."""
    return m.available(f).implies(m.memory(f, w).same(m.zero()))


@invariant(a=Agent, f=Frame, w=Word)
def only_cached_lines_are_dirty(a: Term, f: Term, w: Term) -> Term:
    """A dirty word lies in a cached line."""
    return m.dirty(a, f, w).implies(m.valid(a, f))


@invariant(a=Agent, f=Frame)
def only_cached_agents_cache(a: Term, f: Term) -> Term:
    """An agent without a cache holds no line."""
    return m.valid(a, f).implies(m.cached(a))


@invariant(a=Agent, b=Block, f=Frame)
def engines_translate_nothing(a: Term, b: Term, f: Term) -> Term:
    """Copy engines use the rights of the agent they serve and have no translations of their own."""
    return m.tlb(a, b, f).implies(~m.engine(a))


@invariant(a=Agent, f=Frame, w=Word)
def engines_post_nothing(a: Term, f: Term, w: Term) -> Term:
    """Copy engines write to memory directly."""
    return m.posted(a, f, w).implies(~m.engine(a))


@invariant(a=Agent)
def engines_do_not_die(a: Term) -> Term:
    """A copy engine does not die; the driver waits for it when it reclaims."""
    return m.dead(a).implies(~m.engine(a))


@invariant(b=Block)
def only_live_lines_are_frozen(b: Term) -> Term:
    """Only live lines are frozen."""
    return m.frozen(b).implies(live(b))


@invariant(e=Agent, b=Block, w=Word, c=Block, p=Word, a=Agent, r=Region)
def copies_read_only_what_is_permitted(e: Term, b: Term, w: Term, c: Term, p: Term, a: Term, r: Term) -> Term:
    """An engine reads only what the agent it serves may read."""
    return (m.copying(e, b, w, c, p) & m.serves(e, a) & m.part_of(b, r)).implies(m.may_read(a, r))


@invariant(e=Agent, b=Block, w=Word, c=Block, p=Word, a=Agent, r=Region)
def copies_write_only_what_is_permitted(e: Term, b: Term, w: Term, c: Term, p: Term, a: Term, r: Term) -> Term:
    """An engine writes only what the agent it serves may write."""
    return (m.copying(e, b, w, c, p) & m.serves(e, a) & m.part_of(c, r)).implies(m.may_write(a, r))


@invariant(e=Agent, b=Block, w=Word, c=Block, p=Word)
def copies_touch_live_unfrozen_lines(e: Term, b: Term, w: Term, c: Term, p: Term) -> Term:
    """A line under copy is neither freed nor frozen."""
    still = live(b) & live(c) & ~m.frozen(b) & ~m.frozen(c)
    return m.copying(e, b, w, c, p).implies(m.engine(e) & still)


@invariant(e=Agent, b=Block, w=Word)
def copies_land_on_live_unfrozen_lines(e: Term, b: Term, w: Term) -> Term:
    """A line on which a copy is to land is neither freed nor frozen."""
    return m.landing(e, b, w).implies(m.engine(e) & live(b) & ~m.frozen(b))


@invariant(e=Agent, b=Block, w=Word, c=Block, p=Word)
def every_copy_is_to_land(e: Term, b: Term, w: Term, c: Term, p: Term) -> Term:
    """A copy under way is to land on its target."""
    return m.copying(e, b, w, c, p).implies(m.landing(e, c, p))


@invariant(e=Agent, b=Block, w=Word, c=Block, p=Word, y=Block, q=Word)
def one_source_for_a_landing(e: Term, b: Term, w: Term, c: Term, p: Term, y: Term, q: Term) -> Term:
    """An engine brings a word from one source at a time."""
    both = m.copying(e, b, w, c, p) & m.copying(e, y, q, c, p)
    return both.implies(b.same(y) & w.same(q))


@step(b=Block, f=Frame, r=Region, w=Word)
def who_may_not_write_changes_nothing(b: Term, f: Term, r: Term, w: Term) -> Term:
    """Memory of a live region changes only by a step of an agent (or of its engine) that may write the region."""
    actor = Parameter("actor", Agent)
    allowed = m.may_write(actor, r) | exists(Agent, lambda a: m.serves(actor, a) & m.may_write(a, r))
    changed = after(m.memory(f, w)).differs(m.memory(f, w))
    return (m.at(b, f) & m.part_of(b, r) & changed).implies(allowed)


@step("alloc", w=Word)
def a_new_line_is_zero(w: Term) -> Term:
    """What alloc gives out is zero, and nothing of an old owner can reach it."""
    f = Parameter("f", Frame)
    return after(m.memory(f, w)).same(m.zero()) & after(quiet_frame(f))


@step("send")
def notifications_need_the_right(**_: Term) -> Term:
    """An agent notifies only a slot that it was granted."""
    return m.may_send(Parameter("a", Agent), Parameter("s", m.Slot))


CLAIMS = tuple(value for value in list(globals().values()) if type(value).__name__ == "Property")
