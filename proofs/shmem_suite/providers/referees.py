"""The referee: on some scopes rumur, which we did not write, must count as many states and fire as many rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shmem_model.scopes import REFEREED
from shmem_suite import referee
from shmem_suite.checks import Check, Outcome, Task
from shmem_suite.explorations import pins_of, scope_named
from shmem_suite.manifest import Entry
from shmem_suite.providers.theorems import size

SECONDS = 800.0
"""Wall clock after which rumur is given up."""
RATE = 500_000
"""Rules per second, roughly."""


def checks(entries: Sequence[Entry], pins: Mapping[str, Mapping[str, Any]]) -> Iterator[Check]:
    """A check per entry: its subject is the scope."""
    for entry in entries:
        scope = scope_named(entry.subject)
        expected = pins_of(entry.subject) or {}
        yield Check(
            id=entry.id,
            kind=entry.kind,
            subject=entry.subject,
            statement=f"rumur finds as many states and fires as many rules as the explorer: {entry.subject}.",
            expected=entry.expected,
            tasks=(Task(entry.id, ask, (entry.subject,), 3.0 + expected.get("transitions", 0) / RATE),),
            tier=entry.tier,
            scope=size(scope),
            engine=entry.engine,
            covers=frozenset({f"refereed scope:{entry.subject}"}),
        )


def universe() -> dict[str, frozenset[str]]:
    """Every scope that is to be refereed."""
    return {"refereed scope": frozenset(REFEREED)}


def ask(name: str) -> Outcome:
    """Explore the scope and let rumur do it, too."""
    return referee.check(scope_named(name), SECONDS)
