"""Do the readers read the same machine?  Random states, random steps and claims, every reader asked.

The oracle is the concrete reader.  Each of the others gets the same state in its own form and must say the same: can
this step be taken, what is the state after it, does this claim hold of it.  States are any states at all, reachable
or not: readers agree on the meaning of terms, and that does not end where the invariants do.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from shmem_model.language import BOOL, Action, Function, Parameter, Property, becomes
from shmem_model.language.actions import assemble
from shmem_model.readers.concrete import Call, Concrete, State
from shmem_model.readers.ground import ground
from shmem_model.readers.packed import Packed
from shmem_model.readers.quick import Quick
from shmem_model.readers.scope import Scope
from shmem_proofs.agreement_solvers import Expanded, Finite


class Reader(Protocol):
    """One way to read a scope, in the one state that was loaded last."""

    name: str

    def load(self, state: State) -> None:
        """Make this the current state."""

    def step(self, call: Call) -> State | None:
        """The state after the call, None if it cannot be taken."""

    def claim(self, claim: Property, call: Call) -> bool | None:
        """The claim holds of this step (an invariant: after it); None if this reader reads no such claims."""


@dataclass(frozen=True)
class Difference:
    """Where a reader and the oracle differ."""

    reader: str
    call: Call
    what: str
    state: State = field(repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.reader}: {self.call[0]}{self.call[1]}: {self.what}"


@dataclass
class Comparison:
    """What was compared, and where readers differed."""

    pairs: int = 0
    taken: Counter[str] = field(default_factory=Counter)
    claims: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)

    def __str__(self) -> str:
        counts = f"{self.pairs} pairs, {sum(self.taken.values())} steps of {len(self.taken)} actions"
        claims = f"{sum(self.claims.values())} claims, {len(self.differences)} differences"
        return "\n".join([f"{counts}, {claims}", *(str(each) for each in self.differences[:10])])


# ---------------------------------------------------------------------- states and steps at random


def random_state(scope: Scope, rng: random.Random) -> State:
    """Any state; every function is mostly true or mostly false, or mixed, so that all kinds of guards hold."""
    state: dict[Function, tuple[int, ...]] = {}
    for function in scope.machine.state:
        size, likely = scope.size(function.result), rng.choice((0.05, 0.5, 0.8, 0.95))
        places = list(scope.places(function))
        if function.result is BOOL:
            state[function] = tuple(int(rng.random() < likely) for _ in places)
        else:
            state[function] = tuple(rng.randrange(size) for _ in places)
    return state


def random_calls(concrete: Concrete, state: State, number: int, rng: random.Random) -> Iterator[Call]:
    """Calls of rarely and of often possible actions alike; half of them can be taken, where there are as many."""
    possible: dict[str, list[Call]] = {}
    for call in concrete.enabled(state):
        possible.setdefault(call[0], []).append(call)
    for i in range(number):
        if i % 2 and possible:
            yield rng.choice(possible[rng.choice(list(possible))])
        else:
            name = rng.choice(list(concrete.actions))
            sizes = [concrete.scope.size(p.sort) for p in concrete.actions[name].parameters]
            yield name, tuple(rng.randrange(size) for size in sizes)


def open_scope(scope: Scope) -> Scope:
    """The scope with a step for every cell that sets it, so that a reader which folds what it knows knows nothing."""
    setters = [_setter(function) for function in scope.machine.state]
    machine = scope.machine.with_actions([*scope.machine.actions.values(), *setters])
    return replace(scope, machine=machine)


def _setter(function: Function) -> Action:
    places = tuple(Parameter(f"at{i}", sort) for i, sort in enumerate(function.arguments))
    value = Parameter("value", function.result)
    part = becomes(function, *places, to=value)
    return assemble(f"set_{function.name}", "driver", (*places, value), [part], "Sets one cell.")


# ---------------------------------------------------------------------- readers of the model


class Explored:
    """The explorer: ground actions on packed states."""

    name = "explorer"

    def __init__(self, scope: Scope) -> None:
        self.packed = Packed(ground(open_scope(scope)))
        self.actions = {(a.source.action.name, a.source.arguments): a for a in self.packed.actions}
        self._claims: dict[str, dict[int, int]] = {}

    def load(self, state: State) -> None:
        """Make this the current state."""
        self.base, self.state = state, self.packed.pack(state)

    def step(self, call: Call) -> State | None:
        """The state after the call, None if it cannot be taken."""
        action = self.actions.get(call)
        after = None if action is None else self.packed.step(action, self.state)
        return None if after is None else self.packed.unpack(after, self.base)

    def claim(self, claim: Property, call: Call) -> bool:
        """The claim holds of this step (an invariant: after it)."""
        action = self.actions[call]
        if claim.kind == "step":
            if claim.name not in self._claims:
                against = self.packed.steps_against(claim)
                self._claims[claim.name] = {action.number: node for action, node in against}
            return not self.packed.holds(self._claims[claim.name].get(action.number, 0), self.state)
        after = self.packed.step(action, self.state)
        assert after is not None
        return self.packed.holds(self.packed.states_where(claim), after)


class Quickly:
    """The concrete reader's quick form."""

    name = "quick"

    def __init__(self, scope: Scope) -> None:
        self.quick = Quick(scope)

    def load(self, state: State) -> None:
        """Make this the current state."""
        self.state = state
        self.quick.restore(state)

    def step(self, call: Call) -> State | None:
        """The state after the call, None if it cannot be taken."""
        if not self.quick.answer(*call).done:
            return None
        self.quick.step(*call)
        after = self.quick.state
        self.quick.restore(self.state)
        return after

    def claim(self, claim: Property, call: Call) -> bool | None:
        """The claim holds after this step; properties of steps are not read in this form."""
        if claim.kind == "step":
            return None
        self.quick.step(*call)
        held = self.quick.holds(claim)
        self.quick.restore(self.state)
        return held


