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
    """A check per entry, its subject is the scope; `referee/*` stands for all that no other entry names."""
    named = {entry.subject for entry in entries}
    for entry in entries:
        family = [name for name in REFEREED if name not in named]
        for name in family if entry.id.endswith("*") else [entry.subject]:
            yield _check(entry, name)


def _check(entry: Entry, name: str) -> Check:
    id, expected = entry.check_id(name), pins_of(name) or {}
    return Check(
        id=id,
        kind=entry.kind,
        subject=name,
        statement=f"rumur finds as many states and fires as many rules as the explorer: {name}.",
        expected=entry.expected,
        tasks=(Task(id, ask, (name,), 3.0 + expected.get("transitions", 0) / RATE),),
        tier=entry.tier,
        scope=size(scope_named(name)),
        engine=entry.engine,
        covers=frozenset({f"refereed scope:{name}"}),
    )


def universe() -> dict[str, frozenset[str]]:
    """Every scope that is to be refereed."""
    return {"refereed scope": frozenset(REFEREED)}


def ask(name: str) -> Outcome:
    """Explore the scope and let rumur do it, too."""
    return referee.check(scope_named(name), SECONDS)
