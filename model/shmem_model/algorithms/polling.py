"""A flag that is polled: through a line cache it must be dropped before each look, or the poller sees its own old copy.

No part of the implementation polls plain words; this is the smallest algorithm that needs fairness of a loop.
"""

from __future__ import annotations

from shmem_model.algorithms.compiling import Algorithm
from shmem_model.algorithms.programs import (
    END,
    Fence,
    Flush,
    Invalidate,
    ReadLine,
    Step,
    Thread,
    Word,
    WriteLine,
    branch,
)
from shmem_model.language import Property


def build(drops: bool = True, flushes: bool = True) -> Algorithm:
    """A setter writes, flushes and fences; a poller drops its line and looks, until it sees the flag."""
    after = "poll_flush" if flushes else "poll_fence"
    setter = (
        Step("poll_set", WriteLine("flag", 1), after),
        *((Step("poll_flush", Flush("flag"), "poll_fence"),) if flushes else ()),
        Step("poll_fence", Fence()),
    )
    again = "poll_drop" if drops else "poll_look"
    look = Step("poll_look", ReadLine("flag"), lambda r: branch(r.got.eq(1), END, again))
    poller = (Step("poll_drop", Invalidate("flag"), "poll_look"), look) if drops else (look,)
    return Algorithm(
        "polling", "A polled flag.", [Word("flag", 2)], [Thread("setter", setter), Thread("poller", poller)]
    )


def seen(a: Algorithm) -> Property:
    """A witness: the poller looked too early once, and has seen the flag."""
    return Property("the_flag_was_seen", "The poller has seen the flag.", (), a.at("poller", END), "state")
