"""Random runs of a scope: long ones that look at everything, and hunts for the shortest story about one claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random

from shmem_model.language import BOOL, Function, Machine, Property
from shmem_model.readers.concrete import Call
from shmem_model.readers.scope import Scope
from shmem_model.readers.stories import Story, at_start, shortened
from shmem_model.readers.walker import Cells, Walker

GROUP_WEIGHTS = {"software": 8.0, "hardware": 4.0, "driver": 2.0, "fault": 0.1}
"""How often actions of a group are tried: mostly what programs do; a death makes the rest of a run poorer."""

LIKINGS = (0.0, 0.3, 1.0, 1.0, 3.0)
"""For a while every action is taken more or less gladly, or not at all: runs that do without some actions get further
with the others."""

EPISODE = 200
"""After so many steps a long run goes back to the start state, with other likings."""

CAREFUL = 0.7
"""In this part of the episodes no custody rule is broken: most claims say nothing once one is."""

KNOWLEDGE = ("cur", "pub", "intact")
"""The functions whose every cell counts when it is asked whether a run has got to a new place."""


@dataclass
class Walk:
    """What a long run did: steps by action, and the story if a claim broke."""

    steps: int = 0
    fired: Counter[str] = field(default_factory=Counter)
    story: Story | None = None


def monitor_of(machine: Machine) -> Function | None:
    """The function in which the machine records that a rule was broken (`intact`), if it has one."""
    found = (f for f in machine.state if f.name == "intact" and not f.arguments and f.result is BOOL)
    return next(found, None)


def run(
    scope: Scope,
    steps: int,
    seed: int,
    *,
    properties: Iterable[Property] | None = None,
    weights: Mapping[str, float] | None = None,
    careful: float = CAREFUL,
    episode: int = EPISODE,
) -> Walk:
    """Take so many random steps, every claim checked after each; stops at the first that breaks.

    `weights` replaces the weight of some actions; `careful` is the part of the episodes without broken custody rules.
    """
    walker = Walker(scope, properties, monitor_of(scope.machine))
    chooser = Chooser(walker, Random(seed), weights or {}, careful)
    walk, empty = Walk(story=at_start(walker)), 0
    while walk.steps < steps and walk.story is None and empty < 100:
        before = walk.steps
        _episode(walker, chooser, walk, min(episode, steps - walk.steps))
        empty = 0 if walk.steps > before else empty + 1
    return walk


def _episode(walker: Walker, chooser: Chooser, walk: Walk, steps: int) -> None:
    """From the start state, until there are enough steps or none can be taken."""
    walker.restart()
    chooser.new_mood()
    taken: list[Call] = []
    while len(taken) < steps:
        call = chooser.choose()
        if call is None:
            return
        taken.append(call)
        walk.steps += 1
        walk.fired[call[0]] += 1
        broken = walker.take(*call)
        if broken is not None:
            walk.story = shortened(walker, Story(walker.scope, tuple(taken), broken))
            return


class Chooser:
    """Chooses steps: an action by its weight and the mood of the moment, then any of its enabled arguments."""

    def __init__(self, walker: Walker, random: Random, weights: Mapping[str, float], careful: float) -> None:
        self.walker, self.random = walker, random
        actions = walker.scope.machine.actions
        self.weights = {name: weights.get(name, GROUP_WEIGHTS[action.group]) for name, action in actions.items()}
        self.often_careful = careful
        self.new_mood()

    def new_mood(self) -> None:
        """Decide anew how gladly each action is taken, and whether custody rules are kept."""
        self.likings = {name: weight * self.random.choice(LIKINGS) for name, weight in self.weights.items()}
        self.careful = self.random.random() < self.often_careful

    def choose(self) -> Call | None:
        """A step that can be taken; None if there is none in this mood."""
        left = {name: weight for name, weight in self.likings.items() if weight > 0}
        while left:
            name = self.random.choices(list(left), list(left.values()))[0]
            found = self.walker.enabled(name, self.careful)
            if found:
                return name, found[self.random.randrange(len(found))]
            del left[name]
        return None


def hunt(scope: Scope, claim: Property, *, seed: int = 0, steps: int = 400_000, stories: int = 4) -> Story | None:
    """Random runs for one claim: of several stories in which it breaks, the shortest."""
    return Hunter(Walker(scope, [claim], monitor_of(scope.machine)), Random(seed)).shortest(steps, stories)


def landmarks(walker: Walker, most: int, *, seed: int = 0, steps: int = 20_000) -> list[tuple[Call, ...]]:
    """Ways from the start state to places of all kinds, shortest first; the empty way is one of them."""
    random = Random(seed)
    hunter = Hunter(walker, random)
    while hunter.steps < steps and hunter.burst() is None:
        pass
    rounds = max(1, most // len(hunter.groups))
    ways = {place.way for group in hunter.groups for place in random.sample(group, min(rounds, len(group)))}
    kept = random.sample(sorted(ways), min(most, len(ways)))
    return sorted({(), *kept}, key=lambda way: (len(way), way))


@dataclass
class _Place:
    """A state to set out from again, and the way there."""

    way: tuple[Call, ...]
    cells: Cells
    visits: int = 0


class Hunter:
    """Short runs that set out from places reached so far, rather from those seldom visited.

    Places are grouped by what makes a run get somewhere: who knows what, how much software has done; not by what
    caches happen to hold.
    """

    BURST, TASTE, MOST = 8, 8, 50_000

    def __init__(self, walker: Walker, random: Random, way: tuple[Call, ...] | None = None) -> None:
        """The first place is where the walker is, at the end of `way` (None: the start state)."""
        self.walker, self.random = walker, random
        self.chooser = Chooser(walker, random, {}, 0.9)
        self.steps = 0
        self.groups: list[list[_Place]] = []
        self._group: dict[tuple[object, ...], list[_Place]] = {}
        self._visits: list[int] = []
        self._known: set[Cells] = set()
        self._exact = [i for i, f in enumerate(walker.functions) if f.name in KNOWLEDGE]
        self._rough = [i for i, f in enumerate(walker.functions) if f.layer == "software"]
        if way is None:
            walker.restart()
        self._remember(way or ())

    def shortest(self, steps: int, stories: int) -> Story | None:
        """Of so many stories the shortest; of fewer if so many steps do not give more."""
        found = [story for story in (at_start(self.walker),) if story is not None]
        while self.steps < steps and len(found) < stories:
            story = self.burst()
            if story is not None:
                found.append(story)
        return min(found, key=len, default=None)

    def burst(self) -> Story | None:
        """A few steps from some place; the story if a claim breaks."""
        place = self._place()
        self.walker.restore(place.cells)
        self.chooser.new_mood()
        way = place.way
        for _ in range(self.BURST):
            self.steps += 1
            call = self.chooser.choose()
            if call is None:
                break
            way = (*way, call)
            broken = self.walker.take(*call)
            if broken is not None:
                return shortened(self.walker, Story(self.walker.scope, way, broken))
            self._remember(way)
        return None

    def _place(self) -> _Place:
        tasted = [self.random.randrange(len(self.groups)) for _ in range(self.TASTE)]
        number = min(tasted, key=lambda i: self._visits[i])
        self._visits[number] += 1
        group = self.groups[number]
        places = [group[self.random.randrange(len(group))] for _ in range(self.TASTE)]
        place = min(places, key=lambda p: (p.visits, len(p.way)))
        place.visits += 1
        return place

    def _remember(self, way: tuple[Call, ...]) -> None:
        cells = self.walker.snapshot()
        if cells in self._known or len(self._known) >= self.MOST:
            return
        self._known.add(cells)
        key = (*(cells[i] for i in self._exact), *(self.walker.sums[i] for i in self._rough))
        if key not in self._group:
            self._group[key] = []
            self.groups.append(self._group[key])
            self._visits.append(0)
        self._group[key].append(_Place(way, cells))
