"""T8 compaction, T10 death."""

from __future__ import annotations

from shmem_model.language import EACH, FALSE, TRUE, Parameter, Term, becomes, exists, state
from shmem_model.machine import MACHINE, claims_calls, claims_moves
from shmem_model.machine import vocabulary as m
from shmem_model.machine.vocabulary import Agent, Block, Frame, Slot, Word
from shmem_model.readers.setting import Setting
from shmem_proofs.theorems.statement import INDUCTION, RedTwin, Theorem, Witness
from shmem_proofs.theorems.weaken import no_condition, no_update, other_updates

MOVE = Setting(
    frames=2,
    actions=(
        *("translate", "shootdown", "freeze", "migrate", "unfreeze", "scrub"),
        *("fill", "evict", "drain", "read", "write", "flush"),
    ),
)
MORTAL = Setting(
    translated=True,
    actions=(
        *("die", "lose", "reclaim", "shootdown", "fill", "evict", "drain"),
        *("read", "write", "flush", "fence", "send", "wait", "invalidate"),
    ),
)
WAITING = Setting(
    lines=(), mapped=False, actions=("send", "wait", "die", "arrive", "leave"), agents=3, teams=((0, 1, 2),)
)

COPIED = Setting(
    agents=3,
    engines=1,
    blocks=2,
    frames=3,
    lines=(0, 0),
    actions=("copy_start", "copy_step", "copy_wait", "freeze", "migrate", "unfreeze", "scrub"),
)

_MOVES = ("moving_", "nothing_can_reach_a_line", "nobody_accesses_a_frozen")
_BY_MOVE = tuple(claim for claim in claims_moves.CLAIMS if claim.name.startswith(_MOVES))
_BY_DEATH = tuple(claim for claim in claims_moves.CLAIMS if not claim.name.startswith(_MOVES))


@state(b=Block, f=Frame, a=Agent, w=Word)
def a_line_has_moved(b: Term, f: Term, a: Term, w: Term) -> Term:
    """A written line was moved, its old frame is in quarantine, and an agent caches the line at its new place."""
    here = m.at(b, f) & m.valid(a, f) & m.data(a, f, w).differs(m.zero()) & ~m.dirty(a, f, w) & ~m.frozen(b)
    return here & exists(Frame, lambda g: ~m.available(g) & g.differs(f))


@state(a=Agent, b=Block, f=Frame)
def a_line_is_frozen_in_use(a: Term, b: Term, f: Term) -> Term:
    """A line is frozen while an agent still has a translation to it and caches it."""
    return m.frozen(b) & m.tlb(a, b, f) & m.valid(a, f)


@state(a=Agent, c=Agent, b=Block, w=Word, f=Frame)
def an_unpublished_write_was_lost(a: Term, c: Term, b: Term, w: Term, f: Term) -> Term:
    """An agent died with a write that nobody will see, and the driver gave the word back to a survivor."""
    back = m.dead(a) & ~m.dead(c) & m.pub(c, b, w) & ~m.cur(c, b, w) & m.at(b, f)
    return back & m.last(b, w).same(m.zero()) & ~m.mapped(a, b) & m.intact()


@state(a=Agent, f=Frame, w=Word)
def a_dead_agents_write_is_still_on_its_way(a: Term, f: Term, w: Term) -> Term:
    """An agent has died and its posted word has not arrived yet."""
    return m.dead(a) & m.posted(a, f, w)


@state(s=Slot)
def a_waiter_has_nobody_left(s: Term) -> Term:
    """A slot is empty and everybody else who may send to it is dead."""
    empty = ~exists(m.Token, lambda t: m.pending(t, s))
    alive = exists(Agent, lambda c: c.differs(m.receiver(s)) & m.may_send(c, s) & ~m.dead(c))
    return empty & ~alive & ~m.dead(m.receiver(s))


