"""The conformance kit: Hypothesis drives an adapter along the machine and looks for an answer that is not allowed.

`check(make_adapter)` runs every world that the adapter's actions can live in.  Only actions that it has are called.
Where it cannot command hardware, every answer that some hardware would give is allowed (see `oracle`); where too many
states agree with what was seen the world's verdict is *unknown*, which is no pass.  A failure is shrunk, named by the
property that it breaks, and saved as a case that `replay` runs again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any

from shmem_model.conformance.adapter import Factory, World, capabilities
from shmem_model.conformance.divergences import Divergence, judge
from shmem_model.conformance.expand import alphabet
from shmem_model.conformance.loading import FactoryError, built, said
from shmem_model.conformance.oracle import HIDDEN, Belief, Oracle, Step, TooMany
from shmem_model.conformance.outcome import broken, describe, matching, outcome_of
from shmem_model.conformance.pieces import Pieces
from shmem_model.conformance.vector_scopes import LARGER, SCOPES

HOLDS, FAILS, UNKNOWN, NOT_RUN = "holds", "fails", "unknown", "not run"
_ALL = {**SCOPES, **LARGER}
WORLDS: Mapping[str, World] = {name: scope.world for name, scope in _ALL.items()}
"""The worlds of the kit, by name."""


class ConformanceError(AssertionError):
    """An implementation answered what the machine does not allow, or nothing could be said; the text is the story."""


@dataclass(frozen=True)
class Case:
    """A run that ends with an answer that is not allowed: calls with their outcomes, and what was allowed."""

    world: World
    steps: tuple[tuple[str, Mapping[str, Any], str], ...]
    allowed: tuple[str, ...]
    broke: str
    """The property that is broken, as a sentence."""

    @property
    def id(self) -> str:
        """world/action/kind of property: what a divergence list names it by."""
        kind = self.broke.partition(":")[0].partition(" (")[0].replace(" ", "-")
        return f"{self.world.name}/{self.steps[-1][0]}/{kind}"

    def story(self) -> str:
        """Who did what and saw what, and what should have come of the last call."""
        lines = [f"{self.id}: {self.broke}"]
        lines += [f"  {i:3} {describe(name, kw)}  ->  {seen}" for i, (name, kw, seen) in enumerate(self.steps, 1)]
        return "\n".join([*lines, f"      allowed: {' | '.join(self.allowed)}"])

    def as_json(self) -> dict[str, Any]:
        """Plain data, to be saved."""
        steps = [{"action": name, "arguments": dict(kw), "outcome": seen} for name, kw, seen in self.steps]
        return {"shmem_case": 1, "id": self.id, "property": self.broke, "allowed": list(self.allowed),
                "world": self.world.as_json(), "steps": steps}  # fmt: skip


@dataclass
class Verdict:
    """What the kit says of one world."""

    world: str
    verdict: str
    case: Case | None = None
    saved: Path | None = None
    why: str = ""
    calls: int = 0
    known: list[str] = field(default_factory=list)
    """Failures that the divergence list expects, and that were seen."""


class Driver:
    """An adapter in a world, and all states of the machine that agree with what it has answered so far."""

    def __init__(self, oracle: Oracle, adapter: Any, alphabet: Sequence[Step]) -> None:
        self.oracle, self.adapter, self.alphabet = oracle, adapter, alphabet
        self.belief: Belief = oracle.start
        self.steps: list[tuple[str, Mapping[str, Any], str]] = []

    def possible(self) -> list[Step]:
        """The calls that can be made now."""
        return [step for step in self.alphabet if self.oracle.speaks(self.belief, *step)]

    def call(self, action: str, arguments: Mapping[str, Any]) -> Case | None:
        """Make a call; the case if its answer is not allowed.  Raises `TooMany`."""
        allowed = self.oracle.allowed(self.belief, action, dict(arguments))
        outcome = outcome_of(self.adapter, action, arguments)
        self.steps.append((action, arguments, outcome))
        found = matching(outcome, allowed)
        if not found:
            said = broken(action, outcome, allowed)
            return Case(self.oracle.world, tuple(self.steps), tuple(allowed), said)
        self.belief = frozenset().union(*(allowed[one] for one in found))
        return None

    def close(self, quietly: bool = False) -> None:
        """End the adapter, if it has an end.  Raises `FactoryError` if that fails (not `quietly`)."""
        end(self.adapter, self.oracle.world, quietly)


def end(adapter: Any, world: World, quietly: bool = False) -> None:
    """Call `close` of an adapter that has it.  Raises `FactoryError` if that fails (not `quietly`)."""
    try:
        getattr(adapter, "close", lambda: None)()
    except Exception as error:
        if not quietly:
            raise FactoryError(f"close() of the adapter for world {world.name} raised {said(error)}") from error


def oracle_for(world: World, can: Iterable[str]) -> Oracle:
    """The oracle for an adapter with these capabilities."""
    can = frozenset(can)
    return Oracle(world, [name for name in HIDDEN if name in can])


def actions_in(name: str, can: Iterable[str]) -> tuple[str, ...]:
    """The actions of a world's scope that the adapter has."""
    can = frozenset(can)
    return tuple(action for action in _ALL[name].actions if action in can)


