"""A provider of fake checks: an entry's options say what its checks answer, and what must be covered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from shmem_suite.checks import Check, Task
from shmem_suite.manifest import Entry
from tests.suite import fakes


class FakeProvider:
    """Answers `options.verdict` for each entry, or one check per `options.members`; knows the things in
    `world`.
    """

    def __init__(self, world: Mapping[str, Iterable[str]]) -> None:
        self.world = world

    def checks(self, entries: Sequence[Entry], pins: Mapping[str, Any]) -> Iterator[Check]:
        for entry in entries:
            for member in entry.options.get("members", [""]):
                id = entry.check_id(member)
                outcome = dict(entry.options.get("outcome", {}))
                if entry.options.get("trace"):
                    outcome["trace"] = fakes.RUN
                crash = entry.options.get("crash")
                task = (
                    Task(id, fakes.crash, (crash,))
                    if crash
                    else Task(id, fakes._answer, (entry.options.get("verdict", "holds"), tuple(outcome.items())))
                )
                yield Check(
                    id=id,
                    kind=entry.kind,
                    subject=entry.subject or member,
                    statement=entry.statement or f"What {id} says.",
                    expected=entry.expected,
                    tasks=(task,),
                    tier=entry.tier,
                    scope=entry.scope,
                    engine=entry.engine,
                    names=tuple(entry.options.get("names", ())),
                    pinned=entry.pinned,
                    pins=pins.get(id),
                    covers=frozenset(entry.covers),
                )

    def universe(self) -> dict[str, frozenset[str]]:
        return {category: frozenset(names) for category, names in self.world.items()}
