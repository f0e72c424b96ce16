"""An agent, host or device: one method for each action of the machine, and the composites."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable
from typing import Any

from shmem import layout, waiting
from shmem.engine import Engine, Notifier
from shmem.errors import (
    DeviceError,
    DriverLost,
    InvalidArgument,
    NotPermitted,
    PeerLost,
    ShmemError,
    TimedOut,
)
from shmem.handles import SharedMemoryRegion
from shmem.link import Link, SocketLink, closed
from shmem.memory import Memory, whole_lines
from shmem.notify import Slots
from shmem.teams import Team


class Agent(Memory, Slots):
    """An agent on coherent memory.  Its methods may be called from several threads of its process."""

    ending = False
    """The system is being closed: what fails now fails because of that."""

    def __init__(self, link: Link, told: dict[str, Any], fds: list[int]) -> None:
        self.link = link
        self.name: str = told["name"]
        self.index: int = told["index"]
        self.incarnation: int = told["incarnation"]
        self.platform: str = told["platform"]
        self.multicast: bool = told["multicast"]
        self._pages = threading.RLock()
        self._open_slots(told, fds)
        self._open_memory()
        self._teams: list[Team] = []
        self._notifier: Notifier | None = None
        self._gb: dict[int, tuple[int, list[str]]] = {}
        self._gb_number = 0
        self._latched: list[ShmemError] = []
        self._closed = False
        self.engine = Engine(self)
        if isinstance(link, SocketLink):
            link.watch(self._driver_lost)

    # -- teams and barriers --------------------------------------------------------------------------------

    def team(self, name: str, members: Iterable[str], flavour: str = "central") -> Team:
        """The team of that name and these members (in this order); flavour `central` or `dissemination`."""
        told, fds = self.link.call("team", name=name, members=list(members), flavour=flavour)
        team = Team(self, name, flavour, told, fds)
        self._teams.append(team)
        return team

    def arrive(self, team: Team, *regions: SharedMemoryRegion) -> int:
        """Flush and fence these regions and arrive at the barrier; the number of the epoch."""
        if not team.inside:  # a refused call changes nothing
            for region in regions:
                self.flush(region)
            self.fence()
        return team.arrive()

    def leave(self, team: Team, timeout: float | None = None) -> None:
        """Wait until every member has arrived, and leave.  PeerLost names members that died before arriving;
        TimedOut leaves this member arrived."""
        team.leave(timeout)

    def barrier(self, team: Team, *regions: SharedMemoryRegion, timeout: float | None = None) -> None:
        """`arrive` and `leave`; after TimedOut this member stays arrived: `leave` (a dissemination team: call this
        again)."""
        if team.flavour == "dissemination":
            for region in regions:
                self.flush(region)
            self.fence()
            team.disseminate(timeout)
            return
        self.arrive(team, *regions)
        self.leave(team, timeout)

    def gb_begin(self, region: SharedMemoryRegion, agents: Iterable[str]) -> None:
        """Ask the engines of these agents to drop their clean lines of the region; `gb_end` waits for
        them."""
        members = [name for name in agents if name != self.name]
        self._check_readable(region)
        self._gb_number += 1
        rung: set[int] = set()
        for name in members:
            self.peer(name).pair.store(layout.PAIR_GB, self._gb_number)  # step: gb_ask
        for name in members:
            peer = self.peer(name)
            if peer.engine not in rung:  # with multicast one word reaches everybody
                rung.add(peer.engine)
                peer.engine_page.add32(layout.ENGINE, 1)  # step: gb_ring
                peer.engine_page.wake(layout.ENGINE)  # step: gb_wake
        self._gb[region.id] = self._gb_number, members

    def _check_readable(self, region: SharedMemoryRegion) -> None:
        self.link.call("where", region=region.id, generation=region.generation)

    def gb_end(self, region: SharedMemoryRegion, timeout: float | None = None) -> None:
        """Wait until every engine has answered; PeerLost names those that died before."""
        if region.id not in self._gb:
            raise InvalidArgument(
                f"gb_end of {region} by {self.name}", "no global barrier of it is under way", "gb_begin first"
            )
        number, members = self._gb[region.id]
        limit = waiting.Limit(timeout)
        while True:
            seen = self.bell.load32(layout.BELL)  # step: gb_read_bell
            open_ = [n for n in members if self._answered(n) < number]  # step: gb_look
            if not open_:  # step: gb_done
                break
            seats = {n: (self._peers[n].index, self._peers[n].incarnation) for n in open_}
            dead = [n for n in open_ if not self._is_alive(*seats[n])]  # step: gb_alive
            dead = [n for n in dead if self._answered(n) < number]  # step: gb_answered (it may have, before it died)
            if dead:
                # step: peer_lost
                raise PeerLost(f"gb_end of {region}", f"{', '.join(dead)} died before answering", "go on without")
            self._may_sleep("gb_end")
            if limit.over():
                raise TimedOut(
                    f"gb_end of {region}",
                    f"{', '.join(open_)} did not answer in {timeout} s",
                    "call gb_end again",
                )
            self.bell.wait(layout.BELL, seen, limit.left_ns(), self.spin_ns)  # step: gb_sleep
        del self._gb[region.id]

    def _answered(self, name: str) -> int:
        return self._peers[name].own.load(layout.OWN_GB_ACKED + 8 * self.index)

    def global_barrier(self, region: SharedMemoryRegion, agents: Iterable[str], timeout: float | None = None) -> None:
        """Flush and fence the region, then make sure that no engine of these agents holds an old clean line
        of it. The members still wait for a notification and invalidate."""
        self.flush(region)
        self.fence()  # step: gb_publish
        self.gb_begin(region, agents)
        self.gb_end(region, timeout)

    # -- notification forms --------------------------------------------------------------------------------

    def on(self, slot: int, callback: Callable[[str], None] | None) -> None:
        """The interrupt form: `callback(sender)` runs on the notification thread for each notification of the
        slot, also for those that are there already.  None ends it.  Errors are latched."""
        self._check_slots((slot,), "on")
        self._notify().on(slot, callback)

    def fileno(self, slot: int) -> int:
        """The polling form: a descriptor for `select` or asyncio that is readable while the slot holds
        something. Take with `poll` or `wait`; do not read or close it."""
        self._check_slots((slot,), "fileno")
        return self._notify().file(slot)

    def _notify(self) -> Notifier:
        if self._closed:
            raise closed("on")
        if self._notifier is None:
            self._notifier = Notifier(self)
        return self._notifier

    def poll(self, slot: int) -> bool:
        """Take one notification if there is one, and say whether there was."""
        took = super().poll(slot)
        if took and self._notifier is not None:
            self._notifier.taken(slot)
        return took

    def _wait(self, slots: tuple[int, ...], timeout: float | None, action: str) -> tuple[int, str]:
        got = super()._wait(slots, timeout, action)
        if self._notifier is not None:
            self._notifier.taken(got[0])
        return got

    # -- data to and from private memory -------------------------------------------------------------------

    def copy_in(self, region: SharedMemoryRegion, data: Any, offset: int = 0) -> None:
        """Copy private data into a region, flushed and complete: what is left to do is to notify."""
        self.write(region, offset, data)
        self.flush(region, *whole_lines(region, offset, memoryview(data).nbytes))
        self.fence()

    def copy_out(self, region: SharedMemoryRegion, offset: int = 0, length: int | None = None) -> bytes:
        """A private copy of what memory holds now: call it after having been notified."""
        n = region.size - offset if length is None else length
        self.invalidate(region, *whole_lines(region, offset, n))
        return self.read(region, offset, length)

    # -- life ----------------------------------------------------------------------------------------------

    def _is_alive(self, index: int, incarnation: int) -> bool:
        base = index * 64
        same = self.board.load(base + layout.AGENT_INCARNATION) == incarnation
        return same and self.board.load(base + layout.AGENT_STATE) == layout.ALIVE

    def _may_sleep(self, action: str) -> None:
        self.interrupt()
        if self.link.lost:
            raise DriverLost(f"{action} by {self.name}", "the driver has died", "start the system again")

    def _refresh(self) -> None:
        if self.board.load(layout.BOARD_EVENTS) != self._seen_events:
            with self._pages:
                super()._refresh()

    def _driver_lost(self) -> None:
        """The next look of everybody who sleeps in this process finds the driver gone."""
        self._wake_all()

    def _wake_all(self) -> None:
        self.wake()
        for team in self._teams:
            team.wake()

    def latch(self, what: str, error: BaseException, trace: str) -> None:
        """Keep an error for the next call that can raise it."""
        found = f"{type(error).__name__}: {error}"
        latched = DeviceError(f"{what} of {self.name}", found, f"see its traceback\n{trace}")
        latched.__cause__ = error
        self._latched.append(latched)
        self._wake_all()

    def raise_latched(self) -> None:
        """Raise the oldest error that was kept."""
        if self._latched:
            raise self._latched.pop(0)

    def starting(self, task: object) -> None:
        """A function is about to run with this agent (emulated memory takes turns here)."""

    def running(self, task: object) -> contextlib.AbstractContextManager[None]:
        """Surrounds a function that runs with this agent."""
        return contextlib.nullcontext()

    def holding(self, task: Any, timeout: float | None) -> None:
        """This agent's program waits for a function on a device."""

    def die(self) -> None:
        """The fault `die`: this agent makes no further call, and its process (if it is a device's) is
        killed."""
        self.close()

    def close(self) -> None:
        """Leave the system; for the others this agent is dead."""
        if self._closed:
            return
        self._closed = True
        if self._notifier is not None:
            self._notifier.stop()
        if self._engine is not None:
            self._engine.shutdown()
        self.engine.stop()
        self.link.close()
        self.memory.close()
        fds = [*self.fds, *(fd for p in self._peers.values() for fd in p.fds)]
        for fd in [*fds, *(fd for team in self._teams for fd in team.fds)]:
            os.close(fd)

    def __repr__(self) -> str:
        return f"<agent {self.name}>"


__all__ = ["Agent", "NotPermitted"]
