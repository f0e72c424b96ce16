"""`shmem verify`: the main job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import click

from shmem_suite import shapes, table
from shmem_suite.assembly import assemble
from shmem_suite.checks import Check, Tier
from shmem_suite.cli.running import ask, choose_executor
from shmem_suite.cli.settings import Settings, common, console, jobs
from shmem_suite.explorations import save_scope_pins
from shmem_suite.manifest import Manifest, load
from shmem_suite.report import prepare, write
from shmem_suite.results import Report
from shmem_suite.selection import select


@click.command(
    "verify",
    epilog="Examples: shmem verify --quick; shmem verify --only T1; shmem verify --report out",
)
@click.option("--quick", is_flag=True, help="The short suite, less than half a minute.")
@click.option("--full", is_flag=True, help="Everything, all mutants of the machine included.")
@click.option("--only", multiple=True, metavar="PATTERN", help="Only checks with this id, subject, kind or name.")
@jobs
@click.option("--report", metavar="DIR", help="Write a page that can be shown to a colleague.")
@click.option("--executor", metavar="ADDRESS", help="Run on the Dask cluster with this scheduler.")
@click.option("--update-pins", is_flag=True, help="Pin the counts of this run instead of comparing them.")
@click.option("--list", "listing", is_flag=True, help="List the checks instead of running them.")
@click.option("-v", "--verbose", is_flag=True, help="A line for every check at the end.")
@common
@click.pass_obj
def command(settings: Settings, /, **options: Any) -> int:
    """Run the verification suite.

    Every theorem, its witnesses and its red twins; explorations with pinned counts; the litmus catalogue;
    mutants of the machine; the agreement of the readers, of a second solver and, where it is installed, of
    rumur. In patterns * and ? match; a theorem's id or name stands for its witnesses and red twins too.
    """
    chosen = Options(**options)
    manifest = load()
    every = assemble(manifest)
    checks = select(every, chosen.tier, chosen.only)
    if chosen.listing:
        return listing(settings, checks)
    if chosen.report:
        prepare(chosen.report)
    if chosen.update_pins:
        checks = [replace(check, pinned=check.pinned_in == "code") for check in checks]
    found = ask(settings, checks, choose_executor(chosen.jobs, chosen.executor))
    table.show(found, console(settings), chosen.verbose)
    if chosen.update_pins:
        settings.say(update_pins(manifest, every, found))
    if chosen.report:
        settings.say(f"report: {write(found, chosen.report)}")
    settings.write_json(shapes.verify(found))
    return found.exit_code


@dataclass(frozen=True)
class Options:
    """The options of `shmem verify`."""

    quick: bool
    full: bool
    only: tuple[str, ...]
    jobs: int | None
    report: str | None
    executor: str | None
    update_pins: bool
    listing: bool
    verbose: bool

    def __post_init__(self) -> None:
        if self.quick and self.full:
            raise click.UsageError("--quick and --full exclude each other")

    @property
    def tier(self) -> Tier:
        """Which suite was asked for."""
        return "quick" if self.quick else "full" if self.full else "default"


def listing(settings: Settings, checks: Sequence[Check]) -> int:
    """Tell which checks would run."""
    if not settings.json_alone:
        for check in checks:
            settings.say(f"{check.id:44} {check.kind:12} {check.tier:8} {check.statement}")
    keys = ("id", "kind", "subject", "tier", "expected", "scope", "engine", "statement")
    settings.write_json([{key: getattr(check, key) for key in keys} for check in checks])
    return 0


def update_pins(manifest: Manifest, every: Sequence[Check], found: Report) -> str:
    """Write the counts of the checks that came out as expected; what was done, in a line."""
    known = {check.id for check in every if check.pinned and check.pinned_in == "manifest"}
    asked = {check.id: check for check in every if check.pinned}
    good = [result for result in found.asked if result.ok and result.check.id in asked]
    new = {r.check.id: dict(r.outcome.counts) for r in good if r.check.id in known}
    scopes = {r.check.subject: dict(r.outcome.counts) for r in good if r.check.pinned_in == "scopes"}
    changed = manifest.save_pins(new, known) + (save_scope_pins(scopes) if scopes else 0)
    return f"pinned the counts of {len(new) + len(scopes)} checks; {changed} changed"
