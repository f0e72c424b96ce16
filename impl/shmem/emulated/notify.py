"""Slots, teams and global barriers of agents on emulated memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from shmem.emulated.board import Barrier, Request
from shmem.errors import InvalidArgument, NotPermitted, PeerLost
from shmem.handles import SharedMemoryRegion
from shmem.notify import Slots

if TYPE_CHECKING:
    from shmem.driver.records import Agent as Record
    from shmem.emulated.machine import Machine

T = TypeVar("T")


class EmulatedTeam:
    """A barrier by name and members; plain data."""

    def __init__(self, name: str, members: tuple[str, ...], flavour: str) -> None:
        self.name = name
        self.members = list(members)
        self.flavour = flavour

    @property
    def key(self) -> tuple[str, tuple[str, ...]]:
        """What identifies it."""
        return self.name, tuple(self.members)


class EmulatedSlots(Slots):
    """The part of an agent that sends and waits; each call is a turn."""

    machine: Machine
    record: Record
    flush: Callable[..., None]
    fence: Callable[[], None]

    def _step(
        self,
        what: str,
        do: Callable[[], T],
        ready: Callable[[], bool] | None = None,
        timeout: float | None = None,
    ) -> T:
        raise NotImplementedError

    def _what(self, action: str, region: SharedMemoryRegion) -> str:
        raise NotImplementedError

    # -- slots ---------------------------------------------------------------------------------------------

    def send(self, to: str, slot: int, n: int = 1) -> None:
        """See `Agent.send`."""
        self.send_batch(to, [slot] * n)

    def send_batch(self, to: str, slots: Iterable[int]) -> None:
        """See `Agent.send_batch`."""
        numbers = list(slots)

        def do() -> None:
            self._check_slots(tuple(numbers), "send")
            if to not in self.machine.hardware.sides:
                raise InvalidArgument(f"send to {to}", "there is no such agent", "name another one")
            for slot in numbers:
                if not self.machine.board.may_send(self.name, (to, slot)):
                    raise self._not_granted(to, slot)
            for slot in numbers:
                self.machine.board.post(self.name, (to, slot), 1)

        self._step("send", do)

    def grant(self, slot: int, senders: Iterable[str]) -> None:
        """See `Agent.grant`."""
        names = set(senders)

        def do() -> None:
            self._check_slots((slot,), "grant")
            self.machine.board.denied[self.name, slot] = names

        self._step("grant", do)

    def _wait(self, slots: tuple[int, ...], timeout: float | None, action: str) -> tuple[int, str]:
        self._check_slots(slots, action)
        board = self.machine.board
        mine = [(self.name, slot) for slot in slots]

        def ready() -> bool:
            return any(board.count(s) for s in mine) or all(board.deserted(s) for s in mine)

        def do() -> tuple[int, str]:
            for slot in mine:
                sender = board.take(slot)
                if sender is not None:
                    return slot[1], sender
            raise PeerLost(
                f"{action} of slot {', '.join(map(str, slots))} by {self.name}",
                "it is empty, and everybody who may send to it is dead",
                "grant the slot to somebody else",
            )

        return self._step(f"{action} of slot {', '.join(map(str, slots))}", do, ready, timeout)

    def _counted(self, to: str, slot: int) -> int:
        return self.machine.board.sent.get((self.name, to, slot), 0)

    def _upto(self, slot: int) -> dict[str, int]:
        taken = self.machine.board.taken
        return {sender: n for (sender, to, number), n in taken.items() if (to, number) == (self.name, slot)}

    def poll(self, slot: int) -> bool:
        """See `Agent.poll`."""
        self._check_slots((slot,), "poll")
        return self._step("poll", lambda: self.machine.board.take((self.name, slot)) is not None)

    def pending(self, slot: int) -> int:
        """See `Agent.pending`."""
        self._check_slots((slot,), "pending")
        return self._step("pending", lambda: self.machine.board.count((self.name, slot)))

    def on(self, slot: int, callback: Callable[[str], None] | None) -> None:
        """Emulated memory has no notification thread: it would be a strand that nobody scheduled."""
        raise InvalidArgument("on", "callbacks are for coherent memory", "use wait_any or poll")

    def fileno(self, slot: int) -> int:
        """Emulated memory has no descriptors: the kernel knows nothing of its turns."""
        raise InvalidArgument("fileno", "descriptors are for coherent memory", "use wait_any or poll")

    # -- teams ---------------------------------------------------------------------------------------------

    def team(self, name: str, members: Iterable[str], flavour: str = "central") -> Any:
        """See `Agent.team`."""
        seats = tuple(members)

        def do() -> EmulatedTeam:
            if self.name not in seats:
                raise NotPermitted(f"team {name} for {self.name}", f"its members are {seats}", "ask as a member")
            if len(set(seats)) != len(seats) or flavour not in ("central", "dissemination"):
                raise InvalidArgument(f"team {name}", "members are named once, flavour is known", "correct it")
            unknown = [n for n in seats if n not in self.machine.hardware.sides]
            if unknown:
                raise InvalidArgument(f"team {name}", f"there is no agent {', '.join(unknown)}", "name others")
            self.machine.board.barriers.setdefault((name, seats), Barrier(name, seats))
            return EmulatedTeam(name, seats, flavour)

        return self._step("team", do)

    def arrive(self, team: Any, *regions: SharedMemoryRegion) -> int:
        """See `Agent.arrive`."""
        barrier = self.machine.board.barriers[team.key]
        if not barrier.inside(self.name):  # a refused call changes nothing
            for region in regions:
                self.flush(region)
            self.fence()

        def do() -> int:
            if barrier.inside(self.name):
                raise InvalidArgument(f"arrive at {team.name} by {self.name}", "it is inside", "leave first")
            barrier.arrived[self.name] = barrier.arrived.get(self.name, 0) + 1
            return barrier.arrived[self.name]

        return self._step("arrive", do)

    def leave(self, team: Any, timeout: float | None = None) -> None:
        """See `Agent.leave`."""
        barrier = self.machine.board.barriers[team.key]
        epoch = barrier.arrived.get(self.name, 0)

        def lost() -> list[str]:
            return [n for n in barrier.members if n in self.machine.hardware.dead and barrier.arrived.get(n, 0) < epoch]

        def ready() -> bool:
            return not barrier.inside(self.name) or barrier.complete(epoch) or bool(lost())

        def do() -> None:
            if not barrier.inside(self.name):
                raise InvalidArgument(f"leave of {team.name} by {self.name}", "it has not arrived", "arrive first")
            if lost():
                raise PeerLost(f"barrier {team.name}", f"{', '.join(lost())} died before arriving", "go on without")
            barrier.left[self.name] = epoch

        self._step("leave", do, ready, timeout)

    def barrier(self, team: Any, *regions: SharedMemoryRegion, timeout: float | None = None) -> None:
        """See `Agent.barrier`."""
        self.arrive(team, *regions)
        self.leave(team, timeout)

    def gb_begin(self, region: SharedMemoryRegion, agents: Iterable[str]) -> None:
        """See `Agent.gb_begin`."""
        members = tuple(name for name in agents if name != self.name)

        def do() -> None:
            record = self.machine.region(region, "gb_begin")
            if not self.machine.service.right_of(self.record, record):
                raise NotPermitted(self._what("gb_begin", region), "its list does not name it", "ask its owner")
            missing = {(name, block) for name in members for block in self.machine.blocks(record)}
            self.machine.board.requests[self.name] = Request(members, record.key, missing)

        self._step("gb_begin", do)

    def gb_end(self, region: SharedMemoryRegion, timeout: float | None = None) -> None:
        """See `Agent.gb_end`."""
        board, dead = self.machine.board, self.machine.hardware.dead

        def request() -> Request:
            found = board.requests.get(self.name)
            if found is None or found.key != region.key:
                raise InvalidArgument(f"gb_end of {region} by {self.name}", "none is under way", "gb_begin first")
            return found

        def ready() -> bool:
            found = board.requests.get(self.name)
            return (
                not self.machine.manual
                or found is None
                or found.key != region.key
                or not found.missing
                or any(n in dead for n, _ in found.missing)
            )

        def do() -> None:
            found = request()
            lost = sorted({name for name, _ in found.missing if name in dead})
            if lost:
                raise PeerLost(f"gb_end of {region}", f"{', '.join(lost)} died before answering", "go on without")
            for name, block in sorted(found.missing):
                if (name, block) in found.missing:
                    board.acknowledge(self.name, name, block)
            del board.requests[self.name]

        self._step("gb_end", do, ready, timeout)
