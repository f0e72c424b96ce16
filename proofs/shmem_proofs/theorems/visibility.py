"""T1 visibility and T2 necessity."""

from __future__ import annotations

from shmem_model.language import EACH, TRUE, Parameter, Term, becomes, exists, forall, state
from shmem_model.machine import MACHINE, claims_calls, claims_visibility, custody
from shmem_model.machine import vocabulary as m
from shmem_model.machine.vocabulary import Agent, Block, Word
from shmem_model.readers.setting import Setting
from shmem_proofs.theorems.statement import INDUCTION, LITMUS, RedTwin, Theorem, Witness
from shmem_proofs.theorems.weaken import no_condition, no_update, other_updates

HAND_OVER = ("fill", "evict", "drain", "read", "write", "flush", "invalidate", "fence", "send", "wait")
PAIR = Setting(translated=True, actions=HAND_OVER)
SHARED_LINE = PAIR.but(words=2, actions=("fill", "evict", "write", "read"))
UNCACHED = PAIR.but(cached=())
ATOMIC = PAIR.but(actions=("fill", "drain", "read", "write", "flush", "fence", "atomic_swap", "invalidate"))
ADDING = PAIR.but(actions=("atomic_add", "read", "fill", "invalidate"))
SWAPPING = PAIR.but(actions=("compare_swap", "read", "fill", "invalidate"))
COPY = Setting(
    agents=3,
    engines=1,
    blocks=2,
    frames=2,
    lines=(0, 0),
    translated=True,
    actions=(
        "fill",
        "drain",
        "read",
        "write",
        "flush",
        "fence",
        "invalidate",
        "copy_start",
        "copy_step",
        "copy_wait",
    ),
)


@state(a=Agent, c=Agent, b=Block, w=Word)
def a_write_was_handed_over(a: Term, c: Term, b: Term, w: Term) -> Term:
    """Two agents are current on a word that was written, one has read it, and no rule was broken."""
    both = m.cur(a, b, w) & m.cur(c, b, w) & a.differs(c) & m.readby(c, b, w)
    return m.intact() & both & m.last(b, w).differs(m.zero())


@state()
def a_rule_was_broken() -> Term:
    """The monitor has recorded a broken rule."""
    return ~m.intact()


@state(a=Agent, b=Block, w=Word)
def a_neighbour_turned_stale(a: Term, b: Term, w: Term) -> Term:
    """An agent wrote a word and lost its neighbours' currency to nobody: the whole line is its own."""
    alone = forall(Agent, lambda c: c.same(a) | ~m.cur(c, b, w))
    return m.intact() & m.unfl(a, b, w) & alone & m.last(b, w).same(m.zero())


@state(a=Agent, b=Block, w=Word)
def an_atomic_was_read(a: Term, b: Term, w: Term) -> Term:
    """A word last written by an atomic was read by somebody, and no rule was broken."""
    return m.intact() & m.atomic(b, w) & m.readby(a, b, w) & m.last(b, w).differs(m.zero())


@state(b=Block, w=Word, c=Block, p=Word)
def a_copy_has_landed_and_was_read(b: Term, w: Term, c: Term, p: Term) -> Term:
    """A written word was copied to another line and read there, and no rule was broken."""
    seen = exists(Agent, lambda a: ~m.engine(a) & m.readby(a, c, p) & m.cur(a, c, p))
    copied = exists(Agent, lambda e: m.engine(e) & m.readby(e, b, w))
    return m.intact() & copied & seen & b.differs(c) & m.last(c, p).differs(m.zero())


def _uses(action: str) -> dict[str, Parameter]:
    return {p.name: p for p in MACHINE.actions[action].parameters}


_fence, _write, _flush = _uses("fence"), _uses("write"), _uses("flush")
_FENCE_TRUSTS_ALL = becomes(m.pub, _fence["a"], EACH, EACH, to=TRUE, where=lambda c, x, p: m.cur(c, x, p))
_ANY_FLUSH_DROPS = tuple(custody.on_flush(_flush["a"], _flush["b"], drop=TRUE))
_WORD_ONLY = tuple(
    custody.on_write(_write["a"], _write["b"], _write["w"], _write["v"], gone=custody.only(_write["b"], _write["w"]))
)

