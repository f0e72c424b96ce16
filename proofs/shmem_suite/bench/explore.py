"""How many transitions per second our engines and rumur take on the same scope, on one core."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from shmem_model.readers.explorer import explore
from shmem_model.readers.scope import Scope
from shmem_suite import referee
from shmem_suite.bench.measure import Bench, Contender, Row, one_core, ratio, take_turns
from shmem_suite.errors import SuiteError
from shmem_suite.explorations import engines

RATE = "transitions/s"
TIMEOUT = 900.0


def run(scope: Scope, rounds: int, tell: Callable[[str], None]) -> Bench:
    """Explore the scope with every engine that is installed, and let rumur do it too, in turn."""
    contenders: list[Contender] = []
    notes = []
    for name, reason in engines().items():
        if reason:
            notes.append(f"{name} is not measured: {reason}")
        else:
            contenders.append(partial(_ours, scope, name))
    if referee.missing():
        notes.append(f"rumur is not measured: {referee.missing()}")
    else:
        contenders.append(partial(_theirs, scope))
    counts: set[tuple[int, int]] = set()
    with one_core():
        values = take_turns([partial(_agreeing, one, counts) for one in contenders], rounds, tell)
    rows = tuple(Row(name, found, "s" if name.endswith("preparation") else RATE) for name, found in values.items())
    named = {f"{name}_vs_rumur": ratio(rows, name, "rumur") for name in ("numpy", "compiled")}
    ratios = {name: value for name, value in named.items() if value is not None}
    states, transitions = next(iter(counts))
    subject = f"{scope.name}: {states:,} states, {transitions:,} transitions"
    return Bench("explore", rows, ratios, tuple(notes), subject)


def _agreeing(contender: Contender, counts: set[tuple[int, int]]) -> Mapping[str, float]:
    """Run a contender; all must count the same."""
    found = dict(contender())
    counts.add((int(found.pop("states")), int(found.pop("transitions"))))
    if len(counts) > 1:
        raise SuiteError(f"the engines disagree on states and transitions: {sorted(counts)}")
    return found


def _ours(scope: Scope, engine: str) -> Mapping[str, float]:
    found = explore(scope, engine=engine)
    row = {"states": found.states, "transitions": found.transitions, engine: found.transitions / found.seconds}
    return row | ({f"{engine} preparation": found.compile_seconds} if found.compile_seconds else {})


def _theirs(scope: Scope) -> Mapping[str, float]:
    found = referee.run(scope, TIMEOUT)
    rate = found.rules / found.seconds
    return {
        "states": found.states,
        "transitions": found.rules,
        "rumur": rate,
        "rumur preparation": found.compile_seconds,
    }
