"""Notifications: slots that belong to their receiver, sent to and waited for without the driver.

A slot counts (doorbell) or is sticky (event register: coalesces), as the platform says.  Nothing is ever lost
or queued: what a sender has sent is a counter that only it can write, what the receiver has taken is a
counter that only it can write.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from shmem import layout, memfd, waiting
from shmem.errors import DriverLost, InvalidArgument, NotPermitted, PeerLost, TimedOut
from shmem.words import Inbox, Port, Words

if TYPE_CHECKING:
    from shmem.link import Link


class Peer:
    """What this agent has mapped in order to send to another one."""

    def __init__(self, told: dict[str, Any], fds: list[int], board: Words, sender: int) -> None:
        self.index: int = told["index"]
        self.incarnation: int = told["incarnation"]
        self.engine: int = told["engine"]
        pair, own, bell, engine = fds
        self.pair = Words(memfd.map_file(pair, memfd.pages(layout.PAIR_SIZE), writable=True))
        self.own = Words(memfd.map_file(own, memfd.pages(layout.OWN_SIZE), writable=False), False)
        self.bell = Words(memfd.map_file(bell, layout.BELL_SIZE, writable=True))
        self.engine_page = Words(memfd.map_file(engine, layout.BELL_SIZE, writable=True))
        self.port = Port(self.pair, self.own, self.bell, board, self.index, sender)
        self.fds = fds


class Slots:
    """The part of an agent that sends and waits."""

    name: str
    index: int
    link: Link

    def _open_slots(self, told: dict[str, Any], fds: list[int]) -> None:
        board, own, bell, engine = fds
        self.fds = fds
        self.sticky: bool = told["slots"] == "sticky"
        self.board = Words(memfd.map_file(board, memfd.pages(layout.BOARD_SIZE), writable=False), False)
        self.own = Words(memfd.map_file(own, memfd.pages(layout.OWN_SIZE), writable=True))
        self.bell = Words(memfd.map_file(bell, layout.BELL_SIZE, writable=True))
        self.engine_page = Words(memfd.map_file(engine, layout.BELL_SIZE, writable=True))
        self.inbox = Inbox(self.own, self.bell, self.board, self.index)
        self._spin_ns: int = told["spin_ns"]
        self.spin_ns = 0 if waiting.one_core() else self._spin_ns
        self._peers: dict[str, Peer] = {}
        self._names: dict[int, str] = {}
        self._pids: dict[int, int] = {}
        self._known: dict[int, tuple[int, Words]] = {}
        self._seen_events = -1
        self.interrupt: Callable[[], None] = lambda: None
        """Asked before each sleep; may raise (a device that failed is told to the host here)."""

    # -- sending -------------------------------------------------------------------------------------------

    def peer(self, name: str) -> Peer:
        """The pages for sending to an agent; fetched once."""
        found = self._peers.get(name)
        if found is None:
            found = self._peers[name] = Peer(*self.link.call("peer", name=name), self.board, self.index)
        return found

    def send(self, to: str, slot: int, n: int = 1) -> None:
        """Notify a slot of another agent, n times.  It does not wait for the sender's posted writes (H5):
        flush and fence first.  NotPermitted without the right to that slot."""
        port = (self._peers.get(to) or self.peer(to)).port
        if n != 1 and not 0 < n < 1 << 32:
            raise InvalidArgument(f"send of {n} notifications to {to}", "that is no count", "send at least one")
        try:
            if port.send(slot, n):
                return
        except (IndexError, OverflowError) as error:
            raise _no_slot("send", slot) from error
        raise self._not_granted(to, slot)

    def send_batch(self, to: str, slots: Iterable[int]) -> None:
        """Notify several slots of one agent with one wake-up; all of them or, where one is not permitted,
        none."""
        port = (self._peers.get(to) or self.peer(to)).port
        try:
            refused = port.send_many(slots if type(slots) is tuple else tuple(slots))
        except (IndexError, ValueError, OverflowError) as error:
            raise InvalidArgument(
                f"send_batch to {to}", str(error), f"name 1024 slots below {layout.SLOTS} at most"
            ) from error
        if refused >= 0:
            raise self._not_granted(to, refused)

    def broadcast(self, to: Iterable[str], slot: int) -> None:
        """Notify the same slot of several agents."""
        for name in to:
            self.send(name, slot)

    def _not_granted(self, to: str, slot: int) -> NotPermitted:
        return NotPermitted(
            f"send from {self.name} to slot {slot} of {to}",
            f"{to} has not granted {self.name} that slot",
            f"let {to} call grant({slot}, [..., {self.name!r}])",
        )

    def grant(self, slot: int, senders: Iterable[str]) -> None:
        """From now on exactly these agents may send to this agent's slot."""
        self._check_slots((slot,), "grant")
        self.link.call("grant", slot=slot, senders=list(senders))

    # -- waiting -------------------------------------------------------------------------------------------

    def wait(self, slot: int, timeout: float | None = None) -> str:
        """Take one notification of a slot; answers the sender's name.

        Blocks up to `timeout` seconds, then TimedOut (nothing was taken). PeerLost where the slot is empty
        and everybody who may send to it is dead."""
        return self._wait((slot,), timeout, "wait")[1]

    def wait_any(self, slots: Iterable[int], timeout: float | None = None) -> int:
        """Take one notification of any of these slots (the first in the list that has one); answers the
        slot."""
        return self._wait(tuple(slots), timeout, "wait_any")[0]

    def wait_all(self, slots: Iterable[int], timeout: float | None = None) -> None:
        """Take one notification of each of these slots.  Where the time is over, those taken are named in the
        error and stay taken."""
        limit, missing = waiting.Limit(timeout), list(slots)
        while missing:
            try:
                left = limit.left_ns()
                missing.remove(self.wait_any(missing, None if left < 0 else left / 1e9))
            except TimedOut as error:
                raise TimedOut(
                    error.asked, f"slots {missing} are still empty; the others were taken", error.remedy
                ) from None

    def poll(self, slot: int) -> bool:
        """Take one notification if there is one, and say whether there was."""
        if self.board.load(layout.BOARD_EVENTS) != self._seen_events:
            self._refresh()
        try:
            return self.inbox.spin((slot,), self.sticky, 0) >= 0
        except (IndexError, OverflowError) as error:
            raise _no_slot("poll", slot) from error

    def pending(self, slot: int) -> int:
        """How many notifications a slot holds (a sticky one: 0 or 1)."""
        self._check_slots((slot,), "pending")
        self._refresh()
        count = self.inbox.pending(slot)
        return min(count, 1) if self.sticky else count

    def _wait(self, slots: tuple[int, ...], timeout: float | None, action: str) -> tuple[int, str]:
        try:
            got = self.inbox.spin(slots, self.sticky, self.spin_ns)
        except (IndexError, ValueError, OverflowError) as error:
            raise _no_slot(action, slots) from error
        if got < 0:
            if not slots:
                raise InvalidArgument(f"{action} by {self.name}", "no slot was named", "name at least one")
            got = self._sleep(slots, timeout, action)
        sender = got % layout.MAX_AGENTS
        return slots[got // layout.MAX_AGENTS], self._names.get(sender, "?")

    def _sleep(self, slots: tuple[int, ...], timeout: float | None, action: str) -> int:
        limit = waiting.Limit(timeout)
        while True:
            # The bell is read before anything is looked at: whoever changes one of these things rings
            # afterwards.
            seen = self.bell.load32(layout.BELL)  # step: wait_read_bell
            self._refresh()
            self.spin_ns = 0 if waiting.one_core(self._pids.values()) else self._spin_ns
            got = self.inbox.spin(slots, self.sticky, 0)
            if got >= 0:
                return got
            self.interrupt()
            try:
                self._check_alive(slots, action)  # step: wait_check_alive
            except PeerLost:  # the last of them may have sent after that look, and died before this one
                self._refresh()
                got = self.inbox.spin(slots, self.sticky, 0)
                if got >= 0:
                    return got
                raise  # step: peer_lost
            got = self.inbox.sleep(slots, self.sticky, seen, limit.left_ns())
            if got >= 0:
                return got
            if got == layout.TIMED_OUT or limit.over():
                raise TimedOut(
                    f"{action} of slot {', '.join(map(str, slots))} by {self.name}",
                    f"no notification came in {timeout} s; nothing was taken",
                    "call again, or look who should send (shmem show)",
                )

    def _counted(self, to: str, slot: int) -> int:
        """How many notifications this agent has sent to a slot so far."""
        return self.peer(to).pair.load(slot * 8)

    def _upto(self, slot: int) -> dict[str, int]:
        """Sender -> how many of its notifications to the slot have been taken so far."""
        found = {}
        for index, name in self._names.items():
            taken = self.own.load(layout.OWN_CONSUMED + (index * layout.SLOTS + slot) * 8)
            if taken:
                found[name] = taken
        return found

    def _check_alive(self, slots: tuple[int, ...], action: str) -> None:
        if self.link.lost:
            raise DriverLost(
                f"{action} by {self.name}",
                "the driver has died",
                "end this process and start the system again",
            )
        if any(self._may_send(i, slot) and self._alive(i) for slot in slots for i in self._names):
            return  # one who has sent before: the usual case, and this is on the way to sleep
        dead: set[str] = set()
        for slot in slots:
            others = self._senders(slot)
            if not others or any(self._alive(i) for i in others):
                return
            dead |= {self._names.get(i, f"agent {i}") for i in others}
        raise PeerLost(
            f"{action} of slot {', '.join(map(str, slots))} by {self.name}",
            f"it is empty, and everybody who may send to it is dead ({', '.join(sorted(dead))})",
            "start the device again, or grant the slot to somebody else",
        )

    def _may_send(self, index: int, slot: int) -> bool:
        return bool(self.board.load(layout.row_of_grants(self.index, index) + slot // 64 * 8) >> slot % 64 & 1)

    def _senders(self, slot: int) -> list[int]:
        return [i for i in range(layout.MAX_AGENTS) if i != self.index and self._may_send(i, slot)]

    def _alive(self, index: int) -> bool:
        return self.board.load(index * 64 + layout.AGENT_STATE) == layout.ALIVE

    def _refresh(self) -> None:
        """Fetch the pages of new senders, if the board has changed since the last look."""
        events = self.board.load(layout.BOARD_EVENTS)
        if events == self._seen_events or self.link.lost:
            return
        try:
            told, fds = self.link.call("sources")
        except DriverLost:
            return  # the waiter is told by `_check_alive`; what has been sent can still be taken
        for (index, incarnation, name, pid), fd in zip(told["senders"], fds, strict=True):
            known = self._known.get(index)
            if known is None or known[0] != incarnation:
                page = Words(memfd.map_file(fd, memfd.pages(layout.PAIR_SIZE), writable=False), False)
                for slot in range(layout.SLOTS):  # a new sender in an old seat starts from nothing (H12)
                    self.own.store(layout.OWN_CONSUMED + (index * layout.SLOTS + slot) * 8, 0)
                self._known[index] = incarnation, page
                self._names[index], self._pids[index] = name, pid
                self.inbox.connect(index, page)
            os.close(fd)
        self._seen_events = events
        self._peers = {n: p for n, p in self._peers.items() if self._current(p)}

    def _current(self, peer: Peer) -> bool:
        return self.board.load(peer.index * 64 + layout.AGENT_INCARNATION) == peer.incarnation

    def _check_slots(self, slots: tuple[int, ...], action: str) -> None:
        if not all(type(slot) is int and 0 <= slot < layout.SLOTS for slot in slots):
            raise _no_slot(action, slots)

    def wake(self) -> None:
        """Make this agent's own sleepers look again."""
        self.bell.add32(layout.BELL, 1)
        self.bell.wake(layout.BELL)


def _no_slot(action: str, slot: Any) -> InvalidArgument:
    return InvalidArgument(
        f"{action} of slot {slot}", f"slots are numbered from 0 to {layout.SLOTS - 1}", "choose one of these"
    )