_reclaim = {p.name: p for p in MACHINE.actions["reclaim"].parameters}
_PRESENTS_ALL = becomes(m.pub, EACH, _reclaim["b"], EACH, to=TRUE)
_UNMAPS = becomes(m.mapped, EACH, Parameter("b", Block), to=FALSE)
_die = {p.name: p for p in MACHINE.actions["die"].parameters}
_DIES_PUBLISHED = becomes(m.pub, _die["a"], EACH, EACH, to=TRUE, where=lambda c, x, p: m.cur(c, x, p))

COMPACTION = Theorem(
    "T8",
    "compaction",
    "Moving lines is invisible: contents, handles, rights and custody stay the same, and nobody accesses a line while "
    "it moves.",
    INDUCTION,
    claims=_BY_MOVE,
    witnesses=(Witness(a_line_has_moved, MOVE), Witness(a_line_is_frozen_in_use, MOVE)),
    red_twins=(
        RedTwin(
            "move before it is quiet",
            "A line that moves while somebody can still reach the old frame loses what is written there.",
            no_condition("migrate", "quiet"),
            "nothing_can_reach_a_line_that_moves",
            MOVE,
            3,
        ),
        RedTwin(
            "move without the contents",
            "A move that copies nothing loses the line.",
            no_update("migrate", m.memory),
            "moving_keeps_contents",
            MOVE,
            7,
        ),
        RedTwin(
            "translate while frozen",
            "A translation made while the line is frozen leads to a frame that it leaves.",
            no_condition("translate", "not frozen"),
            "nobody_accesses_a_frozen_quiet_line",
            MOVE,
            2,
        ),
        RedTwin(
            "freeze a line under copy",
            "A line that is frozen while an engine still copies it moves away under the copy.",
            no_condition("freeze", "RegionBusy"),
            "copies_touch_live_unfrozen_lines",
            COPIED,
            2,
        ),
        RedTwin(
            "unfreeze that unmaps",
            "A move that takes mappings away is not invisible.",
            other_updates("unfreeze", _UNMAPS),
            "moving_keeps_rights",
            MOVE,
            2,
        ),
        RedTwin(
            "move without freezing",
            "A line that is not frozen can be accessed in the middle of the move.",
            no_condition("migrate", "frozen"),
            "nothing_can_reach_a_line_that_moves",
            MOVE,
            1,
        ),
    ),
)

DEATH = Theorem(
    "T10",
    "death",
    "When an agent dies, survivors' data and custody are untouched, what it had not published is never presented as "
    "published, and everybody who waits for it is told.",
    INDUCTION,
    claims=(*_BY_DEATH, *claims_calls.ABOUT_DEATH),
    witnesses=(
        Witness(an_unpublished_write_was_lost, MORTAL),
        Witness(a_dead_agents_write_is_still_on_its_way, MORTAL),
        Witness(a_waiter_has_nobody_left, WAITING),
    ),
    red_twins=(
        RedTwin(
            "reclaim before its lines are gone",
            "A line that is reclaimed while the dead agent's words can still arrive changes afterwards.",
            no_condition("reclaim", "nothing is left"),
            "published_words_are_in_memory",
            MORTAL,
            5,
        ),
        RedTwin(
            "reclaim that presents everything",
            "A driver that calls all words of the line published vouches for a survivor's unflushed write.",
            other_updates("reclaim", _PRESENTS_ALL),
            "what_is_reclaimed_is_in_memory",
            MORTAL,
            5,
        ),
        RedTwin(
            "loss among the living",
            "If a living agent could lose what it caches, survivors would not keep what they have.",
            no_condition("lose", "dead"),
            "death_keeps_what_survivors_have",
            MORTAL,
            2,
        ),
        RedTwin(
            "death that publishes",
            "If death counted as a fence, a lost write would pass as published.",
            other_updates("die", _DIES_PUBLISHED),
            "death_keeps_custody",
            MORTAL,
            3,
        ),
    ),
    litmus=("death/*",),
)
