"""The hypothesis reader: a Hypothesis state machine made out of the action list, for scopes of any size.

Arguments are drawn from the enabled ones and every claim is checked after every step.  `run` takes many more steps
than Hypothesis would, with a seed; `hunt` looks for the shortest story in which one claim breaks.  What breaks is told
as a story with explicit steps, which `replay` takes again with the concrete reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any

from shmem_model.language import Property
from shmem_model.readers.concrete import Call
from shmem_model.readers.scope import Scope
from shmem_model.readers.stories import Story, at_start, replay, shortened
from shmem_model.readers.walker import Broken, Walker
from shmem_model.readers.walks import Hunter, Walk, hunt, landmarks, monitor_of, run


class ClaimBroken(AssertionError):
    """A claim does not hold; the message tells the story."""

    def __init__(self, story: Story) -> None:
        super().__init__(f"\n{story}")
        self.story = story


def stateful_machine(
    scope: Scope,
    *,
    properties: Iterable[Property] | None = None,
    weights: Mapping[str, int] | None = None,
    careful: bool = False,
    starts: int = 0,
    search: bool = False,
) -> type[Any]:
    """A Hypothesis `RuleBasedStateMachine` of a scope: one rule per action, arguments among the enabled ones.

    `weights` gives the number of rules of an action (default 1, none: 0); `careful` leaves out steps that break a
    custody rule; with `starts`, runs set out from so many places of all kinds that a short walk has found; `search`
    adds a rule that hunts around the present state.  A claim that breaks raises `ClaimBroken` with its story, made
    shorter.
    """
    from hypothesis.stateful import RuleBasedStateMachine

    walker = Walker(scope, properties, monitor_of(scope.machine))
    members: dict[str, Any] = {"__doc__": f"Runs of scope {scope.name}.", **_members(walker, careful)}
    if starts:
        members["set_out"] = _start(landmarks(walker, starts))
    if search:
        members["search"] = _search(walker)
    members["rest"] = _rest(list(scope.machine.actions))
    for name in scope.machine.actions:
        for copy in range((weights or {}).get(name, 1)):
            label = _identifier(name) + (f"_{copy + 1}" if copy else "")
            members[label] = _rule(name, label)
    return type(f"Runs_{_identifier(scope.name)}", (RuleBasedStateMachine,), members)


def check(machine: type[Any], *, examples: int = 100, steps: int = 50, shrink: bool = True) -> None:
    """Run a state machine, the same runs every time; `ClaimBroken` if a claim breaks.

    `shrink`: Hypothesis makes the run simpler, too, besides what `shortened` does.
    """
    from hypothesis import HealthCheck, Phase, settings
    from hypothesis.stateful import run_state_machine_as_test

    profile = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        derandomize=True,
        database=None,
        print_blob=False,
        phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=profile)


def _identifier(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name)


def _members(walker: Walker, careful: bool) -> dict[str, Any]:
    """What the generated class needs besides its rules."""
    from hypothesis.stateful import RuleBasedStateMachine

    broken = at_start(walker)

    def start(self: Any) -> None:
        RuleBasedStateMachine.__init__(self)
        walker.restart()
        self.taken, self.known = [], {}
        if broken is not None:
            raise ClaimBroken(broken)

    def enabled(self: Any, action: str) -> list[tuple[int, ...]]:
        """The arguments with which the action can be taken now (remembered until the next step)."""
        if action not in self.known:
            self.known[action] = walker.enabled(action, careful)
        found: list[tuple[int, ...]] = self.known[action]
        return found

    def take(self: Any, action: str, arguments: tuple[int, ...]) -> None:
        self.known = {}
        self.taken.append((action, arguments))
        found: Broken | None = walker.take(action, arguments)
        if found is not None:
            raise ClaimBroken(shortened(walker, Story(walker.scope, tuple(self.taken), found)))

    return {"__init__": start, "enabled": enabled, "take": take}


def _start(ways: list[tuple[Call, ...]]) -> Callable[..., None]:
    """A rule that begins a run by going some way that is known to lead somewhere."""
    from hypothesis import strategies as st
    from hypothesis.stateful import initialize

    def set_out(self: Any, way: tuple[Call, ...]) -> None:
        for action, arguments in way:
            self.take(action, arguments)

    made: Callable[..., None] = initialize(way=st.sampled_from(ways))(set_out)
    return made


SEARCH, STORIES = 20_000, 4
"""So many steps a search may take, and the shortest of so many stories it tells."""


def _search(walker: Walker) -> Callable[..., None]:
    """A rule that searches around the present state for a claim that breaks, and otherwise stays there."""
    from hypothesis import strategies as st
    from hypothesis.stateful import rule

    def search(self: Any, seed: int) -> None:
        here = walker.snapshot()
        story = Hunter(walker, Random(seed), tuple(self.taken)).shortest(SEARCH, STORIES)
        if story is not None:
            raise ClaimBroken(story)
        walker.restore(here)

    made: Callable[..., None] = rule(seed=st.integers(0, 2**32))(search)
    return made


def _rest(actions: list[str]) -> Callable[..., None]:
    """What a run does where no step can be taken."""
    from hypothesis.stateful import precondition, rule

    def rest(self: Any) -> None:
        pass

    stuck = precondition(lambda self: not any(self.enabled(action) for action in actions))
    made: Callable[..., None] = stuck(rule()(rest))
    return made


def _rule(action: str, label: str) -> Callable[..., None]:
    """A rule that takes one action with any arguments that it can be taken with."""
    from hypothesis import strategies as st
    from hypothesis.stateful import precondition, rule

    def step(self: Any, arguments: tuple[int, ...]) -> None:
        self.take(action, arguments)

    step.__name__ = label
    some = st.runner().flatmap(lambda machine: st.sampled_from(machine.enabled(action)))
    made: Callable[..., None] = precondition(lambda self: bool(self.enabled(action)))(rule(arguments=some)(step))
    return made


__all__ = ["ClaimBroken", "Story", "Walk", "check", "hunt", "replay", "run", "shortened", "stateful_machine"]
