"""An independent judge of traces: it looks at every order of the events that the machine allows, in the machine.

The checker keeps vector clocks and looks at one order; the judge keeps nothing and looks at all of them, depth first,
never twice at the same (how far each agent is, state).  It follows an order until custody is broken or a read returned
something else than the last write, and notes which of the two it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shmem_suite.tampering.scene import Events, Scene
from shmem_suite.tampering.steps import Steps, Stuck, Unfound, Wrong

BOUND = 20_000
"""States, after which the judge gives up: `unknown`."""
Path = tuple[str, ...]
"""Whose turn it was, step by step: an order of the events."""


@dataclass
class Finding:
    """What there is among the orders of a trace; each with the first one that shows it."""

    legal: Path | None = None
    """All events happen, custody is kept, and every read returns the last write."""
    broken: Path | None = None
    """A custody rule is broken by the last step."""
    differs: Path | None = None
    """The last step is a read that was in custody, and its value is not the last write."""
    unfound: Path | None = None
    """Nobody can go on, and it is this last step, an atomic, that should have found something else."""
    states: int = 0
    unknown: bool = False
    reasons: set[str] = field(default_factory=set)
    """Why orders ended early."""

    @property
    def verdict(self) -> str:
        """`unknown`, `broken`, `differs`, `legal` (in all orders that come to an end) or `illegal` (none does)."""
        if self.unknown:
            return "unknown"
        if self.broken is not None:
            return "broken"
        if self.differs is not None or (self.legal is None and self.unfound is not None):
            return "differs"
        return "illegal" if self.legal is None else "legal"


def judge(head: Mapping[str, Any], events: Events, bound: int = BOUND) -> Finding:
    """Look at all orders of a trace's events.  Stops early where custody can be broken."""
    return _Search(Scene(head, events), bound).run()


class _Search:
    def __init__(self, scene: Scene, bound: int) -> None:
        self.scene, self.bound, self.steps = scene, bound, Steps(scene)
        self.streams = [scene.events[agent] for agent in scene.agents]
        self.found = Finding()
        self.seen: set[Any] = set()
        self.waiting: Path | None = None
        """The first atomic that found something else, of those that could be next."""

    def run(self) -> Finding:
        """The whole search."""
        found = self.found
        todo: list[tuple[tuple[int, ...], Path, Any]] = [((0,) * len(self.streams), (), self.steps.snapshot())]
        while todo and found.broken is None:
            at, path, snapshot = todo.pop()
            todo += self._next(at, path, snapshot)
            if found.states > self.bound:
                found.unknown = True
                break
        return found

    def _next(self, at: tuple[int, ...], path: Path, snapshot: Any) -> list[tuple[tuple[int, ...], Path, Any]]:
        """Where the orders that have come so far go on, if that has not been seen."""
        after, went, self.waiting = [], False, None
        for i, stream in enumerate(self.streams):
            if at[i] < len(stream) and self._take(snapshot, i, at[i], path):
                went = True
                further = (*at[:i], at[i] + 1, *at[i + 1 :])
                if self._is_new(further):
                    after.append((further, (*path, self.scene.agents[i]), self.steps.snapshot()))
        if all(n == len(stream) for n, stream in zip(at, self.streams, strict=True)):
            self.found.legal = self.found.legal or path
        elif not went:
            self.found.unfound = self.found.unfound or self.waiting
        return after

    def _take(self, snapshot: Any, i: int, n: int, path: Path) -> bool:
        """Take an agent's next event; whether the order goes on from there."""
        self.steps.restore(snapshot)
        path = (*path, self.scene.agents[i])
        try:
            self.steps.take(self.streams[i][n])
        except Stuck as stuck:
            self.found.reasons.add(str(stuck))
            if isinstance(stuck, Unfound):
                self.waiting = self.waiting or path
            return False
        except Wrong as wrong:
            self.found.reasons.add(str(wrong))
            self.found.differs = self.found.differs or path
            return False
        if not self.steps.intact():
            self.found.broken = self.found.broken or path
            return False
        return True

    def _is_new(self, at: tuple[int, ...]) -> bool:
        key = at, self.steps.key()
        if key in self.seen:
            return False
        self.seen.add(key)
        self.found.states += 1
        return True
