"""Taking the events of a trace in the machine, one at a time.

What hardware does is no matter of choice here: the custody monitor reads no cache, buffer or memory, every call that
waits for hardware gets what it waits for (`Calls` takes those steps), and where custody was kept a read returns the
last write whatever the hardware did (theorem T1).  So an event is judged by the machine's own `intact` and `last`,
and a state that differs from another one in its hardware only is the same to us.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from shmem_model.machine import vocabulary as m
from shmem_suite.differential.calls import Calls, Gone
from shmem_suite.tampering.scene import LINE, WORD, Event, Scene, covered, region_name, slot_name, touched


@dataclass
class Names:
    """What the trace's numbers stand for in a state of the machine."""

    token: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Pending token -> who sent it, and which of theirs to the slot it is."""
    sent: dict[tuple[str, str], int] = field(default_factory=dict)
    taken: dict[tuple[str, str], int] = field(default_factory=dict)
    uses: dict[str, int] = field(default_factory=dict)
    epoch: dict[tuple[str, int], int] = field(default_factory=dict)
    """Team and the machine's epoch -> which use of the barrier it is."""

    def copy(self) -> Names:
        """The same, to be changed."""
        return Names(*(dict(part) for part in self.parts()))

    def parts(self) -> tuple[dict[Any, Any], ...]:
        """All tables."""
        return self.token, self.sent, self.taken, self.uses, self.epoch

    def key(self) -> tuple[frozenset[Any], ...]:
        """Something to compare and to look up."""
        return tuple(frozenset(part.items()) for part in self.parts())


class Stuck(Exception):
    """The machine does not take the event in this state."""


class Unfound(Stuck):
    """An atomic found something else than what is there: another one is to come first, or the trace is wrong."""


class Wrong(Exception):
    """Custody is intact, and the read did not return the last write."""


