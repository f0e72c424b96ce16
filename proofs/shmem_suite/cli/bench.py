"""`shmem bench`: how fast the engines and the reference implementation are, as ratios within one run."""

from __future__ import annotations

from importlib import import_module

import click
from rich.table import Table
from rich.text import Text

from shmem_suite.bench.measure import Bench
from shmem_suite.cli.settings import Settings, common, console

ENGINES = ("explore", "prove", "litmus", "trace")
RUNNING = ("ipc", "bulk", "alloc", "notify")
"""Benchmarks of the reference implementation, against other libraries."""


@click.command("bench", epilog="Examples: shmem bench explore; shmem bench ipc; shmem bench prove --rounds 5 --json -")
@click.argument("name", type=click.Choice([*ENGINES, *RUNNING]))
@click.option("--rounds", type=click.IntRange(1, 1000), help="How often each runs (default: 3, of ipc ... notify 5).")
@click.option("--scope", metavar="SCOPE", help="For explore: the scope (default: the largest one for the referee).")
@common
@click.pass_obj
def command(settings: Settings, /, name: str, rounds: int | None, scope: str | None) -> int:
    """Measure how fast the engines are, and the reference implementation.

    Every contender takes its turn in every round; the table tells median, least and most.
    explore compares with the Murphi verifier rumur, where it is installed, on one core; trace checks a trace and one
    ten times as long.
    ipc (a round trip), bulk (a hand-over), alloc and notify run real processes, and compare with iceoryx2 where
    it is installed (pip install 'shmem[bench]') and with the standard library.
    """
    if scope is not None and name != "explore":
        raise click.UsageError("--scope is for the benchmark explore")
    found = run(settings, name, rounds or (5 if name in RUNNING else 3), scope)
    screen = console(settings)
    screen.print(table(found))
    for key, value in found.ratios.items():
        screen.print(Text(f"{key}: {value:.2f}"))
    for note in found.notes:
        screen.print(Text(note))
    settings.write_json(found.as_json())
    return 0


def run(settings: Settings, name: str, rounds: int, scope: str | None) -> Bench:
    """Run the benchmark of that name."""
    if name == "explore":
        from shmem_suite.bench import explore
        from shmem_suite.explorations import for_benchmark

        return explore.run(for_benchmark(scope), rounds, settings.aside)
    if name in RUNNING:
        found: Bench = import_module(f"shmem_suite.bench.{name}").run(rounds, settings.aside)
        return found
    if name == "trace":
        from shmem_suite.bench import trace

        return trace.run(rounds, settings.aside)
    if name == "prove":
        from shmem_suite.bench import prove

        return prove.run(rounds, settings.aside)
    from shmem_suite.bench import litmus

    return litmus.run(rounds, settings.aside)


def table(found: Bench) -> Table:
    """A row per contender."""
    shown = Table(title=f"{found.name}: {found.subject}", title_justify="left")
    for heading in ("", "median", "least", "most", "unit"):
        shown.add_column(heading, justify="left" if heading in ("", "unit") else "right")
    for row in found.rows:
        numbers = (row.median, min(row.values), max(row.values))
        shown.add_row(row.name, *(f"{value:,.4g}" if value < 100 else f"{value:,.0f}" for value in numbers), row.unit)
    return shown
