"""Witnesses and red twins of a theorem that is about programs: litmus files of the catalogue.

A file that expects nothing bad is a witness, the program that is right.  A file that expects a stale value, a race, a
deadlock or a fault is a red twin: a program with a step left out or misplaced, and it fails as it expects.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shmem_model.litmus import parse_file
from shmem_model.litmus.catalogue import FOLDER
from shmem_proofs.theorems import Theorem
from shmem_suite.checks import Check, Outcome, Task
from shmem_suite.litmus_files import SUFFIX
from shmem_suite.manifest import Entry
from shmem_suite.providers.litmus import answer_catalogued, matching, statement

BAD = {"allowed", "race", "deadlock", "fault"}


def checks(entry: Entry, theorem: Theorem) -> Iterator[Check]:
    """The witnesses or the red twins of a theorem, as the entry's kind says."""
    for name in matching(theorem.litmus):
        if is_wrong(name) == (entry.kind == "red-twin"):
            yield _check(entry, theorem, name)


def is_wrong(name: str) -> bool:
    """The program of the file is expected to go wrong."""
    return any(question.expect in BAD for question in parse_file(FOLDER / f"{name}{SUFFIX}").questions)


def _check(entry: Entry, theorem: Theorem, name: str) -> Check:
    id = entry.check_id(name.rpartition("/")[2])
    wrong = entry.kind == "red-twin"
    return Check(
        id=id,
        kind=entry.kind,
        subject=theorem.id,
        statement=statement(name),
        expected=entry.expected,
        tasks=(Task(id, go_wrong if wrong else answer_catalogued, (name,), entry.weight),),
        tier=entry.tier,
        scope=entry.scope,
        engine=entry.engine,
        names=(theorem.name,),
        covers=frozenset({f"{'theorem with a red twin' if wrong else 'witnessed theorem'}:{theorem.id}"}),
    )


def go_wrong(name: str) -> Outcome:
    """The program goes wrong as it expects: that is a promise that fails."""
    found = answer_catalogued(name)
    if found.verdict != "holds":
        return replace(found, verdict="unknown")
    bad = [q["question"] + ": " + q["answer"] for q in found.facts["questions"] if q["answer"] in BAD]
    return replace(found, verdict="fails", detail="; ".join(bad))
