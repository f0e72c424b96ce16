"""Allocation: lines are given out zeroed, freed into quarantine, and scrubbed before they are given out again.

A region of several lines is allocated and freed line by line under one handle.  Where free memory lies is abstracted
to an address window (`fits`); best fit, alignment and coalescing belong to the implementation's algorithm (T9).
"""

from __future__ import annotations

from collections.abc import Iterator

from shmem_model.language import EACH, FALSE, TRUE, Term, action, becomes, exists, forall, refused, waits
from shmem_model.language.actions import Part
from shmem_model.machine import custody
from shmem_model.machine import vocabulary as m
from shmem_model.machine.caches import nothing_posted
from shmem_model.machine.translation import copies_touch, handle, runs
from shmem_model.machine.vocabulary import Agent, Block, Frame, Region


def quiet_frame(f: Term) -> Term:
    """No cache holds the line, nothing is on its way to it, no translation leads to it."""
    idle = forall(Agent, lambda a: ~m.valid(a, f) & nothing_posted(a, f))
    return idle & forall(Agent, Block, lambda a, b: ~m.tlb(a, b, f))


@action("software", a=Agent, r=Region, b=Block, f=Frame)
def alloc(a: Term, r: Term, b: Term, f: Term) -> Iterator[Part]:
    """The driver gives a scrubbed frame and an unused line address to a region, under a handle never freed before."""
    usable = exists(Frame, lambda g: m.available(g) & m.fits(r, g))
    yield runs(a)
    yield refused("StaleHandle", ~m.retired(r))
    yield refused("InvalidArgument", exists(Frame, lambda g: m.fits(r, g)))
    yield refused("Fragmented", usable | forall(Frame, lambda g: ~m.available(g)))
    yield refused("OutOfMemory", exists(Frame, lambda g: m.available(g)))
    yield waits("a frame that fits", m.available(f) & m.fits(r, f))
    yield waits("an unused address", forall(Region, lambda k: ~m.part_of(b, k)))
    yield waits("no old translation of it", forall(Agent, Frame, lambda c, g: ~m.tlb(c, b, g)))
    yield becomes(m.part_of, b, r, to=TRUE)
    yield becomes(m.at, b, f, to=TRUE)
    yield becomes(m.available, f, to=FALSE)
    yield from custody.on_alloc(b)


@action("software", a=Agent, r=Region, b=Block, f=Frame)
def free(a: Term, r: Term, b: Term, f: Term) -> Iterator[Part]:
    """The driver takes a line back; its frame stays in quarantine until it has been scrubbed (H8, H12)."""
    yield runs(a)
    yield handle(b, r)
    yield refused("NotPermitted", m.may_write(a, r))
    unmapped = forall(Agent, lambda c: ~m.mapped(c, b))
    yield refused("RegionBusy", unmapped & ~m.frozen(b) & ~copies_touch(b))
    yield waits("lives there", m.at(b, f))
    yield becomes(m.part_of, b, EACH, to=FALSE)
    yield becomes(m.retired, r, to=TRUE)
    yield becomes(m.at, b, EACH, to=FALSE)
    yield from custody.on_free(b)


@action("driver", f=Frame)
def scrub(f: Term) -> Iterator[Part]:
    """The driver zeroes a frame in quarantine, in memory, once nothing of its old owner can reach it any more."""
    yield waits("in quarantine", ~m.available(f) & forall(Block, lambda b: ~m.at(b, f)))
    yield waits("quiet", quiet_frame(f))
    yield becomes(m.memory, f, EACH, to=m.zero())
    yield becomes(m.available, f, to=TRUE)


ACTIONS = (alloc, free, scrub)
