"""Where T12 is explored: the barriers of teams and the global one."""

from __future__ import annotations

from typing import Any

from shmem_model.algorithms import asking, barriers
from shmem_model.algorithms.programs import RELEASE
from shmem_proofs.algorithm_checks import Twin, World, of

ASLEEP = "nobody_is_left_asleep"
SMALL: dict[str, Any] = {"members": 2, "mortal": ()}
CENTRAL = World(
    "central, three may die",
    "Three members, one epoch; any number of them die, each at any step, also between arriving and ringing.",
    of(barriers, epochs=1),
    53037,
    226366,
    ((barriers.told, 8), (barriers.arrived_and_died, 10)),
    (
        Twin(
            "death without ring",
            "A death that rings no bell leaves survivors asleep.",
            of(barriers, epochs=1, driver_rings=False),
            ASLEEP,
            11,
        ),
        Twin(
            "leave without waiting",
            "A member that does not look leaves alone.",
            of(barriers, **SMALL, epochs=1, waits_for_all=False),
            "nobody_leaves_early",
            3,
        ),
    ),
    refines=True,
)
EPOCHS = World(
    "central, two epochs",
    "Three members, two epochs, no deaths: a fast one may be an epoch ahead.",
    of(barriers, mortal=()),
    114265,
    333597,
    ((barriers.ahead, 16),),
    (
        Twin(
            "flag compared with ==",
            "A slow member that finds the flag of a fast one an epoch ahead takes it for absent, and sleeps on.",
            of(barriers, **SMALL, at_least=False),
            ASLEEP,
            17,
        ),
        Twin(
            "epoch number used again",
            "A flag that has the same number in every epoch is up before its member has come.",
            of(barriers, **SMALL, counts=False),
            "nobody_leaves_early",
            12,
        ),
        Twin(
            "arrival by release",
            "The last two arrive at once, each sees the other's old flag, and nobody rings.",
            of(barriers, **SMALL, mark=RELEASE),
            ASLEEP,
            14,
        ),
    ),
    large=True,
    refines=True,
)
LINES = World(
    "central, flags through line caches",
    "Two members whose flags go through write-back caches without coherence, each on a line of its own.",
    of(barriers, **SMALL, cached=True),
    5700,
    22172,
    (),
    (
        Twin(
            "two flags on one line",
            "A line that is written back whole takes the neighbour's flag back.",
            of(barriers, **SMALL, cached=True, shared_line=True),
            ASLEEP,
            18,
        ),
    ),
    refines=True,
)
DEATHS = World(
    "central, two epochs and a death",
    "Three members, two epochs; one of them may die at any step.",
    of(barriers, mortal=(1,)),
    206437,
    692437,
    large=True,
)
DISS_TWO = World(
    "dissemination of two",
    "Two members, two epochs; anybody may die at any step.",
    of(barriers, flavour="dissemination", members=2, rings=12, mortal=(0, 1)),
    12385,
    29333,
    (),
    (
        Twin(
            "dissemination: flag compared with ==",
            "A member that was told of a later epoch takes it for nothing.",
            of(barriers, **SMALL, flavour="dissemination", rings=8, at_least=False),
            ASLEEP,
            28,
        ),
    ),
    refines=True,
)
DISS = World(
    "dissemination",
    "Three members, one epoch, no deaths, sleeps that end without a reason.",
    of(barriers, flavour="dissemination", epochs=1, mortal=(), rings=8),
    71120,
    209370,
    large=True,
    refines=True,
)
DISS_EPOCHS = World(
    "dissemination, two epochs",
    "Three members, two epochs.",
    of(barriers, flavour="dissemination", mortal=(), rings=8, spurious=False),
    485919,
    1417602,
    large=True,
)
DISS_DEATH = World(
    "dissemination with a death",
    "Three members, one epoch; one of them may die at any step.",
    of(barriers, flavour="dissemination", epochs=1, mortal=(1,), rings=12, spurious=False),
    895458,
    2561642,
    twins=(
        Twin(
            "dissemination: death without ring",
            "Who waits for a dead member's word is told by nobody.",
            of(barriers, members=2, flavour="dissemination", epochs=1, mortal=(1,), rings=12, driver_rings=False),
            ASLEEP,
            12,
        ),
    ),
    large=True,
)
ONCE: dict[str, Any] = {"members": 1, "mortal": False}
MULTICAST = World(
    "multicast",
    "A writer and two engines that watch one word, two requests; anybody may die at any step.",
    of(asking),
    211042,
    987321,
    ((asking.answered, 43),),
    large=True,
)
ASKING = World(
    "asking each",
    "A writer and one engine, two requests; anybody may die at any step.",
    of(asking, multicast=False, members=1),
    1845,
    5637,
    ((asking.answered, 26),),
    (
        Twin(
            "requests without numbers",
            "An old answer is taken for a new one.",
            of(asking, **ONCE, numbers=False),
            "done_means_dropped",
            18,
        ),
        Twin(
            "answer before dropping",
            "An engine that answers first still holds the old line.",
            of(asking, **ONCE, drops_first=False),
            "done_means_dropped",
            9,
        ),
        Twin(
            "engine's bell read last",
            "A request between the look and the bell is slept over.",
            of(asking, **ONCE, reads_first=False),
            "the_writer_is_not_left_asleep",
            11,
        ),
        Twin(
            "dead, so unanswered",
            "An engine that answered and died between two looks has answered.",
            of(asking, members=1, looks_last=False),
            "told_rightly",
            14,
        ),
    ),
)

WORLDS = (CENTRAL, EPOCHS, LINES, DEATHS, DISS_TWO, DISS, DISS_EPOCHS, DISS_DEATH, ASKING, MULTICAST)
