"""Settings: small worlds in which THE machine is run, said in few words.

A `Setting` is what one would say aloud ("host and one device, one line of two words, mapped, one sticky slot of the
device") and becomes a `Scope` for the machine or any variant of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from shmem_model.language import Function, LanguageError, Machine, Sort
from shmem_model.machine import MACHINE, Profile
from shmem_model.machine import vocabulary as m
from shmem_model.readers.scope import Scope, Table


@dataclass(frozen=True)
class Setting:
    """A small world.

    `lines` gives the region of each block that is allocated at the start (block i lives in frame i); all further
    blocks and frames are free.  `rights` maps (agent, region) to "rw", "r" or "" (default "rw").  `receivers` gives
    the agent of each slot, `senders` the agents that may send to it (default all), `teams` the members of each team.
    The last `engines` agents are copy engines of the first ones.  `actions` restricts the machine (empty: all).
    """

    agents: int = 2
    engines: int = 0
    regions: int = 1
    blocks: int = 1
    frames: int = 1
    words: int = 1
    values: int = 2
    tokens: int = 1
    epochs: int = 1
    lines: tuple[int, ...] = (0,)
    mapped: bool = True
    translated: bool = False
    rights: Mapping[tuple[int, int], str] = field(default_factory=dict)
    receivers: tuple[int, ...] = (1,)
    senders: tuple[tuple[int, ...], ...] = ()
    teams: tuple[tuple[int, ...], ...] = ((0, 1),)
    profile: Profile = field(default_factory=lambda: Profile("weakest", invalidate="discard"))
    cached: tuple[int, ...] | None = None
    actions: tuple[str, ...] = ()

    def but(self, **changes: object) -> Setting:
        """The same setting with some changes."""
        return replace(self, **changes)  # type: ignore[arg-type]

    def scope(self, name: str, machine: Machine = MACHINE) -> Scope:
        """The machine in this setting."""
        if len(self.lines) > min(self.blocks, self.frames):
            raise LanguageError(f"setting {name}: {len(self.lines)} lines need as many blocks and frames")
        kept = [a for a in machine.actions.values() if not self.actions or a.base in self.actions]
        return Scope(
            name=name,
            machine=machine.with_actions(kept),
            sizes=self._sizes(),
            platform=self._platform(),
            start=self._start(),
            names={m.Agent: self.agent_names()},
        )

    def agent_names(self) -> tuple[str, ...]:
        """host, dev0, dev1, ..., then the engines."""
        software = ["host", *(f"dev{i}" for i in range(self.agents - self.engines - 1))]
        return (*software, *(f"engine{i}" for i in range(self.engines)))

    def _sizes(self) -> dict[Sort, int]:
        return {
            m.Agent: self.agents,
            m.Region: self.regions,
            m.Block: self.blocks,
            m.Frame: self.frames,
            m.Word: self.words,
            m.Value: self.values,
            m.Slot: max(1, len(self.receivers)),
            m.Token: self.tokens,
            m.Team: max(1, len(self.teams)),
            m.Epoch: self.epochs,
        }

    def _right(self, agent: int, region: int) -> str:
        return "" if self._engine(agent) else self.rights.get((agent, region), "rw")

    def _engine(self, agent: int) -> bool:
        return agent >= self.agents - self.engines

    def _caches(self, agent: int) -> bool:
        if self._engine(agent):
            return False
        return self.profile.cached == "all" if self.cached is None else agent in self.cached

    def _sends(self, agent: int, slot: int) -> bool:
        return not self._engine(agent) and (not self.senders or agent in self.senders[slot])

    def _platform(self) -> dict[Function, Table]:
        p = self.profile
        return {
            m.cached: self._caches,
            m.line_write_back: p.write_back == "line",
            m.may_discard: p.invalidate in ("discard", "either"),
            m.may_write_back: p.invalidate in ("write_back", "either"),
            m.counting: p.slots == "counting",
            m.multicast: p.multicast,
            m.may_read: lambda a, r: "r" in self._right(a, r),
            m.may_write: lambda a, r: "w" in self._right(a, r),
            m.fits: True,
            m.receiver: lambda s: self.receivers[s] if s < len(self.receivers) else 0,
            m.may_send: self._sends,
            m.member: lambda g, a: g < len(self.teams) and a in self.teams[g],
            m.engine: self._engine,
            m.serves: lambda e, a: self._engine(e) and e - (self.agents - self.engines) == a,
            m.zero: 0,
            m.total: lambda v, w: (v + w) % self.values,
        }

    def _start(self) -> dict[Function, Table]:
        live = range(len(self.lines))
        may = lambda a, b, right: b in live and right in self._right(a, self.lines[b])  # noqa: E731
        seen = lambda a, b, f: self.mapped and self.translated and b == f and may(a, b, "r")  # noqa: E731
        return {
            m.part_of: lambda b, r: b in live and self.lines[b] == r,
            m.at: lambda b, f: b in live and b == f,
            m.available: lambda f: f not in live,
            m.mapped: lambda a, b: self.mapped and may(a, b, "r"),
            m.mapped_writable: lambda a, b: self.mapped and may(a, b, "w"),
            m.tlb: seen,
            m.tlb_writable: lambda a, b, f: bool(seen(a, b, f)) and may(a, b, "w"),
            m.cur: lambda a, b, w: b in live,
            m.pub: lambda a, b, w: b in live,
        }
