"""Barriers of teams, on words that the members share.

**central**: each member has a line with the number of the last epoch it arrived in.  A member may leave epoch
e when every line says at least e; the one who finds that first publishes e and wakes the others.  No counter
is kept that a death could leave half-way: what counts are the lines.

**dissemination**: in round k member i tells member i + 2**k; after log2(n) rounds everybody knows of
everybody.  It has `barrier` only, since a member must come back for each round.  Once a member has died the
others decide by the lines, as in the central form, and each one wakes all.

Arrivals are never taken back: a member that died after it arrived has arrived; one that died before is told
to all as PeerLost, by every later call too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shmem import layout, memfd, waiting
from shmem.errors import DriverLost, InvalidArgument, PeerLost, TimedOut
from shmem.handles import SyncPrimitive
from shmem.words import Words

if TYPE_CHECKING:
    from shmem.agent import Agent

_ARRIVED, _LEFT, _BELL = 0, 8, 16


class Team(SyncPrimitive):
    """A barrier as one member sees it; made by `agent.team`."""

    def __init__(self, agent: Agent, name: str, flavour: str, told: dict[str, Any], fds: list[int]) -> None:
        self.agent = agent
        self.name = name
        self.flavour = flavour
        self.number: int = told["number"]
        self.members: list[str] = [m[2] for m in told["members"]]
        self._seats: list[tuple[int, int]] = [(m[0], m[1]) for m in told["members"]]
        self.me = self.members.index(agent.name)
        self.page = Words(memfd.map_file(fds[0], layout.TEAM_SIZE, writable=True))
        self.fds = fds
        self._mine = layout.TEAM_MEMBER + 64 * self.me
        self._rounds = max(1, (len(self.members) - 1).bit_length())

    @property
    def epoch(self) -> int:
        """The epoch in which this member arrived last, counted from 1."""
        return self.page.load(self._mine + _ARRIVED)

    @property
    def inside(self) -> bool:
        """Whether this member has arrived and not left yet."""
        return self.epoch != self.page.load(self._mine + _LEFT)

    def _everybody(self, epoch: int) -> bool:
        load = self.page.load
        return all(load(layout.TEAM_MEMBER + 64 * i) >= epoch for i in range(len(self.members)))  # step: team_look

    def missing(self, epoch: int) -> list[str]:
        """Members that died before they arrived."""
        return [
            name
            for i, (name, seat) in enumerate(zip(self.members, self._seats, strict=True))
            # In this order: the dead do not arrive any more.  step: team_alive, team_line
            if not self.agent._is_alive(*seat) and self.page.load(layout.TEAM_MEMBER + 64 * i) < epoch
        ]

    def _somebody_died(self) -> bool:
        return not all(self.agent._is_alive(*seat) for seat in self._seats)  # step: team_died

    # -- central -------------------------------------------------------------------------------------------

    def arrive(self) -> int:
        """Arrive in the next epoch; its number."""
        if self.flavour != "central":
            raise InvalidArgument(
                f"arrive at {self.name}",
                "a dissemination team has no split phase",
                "use barrier, or a central team",
            )
        if self.inside:
            raise InvalidArgument(
                f"arrive at {self.name} by {self.agent.name}",
                f"it is inside of epoch {self.epoch}",
                "leave first",
            )
        epoch = self.epoch + 1
        self.page.store(self._mine + _ARRIVED, epoch)  # step: arrive_mark
        if self._everybody(epoch):
            self.page.add32(layout.TEAM_EPOCH, 1)  # step: arrive_ring
            self.page.wake(layout.TEAM_EPOCH)  # step: arrive_wake
        return epoch

    def leave(self, timeout: float | None = None) -> None:
        """Wait until everybody has arrived, and leave."""
        if not self.inside:
            raise InvalidArgument(f"leave of {self.name} by {self.agent.name}", "it has not arrived", "arrive first")
        epoch = self.epoch
        self._until(lambda: self._everybody(epoch), layout.TEAM_EPOCH, epoch, timeout)
        self.page.store(self._mine + _LEFT, epoch)  # step: leave_mark

    def _until(self, done: Callable[[], bool], word: int, epoch: int, timeout: float | None) -> None:
        """Wait for a condition whose every change is followed by a change of the futex word."""
        limit, spin = waiting.Limit(timeout), self.agent.spin_ns
        while True:
            seen = self.page.load32(word)  # step: team_read_bell
            if done():
                return
            lost = self.missing(epoch)
            if lost:
                raise PeerLost(  # step: peer_lost
                    f"barrier {self.name}, epoch {epoch}",
                    f"{', '.join(lost)} died before arriving",
                    "make a team of the survivors",
                )
            if self.agent.link.lost:
                raise DriverLost(f"barrier {self.name}", "the driver has died", "start the system again")
            self.agent.interrupt()
            if limit.over():
                raise TimedOut(
                    f"barrier {self.name}, epoch {epoch}",
                    f"not everybody arrived in {limit.timeout} s; this member stays arrived",
                    "leave again later",
                )
            self.page.wait(word, seen, limit.left_ns(), spin)  # step: team_sleep

    # -- dissemination -------------------------------------------------------------------------------------

    def _flag(self, member: int, round_: int) -> int:
        return layout.TEAM_ROUNDS + (member * 6 + round_) * 8

    def _tell(self, member: int, round_: int, epoch: int) -> None:
        self.page.store(self._flag(member, round_), epoch)  # step: tell_flag
        bell = layout.TEAM_MEMBER + 64 * member + _BELL
        self.page.add32(bell, 1)  # step: tell_ring
        self.page.wake(bell)  # step: tell_wake

    def disseminate(self, timeout: float | None = None) -> None:
        """One whole barrier; after TimedOut the next call goes on with the same epoch."""
        n, bell = len(self.members), self._mine + _BELL
        if not self.inside:
            self.page.store(self._mine + _ARRIVED, self.epoch + 1)  # step: diss_mark
        epoch = self.epoch
        limit = waiting.Limit(timeout)
        for k in range(self._rounds):
            self._tell((self.me + 2**k) % n, k, epoch)
            if self._somebody_died():
                self._wake_all()
            flag = self._flag(self.me, k)
            left = limit.left_ns()

            def heard(flag: int = flag) -> bool:
                told = self.page.load(flag) >= epoch  # step: diss_heard
                return told or (self._somebody_died() and self._everybody(epoch))

            self._until(heard, bell, epoch, None if left < 0 else left / 1e9)
        self.page.store(self._mine + _LEFT, epoch)  # step: diss_leave

    def _wake_all(self) -> None:
        for member in range(len(self.members)):
            bell = layout.TEAM_MEMBER + 64 * member + _BELL
            self.page.add32(bell, 1)  # step: all_ring
            self.page.wake(bell)  # step: all_wake

    def wake(self) -> None:
        """Make this process's sleepers look again."""
        for word in (layout.TEAM_EPOCH, self._mine + _BELL):
            self.page.add32(word, 1)
            self.page.wake(word)
