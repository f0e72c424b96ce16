"""`shmem vectors`: test vectors for implementations in any language."""

from __future__ import annotations

from pathlib import Path

import click

from shmem_model.conformance import vectors
from shmem_model.conformance.loading import factory_named
from shmem_model.conformance.vector_scopes import SCOPES
from shmem_suite.cli.settings import Settings, common
from shmem_suite.errors import UsageError, did_you_mean


@click.group("vectors", epilog="Example: shmem vectors make --scope hand-over --out vectors")
@common
def command() -> None:
    """Make test vectors from the machine, and run them on an adapter."""


@command.command("ls", epilog="Example: shmem vectors ls")
@common
@click.pass_obj
def ls(settings: Settings) -> int:
    """List the scopes."""
    rows = [(s.name, "commanded" if s.commanded else "hidden", s.about) for s in SCOPES.values()]
    for name, hardware, about in rows:
        settings.say(f"{name:18} {hardware:10} {about}")
    settings.write_json([{"scope": n, "hardware": h, "about": a} for n, h, a in rows])
    return 0


@command.command("make", epilog="Example: shmem vectors make --scope hand-over --scope notify --out vectors")
@click.option("--scope", "names", multiple=True, metavar="NAME", help="A scope (default: all; `shmem vectors ls`).")
@click.option("--out", required=True, metavar="DIR", help="The folder for the files.")
@common
@click.pass_obj
def make(settings: Settings, /, names: tuple[str, ...], out: str) -> int:
    """Write a JSON file for each scope, and index.json with the coverage.  The same bytes every time."""
    for name in names:
        if name not in SCOPES:
            raise UsageError(did_you_mean(name, SCOPES, "scope"))
    try:
        entries = vectors.write([SCOPES[name] for name in dict.fromkeys(names or SCOPES)], Path(out))
    except OSError as error:
        raise UsageError(f"cannot write into {out}: {error.strerror}") from error
    for one in entries:
        share = f"{one['covered']} of {one['edges']} transitions"
        settings.say(f"{one['file']:22} {share}, {one['walks']} walks, {one['calls']} calls")
    settings.write_json(entries)
    return 0 if all(one["covered"] == one["edges"] for one in entries) else 1


@command.command("run", epilog="Example: shmem vectors run vectors --adapter my_adapter:make")
@click.argument("place", metavar="DIR|FILE")
@click.option("--adapter", required=True, metavar="MODULE:FACTORY", help="What makes your adapter for a world.")
@click.option("--walk", type=int, metavar="N", help="Only this walk (of one FILE).")
@common
@click.pass_obj
def run(settings: Settings, /, place: str, adapter: str, walk: int | None) -> int:
    """Run vectors on an adapter.

    Exit codes: 0 everything is allowed, 1 something is not, 2 wrong usage, 3 nothing could be run.
    """
    try:
        factory = factory_named(adapter)
        found = list(vectors.run_all(Path(place), factory, only=walk))
    except ValueError as error:
        raise UsageError(str(error)) from None
    for one in found:
        settings.say(_told(one, place, adapter))
    settings.write_json([_about(one) for one in found])
    if any(one.failures for one in found):
        return 1
    return 0 if any(one.walks for one in found) else 3


def _told(one: vectors.Run, place: str, adapter: str) -> str:
    if one.skipped:
        return f"{one.scope:18} not run: {one.skipped}"
    if not one.failures:
        return f"{one.scope:18} passed: {one.calls} calls, {one.covered} of {one.edges} transitions"
    file = Path(place) if Path(place).is_file() else Path(place) / f"{one.scope}.json"
    again = f"  again: shmem vectors run {file} --adapter {adapter} --walk {one.failures[0].walk}"
    return "\n".join([f"{one.scope:18} FAILED", *(failure.story() for failure in one.failures), again])


def _about(one: vectors.Run) -> dict[str, object]:
    return {
        "scope": one.scope, "verdict": "not run" if one.skipped else "failed" if one.failures else "passed",
        "why": one.skipped, "walks": one.walks, "calls": one.calls, "transitions": one.edges,
        "covered": one.covered, "failures": [
            {"walk": f.walk, "property": f.property, "allowed": f.allowed, "calls": f.seen} for f in one.failures
        ],
    }  # fmt: skip
