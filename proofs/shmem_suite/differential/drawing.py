"""Which call is tried next: mostly one that the machine would take now, sometimes one that it must refuse.

Calls about the same few agents and lines meet more often, so each episode has favourites.  What takes many steps to
get to (memory that is given out again, a line that is moved, what a dead agent left) is also aimed at: a plan is a
list of calls, of which some may be refused, with a few others thrown in between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
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
FAVOUR = 0.7
"""How often an agent or a region is one of the episode's favourites."""
PLANS, INTERLUDE = 0.03, 0.25
"""How often a plan is begun, and how often another call comes between its steps."""
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
        self.liking["die"] *= random.choice((0, 1, 6))
        self.favourites = {
            "agent": random.sample(self.world.agents, 2),
            "region": random.sample(list(self.world.regions), min(2, len(self.world.regions))),
        }
        self.plan: deque[Step] = deque()

    def _possible(self, name: str) -> bool:
        keys = SIGNATURES[name]
        if ("slot" in keys and not self.world.slots) or ("team" in keys and not self.world.teams):
            return False
        return self.world.engines or not name.startswith("copy_")

    def draw(self) -> Step:
        """A call with arguments."""
        name, kw = self._next()
        if name == "alloc" and self.calls.room(kw["region"])[1] and not self._dead(kw["agent"]):
            self.known.add(kw["region"])
        return name, kw

    def _next(self) -> Step:
        if not self.plan and self.random.random() < PLANS:
            self.plan.extend(self._aim())
        while self.plan and self.random.random() > INTERLUDE:
            planned = self.plan.popleft()
            if self._expressible(*planned):
                return planned
        while True:
            name = self.random.choices(self.actions, [self.liking[a] for a in self.actions])[0]
            step = self._with_arguments(name)
            if step is not None:
                return step

    # -- plans ---------------------------------------------------------------------------------------------

    def _aim(self) -> Iterator[Step]:
        """The calls of some plan."""
        region = self._region()
        count = self.world.regions[region].lines
        goals = (self._recycle, self._move, self._inherit, self._overtake, self._upgrade, self._fragment)
        goal = self.random.choice(goals)
        return goal(region, self.random.randrange(count))

    def _recycle(self, region: str, line: int) -> Iterator[Step]:
        """The region is freed, its frames are scrubbed, and somebody else is given them."""
        blocks = [(region, i) for i in range(self.world.regions[region].lines)]
        owner = self._writer(region)
        for agent in self._shuffled(self.world.agents):
            yield "unmap", {"agent": owner, "of": agent, "region": region}
        yield "free", {"agent": owner, "region": region}
        yield from self._quieten(blocks, [])
        for frame in self._shuffled(self._frames(blocks)):
            yield "scrub", {"frame": frame}
        fresh = [name for name in self.world.regions if name not in self.known]
        if fresh:
            yield from filter(None, [self._alloc()])

    def _move(self, region: str, line: int) -> Iterator[Step]:
        """The line is frozen and moved, as soon as it is quiet."""
        place = {"region": region, "line": line}
        target = {**place, "frame": self.random.randrange(self.world.frames)}
        yield "freeze", place
        yield "migrate", target
        yield from self._quieten([(region, line)], [("migrate", target)])
        yield "migrate", target
        for action in self._shuffled(("read", "atomic_add", "atomic_swap", "compare_swap", "copy_start")):
            if action in self.actions:
                yield from filter(None, [self._about(action, region, line)])
        yield "unfreeze", place
        for frame in self._shuffled(range(self.world.frames)):
            yield "scrub", {"frame": frame}

    def _overtake(self, region: str, line: int) -> Iterator[Step]:
        """What hardware does with a line while older words of the same agent are on their way to it."""
        agent = self._agent()
        place = {"agent": agent, "region": region, "line": line}
        for frame in self._frames([(region, line)]):
            held = {"agent": agent, "frame": frame}
            value = {"word": 0, "value": self.random.randrange(self.world.values)}
            yield "write", {**place, **value}
            yield "flush", {**place, "drop": self.random.random() < 0.5}
            after: list[Step] = [("write", {**place, "word": 1, "value": value["value"]}), ("fill", place)]
            yield self.random.choice(after)
            last: Step = "invalidate", {**place, **({"keep": True} if self.world.invalidate == "either" else {})}
            again: Step = "flush", {**place, "drop": False}
            yield from self._shuffled([("evict", held), ("fill", place), ("drain", held), last, again])[:3]
            yield "evict", held

    def _upgrade(self, region: str, line: int) -> Iterator[Step]:
        """An agent that has read a line maps it for writing, and writes."""
        agent = self._writer(region)
        place = {"agent": agent, "region": region, "line": line}
        yield "map", {"agent": agent, "region": region, "writable": False}
        yield "shootdown", place
        yield "read", {**place, "word": 0}
        yield "map", {"agent": agent, "region": region, "writable": True}
        action = self.random.choice(("write", "atomic_add", "atomic_swap", "compare_swap"))
        step = self._about(action, region, line)
        if step is not None:
            yield action, {**step[1], "agent": agent}

    def _fragment(self, region: str, line: int) -> Iterator[Step]:
        """Memory is given out until little is left, one piece of it comes back, and more than a piece is wanted."""
        fresh = [name for name in self.world.regions if name not in self.known]
        small = [name for name in fresh if self.world.regions[name].lines == 1]
        yield from filter(None, map(self._alloc, small))
        if small:
            yield from self._recycle(small[0], 0)
        yield from filter(None, map(self._alloc, fresh))

    def _inherit(self, region: str, line: int) -> Iterator[Step]:
        """An agent dies with a line of the region in its hands; the others go on, and it is reclaimed."""
        agent = self.random.choice(self.world.agents)
        place = {"agent": agent, "region": region, "line": line}
        team = next((name for name, members in self.world.teams.items() if agent in members), None)
        slots = [(slot.receiver, name) for name, slot in self.world.slots.items() if agent in slot.senders]
        value = {"word": 0, "value": self.random.randrange(self.world.values)}
        first: list[Step] = [("write", {**place, **value}), ("flush", {**place, "drop": False})]
        first += [("send", {"agent": agent, "slot": name}) for _, name in slots]
        ends = {**place, "word": 0, "to_region": region, "to_line": line, "to_word": 1}
        if self.world.engines:
            first.append(("copy_start", ends))
        if team is not None:
            first.append(("arrive", {"agent": agent, "team": team}))
        yield from self.random.sample(first, self.random.randrange(len(first) + 1))
        yield "die", {"agent": agent}
        for receiver, name in slots:
            yield from [("wait", {"agent": receiver, "slot": name})] * 2
        if team is not None:
            for other in self.world.teams[team]:
                yield "arrive", {"agent": other, "team": team}
                yield "leave", {"agent": other, "team": team}
        for frame in self._frames([(region, line)]):
            held = {"agent": agent, "frame": frame}
            end: Step = "reclaim", {**place, "line": 0}
            yield from self._shuffled([end, ("lose", held), ("drain", held), ("shootdown", place), ("evict", held)])
            yield end

    def _quieten(self, blocks: list[tuple[str, int]], tries: list[Step]) -> Iterator[Step]:
        """What makes lines quiet, in any order; in between, what is refused until they are."""
        todo: list[Step] = []
        for agent in self.world.agents:
            todo += [("shootdown", {"agent": agent, "region": region, "line": line}) for region, line in blocks]
            for frame in self._frames(blocks):
                todo += [("drain", {"agent": agent, "frame": frame}), ("evict", {"agent": agent, "frame": frame})]
                tries = tries or [("scrub", {"frame": frame})]
        for step in self._shuffled(todo):
            yield step
            if self.random.random() < 0.3:
                yield from tries

    def _frames(self, blocks: list[tuple[str, int]]) -> list[int]:
        """Where the lines are, or where an old translation leads."""
        held = [b for b, place in self.calls.blocks.items() if place in blocks]
        agents, frames = range(len(self.world.agents)), range(self.world.frames)
        return [
            f for f in frames for b in held
            if self.calls.is_(m.at, b, f) or any(self.calls.is_(m.tlb, a, b, f) for a in agents)
        ]  # fmt: skip

    def _shuffled(self, things: Any) -> list[Any]:
        found = list(things)
        self.random.shuffle(found)
        return found

    def _writer(self, region: str) -> str:
        return self.random.choice([a for a, r in self.world.regions[region].rights.items() if "w" in r])

    def _region(self) -> str:
        liked = [name for name in self.favourites["region"] if name in self.known]
        if liked and self.random.random() < FAVOUR:
            return self.random.choice(liked)
        return self.random.choice(sorted(self.known))

    def _agent(self) -> str:
        favoured = self.random.random() < FAVOUR
        return self.random.choice(self.favourites["agent"] if favoured else self.world.agents)

    def _about(self, action: str, region: str, line: int) -> Step | None:
        """Any call of an action about a line."""
        step = self._any(action)
        return None if step is None else (action, {**step[1], "region": region, "line": line})

    # -- any call ------------------------------------------------------------------------------------------

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
            return kw["region"] not in self.known and self._everybody_lives(kw["region"])
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
        reclaims a whole region.  A region without a handle cannot be named at all.
        """
        if name != "alloc" and not {kw[key] for key in ("region", "to_region") if key in kw} <= self.known:
            return False
        if name == "copy_start":
            return self._lands_nowhere(kw)
        if name == "copy_wait":
            return self._work(kw) < 2
        if name == "alloc":
            return kw["region"] not in self.known and self._everybody_lives(kw["region"])
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

    def _alloc(self, region: str = "") -> Step | None:
        fresh = [name for name in self.world.regions if name not in self.known]
        if not fresh:
            return None
        region = region or self.random.choice(fresh)
        agents = [a for a in self.world.agents if not self._dead(a)]
        if self.random.random() < 0.1:
            agents = list(self.world.agents)
        if not agents or not self._everybody_lives(region):
            return None
        agent = self.random.choice(agents)
        return "alloc", {"agent": agent, "region": region}

    def _everybody_lives(self, region: str) -> bool:
        """An access-control list names living agents."""
        rights = self.world.regions[region].rights
        return not any(self._dead(agent) for agent, right in rights.items() if right)

    def _dead(self, agent: str) -> bool:
        return bool(self.calls.is_(m.dead, self.world.agents.index(agent)))

    def _argument(self, key: str) -> Any:
        choice, world = self.random.choice, self.world
        match key:
            case "agent" | "of" | "member":
                return self._agent()
            case "region" | "to_region":
                return self._region()
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
