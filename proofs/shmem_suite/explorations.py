"""The scopes that can be named on the command line, the engines that explore them, and exploring as a task."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from shmem_model.readers.explorer import explore
from shmem_model.readers.scope import Scope
from shmem_model.scopes import MEASURED, PINNED, SCOPES, counts, pinned
from shmem_suite.checks import Outcome
from shmem_suite.errors import UsageError, did_you_mean
from shmem_suite.stories import story

FIRST = "caches"
"""The scope that is taken where none is named."""


def engines() -> dict[str, str]:
    """Every engine, with the reason why it cannot be used here, or nothing."""
    return {"python": "", "numpy": "", "compiled": "" if find_spec("numba") else "numba is not installed"}


def scope_named(name: str) -> Scope:
    """The scope of that name."""
    if name not in SCOPES:
        raise UsageError(did_you_mean(name, SCOPES, "scope"))
    return SCOPES[name].scope()


def default_scope() -> Scope:
    """The scope that is taken where none is named."""
    return scope_named(FIRST)


def for_benchmark(name: str | None) -> Scope:
    """The scope on which engines are compared, unless another one is named."""
    return scope_named(name or MEASURED)


def pins_of(name: str) -> Mapping[str, Any] | None:
    """The pinned counts of a scope."""
    return pinned().get(name)


def explore_named(name: str, engine: str, claims: bool, limit: int | None = None) -> Outcome:
    """Visit every state of a scope; with `claims`, every claim of the machine is checked in every state and step."""
    scope = scope_named(name)
    properties = scope.machine.properties if claims else ()
    found = explore(scope, engine=engine, properties=properties, limit=limit)
    facts = {
        "scope": name,
        "engine": found.engine,
        "seconds": found.seconds,
        "compile_seconds": found.compile_seconds,
        "bits": found.packed.width,
    }
    broken = [finding for finding in found.findings.values() if finding.verdict == "fails"]
    if broken:
        first = min(broken, key=lambda finding: (finding.depth or 0, finding.name))
        run = first.trace
        shown = story(run, scope, f"broken: {first.sentence}", guilty=True) if run else None
        return Outcome("fails", f"{first.name} is broken", counts=counts(found), facts=facts, trace=shown)
    if not found.complete:
        return Outcome("unknown", f"given up after {found.states} states", counts=counts(found), facts=facts)
    return Outcome("holds", counts=counts(found), facts=facts)


def save_scope_pins(new: Mapping[str, Mapping[str, Any]]) -> int:
    """Write new counts where the model keeps those of its scopes; how many changed."""
    known = pinned()
    merged = {name: dict(new.get(name, known.get(name, {}))) for name in SCOPES if name in new or name in known}
    try:
        PINNED.write_text(json.dumps(merged, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write the pinned counts: {error.strerror}: {error.filename}") from error
    return sum(merged.get(name) != known.get(name) for name in {*merged, *known})
