"""Stories: a run that breaks a claim, told step by step, replayed by the concrete reader, and made shorter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

from shmem_model.language import BOOL, LanguageError, Property
from shmem_model.readers.concrete import Call, Concrete
from shmem_model.readers.scope import Scope
from shmem_model.readers.walker import Broken, Walker, claims_of

SHORT = 30
"""Runs of at most so many steps are made shorter in ways that take a while."""

DETOURS = 3000
"""At most so many other steps are tried in the place of those of a short run."""


@dataclass(frozen=True)
class Story:
    """A run from the start state of a scope whose last step breaks a claim (no step: it does not hold at the start)."""

    scope: Scope
    steps: tuple[Call, ...]
    broken: Broken

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        told = [f"{number:3} {_shown(self.scope, call)}" for number, call in enumerate(self.steps, 1)]
        return "\n".join([f"scope {self.scope.name}, from its start:", *told, f"breaks {self.broken}", self.code])

    @property
    def code(self) -> str:
        """The steps as Python, to be kept as a test: `replay(scope, steps)`."""
        return f"steps = {list(self.steps)!r}"


def _shown(scope: Scope, call: Call) -> str:
    action, arguments = call
    parameters = scope.machine.actions[action].parameters
    shown = (f"{p.name}={scope.label(p.sort, i)}" for p, i in zip(parameters, arguments, strict=True))
    return f"{action}({', '.join(shown)})"


def replay(scope: Scope, steps: Iterable[Call], properties: Iterable[Property] | None = None) -> Story | None:
    """Take the steps with the concrete reader, every claim checked after each; the story if one breaks.

    LanguageError where a step cannot be taken.
    """
    concrete, claims = Concrete(scope), claims_of(scope.machine, properties)
    state, taken = concrete.initial(), []
    for claim in claims:
        if claim.kind == "invariant" and not concrete.holds(claim, state):
            return Story(scope, (), Broken(claim, next(concrete.culprits(claim, state))))
    for action, arguments in steps:
        after = concrete.step(state, action, arguments)
        taken.append((action, tuple(arguments)))
        for claim in claims:
            if claim.kind == "invariant" and not concrete.holds(claim, after):
                return Story(scope, tuple(taken), Broken(claim, next(concrete.culprits(claim, after))))
            if claim.kind == "step" and not concrete.holds_step(claim, state, action, arguments, after):
                return Story(scope, tuple(taken), Broken(claim, {}))
        state = after
    return None


def at_start(walker: Walker) -> Story | None:
    """The story without steps, if an invariant does not hold in the start state."""
    here = walker.snapshot()
    walker.restart()
    broken = walker.broken_here()
    walker.restore(here)
    return None if broken is None else Story(walker.scope, (), broken)


def shortened(walker: Walker, story: Story) -> Story:
    """Leave out steps as long as the rest can be taken and the same claim breaks.

    First long stretches, then single steps, then every two; then steps are taken at another time, the rest of the
    story is told of another element (of the old region, say, instead of one that is allocated first), and any other
    step is tried at every point: whatever can no longer be taken after that is left out.
    """
    best = _attempt(walker, story.steps, story.broken.claim)
    if best is None:
        raise LanguageError(f"the story breaks no {story.broken.claim.name} when it is told again:\n{story}")
    while True:
        shorter = next(_shorter(walker, best), None)
        if shorter is None:
            return best
        best = shorter


def _shorter(walker: Walker, story: Story) -> Iterator[Story]:
    """Shorter stories that break the same claim."""
    last = story.steps[-1:]
    tries = chain(
        ((steps, ()) for steps in _without(story.steps)),
        ((steps, last) for steps in _moved(story.steps)),
        ((steps, last) for steps in _renamed(walker.scope, story.steps)),
        ((steps, last) for steps in _detours(walker, story.steps)),
    )
    for steps, eager in tries:
        found = _attempt(walker, steps, story.broken.claim, eager)
        if found is not None and len(found) < len(story):
            yield found


def _without(steps: tuple[Call, ...]) -> Iterator[tuple[Call, ...]]:
    size = len(steps) // 2
    while size:
        for start in range(len(steps) - size, -1, -1):
            yield steps[:start] + steps[start + size :]
        size //= 2
    if len(steps) <= SHORT:
        for one, other in combinations(range(len(steps)), 2):
            yield tuple(step for i, step in enumerate(steps) if i not in (one, other))


def _moved(steps: tuple[Call, ...]) -> Iterator[tuple[Call, ...]]:
    """One step is taken earlier or later."""
    if len(steps) <= SHORT:
        for origin, step in enumerate(steps):
            rest = steps[:origin] + steps[origin + 1 :]
            for target in range(len(steps)):
                if target != origin:
                    yield (*rest[:target], step, *rest[target:])


def _renamed(scope: Scope, steps: tuple[Call, ...]) -> Iterator[tuple[Call, ...]]:
    """From some step on two elements of a sort change places."""
    if len(steps) > SHORT:
        return
    sorts = {name: [p.sort for p in scope.machine.actions[name].parameters] for name, _ in steps}
    used = sorted({(sort.name, i) for name, args in steps for sort, i in zip(sorts[name], args, strict=True)})
    for (sort, one), (other_sort, other) in combinations(used, 2):
        if sort != other_sort or sort == BOOL.name:
            continue
        swap = {one: other, other: one}
        for start in range(len(steps)):
            yield steps[:start] + tuple(
                (name, tuple(swap.get(i, i) if s.name == sort else i for s, i in zip(sorts[name], args, strict=True)))
                for name, args in steps[start:]
            )


def _detours(walker: Walker, steps: tuple[Call, ...]) -> Iterator[tuple[Call, ...]]:
    """Some other step is taken somewhere."""
    if len(steps) <= SHORT:
        walker.restart()
        others: list[tuple[int, Call]] = []
        for place, call in enumerate(steps):
            actions = walker.scope.machine.actions
            others += [(place, (name, args)) for name in actions for args in walker.enabled(name)]
            walker.take(*call)
        for place, other in others if len(others) <= DETOURS else ():
            yield (*steps[:place], other, *steps[place:])


def _attempt(walker: Walker, steps: Sequence[Call], claim: Property, eager: Sequence[Call] = ()) -> Story | None:
    """The steps from the start, without those that cannot be taken; the story if that breaks the claim.

    The `eager` steps are tried before every step: perhaps one breaks the claim already.
    """
    walker.restart()
    taken: tuple[Call, ...] = ()
    for call in steps:
        for early in eager:
            story = _early(walker, taken, early, claim)
            if story is not None:
                return story
        if walker.can_take(*call):
            broken = walker.take(*call)
            taken = (*taken, call)
            if broken is not None:
                return Story(walker.scope, taken, broken) if broken.claim is claim else None
    return None


def _early(walker: Walker, taken: tuple[Call, ...], call: Call, claim: Property) -> Story | None:
    """The story if this step breaks the claim now; otherwise nothing has happened."""
    if not walker.can_take(*call):
        return None
    here = walker.snapshot()
    broken = walker.take(*call)
    if broken is not None and broken.claim is claim:
        return Story(walker.scope, (*taken, call), broken)
    walker.restore(here)
    return None
