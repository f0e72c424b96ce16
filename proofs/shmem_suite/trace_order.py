"""Events of a trace in an order that their edges allow, with the edges, read as a stream.

Only what waits for an edge is held back, so that a trace of any length can be drawn or exported.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shmem_model.conformance.traces.events import Event, Malformed, event, head

Mark = tuple[str, ...]


@dataclass(frozen=True)
class Placed:
    """An event with its line in the file, and the edges that begin (`gives`) and end (`takes`) at it."""

    event: Event
    line: int
    gives: tuple[Mark, ...] = ()
    takes: tuple[Mark, ...] = ()


class Order:
    """Puts events into order.  `agents` are known once the first line has been read."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(enumerate(lines, 1))
        number, text = next(self._lines, (0, ""))
        if not number:
            raise Malformed("the file is empty; a trace begins with a line about its agents and platform")
        self.agents: tuple[str, ...] = tuple(head(text)["agents"])
        self._waiting: dict[str, deque[Placed]] = {name: deque() for name in self.agents}
        self._sent: dict[Mark, int] = {}
        self._taken: dict[Mark, int] = {}
        self._arrived: dict[Mark, set[str]] = {}
        self._members: dict[str, tuple[str, ...]] = {}
        self._regions: set[tuple[int, ...]] = set()

    def __iter__(self) -> Iterator[Placed]:
        """All events; raises `Malformed` with the line.  What waits for ever comes at the end, without its edge."""
        number = {name: i for i, name in enumerate(self.agents)}
        for line, text in self._lines:
            try:
                found = event(text, number)
            except Malformed as error:
                raise Malformed(f"line {line}: {error}") from None
            queue = self._waiting[found["agent"]]
            queue.append(Placed(found, line))
            if len(queue) == 1:
                yield from self._ready()
        rest = sorted((p for queue in self._waiting.values() for p in queue), key=lambda placed: placed.line)
        yield from rest

    def _ready(self) -> Iterator[Placed]:
        moved = True
        while moved:
            moved = False
            for queue in self._waiting.values():
                while queue and self._may(queue[0].event):
                    moved = True
                    yield self._take(queue.popleft())

    def _may(self, found: Event) -> bool:
        if "error" in found:
            return True
        action, agent = found["action"], found["agent"]
        if action in ("wait", "poll"):
            slot = str(found["slot"])
            return all(self._sent.get((name, agent, slot), 0) >= n for name, n in found.get("upto", {}).items())
        if action == "leave":
            arrived = self._arrived.get((found["team"], str(found["epoch"])), set())
            return set(self._members.get(found["team"], ("",))) <= arrived
        return action == "alloc" or "region" not in found or tuple(found["region"]) in self._regions

    def _take(self, placed: Placed) -> Placed:
        found = placed.event
        if "error" in found:
            return placed
        agent = found["agent"]
        match found["action"]:
            case "alloc":
                self._regions.add(tuple(found["region"]))
            case "send":
                key = (agent, found["to"], str(found["slot"]))
                self._sent[key] = found["count"]
                return Placed(found, placed.line, gives=((*key, str(found["count"])),))
            case "wait" | "poll":
                return Placed(found, placed.line, takes=tuple(self._took(found)))
            case "arrive":
                self._members[found["team"]] = tuple(found["members"])
                self._arrived.setdefault((found["team"], str(found["epoch"])), set()).add(agent)
                return Placed(found, placed.line, gives=((agent, found["team"], "epoch", str(found["epoch"])),))
            case "leave":
                return Placed(found, placed.line, takes=tuple(self._left(found)))
        return placed

    def _took(self, found: Event) -> Iterator[Mark]:
        """The last of the sends that it took newly, of each sender: the others came before it."""
        for name, count in found.get("upto", {}).items():
            key = (name, found["agent"], str(found["slot"]))
            if count > self._taken.get(key, 0):
                self._taken[key] = count
                yield (*key, str(count))

    def _left(self, found: Event) -> Iterator[Mark]:
        team, epoch = found["team"], str(found["epoch"])
        self._arrived.pop((team, str(found["epoch"] - 2)), None)  # nobody is two epochs behind
        for name in self._members[team]:
            if name != found["agent"]:
                yield (name, team, "epoch", epoch)
