"""What notifications (T4) and barriers (T3) promise."""

from __future__ import annotations

from shmem_model.language import Parameter, Term, after, exists, invariant, step
from shmem_model.machine import vocabulary as m
from shmem_model.machine.barriers import inside
from shmem_model.machine.vocabulary import Agent, Block, Epoch, Region, Slot, Team, Token, Word


@invariant(t=Token, s=Slot, z=Slot)
def a_notification_waits_in_one_slot(t: Term, s: Term, z: Term) -> Term:
    """A notification waits in one slot."""
    return (m.pending(t, s) & m.pending(t, z)).implies(s.same(z))


@invariant(t=Token, u=Token, s=Slot)
def sticky_slots_hold_one(t: Term, u: Term, s: Term) -> Term:
    """A sticky slot holds at most one notification."""
    return (m.pending(t, s) & m.pending(u, s) & ~m.counting()).implies(t.same(u))


@invariant(t=Token, s=Slot, c=Agent)
def senders_were_granted_the_slot(t: Term, s: Term, c: Term) -> Term:
    """A notification comes only from agents with the right to that slot."""
    return (m.pending(t, s) & m.sender(t, c)).implies(m.may_send(c, s))


@invariant(t=Token, s=Slot)
def notifications_are_not_invented(t: Term, s: Term) -> Term:
    """Behind every notification there is somebody who sent it."""
    return m.pending(t, s).implies(exists(Agent, lambda c: m.sender(t, c)))


@step(t=Token, s=Slot)
def notifications_are_not_lost(t: Term, s: Term) -> Term:
    """A notification stays until the receiver of its slot takes it."""
    taken = m.receiver(s).same(Parameter("actor", Agent))
    return (m.pending(t, s) & ~after(m.pending(t, s))).implies(taken)


@step("send")
def counting_slots_never_coalesce() -> Term:
    """Where slots count, every send adds a notification of its own."""
    t, s = Parameter("t", Token), Parameter("s", Slot)
    return m.counting().implies(~m.pending(t, s)) & after(m.pending(t, s))


@step("send", b=Block, w=Word)
def a_notification_carries_what_its_sender_knows(b: Term, w: Term) -> Term:
    """A send hands over everything its sender knows to be published, and takes nothing away."""
    a, t = Parameter("a", Agent), Parameter("t", Token)
    before = m.pending(t, Parameter("s", Slot)) & m.token_pub(t, b, w)
    return (m.pub(a, b, w) | before).implies(after(m.token_pub(t, b, w)))


@step("wait")
def a_wait_takes_a_notification() -> Term:
    """A wait goes on only with a notification, which it takes out of its slot."""
    t, s = Parameter("t", Token), Parameter("s", Slot)
    return m.pending(t, s) & ~after(m.pending(t, s))


@step("wait", b=Block, w=Word)
def a_wait_receives_what_was_sent(b: Term, w: Term) -> Term:
    """A wait learns everything that the notification carried."""
    a, t = Parameter("a", Agent), Parameter("t", Token)
    return m.token_pub(t, b, w).implies(after(m.pub(a, b, w)))


@invariant(g=Team, e=Epoch, c=Agent)
def only_members_arrive(g: Term, e: Term, c: Term) -> Term:
    """Only members of a team arrive at its barrier."""
    return m.arrived(g, e, c).implies(m.member(g, c))


@invariant(g=Team, h=Team, e=Epoch, c=Agent, d=Agent)
def an_epoch_serves_one_team(g: Term, h: Term, e: Term, c: Term, d: Term) -> Term:
    """An epoch serves one team at a time."""
    return (m.arrived(g, e, c) & m.arrived(h, e, d)).implies(g.same(h))


@invariant(g=Team, e=Epoch)
def a_collecting_epoch_has_a_member(g: Term, e: Term) -> Term:
    """A barrier that waits for members has at least one already."""
    return m.collecting(g, e).implies(exists(Agent, lambda c: m.arrived(g, e, c)))


@invariant(g=Team, e=Epoch)
def a_collecting_epoch_misses_a_member(g: Term, e: Term) -> Term:
    """A barrier that waits for members waits for at least one."""
    return m.collecting(g, e).implies(exists(Agent, lambda c: m.member(g, c) & ~m.arrived(g, e, c)))


@invariant(g=Team, e=Epoch, k=Epoch)
def one_epoch_collects(g: Term, e: Term, k: Term) -> Term:
    """A team fills one epoch at a time."""
    return (m.collecting(g, e) & m.collecting(g, k)).implies(e.same(k))


