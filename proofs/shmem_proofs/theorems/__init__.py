"""The theorems: what is promised, with the witness and the red twins of each promise."""

from shmem_proofs.theorems.algorithms import BARRIERS, CHANNEL, PROGRESS, WAIT_ALGORITHM
from shmem_proofs.theorems.isolation import NONINTERFERENCE, SPATIAL, TEMPORAL
from shmem_proofs.theorems.moves import COMPACTION, DEATH
from shmem_proofs.theorems.placement import PLACEMENT
from shmem_proofs.theorems.statement import (
    ALGORITHM,
    INDUCTION,
    LITMUS,
    ON_TERMS,
    TWO_RUNS,
    Case,
    RedTwin,
    Theorem,
    Witness,
)
from shmem_proofs.theorems.sync import ALL_OR_NONE, NOTIFICATIONS
from shmem_proofs.theorems.visibility import NECESSITY, VISIBILITY

THEOREMS = (
    VISIBILITY,
    NECESSITY,
    ALL_OR_NONE,
    NOTIFICATIONS,
    SPATIAL,
    TEMPORAL,
    NONINTERFERENCE,
    COMPACTION,
    PLACEMENT,
    DEATH,
    WAIT_ALGORITHM,
    BARRIERS,
    PROGRESS,
    CHANNEL,
)

__all__ = [
    "ALGORITHM",
    "INDUCTION",
    "LITMUS",
    "ON_TERMS",
    "THEOREMS",
    "TWO_RUNS",
    "Case",
    "RedTwin",
    "Theorem",
    "Witness",
]
