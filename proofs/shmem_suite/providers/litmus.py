"""The litmus catalogue: every file is asked, and must answer as it says itself.

Entries: `litmus/*`, a family with a member per file, and `catalogue`, whose pinned counts tell when files or
questions come or go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from shmem_model.litmus import parse_file
from shmem_model.litmus.catalogue import FOLDER, files
from shmem_suite.checks import Check, Outcome, Task
from shmem_suite.litmus_files import SUFFIX, answer, explained
from shmem_suite.manifest import Entry


def checks(entries: Sequence[Entry], pins: Mapping[str, Mapping[str, Any]]) -> Iterator[Check]:
    """The checks that the entries stand for."""
    for entry in entries:
        if entry.id.endswith("*"):
            yield from (_file(entry, name) for name in names())
        else:
            yield _counted(entry, pins)


def universe() -> dict[str, frozenset[str]]:
    """Every file of the catalogue."""
    return {"litmus file": frozenset(names())}


def names() -> list[str]:
    """The files of the catalogue, as `folder/name`."""
    return [path.relative_to(FOLDER).as_posix().removesuffix(SUFFIX) for path in files()]


def _file(entry: Entry, name: str) -> Check:
    return Check(
        id=entry.check_id(name),
        kind=entry.kind,
        subject=name,
        statement=statement(name),
        expected=entry.expected,
        tasks=(task(name, entry.weight),),
        tier=entry.tier,
        scope=entry.scope,
        engine=entry.engine,
        names=(name.rpartition("/")[2],),
        covers=frozenset({f"litmus file:{name}"}),
    )


def statement(name: str) -> str:
    """What a file of the catalogue is about, in its own words."""
    return explained(FOLDER / f"{name}{SUFFIX}") or f"{name.rpartition('/')[2]} answers as it expects."


def task(name: str, weight: float = 0.05) -> Task:
    """The task that answers a file of the catalogue."""
    return Task(f"litmus/{name}", answer_catalogued, (name,), weight)


def answer_catalogued(name: str) -> Outcome:
    """Answer a file of the catalogue."""
    found = answer(str(FOLDER / f"{name}{SUFFIX}"))
    return Outcome(found.verdict, found.detail, facts={**found.facts, "file": f"{name}{SUFFIX}"}, trace=found.trace)


def tasks_matching(patterns: Sequence[str]) -> tuple[Task, ...]:
    """The tasks of the files that match the patterns; a pattern that matches none is a task without an answer."""
    found: dict[str, Task] = {}
    for pattern in patterns:
        hits = [name for name in names() if fnmatchcase(name, pattern)]
        if not hits:
            found[pattern] = Task(f"litmus/{pattern}", nothing_matches, (pattern,), 0.01)
        found |= {name: task(name) for name in hits}
    return tuple(found.values())


def matching(patterns: Sequence[str]) -> list[str]:
    """The files of the catalogue that match one of the patterns."""
    return [name for name in names() if any(fnmatchcase(name, pattern) for pattern in patterns)]


def nothing_matches(pattern: str) -> Outcome:
    """Nothing can be said of files that are not there."""
    return Outcome("unknown", f"no file of the litmus catalogue matches {pattern}")


def _counted(entry: Entry, pins: Mapping[str, Mapping[str, Any]]) -> Check:
    return Check(
        id=entry.id,
        kind=entry.kind,
        subject=entry.subject,
        statement="The catalogue has as many files, questions and expected answers of each kind as it had.",
        expected=entry.expected,
        tasks=(Task(entry.id, count, (), entry.weight),),
        tier=entry.tier,
        scope=entry.scope,
        engine=entry.engine,
        pinned=entry.pinned,
        pins=pins.get(entry.id),
    )


def count() -> Outcome:
    """Count files and questions, by expected answer."""
    programs = [parse_file(path) for path in files()]
    expected = Counter(question.expect for program in programs for question in program.questions)
    counts = {"files": len(programs), "questions": expected.total(), "expected": dict(sorted(expected.items()))}
    return Outcome("holds" if programs else "unknown", counts=counts)
