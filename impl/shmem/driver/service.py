"""What the driver does, without any socket: agents join and die, get pages for talking, and form teams.

One lock covers everything; each call is short.  The host process that runs the driver as a thread calls these
methods directly, everybody else through `ops` and `server`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from shmem import layout
from shmem.driver.compaction import Compaction
from shmem.driver.records import Agent, Arena, Page, Team
from shmem.errors import InvalidArgument, NotPermitted, OutOfMemory
from shmem.platforms import Platform

_ALL_SLOTS = (1 << 64) - 1


class Service(Compaction):
    """The driver's state and everything that changes it."""

    def __init__(
        self,
        platform: Platform,
        pool: int = 256 << 20,
        extent: int = 4 << 20,
        threshold: float | None = 0.5,
        memory: str = "coherent",
    ) -> None:
        self.platform = platform
        super().__init__(pool, extent)
        self.memory = memory
        self.threshold = threshold
        self.lock = threading.RLock()
        self.agents: dict[int, Agent] = {}
        self.teams: dict[tuple[str, tuple[tuple[int, int], ...]], Team] = {}
        self.board = Page("board", layout.BOARD_SIZE)
        self.spin_ns = 40_000
        """How long a waiter spins before it sleeps: about what one wake-up costs."""
        self._multicast: dict[int, Page] = {}
        self._incarnations = 0
        self.wants_compaction: Callable[[], None] = lambda: None
        """Called (under the lock) when an arena got too fragmented; the server compacts when it is idle."""
        self.dirty_arenas: set[int] = set()
        self.on_death: list[Callable[[Agent], None]] = []

    # -- agents --------------------------------------------------------------------------------------------

    def join(self, name: str | None, kind: str, uid: int, pid: int, owner: str = "") -> Agent:
        """Enter an agent; a missing name is chosen (`host`, `host1`, ... or `dev0`, `dev1`, ...)."""
        taken = {agent.name for agent in self.living()}
        if name is None:
            names = ["host"] if kind == "host" else []
            names += [f"{'host' if kind == 'host' else 'dev'}{i}" for i in range(layout.MAX_AGENTS + 1)]
            name = next(n for n in names if n not in taken)
        if name in taken:
            raise InvalidArgument(f"join as {name}", "an agent of that name is alive", "choose another name, or none")
        index = next((i for i in range(layout.MAX_AGENTS) if not self._seat_taken(i)), None)
        if index is None:
            raise OutOfMemory(
                f"join as {name}",
                f"the driver serves {layout.MAX_AGENTS} agents at most",
                "end some agents first",
            )
        self._incarnations += 1
        agent = Agent(
            index, self._incarnations, name, uid, pid, owner or name,
            Page(f"own.{name}", layout.OWN_SIZE), Page(f"bell.{name}", layout.BELL_SIZE),
        )  # fmt: skip
        self._forget(self.agents.get(index))
        self.agents[index] = agent
        self.forget_lists()
        self._default_grants(agent)
        words = self.board.words
        words.store(index * 64 + layout.AGENT_INCARNATION, agent.incarnation)
        words.store(index * 64 + layout.AGENT_STATE, layout.ALIVE)
        self.announce()
        return agent

    def _seat_taken(self, index: int) -> bool:
        """Seats of the dead are taken again late, when no fresh one is left.  Who still asks about the dead
        one names its incarnation, so nobody takes the new agent for the old one (H12)."""
        agent = self.agents.get(index)
        return agent is not None and (agent.alive or len(self.agents) < layout.MAX_AGENTS)

    def _forget(self, agent: Agent | None) -> None:
        if agent is None:
            return
        for page in [agent.own, agent.bell, *(p for _, p in agent.pairs.values())]:
            page.close()
        for held in agent.arenas.values():
            held.rights.close()
            held.pins.close()

    def _default_grants(self, agent: Agent) -> None:
        """Agents of one tenant may send to each other; between tenants the receiver grants."""
        for other in list(self.agents.values()):
            same = other.alive and other.uid == agent.uid and other is not agent
            for receiver, sender in ((agent.index, other.index), (other.index, agent.index)):
                for k in range(layout.SLOTS // 64):
                    at = layout.row_of_grants(receiver, sender) + 8 * k
                    self.board.words.store(at, _ALL_SLOTS if same else 0)

    def announce(self) -> None:
        """Tell everybody that the board has changed: one count for those awake, a ring for those asleep."""
        self.board.words.add(layout.BOARD_EVENTS, 1)
        for agent in self.living():
            agent.bell.words.add32(layout.BELL, 1)  # step: death_ring
            agent.bell.words.wake(layout.BELL)  # step: death_wake
            engine = self.engine_page(agent).words
            engine.add32(layout.ENGINE, 1)
            engine.wake(layout.ENGINE)
        for team in self.teams.values():
            for at in [
                layout.TEAM_EPOCH,
                *(layout.TEAM_MEMBER + 64 * i + 16 for i in range(len(team.members))),
            ]:
                team.page.words.add32(at, 1)
                team.page.words.wake(at)

    def died(self, agent: Agent) -> None:
        """Take back exactly what a dead agent held, and tell everybody."""
        if not agent.alive:
            return
        agent.alive = False
        self.had_deaths = True
        self.forget_lists()
        self.board.words.store(agent.index * 64 + layout.AGENT_STATE, layout.DEAD)  # step: death_mark
        for arena in list(self.arenas.values()):
            for region in arena.regions.values():
                region.mapped.pop(agent.index, None)
            self._lapse_pins(agent, arena)
            self.reap(arena)
        for hook in self.on_death:
            hook(agent)
        self._forget(agent)
        self.announce()

    def reap(self, arena: Arena) -> None:
        """Take back what nobody can use any more: regions that no living agent may write and none has mapped,
        and the arena itself once it is empty and a name on its list is dead (nobody can ask for it again)."""
        self.sweep(arena)
        alive = {a.key for a in self.living()}
        if all(key in alive for key in arena.acl):
            return
        if not any(key in alive and right & layout.WRITE for key, right in arena.acl.items()):
            for region in [r for r in arena.regions.values() if not r.mapped]:
                self.close_region(region)
        if not arena.regions and not arena.quarantine:
            self._drop_arena(arena)

    def _lapse_pins(self, agent: Agent, arena: Arena) -> None:
        held = agent.arenas.pop(arena.number, None)
        if held is not None:
            del arena.users[agent.index]
            held.rights.close()
            held.pins.close()

    def _drop_arena(self, arena: Arena) -> None:
        """Nobody who may use the arena is alive: its memory goes back to the pool."""
        del self.arenas[arena.number]
        self._by_acl = {key: a for key, a in self._by_acl.items() if a is not arena}
        for agent in self.agents.values():
            self._lapse_pins(agent, arena)
        for extent in arena.extents:
            self.reserved -= extent.page.size
            extent.page.close()
        arena.table.close()

    def agent_named(self, name: str) -> Agent:
        """The living agent of that name."""
        for agent in self.living():
            if agent.name == name:
                return agent
        known = ", ".join(agent.name for agent in self.living())
        raise InvalidArgument(f"the agent {name}", f"there is none; there are {known}", "name one of these")

    def engine_page(self, agent: Agent) -> Page:
        """Where the agent's engine hears of global barriers: its own page, or with multicast its tenant's."""
        if not self.platform.multicast:
            return agent.bell
        if agent.uid not in self._multicast:
            self._multicast[agent.uid] = Page(f"multicast{agent.uid}", layout.BELL_SIZE)
        return self._multicast[agent.uid]

    # -- slots ---------------------------------------------------------------------------------------------

    def may_send(self, sender: Agent, receiver: Agent) -> bool:
        """Whether the sender may send to any slot of the receiver."""
        row = layout.row_of_grants(receiver.index, sender.index)
        return any(self.board.words.load(row + 8 * k) for k in range(layout.SLOTS // 64))

    def peer(self, caller: Agent, name: str) -> tuple[Agent, Page]:
        """The receiver of that name and the page on which the caller sends to it."""
        receiver = self.agent_named(name)
        if receiver is caller or not self.may_send(caller, receiver):
            raise NotPermitted(
                f"send from {caller.name} to {name}",
                f"{name} has granted {caller.name} no slot",
                f"let {name} grant a slot",
            )
        known = receiver.pairs.get(caller.index)
        if known is None or known[0] != caller.incarnation:
            if known is not None:
                known[1].close()
            page = Page(f"pair.{caller.name}.{name}", layout.PAIR_SIZE)
            receiver.pairs[caller.index] = (caller.incarnation, page)
            self.announce()
        return receiver, receiver.pairs[caller.index][1]

    def grant(self, receiver: Agent, slot: int, senders: list[str]) -> None:
        """From now on exactly these agents may send to the slot."""
        allowed = {self.agent_named(name).index for name in senders}
        words, bit = self.board.words, 1 << slot % 64
        for index in range(layout.MAX_AGENTS):
            at = layout.row_of_grants(receiver.index, index) + slot // 64 * 8
            old = words.load(at)
            words.store(at, old | bit if index in allowed else old & ~bit)
        self.announce()

    # -- teams ---------------------------------------------------------------------------------------------

    def team(self, caller: Agent, name: str, members: list[str], flavour: str) -> Team:
        """The team of that name and these members; made by the first who asks."""
        if caller.name not in members:
            raise NotPermitted(
                f"team {name} for {caller.name}", f"its members are {', '.join(members)}", "ask as a member"
            )
        if len(set(members)) != len(members) or flavour not in ("central", "dissemination"):
            raise InvalidArgument(
                f"team {name} ({flavour}) of {', '.join(members)}",
                "members are named once, and the flavour is central or dissemination",
                "correct the call",
            )
        agents = tuple(self.agent_named(m) for m in members)
        key = (name, tuple(agent.key for agent in agents))
        team = self.teams.get(key)
        if team is None:
            if len(self.teams) >= layout.TEAMS:  # those with a dead member can only answer PeerLost
                self.teams = {k: t for k, t in self.teams.items() if all(m.alive for m in t.members)}
            if len(self.teams) >= layout.TEAMS:
                raise OutOfMemory(f"team {name}", f"there are {layout.TEAMS} teams already", "reuse one")
            number = next(n for n in range(layout.TEAMS) if all(t.number != n for t in self.teams.values()))
            team = Team(number, name, agents, flavour, Page(f"team.{name}", layout.TEAM_SIZE))
            self.teams[key] = team
        if team.flavour != flavour:
            raise InvalidArgument(
                f"team {name} ({flavour})", f"the team exists and is {team.flavour}", "name the same flavour"
            )
        return team

    # -- compaction when idle ------------------------------------------------------------------------------

    def after_free(self, arena: Arena) -> None:
        """Remember an arena that got too fragmented; the server looks after it when nobody asks for
        anything."""
        if self.had_deaths:
            self.reap(arena)
        if self.threshold is None or not arena.regions or arena.number in self.dirty_arenas:
            return
        if arena.perhaps_fragmented(self.threshold) and arena.space.fragmentation() > self.threshold:
            self.dirty_arenas.add(arena.number)
            self.wants_compaction()

    def compact_idle(self) -> None:
        """Compact what has been remembered, if it still is too fragmented."""
        numbers, self.dirty_arenas = self.dirty_arenas, set()
        for number in numbers:
            arena = self.arenas.get(number)
            if arena and self.threshold is not None and arena.space.fragmentation() > self.threshold:
                self.compact([arena])

    def close(self) -> None:
        """Let all memory go."""
        for arena in list(self.arenas.values()):
            self._drop_arena(arena)
        for agent in self.agents.values():
            self._forget(agent)
        for team in self.teams.values():
            team.page.close()
        for page in [self.board, *self._multicast.values()]:
            page.close()

    def describe(self) -> dict[str, Any]:
        """Everything that `ls`, `show` and `top` print, as data."""
        return {
            "platform": self.platform.name,
            "memory": self.memory,
            "pid": os.getpid(),
            "pool": self.pool,
            "reserved": self.reserved,
            "agents": [_agent_row(self, agent) for agent in self.agents.values()],
            "arenas": [self._arena_row(arena) for arena in self.arenas.values()],
            "teams": [{"name": t.name, "members": [m.name for m in t.members]} for t in self.teams.values()],
        }

    def _arena_row(self, arena: Arena) -> dict[str, Any]:
        names = {a.key: a.name for a in self.agents.values()}
        return {
            "number": arena.number,
            "secure": arena.secure,
            "acl": {names.get(key, "?"): "rw" if right & 2 else "r" for key, right in arena.acl.items()},
            "size": sum(e.page.size for e in arena.extents),
            "free": arena.space.free,
            "largest": arena.space.largest(),
            "fragmentation": round(arena.space.fragmentation(), 4),
            "quarantine": len(arena.quarantine),
            "regions": [
                {
                    "id": r.id,
                    "generation": r.generation,
                    "size": r.size,
                    "owner": r.owner,
                    "flags": r.flags,
                    "physical": r.start,
                    "device_address": r.device_address,
                    "purpose": r.purpose,
                    "holders": self.holders(r),
                    "lingering": sum(
                        a.arenas[arena.number].lingering(r.index) for a in self.living() if arena.number in a.arenas
                    ),
                }
                for r in sorted(arena.regions.values(), key=lambda r: r.start)
            ],
        }


def _agent_row(service: Service, agent: Agent) -> dict[str, Any]:
    row: dict[str, Any] = {"name": agent.name, "alive": agent.alive, "pid": agent.pid, "uid": agent.uid}
    if agent.alive:
        sent = {i: page.words for i, (_, page) in agent.pairs.items()}
        consumed = agent.own.words
        pending = {}
        for slot in range(layout.SLOTS):
            count = 0
            for i, words in sent.items():
                count += words.load(slot * 8) - consumed.load(layout.OWN_CONSUMED + (i * layout.SLOTS + slot) * 8)
            if count:
                pending[slot] = count
        row |= {"pending": pending, "waiting": agent.own.words.load32(layout.OWN_WAITING)}
    return row
