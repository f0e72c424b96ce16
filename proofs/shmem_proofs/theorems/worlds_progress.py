"""Where T13 is explored: fair runs of the algorithms, and of compaction in the machine itself."""

from __future__ import annotations

from functools import partial

from shmem_model.algorithms import asking, barriers, polling, ring, waiting
from shmem_model.algorithms.compiling import Algorithm
from shmem_model.algorithms.programs import END
from shmem_model.language import Element, Term, conj, exists, forall
from shmem_model.machine import MACHINE
from shmem_model.machine import vocabulary as m
from shmem_model.machine.vocabulary import Block, Frame
from shmem_model.readers.packed import PackedAction
from shmem_model.readers.setting import Setting
from shmem_proofs.algorithm_checks import Subject, Twin, World, of, subject
from shmem_proofs.theorems.worlds_wait import ONE


def _received(a: Algorithm) -> Term:
    return a.at("receiver", END) | a.dead("receiver")


def _all_out(a: Algorithm) -> Term:
    return conj(*(a.at(name, END) | a.dead(name) for name in a.runners if name.startswith("member")))


def _writer_done(a: Algorithm) -> Term:
    return a.at("writer", END) | a.dead("writer")


def _polled(drops: bool, flushes: bool) -> Subject:
    return subject(polling.build(drops, flushes), lambda a: a.at("poller", END))


def _both_done(a: Algorithm) -> Term:
    return conj(*(a.at(name, END) | a.dead(name) for name in a.runners))


_MOVING = Setting(
    blocks=1, frames=2, translated=True,
    actions=("fill", "evict", "drain", "translate", "read", "write", "freeze", "shootdown", "migrate"),
)  # fmt: skip


def _compaction(without: str = "") -> Subject:
    kept = tuple(name for name in _MOVING.actions if name != without)
    moved = forall(Block, lambda b: ~m.frozen(b) | exists(Frame, lambda f: m.at(b, f) & ~_start(f)))
    return Subject(_MOVING.but(actions=kept).scope("compaction", MACHINE), (), _hardware, moved)


def _start(f: Term) -> Term:
    """The frame in which the block was: it does not become available again by itself, so it is told by its index."""
    return f.same(Element("Frame0", Frame, 0))


def _hardware(action: PackedAction) -> str:
    """Evictions, drains, shootdowns and the move itself go on; software and prefetchers do what they like."""
    one = action.source
    return f"{one.action.name}{one.arguments}" if one.action.name in ("evict", "drain", "shootdown", "migrate") else ""


WORLDS = (
    World(
        "a wait after a send ends",
        "The sender sends or dies at any step; the receiver's wait ends.",
        of(waiting, _received, sends=(1,), waits=1, batch=(True,)),
        354,
        992,
        ((waiting.skipped, 6),),
        (
            Twin(
                "endless: batch without fence",
                "The wake-up is skipped wrongly, and the wait never ends.",
                of(waiting, _received, **{**ONE, "batch": (True,), "sender_fence": False}),
                "",
                10,
            ),
        ),
        progress=True,
    ),
    World(
        "a barrier ends",
        "Two members arrive or die at any step; nobody stays inside.",
        of(barriers, _all_out, members=2, mortal=(0, 1)),
        3820,
        10680,
        ((barriers.told, 8),),
        (
            Twin(
                "endless: death without ring",
                "A death of which nobody is told.",
                of(barriers, _all_out, members=2, mortal=(0, 1), driver_rings=False),
                "",
                16,
            ),
        ),
        progress=True,
    ),
    World(
        "a barrier of three ends",
        "Three members arrive or die at any step; nobody stays inside.",
        of(barriers, _all_out, epochs=1),
        53037,
        226366,
        large=True,
        progress=True,
    ),
    World(
        "a global barrier ends",
        "The writer gets its answers or is told who died.",
        of(asking, _writer_done, members=1, rounds=1),
        642,
        1882,
        progress=True,
    ),
    World(
        "a channel delivers",
        "Both sides end, or are told that the other is dead.",
        of(ring, _both_done),
        1569,
        4806,
        ((ring.wrapped, 34),),
        progress=True,
    ),
    World(
        "a polled flag is seen",
        "A poller that drops its line before each look sees the flag.",
        partial(_polled, True, True),
        64,
        224,
        ((polling.seen, 4),),
        (
            Twin(
                "endless: own old copy polled",
                "A poller that does not drop its line looks at its own copy for ever.",
                partial(_polled, False, True),
                "",
                5,
            ),
            Twin(
                "endless: flag never flushed",
                "A flag that stays in the setter's cache is never seen.",
                partial(_polled, True, False),
                "",
                2,
            ),
        ),
        progress=True,
    ),
    World(
        "compaction ends",
        "A frozen line is moved, whatever software and prefetchers do meanwhile; hardware drains and evicts.",
        _compaction,
        7412,
        44340,
        (),
        (
            Twin(
                "endless: no shootdown",
                "Translations that are never shot down keep the line in use for ever.",
                partial(_compaction, "shootdown"),
                "",
                5,
            ),
        ),
        progress=True,
    ),
)
