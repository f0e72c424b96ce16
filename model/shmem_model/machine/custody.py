"""Custody: who may touch a word now, as a monitor of what software, driver and faults do.

The monitor records a broken rule (`intact` becomes false) and never prevents one.  It reads no cache, buffer or
memory, so it can be computed from a trace.  (One exception, stated there: `reclaim` must take over what memory holds
of an agent that died.)

`cur`: my next access sees the last write.  `pub`: I know that the last write is in memory.  `unfl`: I wrote it and
have not flushed it since.  `readby`: read since the last write.  `over`: I know that those reads are finished.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shmem_model.language import EACH, FALSE, TRUE, Term, Update, becomes, forall, ite, update
from shmem_model.machine import vocabulary as m
from shmem_model.machine.vocabulary import Agent, Word

Where = Callable[[Term, Term], Term]


def touched_by(a: Term, b: Term, w: Term) -> Where:
    """The words that a write to w takes along: the whole line where the agent caches whole lines (H3)."""
    return lambda x, p: x.same(b) & (p.same(w) | (m.line_write_back() & m.cached(a)))


def only(b: Term, w: Term) -> Where:
    """Just this word."""
    return lambda x, p: x.same(b) & p.same(w)


def entitled(a: Term, b: Term, w: Term) -> Term:
    """The agent's next access to the word sees the last write."""
    return m.cur(a, b, w) | (~m.cached(a) & m.pub(a, b, w))


def readers_done(a: Term, b: Term, w: Term) -> Term:
    """The agent knows that everybody else's reads since the last write are finished."""
    return forall(Agent, lambda r: (m.readby(r, b, w) & r.differs(a)).implies(m.over(a, r, b, w)))


def knows_over(a: Term, r: Term, x: Term, p: Term) -> Term:
    """What an agent can tell others of finished reads: what it was told, and its own."""
    return m.over(a, r, x, p) | (r.same(a) & m.readby(a, x, p))


def keep_rule(holds: Term) -> Update:
    """Record whether a custody rule was kept."""
    return becomes(m.intact, to=m.intact() & holds)


def _forget_messages(gone: Where) -> Iterator[Update]:
    """What notifications, epochs and atomics said of these words is out of date."""
    yield becomes(m.token_pub, EACH, EACH, EACH, to=FALSE, where=lambda t, x, p: gone(x, p))
    yield becomes(m.token_over, EACH, EACH, EACH, EACH, to=FALSE, where=lambda t, r, x, p: gone(x, p))
    yield becomes(m.epoch_pub, EACH, EACH, EACH, to=FALSE, where=lambda e, x, p: gone(x, p))
    yield becomes(m.epoch_over, EACH, EACH, EACH, EACH, to=FALSE, where=lambda e, r, x, p: gone(x, p))
    yield becomes(m.brought, EACH, EACH, EACH, EACH, to=FALSE, where=lambda e, c, x, p: gone(x, p))
    yield becomes(m.readby, EACH, EACH, EACH, to=FALSE, where=lambda r, x, p: gone(x, p))


def _forget_words(gone: Where) -> Iterator[Update]:
    yield from _forget_messages(gone)
    yield becomes(m.over, EACH, EACH, EACH, EACH, to=FALSE, where=lambda c, r, x, p: gone(x, p))
    yield becomes(m.word_pub, EACH, EACH, EACH, EACH, to=FALSE, where=lambda y, q, x, p: gone(x, p))
    yield becomes(m.word_over, EACH, EACH, EACH, EACH, EACH, to=FALSE, where=lambda y, q, r, x, p: gone(x, p))


def on_write(a: Term, b: Term, w: Term, v: Term, gone: Where) -> Iterator[Update]:
    """A write needs custody of every word it touches (`gone`); then only the writer is current, nobody has `pub`."""
    yield keep_rule(forall(Word, lambda p: gone(b, p).implies(entitled(a, b, p) & readers_done(a, b, p))))
    yield becomes(m.last, b, w, to=v)
    yield update(m.cur, lambda c, x, p: ite(gone(x, p), c.same(a), m.cur(c, x, p)))
    yield becomes(m.pub, EACH, EACH, EACH, to=FALSE, where=lambda c, x, p: gone(x, p))
    yield becomes(m.unfl, a, EACH, EACH, to=TRUE, where=lambda c, x, p: gone(x, p) & m.cached(a))
    yield becomes(m.atomic, EACH, EACH, to=FALSE, where=gone)
    yield from _forget_words(gone)


def on_read(a: Term, b: Term, w: Term) -> Iterator[Update]:
    """A read needs custody; nobody knows yet that it is finished."""
    yield keep_rule(entitled(a, b, w))
    yield from _reads(a, b, w)


