"""T9 placement: a promise of the implementation's allocator, of which the machine knows only that frames differ.

This package must not know the implementation, so it states the theorem; `shmem_suite.placement` settles it.
"""

from __future__ import annotations

from shmem_proofs.theorems.statement import ON_TERMS, Case, Theorem

PLACEMENT = Theorem(
    "T9",
    "placement",
    "Live regions never overlap and never share a line; each lies at a multiple of its alignment, in its window and in "
    "what was free, at the lowest place of the smallest hole that has one; free space is in as few pieces as there can "
    "be; no call that is refused leaves a trace, and no figure leaves 64 bits.",
    ON_TERMS,
    cases=(
        Case("an-address-is-rounded-up", "An address that is no multiple of the alignment was rounded up."),
        Case("nothing-fits", "A request found no place in the free list."),
        Case("a-hole-is-split-in-two", "A block was taken out of the middle of a hole; both ends stay free."),
        Case("three-pieces-become-one", "A block was given back between two holes that it touches."),
        Case("an-extent-leaves-room", "An extent was placed behind the others, where its window begins."),
        Case("chosen-bytes-are-taken", "Compaction took bytes of its own choice."),
        Case("rounds-down", "An allocator that rounds down gives out bytes of a neighbour.", "the next multiple"),
        Case(
            "dips-below-zero",
            "A rounding that subtracts first is right in Python and wraps in a machine word.",
            "every figure fits into 64 bits",
        ),
        Case(
            "window-end-off-by-one",
            "A window taken one byte too long gives out what a device cannot reach.",
            "inside a hole and the window",
        ),
        Case(
            "shares-a-line",
            "A window that begins inside a line, and an alignment below a line, make two regions share one.",
            "whole lines",
        ),
        Case("loses-the-piece-in-front", "A small piece before the block is free to nobody.", "no byte is lost"),
        Case("takes-a-larger-hole", "A search from the wrong end breaks up the largest hole.", "the smallest hole"),
        Case("left-neighbour-does-not-melt", "Free memory on the left stays a hole of its own.", "coalesced"),
        Case("right-neighbour-does-not-melt", "Free memory on the right stays a hole of its own.", "coalesced"),
        Case(
            "takes-beyond-the-hole",
            "Bytes chosen by compaction reach past the end of the hole.",
            "only what was free is taken",
        ),
        Case(
            "extent-over-another",
            "An extent that is put where its window begins lies over memory that is in use.",
            "extents lie apart",
        ),
    ),
)
