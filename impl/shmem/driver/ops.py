"""The driver's calls as they come through its socket: every argument is checked before anything is done."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shmem import layout, words
from shmem.driver.records import Agent, Arena, Page, Region
from shmem.driver.service import Service
from shmem.errors import InvalidArgument, NotPermitted

Answer = tuple[dict[str, Any], list[int]]
Check = Callable[[Any], bool]


@dataclass(eq=False)
class Client:
    """One connection: who is behind it, by the kernel's word, and which agent it has become."""

    uid: int
    pid: int
    agent: Agent | None = None


def number(most: int, least: int = 0) -> Check:
    """A check for integers."""
    return lambda v: type(v) is int and least <= v <= most


def name(value: Any) -> bool:
    """A check for names of agents and teams."""
    return type(value) is str and 0 < len(value) <= 64 and value.isprintable() and "/" not in value


def _names(value: Any) -> bool:
    return type(value) is list and len(value) <= layout.MAX_AGENTS and all(name(v) for v in value)


def _acl(value: Any) -> bool:
    if value is None:
        return True
    return type(value) is dict and 0 < len(value) <= layout.MAX_AGENTS and all(
        name(k) and _rights(v) for k, v in value.items()
    )  # fmt: skip


def _window(value: Any) -> bool:
    return value is None or (
        type(value) is list and len(value) == 2 and all(number(1 << 62)(v) for v in value) and value[0] < value[1]
    )


_BIG = number(1 << 48)
_HANDLE: dict[str, Check] = {"region": _BIG, "generation": number(1 << 62)}


def _rights(value: Any) -> bool:
    return type(value) is str and value in ("r", "w", "rw")


def _text(value: Any) -> bool:
    return type(value) is str and len(value) <= 64


def handle_of(region: Region) -> dict[str, Any]:
    """What a client needs to know of a region."""
    return {
        "region": region.id,
        "generation": region.generation,
        "size": region.size,
        "align": region.align,
        "flags": region.flags,
        "extent": region.extent.number,
        "offset": region.offset,
        "physical": region.start,
        "device_address": region.device_address,
        "owner": region.owner,
    }


