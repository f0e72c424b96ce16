"""T5 spatial isolation, T6 temporal isolation, T7 noninterference."""

from __future__ import annotations

from shmem_model.language import Parameter, Term, exists, state, step
from shmem_model.machine import claims_calls, claims_isolation
from shmem_model.machine import vocabulary as m
from shmem_model.machine.claims_two_runs import RELATION
from shmem_model.machine.vocabulary import Agent, Block, Frame, Region, Value, Word
from shmem_model.readers.setting import Setting
from shmem_proofs.theorems.statement import INDUCTION, TWO_RUNS, RedTwin, Theorem, Witness
from shmem_proofs.theorems.weaken import no_condition, no_update

# dev0 may only read region 0; region 1 is the host's alone.
RIGHTS = {(1, 0): "r", (1, 1): ""}
TENANTS = Setting(
    regions=2,
    blocks=2,
    frames=2,
    lines=(0, 1),
    rights=RIGHTS,
    actions=("map", "translate", "fill", "evict", "drain", "read", "write", "flush"),
)
GUARDED = TENANTS.but(mapped=False)
OWNERS = Setting(actions=("map", "unmap", "translate", "shootdown", "read", "write", "fill"))
SLOTS = Setting(receivers=(1,), senders=((0,),), agents=3, lines=(), mapped=False, actions=("send", "wait"))
COPIES = Setting(
    agents=3,
    engines=1,
    blocks=2,
    frames=2,
    lines=(0, 1),
    regions=2,
    rights={(0, 0): "r"},
    actions=("copy_start", "copy_step", "copy_wait"),
)
# One frame, two regions: the second can only come to be when the first is gone.  dev0 is on neither list.
REUSE = Setting(
    regions=2,
    rights={(1, 0): "rw", (0, 1): "rw", (1, 1): ""},
    blocks=1,
    frames=1,
    lines=(0,),
    actions=(
        *("alloc", "free", "scrub", "map", "unmap", "translate", "shootdown"),
        *("fill", "evict", "drain", "read", "write", "flush"),
    ),
)
TWO_FRAMES = REUSE.but(frames=2)

_TEMPORAL = (
    "translations_of_live_lines_are_true",
    "translations_never_lead_elsewhere",
    "no_translation_to_available_frames",
    "available_frames_are_quiet",
    "nothing_posted_to_available_frames",
    "available_frames_are_scrubbed",
    "a_frame_in_use_is_not_available",
    "a_new_line_is_zero",
    "only_live_lines_are_mapped",
    "copies_land_on_live_unfrozen_lines",
    "copies_touch_live_unfrozen_lines",
)
_BY_TIME = tuple(claim for claim in claims_isolation.CLAIMS if claim.name in _TEMPORAL)
_BY_SPACE = tuple(claim for claim in claims_isolation.CLAIMS if claim.name not in _TEMPORAL)


@state(a=Agent, b=Block, r=Region, f=Frame)
def a_region_is_closed_to_somebody(a: Term, b: Term, r: Term, f: Term) -> Term:
    """One agent caches a line of a region that another may not even read."""
    cached = m.at(b, f) & m.part_of(b, r) & m.valid(a, f)
    return cached & exists(Agent, lambda c: ~m.may_read(c, r))


@state(a=Agent, b=Block, r=Region, f=Frame)
def a_reader_may_not_write(a: Term, b: Term, r: Term, f: Term) -> Term:
    """An agent caches a line that it may read and not write."""
    return m.at(b, f) & m.part_of(b, r) & m.valid(a, f) & m.may_read(a, r) & ~m.may_write(a, r)


@state(b=Block, r=Region, f=Frame)
def a_frame_has_a_second_owner(b: Term, r: Term, f: Term) -> Term:
    """A frame that one region has left belongs to another."""
    former = exists(Region, lambda s: m.retired(s) & s.differs(r))
    return m.at(b, f) & m.part_of(b, r) & former


@state(a=Agent, b=Block, f=Frame)
def an_old_translation_outlives_its_region(a: Term, b: Term, f: Term) -> Term:
    """A region was freed and an agent still has a translation to its frame."""
    return m.tlb(a, b, f) & ~exists(Region, lambda r: m.part_of(b, r)) & ~m.available(f)


@state(a=Agent, f=Frame, w=Word)
def an_old_owner_still_holds_words(a: Term, f: Term, w: Term) -> Term:
    """A frame is in quarantine and its old owner has words on the way to it."""
    return m.posted(a, f, w) & ~m.available(f) & ~exists(Block, lambda b: m.at(b, f))


@state(w=Word, f=Frame, a=Agent)
def a_secret_is_in_memory(w: Term, f: Term, a: Term) -> Term:
    """Memory holds a word of a region that an agent may not read."""
    closed = exists(Block, lambda b: m.at(b, f) & exists(Region, lambda r: m.part_of(b, r) & ~m.may_read(a, r)))
    return m.memory(f, w).differs(m.zero()) & closed


_READER = Parameter("a", Agent)


@step("read")
def who_may_not_write_sees_only_zero() -> Term:
    """Stated on one run: where nobody writes to what the observer may read, it sees only zero."""
    b = Parameter("b", Block)
    closed = exists(Region, lambda r: m.part_of(b, r) & ~m.may_write(_READER, r))
    return closed.implies(Parameter("answer", Value).same(m.zero()))


