"""THE machine: host and accelerators that share memory without hardware coherence.

Read in this order: `vocabulary` (the nouns), `caches` (what hardware does by itself, read, write, flush, invalidate,
fence), `custody` (who may touch a word), then `notifications`, `barriers`, `atomics`, `copies`, `translation`,
`allocation`, `compaction`, `death`; the claims are in `claims_*`.  Nothing here knows sizes, solvers or programs.
"""

from shmem_model.language import BOOL, FALSE, TRUE, Machine
from shmem_model.machine import (
    allocation,
    atomics,
    barriers,
    caches,
    claims_calls,
    claims_isolation,
    claims_moves,
    claims_sync,
    claims_visibility,
    compaction,
    copies,
    death,
    notifications,
    translation,
    vocabulary,
)
from shmem_model.machine.platform import AXIOMS, PROFILES, Profile

_FILES = (caches, translation, notifications, barriers, atomics, copies, allocation, compaction, death)
_ACTIONS = [action for file in _FILES for action in file.ACTIONS]
_INITIAL = {
    function: FALSE if function.result is BOOL else vocabulary.zero()
    for function in vocabulary.FUNCTIONS
    if function.layer != "platform"
} | {vocabulary.available: TRUE, vocabulary.intact: TRUE}
_CLAIM_FILES = (claims_visibility, claims_sync, claims_isolation, claims_moves, claims_calls)
_CLAIMS = [claim for file in _CLAIM_FILES for claim in file.CLAIMS]

MACHINE = Machine(
    name="shmem",
    sorts=vocabulary.SORTS,
    functions=vocabulary.FUNCTIONS,
    initial=_INITIAL,
    actions={action.name: action for action in _ACTIONS},
    axioms=AXIOMS,
    properties=tuple(_CLAIMS),
)

__all__ = ["AXIOMS", "MACHINE", "PROFILES", "Profile"]
