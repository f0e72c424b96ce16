"""Where T14 is explored: the ring of a channel, through store buffers and through line caches."""

from __future__ import annotations

from typing import Any

from shmem_model.algorithms import ring
from shmem_proofs.algorithm_checks import Twin, World, of

WHOLE = "messages_come_whole_and_in_order"
WITH_LINES: dict[str, Any] = {"cached": True, "lengths": False, "mortal": False}
WORLDS = (
    World(
        "ring through store buffers",
        "Two entries of two words, three messages; stores drain in any order; anybody may die at any step.",
        of(ring),
        1569,
        4806,
        ((ring.wrapped, 34),),
        (
            Twin(
                "index before payload",
                "The count says that a message is there before it is.",
                of(ring, mortal=False, payload_first=False),
                WHOLE,
                5,
            ),
            Twin(
                "no credits",
                "A producer that does not wait overwrites what was not read.",
                of(ring, mortal=False, credits=False),
                WHOLE,
                20,
            ),
        ),
    ),
    World(
        "ring through line caches",
        "Two entries, three messages, through write-back caches without coherence; anybody may die at any step.",
        of(ring, cached=True, lengths=False),
        23864,
        160709,
        (),
        (
            Twin("no fence", "A posted line arrives after the count.", of(ring, **WITH_LINES, fence=False), WHOLE, 7),
            Twin(
                "no flush",
                "The message stays in the producer's cache.",
                of(ring, **WITH_LINES, flush=False),
                WHOLE,
                7,
            ),
            Twin(
                "no invalidate",
                "The consumer reads its own old copy.",
                of(ring, **WITH_LINES, invalidate=False),
                WHOLE,
                9,
            ),
            Twin(
                "index before payload, flushed late",
                "The same through caches.",
                of(ring, **WITH_LINES, payload_first=False),
                WHOLE,
                5,
            ),
            Twin(
                "index on the payload's line",
                "The payload's line, written back whole, takes the count back to an old value.",
                of(ring, **WITH_LINES, index_line="data0", messages=4),
                WHOLE,
                32,
            ),
        ),
    ),
    World(
        "ring of whole messages through line caches",
        "Two entries with a length and a payload on lines of their own, two messages.",
        of(ring, cached=True, mortal=False, messages=2),
        188000,
        1830768,
        large=True,
    ),
)
