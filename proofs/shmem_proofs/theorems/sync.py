"""T3 all or none, T4 notifications."""

from __future__ import annotations

from shmem_model.language import Term, exists, state
from shmem_model.machine import PROFILES, claims_sync
from shmem_model.machine import vocabulary as m
from shmem_model.machine.vocabulary import Agent, Block, Epoch, Slot, Team, Token, Word
from shmem_model.readers.setting import Setting
from shmem_proofs.theorems.statement import INDUCTION, RedTwin, Theorem, Witness
from shmem_proofs.theorems.weaken import no_condition, no_update

BARRIER = Setting(
    agents=3,
    teams=((0, 1, 2),),
    epochs=2,
    translated=True,
    actions=("fill", "drain", "write", "flush", "fence", "arrive", "leave"),
)
ROUNDS = BARRIER.but(lines=(), mapped=False, actions=("arrive", "leave", "die"))
GLOBAL = Setting(
    agents=3,
    teams=((1, 2),),
    translated=True,
    actions=("fill", "write", "flush", "fence", "drain", "gb_begin", "gb_ack", "gb_end"),
)
NOTES = Setting(tokens=2, lines=(), mapped=False, receivers=(1,), actions=("send", "wait", "poll"), agents=3)
COUNTING = NOTES.but(profile=PROFILES["pcie"])
TELLING = Setting(
    tokens=2, translated=True, actions=("fill", "write", "flush", "fence", "drain", "send", "wait"), agents=2
)

_BARRIER_CLAIMS = (
    "only_members_arrive",
    "an_epoch_serves_one_team",
    "a_collecting_epoch_has_a_member",
    "a_collecting_epoch_misses_a_member",
    "one_epoch_collects",
    "who_left_had_arrived",
    "a_full_epoch_has_every_member",
    "nobody_leaves_while_it_collects",
    "nobody_leaves_before_all_arrived",
    "a_member_is_in_one_epoch",
    "what_is_brought_is_gathered",
    "all_or_none",
    "leaving_means_that_all_arrived",
    "arriving_brings_what_one_knows",
    "a_global_barrier_begins_unanswered",
    "a_global_barrier_ends_when_all_acknowledged",
    "acknowledging_drops_clean_lines",
)
_BY_BARRIER = tuple(claim for claim in claims_sync.CLAIMS if claim.name in _BARRIER_CLAIMS)
_BY_NOTE = tuple(claim for claim in claims_sync.CLAIMS if claim.name not in _BARRIER_CLAIMS)


@state(g=Team, e=Epoch, a=Agent, c=Agent, b=Block, w=Word)
def a_member_learned_of_a_write(g: Term, e: Term, a: Term, c: Term, b: Term, w: Term) -> Term:
    """A member has left a barrier and knows a write that another member brought."""
    told = m.left(g, e, a) & m.brought(e, c, b, w) & m.pub(a, b, w) & a.differs(c)
    return told & m.last(b, w).differs(m.zero()) & m.intact()


@state(g=Team, e=Epoch, k=Epoch, a=Agent, c=Agent)
def a_fast_member_is_a_round_ahead(g: Term, e: Term, k: Term, a: Term, c: Term) -> Term:
    """One member waits in the next round while another has not left the last one."""
    return m.collecting(g, k) & m.arrived(g, k, a) & m.arrived(g, e, c) & ~m.left(g, e, c) & e.differs(k)


@state(g=Team, e=Epoch, a=Agent, c=Agent)
def a_member_died_before_it_arrived(g: Term, e: Term, a: Term, c: Term) -> Term:
    """A member waits at a barrier at which another, dead, will never arrive."""
    return m.collecting(g, e) & m.arrived(g, e, a) & m.member(g, c) & m.dead(c) & ~m.arrived(g, e, c)


@state(a=Agent, c=Agent, b=Block)
def an_engine_acknowledged(a: Term, c: Term, b: Term) -> Term:
    """A member's engine has acknowledged a global barrier."""
    return m.gb_acked(a, c, b) & a.differs(c)


@state(t=Token, u=Token, s=Slot)
def two_notifications_wait(t: Term, u: Term, s: Term) -> Term:
    """Two notifications wait in one slot (where slots count)."""
    return m.pending(t, s) & m.pending(u, s) & t.differs(u)


@state(t=Token, s=Slot, a=Agent, c=Agent)
def two_sends_coalesced(t: Term, s: Term, a: Term, c: Term) -> Term:
    """Two agents' sends became one notification (where slots are sticky)."""
    return m.pending(t, s) & m.sender(t, a) & m.sender(t, c) & a.differs(c)


