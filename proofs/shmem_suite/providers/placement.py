"""The theorem about the allocator, its witnesses and its red twins as checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from shmem_proofs.theorems import Case, Theorem
from shmem_suite.checks import Check, Task
from shmem_suite.errors import ManifestError
from shmem_suite.manifest import Entry
from shmem_suite.placement import cases
from shmem_suite.placement.twins import TWINS

SMALL = "free lists of up to 2 holes (up to 1, where there is a window)"


def theorem_tasks() -> tuple[Task, ...]:
    """What settles the theorem on small free lists, and on long ones by random calls."""
    asked = [Task(f"placement/{case}", cases.ask, (case,), 0.4) for case in cases.SMALL]
    rounding = Task("placement/rounding", cases.ask_rounding, (), 0.2)
    return (*asked, rounding, Task("placement/whole", cases.ask_whole, (1, 100_000), 1.0))


def checks(entry: Entry, theorem: Theorem) -> Iterator[Check]:
    """The witnesses, the red twins, or (kind `theorem`) the larger cases."""
    if entry.kind == "theorem":
        for case in cases.LARGER:
            task = Task(f"placement/{case}", cases.ask, (case,), entry.weight)
            yield _check(entry, theorem, case, f"Placement holds on larger free lists: {case}.", task, frozenset())
        return
    twins = entry.kind == "red-twin"
    known: Mapping[str, object] = TWINS if twins else cases.SEEN
    told = [case for case in theorem.cases if case.is_red_twin == twins]
    if {case.name for case in told} != set(known):
        strangers = sorted({case.name for case in told} ^ set(known))
        raise ManifestError(f"{theorem.id} and shmem_suite.placement do not both know {', '.join(strangers)}")
    yield from (_told(entry, theorem, case) for case in told)


def _told(entry: Entry, theorem: Theorem, case: Case) -> Check:
    function = cases.break_twin if case.is_red_twin else cases.see
    task = Task(entry.check_id(case.name), function, (case.name,), entry.weight)
    word = "theorem with a red twin" if case.is_red_twin else "witnessed theorem"
    return _check(entry, theorem, case.name, case.sentence, task, frozenset({f"{word}:{theorem.id}"}))


def _check(entry: Entry, theorem: Theorem, name: str, statement: str, task: Task, covers: frozenset[str]) -> Check:
    return Check(
        id=entry.check_id(name),
        kind=entry.kind,
        subject=theorem.id,
        statement=statement,
        expected=entry.expected,
        tasks=(task,),
        tier=entry.tier,
        scope=entry.scope or SMALL,
        engine=entry.engine or theorem.method,
        names=(theorem.name,),
        covers=covers,
    )