class Ops:
    """Calls by name; `schema` says which arguments each one takes (all of them must be there)."""

    def __init__(self, service: Service, token: str | None, uids: frozenset[int] | None) -> None:
        self.service = service
        self.token = token
        self.uids = uids
        self.schema: dict[str, tuple[Callable[..., Answer], dict[str, Check]]] = {
            "join": (
                self.join,
                {
                    "name": lambda v: v is None or name(v),
                    "kind": lambda v: type(v) is str and v in ("host", "device"),
                    "token": lambda v: v is None or _text(v),
                    "core": _text,
                    "owner": lambda v: v is None or name(v),
                },
            ),
            "alloc": (
                self.alloc,
                {
                    "size": number(1 << 48, -(1 << 48)), "align": number(1 << 48, -(1 << 48)),
                    "window": _window,
                    "flags": number(1 << 30, -(1 << 30)), "acl": _acl, "purpose": _text,
                },
            ),
            "free": (self.free, _HANDLE | {"force": lambda v: type(v) is bool}),
            "map": (self.map, _HANDLE | {"rights": _rights}),
            "extent": (self.extent, {"arena": _BIG, "extent": _BIG}),
            "unmap": (self.unmap, _HANDLE | {"agent": name}),
            "where": (self.where, _HANDLE),
            "peer": (self.peer, {"name": name}),
            "sources": (self.sources, {}),
            "grant": (self.grant, {"slot": number(layout.SLOTS - 1), "senders": _names}),
            "team": (self.team, {"name": name, "members": _names, "flavour": _text}),
            "compact": (self.compact, {}),
            "describe": (self.describe, {}),
        }  # fmt: skip

    def call(self, client: Client, message: dict[str, Any]) -> Answer:
        """Do one call; every mistake is a ShmemError."""
        op = message.get("op")
        entry = self.schema.get(op) if type(op) is str else None
        if entry is None:
            known = ", ".join(self.schema)
            raise InvalidArgument(f"the call {op!r:.40}", "the driver has no such call", f"use one of {known}")
        method, checks = entry
        for key, check in checks.items():
            if key not in message or not check(message[key]):
                raise InvalidArgument(
                    f"the call {op}", f"its argument {key} is missing or makes no sense", "correct the call"
                )
        if op not in ("join", "describe") and client.agent is None:
            raise NotPermitted(f"the call {op}", "this connection has not joined", "join first")
        with self.service.lock:
            return method(client if op in ("join", "describe") else client.agent, message)

    def _admit(self, client: Client, what: str) -> None:
        if self.uids is not None and client.uid not in self.uids and client.uid != 0:
            raise NotPermitted(
                f"{what} by uid {client.uid}",
                "this driver serves other users only",
                "start it with --allow-uid, or start your own",
            )

    def join(self, client: Client, m: Any) -> Answer:
        """Become an agent: the identity is the kernel's, the name is wished for."""
        self._admit(client, "join")
        if self.token is not None and m["token"] != self.token:
            raise NotPermitted(
                "join",
                "this is the private driver of one host process",
                "start a daemon: shmem driver --socket PATH",
            )
        if client.agent is not None:
            raise InvalidArgument("join", f"this connection is {client.agent.name} already", "connect once more")
        if m["core"] != words.CORE:
            raise InvalidArgument(
                f"join with the data plane {m['core']!r}",
                f"the driver uses {words.CORE!r}, and the two do not order each other's accesses",
                "install the same build everywhere, or set SHMEM_CORE=fallback everywhere",
            )
        service = self.service
        agent = service.join(m["name"], m["kind"], client.uid, client.pid, m["owner"] or "")
        client.agent = agent
        return self.welcome(agent)

    def welcome(self, agent: Agent) -> Answer:
        """What a new agent is told, and its pages."""
        service = self.service
        told = {
            "index": agent.index, "incarnation": agent.incarnation, "name": agent.name,
            "platform": service.platform.name, "memory": service.memory, "slots": service.platform.slots,
            "multicast": service.platform.multicast, "spin_ns": service.spin_ns,
        }  # fmt: skip
        engine = service.engine_page(agent)
        return told, [service.board.readonly_fd, agent.own.fd, agent.bell.fd, engine.fd]

    def alloc(self, agent: Agent, m: Any) -> Answer:
        """See `Regions.alloc`."""
        window = tuple(m["window"]) if m["window"] else None
        region = self.service.alloc(agent, m["size"], m["align"], window, m["flags"], m["acl"], m["purpose"])
        return handle_of(region), []

    def free(self, agent: Agent, m: Any) -> Answer:
        """See `Regions.free`."""
        self.service.free(agent, m["region"], m["generation"], m["force"])
        return {}, []

    def map(self, agent: Agent, m: Any) -> Answer:
        """Map; the first time in an arena its pages come along, with no more rights than the list gives."""
        known = self._known(agent, m["region"] // layout.REGIONS)
        region = self.service.map(agent, m["region"], m["generation"], layout.rights_of(m["rights"]))
        told = handle_of(region) | {
            "arena": region.arena.number,
            "secure": region.arena.secure,
            "attached": known,
        }
        told["writable"] = bool(self.service.right_of(agent, region) & layout.WRITE)
        told["extent_size"] = region.extent.page.size
        fds = []
        if not known:
            held = agent.arenas[region.arena.number]
            fds = [region.arena.table.readonly_fd, held.rights.readonly_fd, held.pins.fd]
        return told, fds

    def _known(self, agent: Agent, arena: int) -> bool:
        return arena in agent.arenas

    def extent(self, agent: Agent, m: Any) -> Answer:
        """The memory of an extent, read-only where the list says so."""
        arena = self.service.arenas.get(m["arena"])
        right = arena.acl.get(agent.key, 0) if arena else 0
        if arena is None or not right or m["extent"] >= len(arena.extents):
            raise NotPermitted(
                f"extent {m['extent']} of arena {m['arena']} for {agent.name}",
                "there is none, or its access-control list does not name the agent",
                "ask for memory that was granted",
            )
        page: Page = arena.extents[m["extent"]].page
        writable = bool(right & layout.WRITE)
        told = {"size": page.size, "writable": writable, "secure": arena.secure}
        return told, [page.fd if writable else page.readonly_fd]

    def unmap(self, agent: Agent, m: Any) -> Answer:
        """See `Regions.unmap`."""
        target = self.service.agent_named(m["agent"])
        self.service.unmap(agent, target, m["region"], m["generation"])
        return {}, []

    def where(self, agent: Agent, m: Any) -> Answer:
        """The handle of a region that the agent may use."""
        region = self.service.find(m["region"], m["generation"], "look-up")
        if not self.service.right_of(agent, region):
            raise NotPermitted(
                f"look-up of region {m['region']} by {agent.name}",
                "the list does not name it",
                "ask the owner",
            )
        return handle_of(region), []

    def peer(self, agent: Agent, m: Any) -> Answer:
        """What the agent needs for sending to another one."""
        receiver, page = self.service.peer(agent, m["name"])
        engine = self.service.engine_page(receiver)
        told = {"index": receiver.index, "incarnation": receiver.incarnation, "engine": id(engine) % 2**52}
        return told, [page.fd, receiver.own.readonly_fd, receiver.bell.fd, engine.fd]

    def sources(self, agent: Agent, m: Any) -> Answer:
        """The pages on which others send to the agent."""
        pairs = sorted(agent.pairs.items())
        known = {a.key: (a.name, a.pid) for a in self.service.agents.values()}
        told = [[index, incarnation, *known.get((index, incarnation), ("?", 0))] for index, (incarnation, _) in pairs]
        return {"senders": told}, [page.readonly_fd for _, (_, page) in pairs]

    def grant(self, agent: Agent, m: Any) -> Answer:
        """See `Service.grant`."""
        self.service.grant(agent, m["slot"], m["senders"])
        return {}, []

    def team(self, agent: Agent, m: Any) -> Answer:
        """A team's page, and for each member its own page (to read) and its bell."""
        team = self.service.team(agent, m["name"], m["members"], m["flavour"])
        told = {
            "number": team.number,
            "members": [[a.index, a.incarnation, a.name] for a in team.members],
        }
        fds = [team.page.fd]
        for member in team.members:
            fds += [member.own.readonly_fd, member.bell.fd]
        return told, fds

    def compact(self, agent: Agent, m: Any) -> Answer:
        """Compact the arenas that the agent may write."""
        mine = [a for a in self.service.arenas.values() if a.acl.get(agent.key, 0) & layout.WRITE]
        return self.service.compact(mine), []

    def describe(self, client: Client, m: Any) -> Answer:
        """What runs here, to those who are served here: all of it to its owner, else what concerns the
        user."""
        self._admit(client, "describe")
        told = self.service.describe()
        if client.uid not in (0, self._own_uid()):
            told = _only_for(client.uid, told)
        return told, []

    def _own_uid(self) -> int:
        return os.getuid()


def _only_for(uid: int, told: dict[str, Any]) -> dict[str, Any]:
    """A tenant sees its own agents and the arenas that name one of them."""
    agents = [a for a in told["agents"] if a["uid"] == uid]
    names = {a["name"] for a in agents}
    arenas = [a for a in told["arenas"] if names & set(a["acl"])]
    teams = [t for t in told["teams"] if names & set(t["members"])]
    return told | {"agents": agents, "arenas": arenas, "teams": teams}


__all__ = ["Arena", "Client", "Ops"]
