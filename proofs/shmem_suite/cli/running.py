"""How commands run checks: the executor that was asked for, with live progress on standard error."""

from __future__ import annotations

from collections.abc import Sequence

from shmem_suite.checks import Check
from shmem_suite.cli.settings import Settings, console
from shmem_suite.executor import Executor, LocalExecutor
from shmem_suite.progress import Progress
from shmem_suite.results import Report
from shmem_suite.runner import run


def choose_executor(jobs: int | None, address: str | None = None) -> Executor:
    """Processes of this machine, or the Dask cluster at an address."""
    if address is None:
        return LocalExecutor(jobs)
    from shmem_suite.dask_executor import DaskExecutor

    return DaskExecutor(address)


def ask(settings: Settings, checks: Sequence[Check], executor: Executor, alerts: bool = True) -> Report:
    """Run the checks and show how it goes."""
    with Progress(checks, executor.lanes, console(settings, err=True), alerts) as progress:
        return run(checks, executor, [progress])
