"""The executor for a Dask cluster, on a cluster of this machine where Dask is installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shmem_suite.checks import Task
from shmem_suite.executor import Finished, Started
from tests.suite import fakes

distributed = pytest.importorskip("distributed", reason="the package distributed is not installed")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A cluster of two workers in this process."""
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as it:
        yield it.scheduler_address


def test_the_cluster_runs_every_task_and_tells_what_went_wrong(address: str) -> None:
    from shmem_suite.dask_executor import DaskExecutor

    executor = DaskExecutor(address)
    assert executor.lanes == 2
    tasks = [Task("a", fakes.say, ("holds",)), Task("b", fakes.say, ("fails",)), Task("c", fakes.crash, ("raise",))]
    events = list(executor.run(tasks))
    assert [event.task.key for event in events if isinstance(event, Started)] == ["a", "b", "c"]
    found = {event.task.key: event.outcome for event in events if isinstance(event, Finished)}
    assert {key: outcome.verdict for key, outcome in found.items()} == {"a": "holds", "b": "fails", "c": "unknown"}
    assert "ArithmeticError" in found["c"].detail
