"""The machine run at random where it is too large to explore: by Hypothesis, and by walks with a seed.

Entries: `walks/long`, many steps in the large world; `walks/on/*`, a walk on every platform; `walks/hypothesis`, the
Hypothesis machine; `walks/T…/*`, a hunt for every red twin of a theorem, whose story must be hardly longer than the
shortest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shmem_model.machine import MACHINE
from shmem_model.readers.stateful import ClaimBroken, Walk, check, hunt, run, stateful_machine
from shmem_proofs.theorems import THEOREMS
from shmem_suite.checks import Check, Outcome, Task
from shmem_suite.errors import ManifestError
from shmem_suite.manifest import Entry
from shmem_suite.providers.theorems import find, names, size
from shmem_suite.worlds import LARGE, PLATFORMS

STARTS = 50
"""How many places Hypothesis may set out from, besides the start."""


def checks(entries: Sequence[Entry], pins: Mapping[str, Mapping[str, Any]]) -> Iterator[Check]:
    """The checks that the entries stand for."""
    for entry in entries:
        for member, statement, task in _members(entry):
            id = entry.check_id(member)
            yield Check(
                id=id,
                kind=entry.kind,
                subject=entry.subject,
                statement=statement,
                expected=entry.expected,
                tasks=(Task(id, *task, weight=entry.weight),),
                tier=entry.tier,
                scope=entry.scope or size(LARGE.scope("large")),
                engine=entry.engine,
                pinned=entry.pinned,
                pins=pins.get(id),
                covers=frozenset({f"platform:{member}"} if entry.subject == "platforms" else ()),
            )


def universe() -> dict[str, frozenset[str]]:
    """Every platform must be walked on."""
    return {"platform": frozenset(PLATFORMS)}


def _members(entry: Entry) -> Iterator[tuple[str, str, tuple[Any, Any]]]:
    """Name, statement, function and arguments of every check of an entry."""
    o = entry.options
    match entry.subject:
        case "long":
            words = f"Every claim holds after each of {o['steps']} random steps in a world too large to explore."
            yield "", words, (walk, ("weakest", o["steps"], o["seed"]))
        case "platforms":
            for name in PLATFORMS:
                yield name, f"Every claim holds along random runs on {name}.", (walk, (name, o["steps"], o["seed"]))
        case "hypothesis":
            words = f"Hypothesis finds no run that breaks a claim, in at least {o['least']} steps."
            yield "", words, (search, (o["examples"], o["steps"], o["least"]))
        case word if any(theorem.called(word) for theorem in THEOREMS):
            theorem = find(word)
            for name, number in names(theorem.red_twins).items():
                words = f"Random runs find and shorten what the shortest run shows: {name}."
                yield name, words, (find_twin, (theorem.id, number, o["stories"], o["slack"]))
        case other:
            raise ManifestError(f"walks.json: {entry.id} is about {other}, which nobody can walk")


def walk(platform: str, steps: int, seed: int) -> Outcome:
    """Take random steps in the large world, every claim checked after each."""
    taken = run(LARGE.but(profile=PLATFORMS[platform]).scope(platform), steps, seed)
    counts = {"steps": taken.steps, "fired": dict(sorted(taken.fired.items()))}
    if taken.story is not None:
        return Outcome("fails", str(taken.story), counts=counts)
    return Outcome("holds", counts=counts) if taken.steps == steps else _short(taken)


def _short(taken: Walk) -> Outcome:
    return Outcome("unknown", f"only {taken.steps} steps could be taken")


def search(examples: int, steps: int, least: int) -> Outcome:
    """Let Hypothesis look for a run that breaks a claim in the large world."""
    base = stateful_machine(LARGE.scope("large"), starts=STARTS)
    taken = 0

    def take(self: Any, action: str, arguments: tuple[int, ...]) -> None:
        nonlocal taken
        taken += 1
        base.take(self, action, arguments)

    try:
        check(type(base.__name__, (base,), {"take": take}), examples=examples, steps=steps)
    except ClaimBroken as error:
        return Outcome("fails", str(error.story))
    if taken < least:
        return Outcome("unknown", f"Hypothesis took {taken} steps, fewer than {least}")
    return Outcome("holds", facts={"steps": taken})


def find_twin(id: str, number: int, stories: int, slack: int) -> Outcome:
    """Hunt for the broken claim of a red twin; the story may be a little longer than the shortest."""
    twin = find(id).red_twins[number]
    machine = twin.weaken(MACHINE)
    claim = twin.claim or machine.property(twin.breaks)
    story = hunt(twin.setting.scope(twin.name, machine), claim, stories=stories)
    if story is None:
        return Outcome("fails", "no run was found that breaks the claim")
    if not twin.steps <= len(story) <= twin.steps + slack:
        return Outcome("fails", f"the story has {len(story)} steps, the shortest has {twin.steps}")
    return Outcome("holds", f"{len(story)} steps, the shortest has {twin.steps}", counts={"steps": len(story)})
