"""Explorations of named scopes: all their states are counted, and every claim is looked at in each of them.

Entries are families: `explore/*` with a member per scope of the sizes in `options`.  With `claims`, every claim of
the machine is checked in every state and step, too.  An action is covered by the scopes in which it was taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shmem_model.machine import MACHINE
from shmem_model.scopes import SCOPES, NamedScope
from shmem_suite.checks import Check, Task
from shmem_suite.explorations import engines, explore_named, pins_of
from shmem_suite.manifest import Entry
from shmem_suite.providers.theorems import size


def checks(entries: Sequence[Entry], pins: Mapping[str, Mapping[str, Any]]) -> Iterator[Check]:
    """The checks that the entries stand for."""
    for entry in entries:
        for scope in SCOPES.values():
            if scope.size in entry.options["sizes"]:
                yield _check(entry, scope)


def universe() -> dict[str, frozenset[str]]:
    """Every scope, and every action: some scope must take it."""
    return {"scope": frozenset(SCOPES), "action": frozenset(MACHINE.actions)}


def _check(entry: Entry, scope: NamedScope) -> Check:
    id, claims = entry.check_id(scope.name), bool(entry.options.get("claims", False))
    counted = pins_of(scope.name)
    taken = (counted or {}).get("per_action", {})
    engine = chosen_engine(entry.engine)
    what = "In every state and step every claim holds" if claims else "As many states and steps as before"
    return Check(
        id=id,
        kind=entry.kind,
        subject=scope.name,
        statement=f"{what}: {scope.sentence}.",
        expected=entry.expected,
        tasks=(Task(id, explore_named, (scope.name, engine, claims), _weight(scope, claims)),),
        tier=entry.tier,
        scope=size(scope.scope()),
        engine=f"{engine} explorer",
        pinned=True,
        pins=counted,
        pinned_in="scopes",
        covers=frozenset({f"scope:{scope.name}", *(f"action:{name}" for name, n in taken.items() if n)}),
    )


def chosen_engine(wanted: str) -> str:
    """The engine of that name, or the NumPy path where it is not installed."""
    return wanted if not engines()[wanted] else "numpy"


def _weight(scope: NamedScope, claims: bool) -> float:
    """Roughly the seconds: for grounding and claims, and for the states."""
    return (0.6 if claims else 0.1) + {"small": 0.0, "medium": 0.3, "large": 2.0, "huge": 20.0}[scope.size]
