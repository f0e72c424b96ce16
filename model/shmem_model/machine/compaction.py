"""Compaction: the driver freezes a line, waits until it is quiet, moves it, and lets it go (H13)."""

from __future__ import annotations

from collections.abc import Iterator

from shmem_model.language import EACH, FALSE, TRUE, Term, action, becomes, exists, forall, refused, waits
from shmem_model.language.actions import Part
from shmem_model.machine import vocabulary as m
from shmem_model.machine.allocation import quiet_frame
from shmem_model.machine.translation import copies_touch
from shmem_model.machine.vocabulary import Agent, Block, Frame, Region


@action("driver", b=Block)
def freeze(b: Term) -> Iterator[Part]:
    """No new translation of the line is made until it is unfrozen; a line in use by a copy is left alone."""
    yield waits("a live line", exists(Region, lambda r: m.part_of(b, r)))
    yield refused("RegionBusy", ~m.frozen(b) & ~copies_touch(b))
    yield becomes(m.frozen, b, to=TRUE)


@action("driver", b=Block, f=Frame, g=Frame)
def migrate(b: Term, f: Term, g: Term) -> Iterator[Part]:
    """The driver copies a quiet frozen line to a new frame; the old frame goes into quarantine."""
    yield waits("frozen", m.frozen(b))
    yield waits("lives there", m.at(b, f))
    yield waits("quiet", quiet_frame(f) & forall(Agent, Frame, lambda a, y: ~m.tlb(a, b, y)))
    inside = forall(Region, lambda r: m.part_of(b, r).implies(m.fits(r, g)))
    yield waits("a free frame that fits", m.available(g) & inside)
    yield becomes(m.at, b, EACH, to=lambda x, y: y.same(g))
    yield becomes(m.available, g, to=FALSE)
    yield becomes(m.memory, g, EACH, to=lambda y, p: m.memory(f, p))


@action("driver", b=Block)
def unfreeze(b: Term) -> Iterator[Part]:
    """The line may be translated again."""
    yield waits("frozen", m.frozen(b))
    yield becomes(m.frozen, b, to=FALSE)


ACTIONS = (freeze, migrate, unfreeze)
