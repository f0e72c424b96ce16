"""Where T11 is explored: the wait algorithm and the sequence lock of the region table."""

from __future__ import annotations

from typing import Any

from shmem_model.algorithms import table, waiting
from shmem_model.algorithms.programs import RELAXED, RELEASE
from shmem_proofs.algorithm_checks import Twin, World, of

ONE: dict[str, Any] = {"sends": (1,), "waits": 1, "batch": (False,), "mortal": False}
LOST = "no_wake_up_is_lost"

WAIT = World(
    "two senders, one in batches",
    "Two senders, one of which sends in batches, a receiver that waits twice; anybody may die at any step.",
    of(waiting),
    24138,
    97467,
    ((waiting.skipped, 4), (waiting.woken, 13)),
    (
        Twin(
            "batch without fence",
            "Release stores alone: the sender's look at the waiter overtakes its own count, and the wake-up is lost.",
            of(waiting, **{**ONE, "batch": (True,), "sender_fence": False}),
            LOST,
            10,
        ),
        Twin(
            "announcement by release",
            "With acquire and release only, the receiver's last look overtakes its own announcement.",
            of(waiting, **ONE, announce=RELEASE),
            LOST,
            10,
        ),
        Twin(
            "look, then announce",
            "Whoever says that he waits after his last look has not been seen by a sender in between.",
            of(waiting, **ONE, announces_first=False),
            LOST,
            9,
        ),
        Twin(
            "bell read last",
            "A bell that is read after the last look may have been rung for what that look did not find.",
            of(waiting, **ONE, bell_first=False),
            LOST,
            11,
        ),
        Twin(
            "wake without ring",
            "A wake-up before the sleep is lost where the futex word has not changed.",
            of(waiting, **ONE, rings=False),
            LOST,
            10,
        ),
        Twin(
            "told without a last look",
            "A sender that sends and dies between the look and the question who lives has left a notification.",
            of(waiting, **{**ONE, "mortal": True}, looks_last=False),
            "told_only_where_nothing_is_left",
            7,
        ),
    ),
)
WAITS = World(
    "two senders, two each",
    "Two senders that send twice, a receiver that waits three times; anybody may die at any step.",
    of(waiting, sends=(2, 2), waits=3),
    204098,
    876916,
    large=True,
)
FALLBACK = World(
    "without a compiler",
    "The fallback: every send rings, so nobody need say that it waits; two senders, anybody may die at any step.",
    of(waiting, fallback=True, batch=(False, False)),
    17771,
    68388,
    ((waiting.woken, 11),),
)
TABLE = World(
    "table entry",
    "The driver moves a region once under its sequence lock while a reader uses it twice; anybody may die at any step.",
    of(table),
    930,
    2675,
    ((table.frozen_out, 11), (table.retried, 6)),
    (
        Twin(
            "writer without odd mark",
            "Nothing says that the entry is being written.",
            of(table, odd=False),
            "no_torn_entry",
            14,
        ),
        Twin(
            "reader without second look",
            "An entry that changes while it is read is torn.",
            of(table, again=False),
            "no_torn_entry",
            15,
        ),
        Twin(
            "second look too early",
            "A second look that comes before the fields says nothing about them (loads out of order).",
            of(table, late=False),
            "no_torn_entry",
            16,
        ),
        Twin(
            "relaxed stores of the driver",
            "Stores that drain in any order publish an entry before it is there.",
            of(table, order=RELAXED),
            "no_torn_entry",
            22,
        ),
        Twin(
            "pin by release",
            "A pin that waits in the store buffer is not seen by the driver that looks.",
            of(table, pin=RELEASE),
            "nobody_is_inside_a_move",
            13,
        ),
        Twin(
            "look, then pin",
            "A pin after the look comes too late.",
            of(table, pins_first=False),
            "nobody_is_inside_a_move",
            13,
        ),
        Twin(
            "move without a look at the pins",
            "A driver that does not ask moves what is in use.",
            of(table, driver_looks=False),
            "nobody_is_inside_a_move",
            12,
        ),
    ),
)
TABLES = World(
    "table entry, two readers",
    "Two readers, each with a pin of its own, and a driver whose stores only keep their order.",
    of(table, readers=2, looks=1, order=RELEASE),
    32790,
    169451,
    large=True,
)

WORLDS = (WAIT, WAITS, FALLBACK, TABLE, TABLES)
