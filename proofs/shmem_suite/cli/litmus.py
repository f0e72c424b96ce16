"""`shmem litmus`: answers about somebody's own protocols."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from shmem_suite.checks import Check, Outcome, Task
from shmem_suite.cli.running import ask, choose_executor
from shmem_suite.cli.settings import Settings, common, console, jobs
from shmem_suite.errors import UsageError
from shmem_suite.litmus_files import answer, answer_with_matrix, find, row
from shmem_suite.results import USAGE, Report, Result, exit_code

FEW = 3
"""Up to so many files, the runs that decide are shown without being asked for."""


@click.command("litmus", epilog="Examples: shmem litmus my.litmus; shmem litmus folder --json -")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--matrix", is_flag=True, help="Answer under every choice of caches: which calls are needed where?")
@click.option("--runs/--no-runs", default=None, help=f"Show the runs that decide (default: up to {FEW} files).")
@jobs
@common
@click.pass_obj
def command(settings: Settings, /, paths: tuple[str, ...], matrix: bool, runs: bool | None, jobs: int | None) -> int:
    """Answer the questions of litmus files; PATH is a file or a folder.

    A malformed file is told with line, column and a caret; the others still run, and the exit code is 2. An
    answer is unknown where a bound was hit; that is never as expected.
    """
    import_module("lark")  # the workers need it; told here, it is one line
    files, wrong = find(paths)
    if not files:
        raise UsageError("; ".join(wrong.values()))
    work = answer_with_matrix if matrix else answer
    found = ask(settings, [check(file, work) for file in files], choose_executor(jobs), alerts=False)
    screen = console(settings)
    for result in found.results:
        screen.print(told(result, len(files) <= FEW if runs is None else runs), soft_wrap=True)
        if "matrix" in result.outcome.facts:
            screen.print(matrix_table(result.outcome.facts["matrix"]))
    if len(files) > 1:
        screen.print(closing(found))
    for reason in wrong.values():
        settings.aside(f"shmem: {reason}")
    unread = [{"file": name, "error": reason} for name, reason in wrong.items()]
    settings.write_json([*(about(result) for result in found.results), *unread])
    return USAGE if wrong or any(malformed(result) for result in found.results) else exit_code(found.results)


def check(file: Path, work: Callable[[str], Outcome] = answer) -> Check:
    """The check that a file answers as it expects."""
    return Check(
        id=str(file),
        kind="litmus",
        subject=str(file),
        statement=f"{file.stem} answers as it expects.",
        expected="holds",
        tasks=(Task(str(file), work, (str(file),), 0.05),),
    )


def malformed(result: Result) -> bool:
    """The file could not be read as a litmus file."""
    return "error" in result.outcome.facts


def about(result: Result) -> dict[str, object]:
    """What `--json` says of a file; one that could not be answered at all has an error, too."""
    facts = dict(result.outcome.facts)
    if "questions" in facts or "error" in facts:
        return row(facts)
    return {"file": result.check.subject, "error": result.outcome.detail}


def told(result: Result, runs: bool) -> Text:
    """A file's answers for human readers; runs where they are wanted or an answer is not as expected."""
    facts = result.outcome.facts
    if "questions" not in facts:
        return Text(facts.get("shown") or result.outcome.detail, style="red")
    text = Text(f"{facts['name']}: {facts['states']} states, {facts['seconds']:.2f} s")
    for question, shown in zip(facts["questions"], facts["runs"], strict=True):
        ok = question["ok"]
        text.append(f"\n  {question['question']}: ")
        text.append(question["answer"], style="green" if ok else "bold red")
        text.append("" if ok else f" (expected {question['expect']})")
        if runs or not ok:
            for line in shown["run"]:
                text.append(f"\n      {line}", style="dim")
            if shown["why"]:
                text.append(f"\n      ► {shown['why']}")
    return text


def matrix_table(matrix: Mapping[str, Any]) -> Table:
    """A row per kind of coherence: must the writer flush, must the reader invalidate, the answers, idle calls."""
    rows = matrix["rows"]
    table = Table(title="On other platforms", title_justify="left")
    for heading in ("writer must flush", "reader must invalidate", "write-back", *rows[0]["answers"], "no-ops"):
        table.add_column(heading)
    for one in rows:
        must = ["yes" if one[key] else "no" for key in ("writer_must_flush", "reader_must_invalidate")]
        table.add_row(*must, one["write_back"], *one["answers"].values(), ", ".join(one["no_ops"]) or "none")
    return table


def closing(found: Report) -> Text:
    """What it adds up to."""
    bad = sum(malformed(result) for result in found.results)
    right = sum(result.ok for result in found.results)
    text = f"{len(found.results)} files: {right} as expected, {len(found.results) - right - bad} not"
    return Text(text + (f", {bad} malformed" if bad else "") + f"; {found.seconds:.1f} s")