class Steps:
    """The machine in a state, and events taken from it."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.calls, self.names = scene, Calls(scene.relation), Names()
        self._start = self.calls.quick.state
        self.parts = [f for f in scene.relation.scope.machine.state if f.layer != "hardware"]
        self.slots, self.tokens = list(scene.world.slots), range(scene.relation.tokens)

    def snapshot(self) -> Any:
        """The current state, to come back to."""
        return self.calls.quick.state, dict(self.calls.blocks), self.names.copy()

    def restore(self, snapshot: Any) -> None:
        """Come back to a state."""
        state, blocks, names = snapshot
        self.calls.quick.restore(state)
        self.calls.blocks, self.names = dict(blocks), names.copy()

    def key(self) -> tuple[Any, ...]:
        """What a state is to us."""
        return (*(tuple(self.calls.quick.cells(f)) for f in self.parts), self.names.key())

    def intact(self) -> bool:
        """Custody was kept so far."""
        return bool(self.calls.is_(m.intact))

    def take(self, event: Event) -> None:
        """Take an event.  Raises `Stuck` or `Wrong`; the state is of no use then."""
        name = event["action"]
        if name in ("send", "wait", "poll", "arrive", "leave", "alloc"):
            getattr(self, f"_{name}")(event)
        elif name in ("flush", "invalidate"):
            for line in covered(event):
                self._call(event, line=line, drop=event.get("drop", False))
        elif name in ("read", "write", "atomic_add"):
            for i, at in enumerate(touched(event)):
                self._access(event, at, i)
        elif name == "fence":
            self._call(event)
        elif name == "map":
            self._call(event, writable="w" in event["rights"])
        else:
            raise ValueError(f"{name} is not judged")

    # -- memory --------------------------------------------------------------------------------------------

    def _call(self, event: Event, **more: Any) -> Any:
        region = {"region": region_name(event["region"])} if "region" in event else {}
        try:
            said = self.calls.call(event["action"], {"agent": event["agent"], **region, **more})
        except Gone as gone:
            raise Stuck(str(gone)) from None
        if not said.answer.done:
            raise Stuck(str(said.answer))
        return said.result

    def _access(self, event: Event, at: int, i: int) -> None:
        line, word = self.scene.place[tuple(event["region"]), at]
        name = event["action"]
        if name == "atomic_add":
            told, given = event["value"], {"value": event["operand"]}
        else:
            told = int.from_bytes(bytes.fromhex(event["value"])[i * WORD : (i + 1) * WORD], "little")
            given = {"value": told} if name == "write" else {}
        kept = self.intact()
        region = {"region": region_name(event["region"]), "line": line}
        if not any(place == tuple(region.values()) for place in self.calls.blocks.values()):
            raise Stuck("StaleHandle")
        last = self.calls.is_(m.last, self.calls.block(region), word)
        if name == "atomic_add" and told != last:
            raise Unfound(f"an atomic found {told} where {last} is")
        found = self._call(event, line=line, word=word, **given)
        if name == "read" and kept and self.intact():
            if found != last:
                raise AssertionError(f"custody is intact, and the machine reads {found} instead of {last}")
            if told != last:
                raise Wrong(f"{event['agent']} read {told} at byte {at}; the last write was {last}")

    def _alloc(self, event: Event) -> None:
        region = region_name(event["region"])
        lines = self.scene.world.regions[region].lines
        if event["range"][1] > lines * LINE:
            raise Stuck("too large")
        free = [f for f in range(self.scene.world.frames) if self.calls.is_(m.available, f)]
        said = self.calls.allocated({"agent": event["agent"], "region": region}, free[:lines])
        if not said.answer.done or len(free) < lines:
            raise Stuck(str(said.answer))
        for agent in self.scene.agents:
            self.calls.call("map", {"agent": agent, "region": region, "writable": True})

    # -- notifications and barriers ------------------------------------------------------------------------

    def _step(self, name: str, *arguments: int) -> bool:
        if not self.calls.quick.answer(name, arguments).done:
            return False
        self.calls.quick.step(name, arguments)
        return True

    def _number(self, event: Event, receiver: str) -> tuple[int, int, str]:
        slot = slot_name(receiver, event["slot"])
        return self.scene.agents.index(event["agent"]), self.slots.index(slot), slot

    def _send(self, event: Event) -> None:
        agent, number, slot = self._number(event, event["to"])
        count = self.names.sent.get((event["agent"], slot), 0) + 1
        if count != event["count"]:
            raise Stuck("a send of another number is to come first")
        token = next(t for t in self.tokens if t not in self.names.token)
        if not self._step("send", agent, number, token):
            raise Stuck("send")
        self.names.sent[event["agent"], slot] = count
        self.names.token[token] = event["agent"], count

    def _wait(self, event: Event) -> None:
        self._takes(event, "wait")

    def _poll(self, event: Event) -> None:
        if event["got"]:
            self._takes(event, "poll", 1)
            return
        agent, number, slot = self._number(event, event["agent"])
        known = {(sender, slot): n for sender, n in event["upto"].items()}
        if any(self.names.taken.get(key, 0) != n for key, n in known.items()):
            raise Stuck("others were taken before")
        if not self._step("poll", agent, number, 0, 0):
            raise Stuck("there is a notification")

    def _takes(self, event: Event, name: str, *more: int) -> None:
        """The one notification that the event says was taken."""
        agent, number, slot = self._number(event, event["agent"])
        new = list(self._new(event, slot))
        if len(new) != 1:
            raise Stuck(f"one step of the machine does not take {len(new)} notifications")
        held = [t for t, who in self.names.token.items() if who == new[0] and self.calls.is_(m.pending, t, number)]
        if not held or not self._step(name, agent, number, held[0], *more):
            raise Stuck("not sent yet")
        del self.names.token[held[0]]
        self.names.taken[new[0][0], slot] = new[0][1]

    def _new(self, event: Event, slot: str) -> Iterator[tuple[str, int]]:
        upto: Mapping[str, int] = event["upto"]
        for sender in self.scene.agents:
            before = self.names.taken.get((sender, slot), 0)
            if upto.get(sender, 0) < before:
                raise Stuck("fewer were taken than before")
            yield from ((sender, n) for n in range(before + 1, upto.get(sender, 0) + 1))

    def _team(self, event: Event) -> tuple[int, int, range]:
        teams = self.scene.world.teams
        if event["team"] not in teams:
            raise Stuck("nobody arrives there")
        agent = self.scene.agents.index(event["agent"])
        return agent, list(teams).index(event["team"]), range(self.scene.relation.epochs)

    def _arrive(self, event: Event) -> None:
        agent, team, epochs = self._team(event)
        name = event["team"]
        if tuple(event["members"]) != self.scene.world.teams[name]:
            raise Stuck("other members")
        under_way = any(self.calls.is_(m.collecting, team, e) for e in epochs)
        use = self.names.uses.get(name, 0) + (not under_way)
        if use != event["epoch"]:
            raise Stuck("another use of the barrier")
        for e in epochs:
            if self._step("arrive", agent, team, e):
                self.names.uses[name], self.names.epoch[name, e] = use, use
                return
        raise Stuck("arrive")

    def _leave(self, event: Event) -> None:
        agent, team, epochs = self._team(event)
        for e in epochs:
            if self.names.epoch.get((event["team"], e)) == event["epoch"] and self._step("leave", agent, team, e):
                return
        raise Stuck("leave")
