"""Four ways to tamper with a recorded run, drawn by seed; a loss can not be seen from the numbers of the events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from random import Random
from typing import Any

from shmem_suite.tampering.record import WORD, Recorded, word

Events = list[dict[str, Any]]
KINDS = ("value-changed", "event-dropped", "order-swapped", "edge-removed")
EACH = 50
LARGEST = 64


def renumbered(events: Events) -> Events:
    """Each agent's events, numbered from 0 again."""
    seen: dict[str, int] = {}
    for event in events:
        event["n"] = seen.get(event["agent"], 0)
        seen[event["agent"]] = event["n"] + 1
    return events


def value_changed(events: Events, random: Random) -> None:
    """A read or a write has another value."""
    event = random.choice([e for e in events if e["action"] in ("read", "write")])
    before = int.from_bytes(bytes.fromhex(event["value"])[:WORD], "little")
    event["value"] = word(random.choice([v for v in range(LARGEST) if v != before])).hex()


def event_dropped(events: Events, random: Random) -> None:
    """An event is not there."""
    del events[random.randrange(len(events))]


def order_swapped(events: Events, random: Random) -> None:
    """Two events of an agent, one after the other, have changed places."""
    agent = random.choice(sorted({e["agent"] for e in events}))
    own = [i for i, e in enumerate(events) if e["agent"] == agent]
    i = random.randrange(len(own) - 1)
    events[own[i]], events[own[i + 1]] = events[own[i + 1]], events[own[i]]


def edge_removed(events: Events, random: Random) -> None:
    """One or two edges are not there: a send and what took it, or all that one use of a barrier consists of."""
    for _ in range(random.choice((1, 2))):
        edges = [e for e in events if e["action"] == "send" or (e["action"] == "arrive" and _first(e, events))]
        edge = random.choice(edges)
        if edge["action"] == "send":
            _without_send(events, edge)
        else:
            _without_use(events, edge["team"], edge["epoch"])


def _first(arrive: dict[str, Any], events: Events) -> bool:
    same = (e for e in events if e["action"] == "arrive" and _use(e) == _use(arrive))
    return next(same) is arrive


def _use(event: Mapping[str, Any]) -> tuple[str, int]:
    return event["team"], event["epoch"]


def _without_send(events: Events, send: dict[str, Any]) -> None:
    """Without a send and the call that took it; later ones count one less."""
    agent, to, slot, count = (send[key] for key in ("agent", "to", "slot", "count"))
    events.remove(send)
    for e in events:
        if e["action"] == "send" and (e["agent"], e["to"], e["slot"]) == (agent, to, slot) and e["count"] > count:
            e["count"] -= 1
    takes = [e for e in events if e["action"] in ("wait", "poll") and (e["agent"], e["slot"]) == (to, slot)]
    taker = next((e for e in takes if e["upto"].get(agent, 0) >= count), None)
    if taker is None:
        return
    for e in takes[takes.index(taker) :]:
        e["upto"] = {who: n - (who == agent) for who, n in e["upto"].items() if n > (who == agent)}
    events.remove(taker)


def _without_use(events: Events, team: str, epoch: int) -> None:
    """Without one use of a barrier; later ones count one less."""
    events[:] = [e for e in events if e["action"] not in ("arrive", "leave") or _use(e) != (team, epoch)]
    for e in events:
        if e["action"] in ("arrive", "leave") and e["team"] == team and e["epoch"] > epoch:
            e["epoch"] -= 1


WAYS: Mapping[str, Callable[[Events, Random], None]] = dict(
    zip(KINDS, (value_changed, event_dropped, order_swapped, edge_removed), strict=True)
)


def tampered(kind: str, runs: Mapping[str, Recorded], seed: int = 4) -> Iterator[tuple[str, Recorded]]:
    """Tampered traces without end, no two the same and none as it was recorded, each with the name of its run."""
    random = Random(f"{kind} {seed}")
    seen = {json.dumps(run) for run in runs.values()}
    while True:
        name = random.choice(sorted(runs))
        head, events = deepcopy(runs[name])
        WAYS[kind](events, random)
        told = json.dumps((head, renumbered(events)))
        if told not in seen:
            seen.add(told)
            yield name, (head, events)
