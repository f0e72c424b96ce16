"""Mutants of the machine: each small damage is noticed by whom the table says, or is equivalent for a stated reason.

Entries are families: `mutant/*` stands for the fixed tenth or for all others, as `options.part` says (`tenth`,
`rest`); `mutant-worlds/*` for the worlds in which mutants are told apart, whose figures are pinned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from shmem_proofs.mutant_killers import ALIVE, EQUIVALENT, Judge
from shmem_proofs.mutant_scopes import WORLDS
from shmem_proofs.mutant_table import Row, chosen, every_mutant, misnamed, read_table, wrong_figures
from shmem_suite.checks import Check, Outcome, Task, Verdict
from shmem_suite.errors import ManifestError
from shmem_suite.manifest import Entry

AGAIN = "python -m shmem_proofs.mutant_table --pin makes the table anew"


def checks(entries: Sequence[Entry], pins: Mapping[str, Mapping[str, Any]]) -> Iterator[Check]:
    """The checks that the entries stand for."""
    table, tenth = read_table(), set(chosen())
    for entry in entries:
        match entry.options.get("part"):
            case "tenth" | "rest" as part:
                yield from (_mutant(entry, n, row) for n, row in table.items() if (n in tenth) == (part == "tenth"))
            case "worlds":
                yield from (_world(entry, world.name, world.why) for world in WORLDS)
            case "table":
                yield _table(entry, pins)
            case other:
                raise ManifestError(f"mutants.json: {entry.id} stands for {other!r}, which does not exist")


def universe() -> dict[str, frozenset[str]]:
    """Every mutant of the machine and every world."""
    return {"mutant": frozenset(every_mutant()), "world of mutants": frozenset(world.name for world in WORLDS)}


def _mutant(entry: Entry, name: str, row: Row) -> Check:
    action, expected = name.partition("/")[0], expected_of(row)
    seen = f"equivalent: {row.how}" if row.layer == EQUIVALENT else f"noticed by {row.layer} {row.by}".strip()
    return Check(
        id=entry.check_id(name),
        kind=entry.kind,
        subject=action,
        statement=f"{action} {row.what}: {seen}.",
        expected=expected,
        tasks=(Task(entry.check_id(name), judge_mutant, (name,), entry.weight),),
        tier=entry.tier,
        scope=entry.scope,
        engine=entry.engine,
        covers=frozenset({f"mutant:{name}"}),
    )


def expected_of(row: Row) -> Verdict:
    """A mutant that somebody kills is expected to fail, an equivalent one to hold; one that lives is never right."""
    return "holds" if row.layer in (EQUIVALENT, ALIVE) else "fails"


@lru_cache(maxsize=1)
def judge() -> Judge:
    """One judge per process: it explores each world once."""
    return Judge()


def judge_mutant(name: str) -> Outcome:
    """Ask the mutant's own killer again; where it no longer kills, find out who does."""
    row, mutant = read_table().get(name), every_mutant().get(name)
    if row is None or mutant is None:
        return Outcome("unknown", f"the table and the machine do not both know it; {AGAIN}")
    if row.layer == ALIVE:
        return Outcome("unknown", "nobody kills it, and it is not equivalent")
    if judge().confirms(mutant, row.fate):
        return Outcome(expected_of(row), row.how)
    return Outcome("unknown", f"the table says: {row}; now: {judge().fate(mutant)}; {AGAIN}")


def _world(entry: Entry, name: str, why: str) -> Check:
    return Check(
        id=entry.check_id(name),
        kind=entry.kind,
        subject=name,
        statement=f"The world of mutants has its pinned figures: {why}.",
        expected=entry.expected,
        tasks=(Task(entry.check_id(name), look_at_world, (name,), entry.weight),),
        tier=entry.tier,
        scope=entry.scope,
        engine=entry.engine,
        covers=frozenset({f"world of mutants:{name}"}),
    )


def look_at_world(name: str) -> Outcome:
    """Explore a world and compare its figures with the pinned ones."""
    trouble = list(wrong_figures([name]))
    return Outcome("fails", f"{'; '.join(trouble)}; {AGAIN}") if trouble else Outcome("holds")


def _table(entry: Entry, pins: Mapping[str, Mapping[str, Any]]) -> Check:
    return Check(
        id=entry.id,
        kind=entry.kind,
        subject="table",
        statement="The table of mutants has a row for each mutant of the machine, and no other.",
        expected=entry.expected,
        tasks=(Task(entry.id, look_at_table, (), entry.weight),),
        tier=entry.tier,
        scope=entry.scope,
        engine=entry.engine,
        pinned=entry.pinned,
        pins=pins.get(entry.id),
    )


def look_at_table() -> Outcome:
    """Compare the table with the mutants that the machine has now."""
    table = read_table()
    trouble = misnamed(table) + [f"nobody kills {name}" for name, row in table.items() if row.layer == ALIVE]
    if trouble:
        return Outcome("fails", f"{'; '.join(trouble[:3])}; {AGAIN}", facts={"trouble": trouble})
    layers: dict[str, int] = {}
    for row in table.values():
        layers[row.layer] = layers.get(row.layer, 0) + 1
    return Outcome("holds", counts={"mutants": len(table)}, facts={"layers": dict(sorted(layers.items()))})