SPATIAL = Theorem(
    "T5",
    "spatial-isolation",
    "No line is cached, no word on the way and no translation held by an agent outside the region's access-control "
    "list; nothing is written through a read-only right, and no slot is notified without the right to it.",
    INDUCTION,
    claims=(*_BY_SPACE, *claims_calls.ABOUT_RIGHTS),
    witnesses=(Witness(a_region_is_closed_to_somebody, TENANTS), Witness(a_reader_may_not_write, TENANTS)),
    red_twins=(
        RedTwin(
            "map without looking at the list",
            "A driver that maps for anybody lets everybody in.",
            no_condition("map", "NotPermitted"),
            "mappings_are_permitted",
            GUARDED,
            1,
        ),
        RedTwin(
            "translate what is not mapped",
            "A translation cache that ignores the page table leads into another tenant's region.",
            no_condition("translate", "mapped"),
            "translations_are_permitted",
            GUARDED,
            1,
        ),
        RedTwin(
            "fill without translation",
            "A prefetcher that ignores translation brings another tenant's line into the cache.",
            no_condition("fill", "translated"),
            "caches_hold_only_permitted_lines",
            TENANTS,
            1,
        ),
        RedTwin(
            "write through a read-only right",
            "A store that ignores the right to write changes what its agent may only read.",
            no_condition("write", "ReadOnly", "translated for writing"),
            "dirty_words_are_permitted",
            TENANTS,
            3,
        ),
        RedTwin(
            "send without the right",
            "Anybody may forge another tenant's notification.",
            no_condition("send", "NotPermitted"),
            "senders_were_granted_the_slot",
            SLOTS,
            1,
        ),
        RedTwin(
            "unmap that leaves the right to write",
            "A right to write that outlives its mapping comes back with the next read-only one.",
            no_update("unmap", m.mapped_writable),
            "writable_mappings_are_mappings",
            OWNERS,
            1,
        ),
        RedTwin(
            "shootdown that leaves the right to write",
            "A cached right to write that outlives its translation comes back with the next one.",
            no_update("shootdown", m.tlb_writable),
            "writable_translations_are_translations",
            OWNERS,
            2,
        ),
        RedTwin(
            "copy into what is read-only",
            "An engine that does not look at the right to write changes what its agent may only read.",
            no_condition("copy_start", "ReadOnly"),
            "copies_write_only_what_is_permitted",
            COPIES,
            1,
        ),
    ),
)

TEMPORAL = Theorem(
    "T6",
    "temporal-isolation",
    "After a region is freed and its memory given out again, nothing of the old owner is readable and nothing of it "
    "arrives late.",
    INDUCTION,
    claims=(*_BY_TIME, *claims_calls.ABOUT_REUSE),
    witnesses=(
        Witness(a_frame_has_a_second_owner, REUSE),
        Witness(an_old_translation_outlives_its_region, REUSE),
        Witness(an_old_owner_still_holds_words, REUSE),
    ),
    red_twins=(
        RedTwin(
            "scrub before it is quiet",
            "A frame scrubbed while an old line or word can still reach it is written again afterwards.",
            no_condition("scrub", "quiet"),
            "no_translation_to_available_frames",
            REUSE,
            5,
        ),
        RedTwin(
            "scrub while words are on the way",
            "A word of the old owner arrives in memory that was already zeroed.",
            no_condition("scrub", "quiet"),
            "available_frames_are_scrubbed",
            REUSE,
            8,
        ),
        RedTwin(
            "no scrub at all",
            "The new owner reads what the old one left.",
            no_update("scrub", m.memory),
            "a_new_line_is_zero",
            REUSE,
            10,
        ),
        RedTwin(
            "address reused with an old translation",
            "An old translation of a reused address leads to the old frame.",
            no_condition("alloc", "no old translation of it"),
            "translations_of_live_lines_are_true",
            TWO_FRAMES,
            5,
        ),
        RedTwin(
            "free while mapped",
            "A region freed under a mapping leaves the mapping to its successor.",
            no_condition("free", "RegionBusy"),
            "only_live_lines_are_mapped",
            REUSE,
            1,
        ),
        RedTwin(
            "freed frame given out at once",
            "A frame that is in use counts as available.",
            no_update("alloc", m.available),
            "a_frame_in_use_is_not_available",
            REUSE,
            5,
        ),
    ),
)

NONINTERFERENCE = Theorem(
    "T7",
    "noninterference",
    "Two runs with the same actions and arguments, except the values that others write to words which the observer may "
    "not read, look the same to it; and an agent without the right to write never changes a region.",
    TWO_RUNS,
    claims=RELATION,
    witnesses=(Witness(a_secret_is_in_memory, TENANTS),),
    red_twins=(
        RedTwin(
            "read without translation",
            "A load that ignores translation reads another tenant's memory.",
            no_condition("read", "NotMapped", "translated"),
            "who_may_not_write_sees_only_zero",
            TENANTS.but(cached=()),
            4,
            who_may_not_write_sees_only_zero,
        ),
        RedTwin(
            "memory handed on unscrubbed",
            "What the old owner left is readable by the new one.",
            no_update("scrub", m.memory),
            "who_may_not_write_sees_only_zero",
            REUSE.but(rights={(1, 0): "", (0, 1): "", (1, 1): "r"}, mapped=False, cached=()),
            12,
            who_may_not_write_sees_only_zero,
        ),
    ),
)