def _reads(a: Term, b: Term, w: Term) -> Iterator[Update]:
    yield becomes(m.readby, a, b, w, to=TRUE)
    yield becomes(m.over, EACH, a, b, w, to=FALSE)
    yield becomes(m.token_over, EACH, a, b, w, to=FALSE)
    yield becomes(m.epoch_over, EACH, a, b, w, to=FALSE)
    yield becomes(m.word_over, EACH, EACH, a, b, w, to=FALSE)


def on_flush(a: Term, b: Term, drop: Term) -> Iterator[Update]:
    """A flush settles what the agent wrote to the line; one that drops the line is an invalidate as well."""
    yield becomes(m.unfl, a, b, EACH, to=FALSE)
    yield becomes(m.cur, a, b, EACH, to=TRUE, where=lambda c, x, p: drop & m.pub(a, b, p))


def on_fence(a: Term) -> Iterator[Update]:
    """After a fence the agent knows that what it flushed is in memory."""
    settled: Callable[..., Term] = lambda c, x, p: m.cur(a, x, p) & ~m.unfl(a, x, p)
    yield becomes(m.pub, a, EACH, EACH, to=TRUE, where=settled)


def on_invalidate(a: Term, b: Term) -> Iterator[Update]:
    """Invalidating what was not flushed breaks the rule, unless the platform writes it back."""
    yield keep_rule(m.may_discard().implies(forall(Word, lambda p: ~m.unfl(a, b, p))))
    yield becomes(m.cur, a, b, EACH, to=TRUE, where=lambda c, x, p: m.pub(a, b, p))
    yield becomes(m.unfl, a, b, EACH, to=FALSE)


def on_send(a: Term, t: Term, first: Term) -> Iterator[Update]:
    """A notification carries what its senders know."""
    yield becomes(m.token_pub, t, EACH, EACH, to=lambda k, x, p: (~first & m.token_pub(t, x, p)) | m.pub(a, x, p))
    yield becomes(
        m.token_over,
        t,
        EACH,
        EACH,
        EACH,
        to=lambda k, r, x, p: (~first & m.token_over(t, r, x, p)) | knows_over(a, r, x, p),
    )
    yield becomes(m.sender, t, EACH, to=lambda k, c: (~first & m.sender(t, c)) | c.same(a))


def on_take(a: Term, t: Term, taken: Term) -> Iterator[Update]:
    """Who takes a notification learns what it carries."""
    yield becomes(m.pub, a, EACH, EACH, to=TRUE, where=lambda c, x, p: taken & m.token_pub(t, x, p))
    yield becomes(m.over, a, EACH, EACH, EACH, to=TRUE, where=lambda c, r, x, p: taken & m.token_over(t, r, x, p))
    yield becomes(m.token_pub, t, EACH, EACH, to=FALSE, where=lambda *_: taken)
    yield becomes(m.token_over, t, EACH, EACH, EACH, to=FALSE, where=lambda *_: taken)
    yield becomes(m.sender, t, EACH, to=FALSE, where=lambda *_: taken)


def on_arrive(a: Term, e: Term, first: Term) -> Iterator[Update]:
    """A barrier epoch gathers what those who arrive know."""
    yield becomes(m.epoch_pub, e, EACH, EACH, to=lambda k, x, p: (~first & m.epoch_pub(e, x, p)) | m.pub(a, x, p))
    yield becomes(
        m.epoch_over,
        e,
        EACH,
        EACH,
        EACH,
        to=lambda k, r, x, p: (~first & m.epoch_over(e, r, x, p)) | knows_over(a, r, x, p),
    )
    yield becomes(
        m.brought,
        e,
        EACH,
        EACH,
        EACH,
        to=lambda k, c, x, p: (~first & m.brought(e, c, x, p)) | (c.same(a) & m.pub(a, x, p)),
    )


def on_leave(a: Term, e: Term) -> Iterator[Update]:
    """Who leaves a barrier learns what was gathered."""
    yield becomes(m.pub, a, EACH, EACH, to=TRUE, where=lambda c, x, p: m.epoch_pub(e, x, p))
    yield becomes(m.over, a, EACH, EACH, EACH, to=TRUE, where=lambda c, r, x, p: m.epoch_over(e, r, x, p))


def on_atomic(a: Term, b: Term, w: Term, v: Term) -> Iterator[Update]:
    """An atomic acts on memory: it needs `pub` (or an atomic before it), and hands over what lies at its word."""
    gone = only(b, w)
    yield keep_rule((m.atomic(b, w) | m.pub(a, b, w)) & readers_done(a, b, w))
    yield becomes(m.last, b, w, to=v)
    yield becomes(m.cur, EACH, b, w, to=FALSE)
    yield becomes(m.atomic, b, w, to=TRUE)
    yield from _forget_messages(gone)
    yield from _exchange(a, b, w, gone)


