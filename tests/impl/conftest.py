"""Systems for the tests, and a check that none of them leaves anything behind."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import shmem
from tests.impl import emulating

# Libraries that are measured beside this one, or used by pytest, may put these there meanwhile.
FOREIGN = ("psm_", "sem.", "iox2_", "shmem_bench_")


def left_behind() -> set[str]:
    """Names in /dev/shm, and abstract sockets of this process."""
    sockets = {line.split()[-1] for line in Path("/proc/net/unix").read_text().splitlines() if "@shmem-" in line}
    mine = {name for name in sockets if name.startswith(f"@shmem-{os.getpid()}-")}
    return mine | {f"/dev/shm/{name}" for name in os.listdir("/dev/shm") if not name.startswith(FOREIGN)}


@pytest.fixture
def system() -> Iterator[shmem.System]:
    """A host and two device processes."""
    with shmem.System(platform="pcie", devices=2, extent=1 << 20, compaction=None) as s:
        yield s


@pytest.fixture
def threads() -> Iterator[shmem.System]:
    """A host and two devices whose agents the test drives itself."""
    with shmem.System(platform="pcie", devices=2, agents="threads", pool=4 << 20, extent=1 << 20, compaction=None) as s:
        yield s


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """The number of descriptors and the names in the system are the same afterwards."""
    before, files = left_behind(), len(os.listdir("/proc/self/fd"))
    yield
    gc.collect()  # mappings go with the last array or page that refers to them
    assert left_behind() - before == set()
    assert len(os.listdir("/proc/self/fd")) <= files


@pytest.fixture
def manual() -> Iterator[shmem.System]:
    """Emulated memory on which nothing happens but what is commanded."""
    with emulating.system(driver="manual") as s:
        yield s


@pytest.fixture
def automatic() -> Iterator[shmem.System]:
    """Emulated memory whose driver does its part by itself; hardware does nothing."""
    with emulating.system() as s:
        yield s
