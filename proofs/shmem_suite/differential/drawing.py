"""Which call is tried next: mostly one that the machine would take now, sometimes one that it must refuse."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from random import Random
from typing import Any

from shmem_model.conformance.adapter import SIGNATURES
from shmem_model.conformance.relation import TOKENS
from shmem_model.machine import vocabulary as m
from shmem_suite.differential.calls import Calls, Gone

Step = tuple[str, Mapping[str, Any]]
WEIGHTS: Mapping[str, float] = {
    "read": 8, "write": 8, "flush": 5, "invalidate": 4, "fence": 3, "send": 3, "wait": 3, "poll": 2, "map": 3,
    "unmap": 2, "alloc": 2, "free": 2, "atomic_add": 2, "atomic_swap": 1, "compare_swap": 2, "arrive": 3, "leave": 3,
    "gb_begin": 2, "gb_end": 2, "gb_ack": 4, "copy_start": 2, "copy_wait": 1, "copy_step": 2, "fill": 3, "evict": 4,
    "drain": 4, "translate": 3, "lose": 1, "shootdown": 4, "scrub": 4, "freeze": 2, "migrate": 3, "unfreeze": 2,
    "reclaim": 2, "die": 0.15,
}  # fmt: skip
"""How often each action is tried."""
TRIES = 6
"""So many arguments are looked at for one that can be taken; then any are tried all the same."""


class Drawer:
    """Draws calls for the machine's present state."""

    def __init__(self, calls: Calls, random: Random) -> None:
        self.calls, self.random = calls, random
        self.world = calls.relation.world
        self.known = {name for name, region in self.world.regions.items() if region.live}
        """Regions that have a handle, live or stale."""
        self.actions = [name for name in SIGNATURES if self._possible(name)]
        self.liking = {name: WEIGHTS[name] * random.choice((0.2, 1, 1, 3)) for name in self.actions}

    def _possible(self, name: str) -> bool:
        keys = SIGNATURES[name]
        if ("slot" in keys and not self.world.slots) or ("team" in keys and not self.world.teams):
            return False
        return self.world.engines or not name.startswith("copy_")

    def draw(self) -> Step:
        """A call with arguments."""
        while True:
            name = self.random.choices(self.actions, [self.liking[a] for a in self.actions])[0]
            step = self._with_arguments(name)
            if step is not None:
                return step

    def _with_arguments(self, name: str) -> Step | None:
        careless = self.random.random() < 0.15
        step: Step | None = None
        for _ in range(TRIES):
            step = self._any(name)
            if step is None or careless or self._taken(step):
                return step
        return step

    def _taken(self, step: Step) -> bool:
        """Whether the machine would take the step, as far as one look tells."""
        name, kw = step
        if name == "alloc":
            return True
        try:
            return self.calls.would(name, kw)
        except Gone:
            return False

    def _any(self, name: str) -> Step | None:
        if name == "alloc":
            return self._alloc()
        kw = {key: self._argument(key) for key in SIGNATURES[name]}
        for region, line in (("region", "line"), ("to_region", "to_line")):
            if line in kw:
                kw[line] = self.random.randrange(self.world.regions[kw[region]].lines)
        if name == "invalidate" and self.world.invalidate == "either":
            kw["keep"] = self.random.random() < 0.5
        if name.startswith("gb_"):
            kw["team"] = self._asking(name, kw)
        if ("team" in kw and kw["team"] is None) or not self._expressible(name, kw):
            return None
        return name, kw

    def _asking(self, name: str, kw: Mapping[str, Any]) -> str | None:
        """A team whose members the agent can ask (it is none of them); later the one that it has asked, since the
        implementation names no team there."""
        teams = [team for team, members in self.world.teams.items() if kw["agent"] not in members]
        agent, regions = self.calls.number(kw, "agent"), range(len(self.calls.relation.regions))
        if name != "gb_begin":
            asked = [t for t in teams for r in regions if self.calls.is_(m.gb_open, agent, self._team(t), r)]
            teams = asked or teams
        return self.random.choice(teams) if teams else None

    def _team(self, name: str) -> int:
        return self.calls.relation.teams.index(name)

    def _expressible(self, name: str, kw: Mapping[str, Any]) -> bool:
        """Whether both sides can say it, and mean the same.

        A copy to where one is to land already waits in the machine only; the end of several copies depends on their
        order, so they are taken one by one; a counting slot has no end in the implementation; and the implementation
        reclaims a whole region.
        """
        if name == "copy_start":
            return self._lands_nowhere(kw)
        if name == "copy_wait":
            return self._work(kw) < 2
        if name == "send" and self.world.notify == "counting":
            slots = range(max(1, len(self.world.slots)))
            held = {t for t, s in product(range(TOKENS), slots) if self.calls.is_(m.pending, t, s)}
            return len(held) < TOKENS
        return not (name == "reclaim" and kw["line"])

    def _work(self, kw: Mapping[str, Any]) -> int:
        """How much the agent's engine has to do; of several copies it is open which comes first."""
        engine = self.calls.relation.engine(self.calls.number(kw, "agent"))
        places = self.calls.relation.scope.places(m.copying)
        return sum(v for p, v in zip(places, self.calls.quick.cells(m.copying), strict=True) if p[0] == engine)

    def _lands_nowhere(self, kw: Mapping[str, Any]) -> bool:
        try:
            block = self.calls.block(kw, "to_region", "to_line")
        except Gone:
            return True
        engine = self.calls.relation.engine(self.calls.number(kw, "agent"))
        return not self.calls.is_(m.landing, engine, block, kw["to_word"])

    def _alloc(self) -> Step | None:
        fresh = [name for name in self.world.regions if name not in self.known]
        if not fresh:
            return None
        region = self.random.choice(fresh)
        agents = [a for a in self.world.agents if not self.calls.is_(m.dead, self.world.agents.index(a))]
        if not agents or not self._everybody_lives(region):
            return None
        agent = self.random.choice(agents)
        if self.calls.room(region)[1]:
            self.known.add(region)
        return "alloc", {"agent": agent, "region": region}

    def _everybody_lives(self, region: str) -> bool:
        """An access-control list names living agents."""
        rights = self.world.regions[region].rights
        return not any(self.calls.is_(m.dead, self.world.agents.index(a)) for a, r in rights.items() if r)

    def _argument(self, key: str) -> Any:
        choice, world = self.random.choice, self.world
        match key:
            case "agent" | "of" | "member":
                return choice(world.agents)
            case "region" | "to_region":
                return choice(sorted(self.known))
            case "line" | "to_line":
                return 0
            case "word" | "to_word":
                return self.random.randrange(world.words)
            case "value" | "old" | "new":
                return self.random.randrange(world.values)
            case "frame":
                return self.random.randrange(world.frames)
            case "slot":
                return choice(list(world.slots))
            case "team":
                return choice(list(world.teams))
        return self.random.random() < 0.5
