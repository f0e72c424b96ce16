"""What real hardware may do at any moment, and where the machine lets it.

A hazard is not a rule of its own: it is some action being possible, or some condition being absent where one would
like it.  This table says which, so that a reader finds each hazard in the text.
"""

from __future__ import annotations

from typing import NamedTuple


class Hazard(NamedTuple):
    """A hazard: its id, a sentence, the actions in which it shows, and why it is real."""

    id: str
    sentence: str
    actions: tuple[str, ...]
    why: str


HAZARDS = (
    Hazard(
        "H1",
        "any translated line may enter a cache at any time, also right after an invalidate",
        ("fill",),
        "prefetchers",
    ),
    Hazard("H2", "any line may leave a cache at any time; a dirty one is written back", ("evict",), "replacement"),
    Hazard(
        "H3",
        "write-back takes the whole line along, or only dirty words",
        ("write", "evict"),
        "false sharing",
    ),
    Hazard(
        "H4",
        "a flush is posted: its words arrive late, lines in any order",
        ("flush", "drain", "fence"),
        "write buffers",
    ),
    Hazard("H5", "a notification is not ordered after posted writes", ("send",), "doorbells, event registers"),
    Hazard("H6", "invalidate throws dirty words away, or writes them back", ("invalidate",), "unaligned buffers"),
    Hazard(
        "H7",
        "translations outlive the mapping until they are shot down",
        ("unmap", "shootdown"),
        "IOMMU TLBs",
    ),
    Hazard(
        "H8",
        "caches and buffers keep lines of freed memory",
        ("free", "evict", "drain", "scrub"),
        "use after free",
    ),
    Hazard(
        "H9",
        "notifications coalesce or count; the waiter may come late",
        ("send", "wait", "poll"),
        "lost wake-ups",
    ),
    Hazard(
        "H10",
        "an access of several words is several steps: others see part of it",
        ("read", "write"),
        "tearing",
    ),
    Hazard(
        "H11",
        "an agent dies at any step; what it left is lost or arrives late",
        ("die", "lose", "reclaim"),
        "kill -9",
    ),
    Hazard("H12", "slots, epochs, handles and frames are used again", ("send", "arrive", "alloc"), "ABA"),
    Hazard("H13", "a line moves while old lines and translations may exist", ("freeze", "migrate"), "migration"),
    Hazard(
        "H14",
        "an agent without a cache reads memory, yet its stores wait in a buffer",
        ("read", "write", "drain"),
        "DMA",
    ),
)