@state(t=Token, b=Block, w=Word)
def a_notification_vouches_for_a_write(t: Term, b: Term, w: Term) -> Term:
    """A pending notification says that a written word is in memory."""
    waits = exists(Slot, lambda s: m.pending(t, s))
    return waits & m.token_pub(t, b, w) & m.last(b, w).differs(m.zero()) & m.intact()


ALL_OR_NONE = Theorem(
    "T3",
    "all-or-none",
    "Whoever leaves a barrier knows every write that its members brought, and nobody leaves before all arrived (or a "
    "member died, and everybody is told).",
    INDUCTION,
    claims=_BY_BARRIER,
    witnesses=(
        Witness(a_member_learned_of_a_write, BARRIER),
        Witness(a_fast_member_is_a_round_ahead, ROUNDS),
        Witness(a_member_died_before_it_arrived, ROUNDS),
        Witness(an_engine_acknowledged, GLOBAL),
    ),
    red_twins=(
        RedTwin(
            "leave before all arrived",
            "A member that need not wait leaves alone.",
            no_condition("leave", "all have arrived"),
            "nobody_leaves_before_all_arrived",
            ROUNDS,
            2,
        ),
        RedTwin(
            "arrive that brings nothing",
            "A barrier that gathers nothing tells nobody of the writes before it.",
            no_update("arrive", m.epoch_pub),
            "what_is_brought_is_gathered",
            BARRIER,
            1,
        ),
        RedTwin(
            "leave that learns nothing",
            "A member that takes nothing along does not know what was brought.",
            no_update("leave", m.pub),
            "all_or_none",
            BARRIER,
            9,
        ),
        RedTwin(
            "epoch taken up while in use",
            "A barrier that reuses an epoch too early mixes two rounds.",
            no_condition("arrive", "the current epoch, or an unused one"),
            "one_epoch_collects",
            ROUNDS,
            2,
        ),
        RedTwin(
            "global barrier that does not wait",
            "A writer that does not wait for acknowledgements goes on too early.",
            no_condition("gb_end", "every member has acknowledged"),
            "a_global_barrier_ends_when_all_acknowledged",
            GLOBAL,
            2,
        ),
        RedTwin(
            "global barrier that counts old answers",
            "A barrier that begins with acknowledgements of the last one ends too early.",
            no_update("gb_begin", m.gb_acked),
            "a_global_barrier_begins_unanswered",
            GLOBAL,
            3,
        ),
        RedTwin(
            "acknowledge without dropping",
            "An engine that acknowledges and keeps its clean line leaves old data in reach.",
            no_update("gb_ack", m.valid),
            "acknowledging_drops_clean_lines",
            GLOBAL,
            3,
        ),
    ),
)

NOTIFICATIONS = Theorem(
    "T4",
    "notifications",
    "No notification is lost, none is invented, a batch is its sequence of sends, and sends coalesce only where the "
    "platform says so.",
    INDUCTION,
    claims=_BY_NOTE,
    witnesses=(
        Witness(two_notifications_wait, COUNTING),
        Witness(two_sends_coalesced, NOTES),
        Witness(a_notification_vouches_for_a_write, TELLING),
    ),
    red_twins=(
        RedTwin(
            "sends that coalesce anyhow",
            "A doorbell that merges two sends loses one.",
            no_condition("send", "a new token, or the sticky one"),
            "counting_slots_never_coalesce",
            COUNTING,
            2,
        ),
        RedTwin(
            "sticky slot that counts",
            "An event register that holds two notifications is none.",
            no_condition("send", "a new token, or the sticky one"),
            "sticky_slots_hold_one",
            NOTES,
            2,
        ),
        RedTwin(
            "wait that needs no notification",
            "A wait that goes on without a notification invents one.",
            no_condition("wait", "a notification"),
            "a_wait_takes_a_notification",
            NOTES,
            1,
        ),
        RedTwin(
            "anybody may take",
            "If anybody may take a notification, its receiver loses it.",
            no_condition("poll", "NotPermitted"),
            "notifications_are_not_lost",
            NOTES,
            2,
        ),
        RedTwin(
            "send that carries nothing",
            "A notification that carries no knowledge vouches for nothing.",
            no_update("send", m.token_pub),
            "a_notification_carries_what_its_sender_knows",
            TELLING,
            1,
        ),
        RedTwin(
            "wait that learns nothing",
            "A wait that takes no knowledge along leaves the reader without custody.",
            no_update("wait", m.pub),
            "a_wait_receives_what_was_sent",
            TELLING,
            7,
        ),
    ),
)