@invariant(g=Team, e=Epoch, c=Agent)
def who_left_had_arrived(g: Term, e: Term, c: Term) -> Term:
    """Who left an epoch had arrived in it."""
    return m.left(g, e, c).implies(m.arrived(g, e, c))


@invariant(g=Team, e=Epoch, c=Agent, d=Agent)
def a_full_epoch_has_every_member(g: Term, e: Term, c: Term, d: Term) -> Term:
    """An epoch that waits for nobody has every member of its team."""
    full = m.arrived(g, e, c) & ~m.collecting(g, e) & m.member(g, d)
    return full.implies(m.arrived(g, e, d))


@invariant(g=Team, e=Epoch, c=Agent)
def nobody_leaves_while_it_collects(g: Term, e: Term, c: Term) -> Term:
    """While a barrier waits for members nobody has left it."""
    return m.collecting(g, e).implies(~m.left(g, e, c))


@invariant(g=Team, e=Epoch, c=Agent, d=Agent)
def nobody_leaves_before_all_arrived(g: Term, e: Term, c: Term, d: Term) -> Term:
    """Nobody leaves a barrier before every member has arrived."""
    return (m.left(g, e, c) & m.member(g, d)).implies(m.arrived(g, e, d))


@invariant(g=Team, e=Epoch, k=Epoch, c=Agent)
def a_member_is_in_one_epoch(g: Term, e: Term, k: Term, c: Term) -> Term:
    """A member is inside one epoch of its team at a time."""
    return (inside(g, e, c) & inside(g, k, c)).implies(e.same(k))


@invariant(e=Epoch, c=Agent, b=Block, w=Word)
def what_is_brought_is_gathered(e: Term, c: Term, b: Term, w: Term) -> Term:
    """What a member brings to a barrier is gathered there."""
    return m.brought(e, c, b, w).implies(m.epoch_pub(e, b, w))


@invariant(g=Team, e=Epoch, a=Agent, c=Agent, b=Block, w=Word)
def all_or_none(g: Term, e: Term, a: Term, c: Term, b: Term, w: Term) -> Term:
    """Whoever has left a barrier knows all writes that its members brought and that are still the last ones."""
    return (m.left(g, e, a) & m.brought(e, c, b, w) & ~m.dead(a)).implies(m.pub(a, b, w))


@step("leave")
def leaving_means_that_all_arrived() -> Term:
    """At the moment somebody leaves, every member has arrived."""
    g, e = Parameter("g", Team), Parameter("e", Epoch)
    return ~exists(Agent, lambda c: m.member(g, c) & ~m.arrived(g, e, c))


@step("arrive", b=Block, w=Word)
def arriving_brings_what_one_knows(b: Term, w: Term) -> Term:
    """Arriving hands over everything the member knows to be published."""
    a, e = Parameter("a", Agent), Parameter("e", Epoch)
    return m.pub(a, b, w).implies(after(m.brought(e, a, b, w)) & after(m.epoch_pub(e, b, w)))


@step("gb_begin", c=Agent, b=Block)
def a_global_barrier_begins_unanswered(c: Term, b: Term) -> Term:
    """A global barrier begins without acknowledgements; those of an earlier one do not count."""
    return ~after(m.gb_acked(Parameter("a", Agent), c, b))


@step("gb_end", c=Agent, b=Block)
def a_global_barrier_ends_when_all_acknowledged(c: Term, b: Term) -> Term:
    """The writer's global barrier ends only when every member has acknowledged every line."""
    a, g, r = Parameter("a", Agent), Parameter("g", Team), Parameter("r", Region)
    return (m.member(g, c) & m.part_of(b, r)).implies(m.gb_acked(a, c, b))


@step("gb_ack", k=Agent)
def acknowledging_drops_clean_lines(k: Term) -> Term:
    """An engine that acknowledges keeps no clean copy of the line."""
    a, b, f = Parameter("a", Agent), Parameter("b", Block), Parameter("f", m.Frame)
    newly = after(m.gb_acked(a, k, b)) & ~m.gb_acked(a, k, b)
    dirty = exists(Word, lambda w: m.dirty(k, f, w))
    return newly.implies(~after(m.valid(k, f)) | dirty)


CLAIMS = tuple(value for value in list(globals().values()) if type(value).__name__ == "Property")
