"""The tables at the end of a run: the theorems with their witnesses and red twins, then a row per kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from shmem_suite.checks import KINDS
from shmem_suite.results import Report, Result, slowest, work

MOST = 12
"""How many checks that are not as expected are told in full."""

BESIDE = ("theorem", "witness", "red-twin")


def show(report: Report, console: Console, verbose: bool = False) -> None:
    """Print what a run found; `verbose` adds a row for every single check."""
    if any(result.check.kind == "theorem" for result in report.results):
        console.print(theorems(report))
    console.print(kinds(report))
    if verbose:
        console.print(every(report.results))
    bad = [result for result in report.results if not result.ok]
    for result in bad if verbose else bad[:MOST]:
        console.print(story(result))
    if len(bad) > MOST and not verbose:
        console.print(Text(f"… and {len(bad) - MOST} more; --verbose shows all", style="red"))
    console.print(closing(report))


def theorems(report: Report) -> Table:
    """A row per theorem, with its witnesses and red twins beside it."""
    table = Table(title="Theorems", title_justify="left", expand=False)
    for heading in ("", "theorem", "verdict", "witnesses", "red twins fail", "seconds"):
        table.add_column(heading, justify="right" if heading == "seconds" else "left")
    results = report.results
    for subject in dict.fromkeys(r.check.subject for r in results if r.check.kind in BESIDE):
        group = [r for r in results if r.check.subject == subject and r.check.kind in BESIDE]
        theorem = next((r for r in group if r.check.kind == "theorem"), None)
        table.add_row(
            subject,
            theorem.check.statement if theorem else "",
            mark(theorem) if theorem else Text(""),
            tally(r for r in group if r.check.kind == "witness"),
            tally(r for r in group if r.check.kind == "red-twin"),
            f"{work(report, group):.1f}",
        )
    return table


def kinds(report: Report) -> Table:
    """A row per kind of check."""
    table = Table(title="Checks", title_justify="left")
    for heading in ("kind", "as expected", "not", "undecided", "skipped", "seconds"):
        table.add_column(heading, justify="left" if heading == "kind" else "right")
    for kind in KINDS:
        group = [r for r in report.results if r.check.kind == kind]
        if group:
            asked = [r for r in group if not r.skipped]
            numbers = (
                sum(r.ok for r in asked),
                sum(not r.ok and not r.undecided for r in asked),
                sum(r.undecided for r in asked),
                len(group) - len(asked),
            )
            table.add_row(kind, *map(str, numbers), f"{work(report, group):.1f}")
    return table


def every(results: Sequence[Result]) -> Table:
    """A row per check."""
    table = Table(title="Every check", title_justify="left")
    for heading in ("id", "kind", "verdict", "expected", "seconds", ""):
        table.add_column(heading, justify="right" if heading == "seconds" else "left")
    for r in results:
        table.add_row(r.check.id, r.check.kind, mark(r), r.check.expected, f"{r.outcome.seconds:.2f}", r.detail)
    return table


def mark(result: Result) -> Text:
    """The verdict, in green where it is the expected one."""
    if result.skipped:
        return Text("skipped", style="yellow")
    return Text(result.verdict, style="green" if result.ok else "bold red")


def tally(results: Iterable[Result]) -> Text:
    """`3 of 3`, in green where all are as expected."""
    group = list(results)
    good = sum(r.ok for r in group)
    return Text(f"{good} of {len(group)}", style="green" if good == len(group) and group else "red")


def story(result: Result) -> Text:
    """What there is to say about a check that is not as expected, with its run."""
    if result.skipped:
        return Text(f"skipped: {result.check.id}: {result.skipped}", style="yellow")
    text = Text(f"{result.check.id}: {result.verdict}, expected {result.check.expected}", style="red")
    text.append(f"\n  {result.check.statement}", style="default")
    if result.detail:
        text.append(f"\n  {result.detail}", style="default")
    if result.outcome.trace:
        text.append("\n" + "\n".join(f"  {line}" for line in result.outcome.trace.lines()), style="default")
    return text


def closing(report: Report) -> Text:
    """The last line: what it all adds up to."""
    counts = report.summary
    text = f"{counts['holds']} as expected, {counts['fails']} not"
    if counts["unknown"]:
        text += f" (of these {counts['unknown']} undecided)"
    if report.skipped:
        text += f", {len(report.skipped)} skipped"
    longest = ", ".join(f"{r.check.id} {r.outcome.seconds:.1f} s" for r in slowest(report.asked, 3))
    text += f"; {report.seconds:.1f} s; longest: {longest}"
    return Text(text, style="bold green" if report.exit_code == 0 else "bold red")
