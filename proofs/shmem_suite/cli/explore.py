"""`shmem explore`: every state of a scope."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from shmem_model.scopes import SCOPES
from shmem_suite.checks import Check, Task
from shmem_suite.cli.running import ask, choose_executor
from shmem_suite.cli.settings import Settings, common, console
from shmem_suite.errors import SuiteError
from shmem_suite.explorations import FIRST, engines, explore_named, pins_of, scope_named
from shmem_suite.results import Result, exit_code
from shmem_suite.table import story

ENGINES = ("auto", *engines())


@click.command("explore", epilog="Examples: shmem explore; shmem explore compaction --claims; shmem explore --list")
@click.argument("scope", required=False, metavar="[SCOPE]")
@click.option("--engine", type=click.Choice(ENGINES), default="auto", show_default=True, help="Who explores.")
@click.option("--claims", is_flag=True, help="Check every claim of the machine in every state and step, too.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Give up after so many states (exit code 3).")
@click.option("--list", "listing", is_flag=True, help="List the scopes instead of exploring one.")
@common
@click.pass_obj
def command(
    settings: Settings, /, scope: str | None, engine: str, claims: bool, limit: int | None, listing: bool
) -> int:
    """Visit every state of a scope and count states, transitions, depth and steps per action.

    Counts are compared with the pinned ones. Without SCOPE the first one is explored.
    """
    if listing:
        return show_list(settings)
    name = scope or FIRST
    scope_named(name)
    if engines().get(engine):
        raise SuiteError(f"the engine {engine} cannot be used: {engines()[engine]}; leave out --engine")
    check = checked(name, engine, claims, limit)
    (result,) = ask(settings, [check], choose_executor(1), alerts=False).results
    show(result, console(settings))
    settings.write_json(about(result))
    return exit_code([result])


def checked(name: str, engine: str, claims: bool, limit: int | None) -> Check:
    """The exploration as a check against the pinned counts."""
    return Check(
        id=name,
        kind="exploration",
        subject=name,
        statement=f"{SCOPES[name].sentence}.",
        expected="holds",
        tasks=(Task(name, explore_named, (name, engine, claims, limit)),),
        pinned=pins_of(name) is not None,
        pins=pins_of(name),
    )


def about(result: Result) -> dict[str, Any]:
    """What `--json` says."""
    counts, facts = result.outcome.counts, result.outcome.facts
    if "states" not in counts:
        return {"scope": result.check.subject, "error": result.outcome.detail}
    shown = {
        "scope": result.check.subject,
        "states": counts["states"],
        "transitions": counts["transitions"],
        "depth": counts["depth"],
        "seconds": facts["seconds"],
        "engine": facts["engine"],
        "per_action": dict(counts["per_action"]),
        "compile_seconds": facts["compile_seconds"],
        "bits": facts["bits"],
        "verdict": result.verdict,
    }
    return {**shown, "detail": result.detail} if result.detail else shown


def show(result: Result, screen: Console) -> None:
    """Tell what was counted."""
    counts, facts = result.outcome.counts, result.outcome.facts
    if "states" in counts:
        rate = counts["transitions"] / max(facts["seconds"], 1e-9)
        screen.print(Text(f"{result.check.subject}: {result.check.statement}"))
        screen.print(Text(f"{counts['states']:,} states of {facts['bits']} bits, depth {counts['depth']}"))
        words = f"{counts['transitions']:,} transitions in {facts['seconds']:.2f} s, {rate:,.0f} a second"
        prepared = f", {facts['compile_seconds']:.1f} s of compilation before" if facts["compile_seconds"] else ""
        screen.print(Text(f"{words} ({facts['engine']}{prepared})"))
        table = Table("action", "steps")
        table.columns[1].justify = "right"
        for action, number in counts["per_action"].items():
            table.add_row(action, f"{number:,}")
        screen.print(table)
    screen.print(Text("as pinned" if result.check.pinned else "not pinned") if result.ok else story(result))


def show_list(settings: Settings) -> int:
    """Tell which scopes there are."""
    if not settings.json_alone:
        for one in SCOPES.values():
            settings.say(f"{one.name:30} {one.size:7} {one.sentence}")
    settings.write_json([{"scope": one.name, "size": one.size, "sentence": one.sentence} for one in SCOPES.values()])
    return 0
