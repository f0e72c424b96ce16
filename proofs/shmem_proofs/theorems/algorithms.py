"""T11 wait algorithm, T12 barrier algorithms, T13 progress, T14 channel: the implementation's own algorithms.

They are machines too (`shmem_model.algorithms`), with program counters, store buffers and line caches; each world is
explored to the end and its counts are pinned.
"""

from __future__ import annotations

from shmem_proofs.theorems.statement import ALGORITHM, Theorem
from shmem_proofs.theorems.worlds_barriers import WORLDS as BARRIER_WORLDS
from shmem_proofs.theorems.worlds_channel import WORLDS as CHANNEL_WORLDS
from shmem_proofs.theorems.worlds_progress import WORLDS as PROGRESS_WORLDS
from shmem_proofs.theorems.worlds_wait import WORLDS as WAIT_WORLDS

WAIT_ALGORITHM = Theorem(
    "T11",
    "wait-algorithm",
    "Spinning, then sleeping, with wake-ups that are skipped where nobody sleeps, never loses one, and PeerLost "
    "is told "
    "only where nothing is left; the table's sequence lock never shows a torn entry. Both need sequential "
    "consistency.",
    ALGORITHM,
    worlds=WAIT_WORLDS,
)

BARRIERS = Theorem(
    "T12",
    "barrier-algorithms",
    "The implementation's barriers (central, dissemination, global with and without multicast) keep what T3 "
    "promises: "
    "nobody leaves an epoch before all have arrived in it, epochs follow each other without a mix-up, and "
    "whoever waits for "
    "a dead member is told.",
    ALGORITHM,
    worlds=BARRIER_WORLDS,
)


PROGRESS = Theorem(
    "T13",
    "progress",
    "Where every thread goes on and what waits in buffers drains: a wait after a send ends, a barrier whose "
    "members arrive "
    "or die ends, a channel delivers, and compaction ends.",
    ALGORITHM,
    worlds=PROGRESS_WORLDS,
)
CHANNEL = Theorem(
    "T14",
    "channel",
    "The ring of a channel never tears a message, overwrites one that was not read, changes their order or loses one.",
    ALGORITHM,
    worlds=CHANNEL_WORLDS,
)