def check_world(
    make_adapter: Factory,
    name: str,
    *,
    examples: int = 100,
    steps: int = 40,
    divergences: Sequence[Divergence] = (),
    save: Path | None = None,
    seed: int | None = None,
) -> Verdict:
    """Drive the adapter in one world; never raises for what the implementation does.

    `seed`: draw other calls (default: the same ones each time).

    Of the larger worlds, where a call takes longer, a quarter of the examples is run.  Raises `FactoryError` where no
    adapter is made.
    """
    world = WORLDS[name]
    examples = examples if name in SCOPES else -(-examples // 4)
    try:
        first = built(make_adapter, world)
    except NotImplementedError as error:
        return Verdict(name, NOT_RUN, why=str(error) or "the adapter cannot build this world")
    can = capabilities(first)
    end(first, world)
    actions = actions_in(name, can)
    if not any(action in can for action in _ALL[name].actions if action not in HIDDEN):
        return Verdict(name, NOT_RUN, why="the adapter has none of its actions")
    verdict = Verdict(name, HOLDS)
    mine = [one for one in divergences if one.world == name]
    try:
        case = _search(
            make_adapter, oracle_for(world, can), alphabet(world, actions), examples, steps, mine, verdict, seed
        )
    except TooMany as error:
        return Verdict(name, UNKNOWN, why=str(error))
    if case is not None:
        verdict.verdict, verdict.case = FAILS, case
        verdict.saved = None if save is None else write_case(case, save)
        return verdict
    complaints = judge(mine, verdict.known)
    if complaints:
        verdict.verdict, verdict.why = FAILS, "; ".join(complaints)
    return verdict


def _search(
    make_adapter: Factory, oracle: Oracle, calls: Sequence[Step], examples: int, steps: int,
    expected: Sequence[Divergence], verdict: Verdict, chosen: int | None,
) -> Case | None:  # fmt: skip
    from hypothesis import HealthCheck, Phase, given, seed, settings
    from hypothesis import strategies as st

    known = {one.id for one in expected}
    pieces = Pieces(oracle.world, calls)
    found: list[Case] = []

    @settings(max_examples=examples, deadline=None, database=None, derandomize=chosen is None, print_blob=False,
              suppress_health_check=list(HealthCheck), phases=(Phase.generate,))  # fmt: skip
    @given(st.lists(st.integers(0, 2**16 - 1), min_size=steps, max_size=steps))
    def run(choices: list[int]) -> None:
        if found:  # nothing is raised, so that an adapter that answers differently each time does no harm
            return
        driver = Driver(oracle, built(make_adapter, oracle.world), calls)
        for step in _drawn(driver, pieces, choices, steps):
            verdict.calls += 1
            case = driver.call(*step)
            if case is not None:
                if case.id in known:
                    verdict.known.append(case.id)
                else:
                    found.append(case)
                break
        driver.close(quietly=bool(found))

    (run if chosen is None else seed(chosen)(run))()
    if not found:
        return None
    again = _again(found[0], found[0].steps, make_adapter, oracle)
    if again is None:
        verdict.why = "it did not happen again with the same calls: the adapter does not answer alike each time"
        return found[0]
    return shortened(again, make_adapter, oracle)


def _drawn(driver: Driver, pieces: Pieces, choices: Iterable[int], most: int) -> Iterator[Step]:
    """Calls that can be made when they are made: single ones and pieces, half and half."""
    for choice in choices:
        if len(driver.steps) >= most:
            return
        if choice % 2 and pieces.kinds:
            yield from (step for step in pieces.of(choice // 2) if driver.oracle.speaks(driver.belief, *step))
        else:
            can = driver.possible()
            if not can:
                return
            yield can[choice // 2 % len(can)]


def shortened(case: Case, make_adapter: Factory, oracle: Oracle) -> Case:
    """The case without the calls that it does not need: ever smaller parts are left out while it still fails."""
    size = len(case.steps) // 2
    while size:
        at = 0
        while at < len(case.steps):
            shorter = _again(case, (*case.steps[:at], *case.steps[at + size :]), make_adapter, oracle)
            if shorter is None:
                at += size
            else:
                case = shorter
        size //= 2
    return case


def _again(
    case: Case, steps: Sequence[tuple[str, Mapping[str, Any], str]], make_adapter: Factory, oracle: Oracle
) -> Case | None:
    """Make these calls; the case if they fail as the other one did."""
    driver = Driver(oracle, built(make_adapter, oracle.world), ())
    try:
        for action, arguments, _ in steps:
            if not driver.oracle.speaks(driver.belief, action, dict(arguments)):
                return None
            found = driver.call(action, arguments)
            if found is not None:
                return found if found.id == case.id else None
        return None
    finally:
        driver.close(quietly=True)


def check(
    make_adapter: Factory,
    *,
    worlds: Iterable[str] | None = None,
    examples: int = 100,
    steps: int = 40,
    divergences: Path | None = None,
    save: Path | None = None,
) -> list[Verdict]:
    """Check an adapter in all worlds (or those named); raises `ConformanceError` at the first that does not hold.

    `divergences` is the tested project's list of known differences, `save` a folder for failing cases.
    """
    from shmem_model.conformance.divergences import read

    known = () if divergences is None else read(divergences)
    verdicts = []
    for name in WORLDS if worlds is None else worlds:
        verdict = check_world(make_adapter, name, examples=examples, steps=steps, divergences=known, save=save)
        if verdict.verdict in (FAILS, UNKNOWN):
            raise ConformanceError(told(verdict, _name_of(make_adapter)))
        verdicts.append(verdict)
    if all(verdict.verdict == NOT_RUN for verdict in verdicts):
        raise ConformanceError("nothing was checked: the adapter has no action of any world; see `SIGNATURES`")
    return verdicts


def _name_of(factory: Factory) -> str:
    """MODULE:FACTORY, as the command line wants it, where the factory has a name."""
    module, name = getattr(factory, "__module__", ""), getattr(factory, "__qualname__", "")
    return f"{module}:{name}" if module and name.isidentifier() else "MODULE:FACTORY"


def told(verdict: Verdict, adapter: str = "MODULE:FACTORY") -> str:
    """A verdict for people: one line, or the story with the command that replays it."""
    if verdict.case is None:
        return f"{verdict.world}: {verdict.verdict}{f', {verdict.why}' if verdict.why else ''}"
    text = verdict.case.story()
    text += f"\n  {verdict.why}" if verdict.why else ""
    if verdict.saved is not None:
        text += f"\n  again: shmem conform --adapter {quote(adapter)} --replay {quote(str(verdict.saved))}"
    return text


def write_case(case: Case, folder: Path) -> Path:
    """Save a case; the file."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{case.id.replace('/', '-')}.json"
    file.write_text(json.dumps(case.as_json(), indent=1) + "\n", encoding="utf-8")
    return file


def replay(file: Path, make_adapter: Factory) -> Case | None:
    """Make the calls of a saved case again; the case if an answer is not allowed.  ValueError: no case file."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        world = World.from_json(data["world"])
        steps = [(step["action"], step["arguments"]) for step in data["steps"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{file} is no saved case: {' '.join(str(error).split())}") from None
    adapter = built(make_adapter, world)
    driver = Driver(oracle_for(world, capabilities(adapter)), adapter, ())
    try:
        for action, arguments in steps:
            if not driver.oracle.speaks(driver.belief, action, arguments):
                return None
            case = driver.call(action, arguments)
            if case is not None:
                return case
        return None
    finally:
        driver.close()
