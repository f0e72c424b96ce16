"""`shmem prove`: theorems alone, without witnesses and red twins."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.table import Table
from rich.text import Text

from shmem_model.machine import MACHINE
from shmem_proofs.theorems import THEOREMS, Theorem
from shmem_suite import shapes
from shmem_suite.checks import Check
from shmem_suite.cli.running import ask, choose_executor
from shmem_suite.cli.settings import Settings, common, console, jobs
from shmem_suite.errors import UsageError, did_you_mean
from shmem_suite.manifest import Entry
from shmem_suite.providers.theorems import theorem_check
from shmem_suite.results import Report, exit_code
from shmem_suite.table import mark, story


@click.command("prove", epilog="Examples: shmem prove; shmem prove T1; shmem prove visibility --json -")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@jobs
@common
@click.pass_obj
def command(settings: Settings, /, names: tuple[str, ...], jobs: int | None) -> int:
    """Prove theorems, by id (T1) or by name (visibility); without a name, all of them.

    Induction holds for any number of agents, lines, regions and steps and for every choice of the platform.
    Exit code 3 where a claim is not inductive or the solver does not know.
    """
    checks = [_check(theorem) for theorem in chosen(names)]
    found = ask(settings, checks, choose_executor(jobs))
    obligations = sum(asked_obligations(found).values())
    answer = shapes.prove(found, len(MACHINE.actions), len(MACHINE.invariants), obligations)
    screen = console(settings)
    screen.print(table(found))
    for result in found.results:
        if not result.ok:
            screen.print(story(result))
    words = f"{answer['actions']} actions, {answer['invariants']} invariants, {obligations} obligations"
    screen.print(Text(f"{words}; {found.seconds:.1f} s"))
    settings.write_json(answer)
    return exit_code(found.asked)


def chosen(names: Sequence[str]) -> list[Theorem]:
    """The theorems that are called so; all without a name."""
    if not names:
        return list(THEOREMS)
    known = [word for theorem in THEOREMS for word in (theorem.id, theorem.name)]
    for name in names:
        if not any(theorem.called(name) for theorem in THEOREMS):
            raise UsageError(did_you_mean(name, known, "theorem"))
    return [theorem for theorem in THEOREMS if any(theorem.called(name) for name in names)]


def _check(theorem: Theorem) -> Check:
    return theorem_check(Entry(id=theorem.id, kind="theorem", subject=theorem.id), theorem)


def asked_obligations(found: Report) -> dict[str, int]:
    """How many obligations each proof step asked; a step that theorems share counts once."""
    return {key: outcome.counts.get("obligations", 0) for key, outcome in found.outcomes.items()}


def table(found: Report) -> Table:
    """A row per theorem."""
    shown = Table(title="Theorems", title_justify="left")
    for heading in ("", "name", "theorem", "by", "verdict", "seconds"):
        shown.add_column(heading, justify="right" if heading == "seconds" else "left")
    for result in found.results:
        check = result.check
        name = check.names[0] if check.names else ""
        seconds = f"{result.outcome.seconds:.1f}"
        shown.add_row(check.id, name, check.statement, check.engine, mark(result), seconds)
    return shown