READERS: tuple[Callable[[Scope], Reader], ...] = (Quickly, Explored, Expanded, Finite)


# ---------------------------------------------------------------------- comparing


def compare(
    scope: Scope,
    pairs: int,
    seed: int = 1,
    readers: tuple[Callable[[Scope], Reader], ...] = READERS,
    per_state: int = 20,
) -> Comparison:
    """Ask every reader about so many pairs of a state and a call."""
    rng = random.Random(seed)
    made = [maker(scope) for maker in readers]
    concrete, found = Concrete(scope), Comparison()
    while found.pairs < pairs:
        state = random_state(scope, rng)
        for reader in made:
            reader.load(state)
        for call in random_calls(concrete, state, per_state, rng):
            found.pairs += 1
            found.differences += _differences(concrete, made, state, call, found, rng)
    return found


def _differences(
    concrete: Concrete, readers: list[Reader], state: State, call: Call, found: Comparison, rng: random.Random
) -> Iterator[Difference]:
    """What the readers say of one call in one state that the oracle does not."""
    after = concrete.step(state, *call) if concrete.answer(state, *call).done else None
    claims: list[Property] = []
    if after is not None:
        found.taken[call[0]] += 1
        claims = list(_claims(concrete, call, rng))
    truths = [_holds(concrete, claim, state, call, after) for claim in claims if after is not None]
    found.claims.update(claim.kind for claim in claims)
    for reader in readers:
        said = reader.step(call)
        if said != after:
            yield Difference(reader.name, call, _difference(after, said), state)
        if said is None:
            continue
        for claim, truth in zip(claims, truths, strict=True):
            if reader.claim(claim, call) not in (truth, None):
                yield Difference(reader.name, call, f"{claim.name} is {truth}", state)


def _claims(concrete: Concrete, call: Call, rng: random.Random) -> Iterator[Property]:
    """An invariant and a property of steps that speaks of the call, where there are any."""
    base = concrete.actions[call[0]].base
    machine = concrete.scope.machine
    steps = [c for c in machine.properties if c.kind == "step" and (not c.actions or base in c.actions)]
    for claims in (machine.invariants, steps):
        if claims:
            yield rng.choice(claims)


def _holds(concrete: Concrete, claim: Property, state: State, call: Call, after: State) -> bool:
    if claim.kind == "step":
        return concrete.holds_step(claim, state, *call, after)
    return concrete.holds(claim, after)


def _difference(want: State | None, got: State | None) -> str:
    if want is None or got is None:
        return "it cannot be taken" if want is None else "it can be taken"
    names = [function.name for function in want if want[function] != got.get(function)]
    return f"it leaves another {', '.join(names)}"
