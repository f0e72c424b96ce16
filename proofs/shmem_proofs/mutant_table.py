"""The table of mutants and who kills them: data, generated, and compared with what is so.

`mutants.json` has a row for every mutant, `mutant_scopes.json` the figures of every world.
`python -m shmem_proofs.mutant_table --pin` makes both anew; without it they are checked (`--full`: every mutant, else
a fixed tenth).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from shmem_model.language import Machine
from shmem_model.machine import MACHINE
from shmem_proofs.mutant_killers import ALIVE, Fate, Judge
from shmem_proofs.mutant_scopes import WORLDS
from shmem_proofs.mutant_worlds import Explored
from shmem_proofs.mutants import Mutant, mutants, tenth

TABLE = Path(__file__).with_name("mutants.json")
FIGURES = Path(__file__).with_name("mutant_scopes.json")


@dataclass(frozen=True)
class Row:
    """One mutant of the table: what was done to the machine, and its fate."""

    what: str
    layer: str
    by: str
    how: str

    @property
    def fate(self) -> Fate:
        """What became of it."""
        return Fate(self.layer, self.by, self.how)

    def __str__(self) -> str:
        return " ".join(part for part in (self.layer, self.by, self.how) if part)


def read_table() -> dict[str, Row]:
    """The table as it was pinned."""
    return {name: Row(**row) for name, row in json.loads(TABLE.read_text(encoding="utf-8")).items()}


def read_figures() -> dict[str, Any]:
    """The figures of the worlds as they were pinned."""
    found: dict[str, Any] = json.loads(FIGURES.read_text(encoding="utf-8"))
    return found


@cache
def every_mutant() -> Mapping[str, Mutant]:
    """The mutants of the machine by name."""
    return {mutant.name: mutant for mutant in mutants(MACHINE)}


def chosen(full: bool = False) -> list[str]:
    """The names to check: all, or the fixed tenth."""
    every = list(every_mutant().values())
    return [mutant.name for mutant in (every if full else tenth(every))]


def misnamed(table: Mapping[str, Row]) -> list[str]:
    """What is in the table and no mutant of the machine, or the other way round."""
    now = every_mutant()
    gone = [f"{name} is in the table and no mutant any more" for name in table if name not in now]
    new = [f"{name} is a mutant without a row" for name in now if name not in table]
    other = [f"{name} {now[name].what}, not {row.what}" for name, row in table.items() if _differs(name, row)]
    return gone + new + other


def _differs(name: str, row: Row) -> bool:
    mutant = every_mutant().get(name)
    return mutant is not None and mutant.what != row.what


def wrong(names: Iterable[str], table: Mapping[str, Row] | None = None) -> Iterator[str]:
    """Which of these mutants do not have the fate that the table says, and what they have."""
    table, judge = table or read_table(), Judge()
    for name in names:
        row = table.get(name)
        if row is None or row.layer == ALIVE:
            yield f"{name} is killed by nobody and not equivalent"
        elif not judge.confirms(every_mutant()[name], row.fate):
            yield f"{name} was: {row}; is: {judge.fate(every_mutant()[name])}"


def wrong_figures(names: Iterable[str] | None = None, machine: Machine = MACHINE) -> Iterator[str]:
    """In which worlds something else is found than was pinned."""
    pinned = read_figures()
    for world in WORLDS:
        if names is None or world.name in names:
            found = Explored(world, machine).figures()
            if pinned.get(world.name) != found:
                yield f"world {world.name}: {_changed(pinned.get(world.name), found)}"


def _changed(old: Any, new: Mapping[str, Any]) -> str:
    if old is None:
        return "was not pinned"
    if old["states"] != new["states"]:
        return f"{new['states']} states by depth, pinned were {old['states']}"
    actions = [name for name, figures in new["actions"].items() if old["actions"].get(name) != figures]
    return f"other steps or answers of {', '.join(actions) or 'actions that are gone'}"


def summary(table: Mapping[str, Row]) -> dict[str, Counter[str]]:
    """How many mutants of each operator had which fate."""
    counts: dict[str, Counter[str]] = {}
    for name, row in table.items():
        counts.setdefault(name.split("/")[1], Counter())[row.layer] += 1
    return counts


# ---------------------------------------------------------------------- pinning


def rows(names: Sequence[str]) -> dict[str, Row]:
    """Fresh rows for some mutants."""
    judge, every = Judge(), every_mutant()
    fates = ((name, judge.fate(every[name])) for name in names)
    return {name: Row(every[name].what, fate.layer, fate.by, fate.how) for name, fate in fates}


def pin(jobs: int) -> None:
    """Make both files anew."""
    names = chosen(full=True)
    with ProcessPoolExecutor(jobs) as pool:
        parts = list(pool.map(rows, [names[i::jobs] for i in range(jobs)]))
        figures = dict(zip([w.name for w in WORLDS], pool.map(_figures, range(len(WORLDS))), strict=True))
    found = {name: row for part in parts for name, row in part.items()}
    _write(TABLE, {name: asdict(found[name]) for name in names})
    _write(FIGURES, figures)


def _figures(number: int) -> dict[str, Any]:
    return Explored(WORLDS[number]).figures()


def _write(path: Path, entries: Mapping[str, Any]) -> None:
    """One entry a line, so that a change shows as such."""
    lines = [f"{json.dumps(name)}: {json.dumps(entry, ensure_ascii=False)}" for name, entry in entries.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Pin or check, and print how many mutants have which fate."""
    parser = argparse.ArgumentParser(description="The mutants of the machine and who kills them.")
    parser.add_argument("--pin", action="store_true", help="make the table and the figures anew")
    parser.add_argument("--full", action="store_true", help="check every mutant, not a tenth")
    parser.add_argument("--jobs", type=int, default=1, help="processes for pinning")
    options = parser.parse_args(arguments)
    if options.pin:
        pin(options.jobs)
    table = read_table()
    for operator, counts in summary(table).items():
        print(f"{operator:15} {sum(counts.values()):5}  " + ", ".join(f"{n} {c}" for n, c in counts.most_common()))
    problems = misnamed(table) if options.pin else [*misnamed(table), *wrong(chosen(options.full)), *wrong_figures()]
    problems += [f"{name} is killed by nobody" for name, row in table.items() if row.layer == ALIVE]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
