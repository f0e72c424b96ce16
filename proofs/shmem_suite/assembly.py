"""From the manifest to checks, and the check that nothing is silently unchecked.

A provider is a module `shmem_suite.providers.NAME` with two functions: `checks(entries, pins)` turns its
entries into checks, and `universe()` names what must be covered, by category: every theorem, action, scope,
litmus file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol, cast

from shmem_suite.checks import Check, Outcome, Task
from shmem_suite.errors import ManifestError
from shmem_suite.manifest import Entry, Manifest

Universe = Mapping[str, frozenset[str]]


class Provider(Protocol):
    """What a module in `shmem_suite.providers` offers."""

    def checks(self, entries: Sequence[Entry], pins: Mapping[str, Mapping[str, Any]]) -> Iterable[Check]:
        """The checks that the entries of its manifest file stand for."""
        ...

    def universe(self) -> Universe:
        """What some check must cover: category to names."""
        ...


def provider(name: str) -> Provider:
    """The provider of that name."""
    module = f"shmem_suite.providers.{name}"
    try:
        return cast(Provider, import_module(module))
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise ManifestError(f"manifest/{name}.json has no module {module}") from error


def assemble(manifest: Manifest) -> list[Check]:
    """All checks of the manifest, and the one that nothing is missing from it."""
    checks: list[Check] = []
    universe: dict[str, frozenset[str]] = {}
    for name, entries in manifest.entries.items():
        found = provider(name)
        checks += found.checks(entries, manifest.pins)
        for category, names in found.universe().items():
            universe[category] = universe.get(category, frozenset()) | names
    ids = [check.id for check in checks]
    if len(set(ids)) != len(ids):
        raise ManifestError(f"checks twice: {', '.join(sorted({one for one in ids if ids.count(one) > 1}))}")
    return [nothing_unchecked(gaps(checks, universe, manifest.pins)), *checks]


def gaps(checks: Sequence[Check], universe: Universe, pins: Mapping[str, Any]) -> list[str]:
    """What no check covers, what a check covers that does not exist, and what is pinned for no check."""
    covered = {one for check in checks for one in check.covers}
    found = []
    for category, names in sorted(universe.items()):
        here = {one.partition(":")[2] for one in covered if one.partition(":")[0] == category}
        if not names:
            found.append(f"there is no {category} at all")
        found += [f"no check is about {category} {name}" for name in sorted(names - here)]
        found += [f"a check is about {category} {name}, which does not exist" for name in sorted(here - names)]
    unknown = {one.partition(":")[0] for one in covered} - set(universe)
    found += [f"checks cover {category}, which nobody provides" for category in sorted(unknown)]
    ids = {check.id for check in checks}
    return found + [f"counts are pinned for {one}, which is no check" for one in sorted(set(pins) - ids)]


def nothing_unchecked(found: Sequence[str]) -> Check:
    """The check that manifest and project fit together, already settled by `gaps`."""
    return Check(
        id="suite/nothing-unchecked",
        kind="differential",
        subject="suite",
        statement="Every theorem, action, scope and litmus file is referred to by a check, and exists.",
        expected="holds",
        scope="the manifest against the project",
        engine="comparison of names",
        tasks=(Task("suite/nothing-unchecked", tell_gaps, (tuple(found),), weight=0.01),),
    )


def tell_gaps(found: Sequence[str]) -> Outcome:
    """The outcome of a comparison of names."""
    if not found:
        return Outcome("holds")
    more = f"; and {len(found) - 8} more" if len(found) > 8 else ""
    return Outcome("fails", "; ".join(found[:8]) + more, facts={"gaps": list(found)})