VISIBILITY = Theorem(
    "T1",
    "visibility",
    "As long as no custody rule has been broken, every read returns the last write: on every platform, for any number "
    "of agents, lines and steps, whatever the hazards H1 to H14 allow.",
    INDUCTION,
    claims=(*claims_visibility.CLAIMS, *claims_calls.ABOUT_CUSTODY),
    witnesses=(
        Witness(a_write_was_handed_over, PAIR),
        Witness(a_write_was_handed_over, UNCACHED),
        Witness(a_rule_was_broken, PAIR),
        Witness(a_neighbour_turned_stale, SHARED_LINE),
        Witness(an_atomic_was_read, ATOMIC),
        Witness(a_copy_has_landed_and_was_read, COPY),
    ),
    red_twins=(
        RedTwin(
            "fence that does not wait",
            "A fence that does not wait for posted words lets the reader fetch old memory.",
            no_condition("fence", "own posted words have drained"),
            "a_read_returns_the_last_write",
            PAIR,
            9,
        ),
        RedTwin(
            "invalidate that keeps the line",
            "An invalidate that drops nothing leaves the reader with its old line.",
            no_update("invalidate", m.valid),
            "a_read_returns_the_last_write",
            PAIR,
            10,
        ),
        RedTwin(
            "flush that posts nothing",
            "A flush that only marks the line clean loses the write.",
            no_update("flush", m.posted),
            "a_read_returns_the_last_write",
            PAIR,
            5,
        ),
        RedTwin(
            "flush that says it drops the line",
            "A flush that should drop the line and keeps it leaves the reader with its old line.",
            no_update("flush", m.valid),
            "a_read_returns_the_last_write",
            PAIR,
            10,
        ),
        RedTwin(
            "monitor that takes every flush for a drop",
            "A monitor in which a flush refreshes the line that it keeps calls a stale read right.",
            other_updates("flush", *_ANY_FLUSH_DROPS),
            "a_read_returns_the_last_write",
            PAIR,
            10,
        ),
        RedTwin(
            "fill past own posted words",
            "A refill that does not wait for the agent's own posted words brings back what it had overwritten.",
            no_condition("fill", "own posted words have drained"),
            "a_read_returns_the_last_write",
            PAIR,
            5,
        ),
        RedTwin(
            "monitor that trusts every fence",
            "A monitor in which a fence publishes what was never flushed calls a stale read right.",
            other_updates("fence", _FENCE_TRUSTS_ALL),
            "a_read_returns_the_last_write",
            PAIR,
            8,
        ),
        RedTwin(
            "monitor blind to neighbours",
            "A monitor that forgets that a write takes the whole line along calls a lost neighbour right.",
            other_updates("write", *_WORD_ONLY),
            "a_read_returns_the_last_write",
            SHARED_LINE,
            8,
        ),
        RedTwin(
            "atomic that stays in the cache",
            "An atomic that does not act on memory is not seen by the next one.",
            no_update("atomic_swap", m.memory),
            "a_read_returns_the_last_write",
            ATOMIC,
            2,
        ),
        RedTwin(
            "eviction out of order",
            "An eviction that overtakes the agent's own posted word is overwritten by it.",
            no_condition("evict", "in order"),
            "a_read_returns_the_last_write",
            PAIR,
            8,
        ),
        RedTwin(
            "posted words that get lost",
            "A write buffer that drains into nothing loses the write.",
            no_update("drain", m.memory),
            "a_read_returns_the_last_write",
            PAIR,
            6,
        ),
        RedTwin(
            "add that stays in the cache",
            "An atomic add that does not act on memory is not seen by the next one.",
            no_update("atomic_add", m.memory),
            "a_read_returns_the_last_write",
            ADDING,
            2,
        ),
        RedTwin(
            "compare and swap that stays in the cache",
            "A compare-and-swap that does not act on memory is not seen by the next one.",
            no_update("compare_swap", m.memory),
            "a_read_returns_the_last_write",
            SWAPPING,
            2,
        ),
        RedTwin(
            "copy that brings nothing",
            "An engine that does not write leaves the old word.",
            no_update("copy_step", m.memory),
            "engines_have_brought_what_landed",
            COPY,
            7,
        ),
        RedTwin(
            "copy that is not waited for",
            "Going on before the engine has finished finds the old words.",
            no_condition("copy_wait", "the engine has finished"),
            "published_words_are_in_memory",
            COPY,
            7,
        ),
    ),
)

NECESSITY = Theorem(
    "T2",
    "necessity",
    "In the hand-over write, flush, fence, send / wait, invalidate, read every step is needed: without flush, "
    "fence, wait or invalidate, or with two neighbours on one side swapped, a stale read can happen; without send, a "
    "deadlock.",
    LITMUS,
    litmus=("hand-over/*",),
)