def _exchange(a: Term, b: Term, w: Term, gone: Where) -> Iterator[Update]:
    """The agent learns what lies at the word, and leaves there what it knows."""
    yield update(
        m.pub,
        lambda c, x, p: ite(gone(x, p), c.same(a), m.pub(c, x, p) | (c.same(a) & m.word_pub(b, w, x, p))),
    )
    yield update(
        m.over,
        lambda c, r, x, p: ~gone(x, p) & (m.over(c, r, x, p) | (c.same(a) & m.word_over(b, w, r, x, p))),
    )
    yield update(
        m.word_pub,
        lambda y, q, x, p: ~gone(x, p) & (m.word_pub(y, q, x, p) | (gone(y, q) & m.pub(a, x, p))),
    )
    yield update(
        m.word_over,
        lambda y, q, r, x, p: ~gone(x, p) & (m.word_over(y, q, r, x, p) | (gone(y, q) & knows_over(a, r, x, p))),
    )


def on_copy_start(a: Term, e: Term, b: Term, w: Term, c: Term, p: Term) -> Iterator[Update]:
    """A copy counts as a read and a write by its engine when it is started, on the caller's knowledge."""
    yield keep_rule(m.pub(a, b, w) & m.pub(a, c, p) & readers_done(a, c, p))
    yield becomes(m.last, c, p, to=m.last(b, w))
    yield becomes(m.cur, EACH, c, p, to=lambda k, x, q: k.same(e))
    yield becomes(m.pub, EACH, c, p, to=FALSE)
    yield becomes(m.atomic, c, p, to=FALSE)
    yield becomes(m.token_pub, EACH, c, p, to=FALSE)
    yield becomes(m.epoch_pub, EACH, c, p, to=FALSE)
    yield becomes(m.brought, EACH, EACH, c, p, to=FALSE)
    yield becomes(m.word_pub, EACH, EACH, c, p, to=FALSE)
    yield from _engine_reads(e, source=only(b, w), target=only(c, p))


def _engine_reads(e: Term, source: Where, target: Where) -> Iterator[Update]:
    """Nobody knows that the engine has read the source; reads of what the target held are of no concern any more."""
    lost: Callable[..., Term] = lambda r, x, q: target(x, q) | (r.same(e) & source(x, q))
    yield update(m.readby, lambda r, x, q: ~target(x, q) & (m.readby(r, x, q) | (r.same(e) & source(x, q))))
    yield becomes(m.over, EACH, EACH, EACH, EACH, to=FALSE, where=lambda k, r, x, q: lost(r, x, q))
    yield becomes(m.token_over, EACH, EACH, EACH, EACH, to=FALSE, where=lambda k, r, x, q: lost(r, x, q))
    yield becomes(m.epoch_over, EACH, EACH, EACH, EACH, to=FALSE, where=lambda k, r, x, q: lost(r, x, q))
    yield becomes(m.word_over, EACH, EACH, EACH, EACH, EACH, to=FALSE, where=lambda y, o, r, x, q: lost(r, x, q))


def on_copy_wait(a: Term, e: Term) -> Iterator[Update]:
    """The caller learns that the engine's reads are finished and its writes in memory."""
    yield becomes(m.pub, a, EACH, EACH, to=TRUE, where=lambda c, x, p: m.cur(e, x, p))
    yield becomes(m.over, a, e, EACH, EACH, to=TRUE, where=lambda c, r, x, p: m.readby(e, x, p))


def on_alloc(b: Term) -> Iterator[Update]:
    """A new line is zero and everybody may use it."""
    yield becomes(m.last, b, EACH, to=m.zero())
    yield becomes(m.cur, EACH, b, EACH, to=TRUE)
    yield becomes(m.pub, EACH, b, EACH, to=TRUE)


def on_free(b: Term) -> Iterator[Update]:
    """Nothing is known of a freed line."""
    gone: Where = lambda x, p: x.same(b)
    yield becomes(m.cur, EACH, b, EACH, to=FALSE)
    yield becomes(m.pub, EACH, b, EACH, to=FALSE)
    yield becomes(m.unfl, EACH, b, EACH, to=FALSE)
    yield becomes(m.atomic, b, EACH, to=FALSE)
    yield from _forget_messages(gone)
    yield becomes(m.over, EACH, EACH, b, EACH, to=FALSE)
    yield becomes(m.word_pub, EACH, EACH, EACH, EACH, to=FALSE, where=lambda y, q, x, p: gone(y, q) | gone(x, p))
    yield becomes(
        m.word_over,
        EACH,
        EACH,
        EACH,
        EACH,
        EACH,
        to=FALSE,
        where=lambda y, q, r, x, p: gone(y, q) | gone(x, p),
    )
