"""The C part and its fallback do the same; both agree with the layout."""

from __future__ import annotations

import mmap
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shmem import fallback, layout, memfd
from tests.project.tree import ROOT

SOURCE = ROOT / "impl" / "shmem" / "_core.c"


def planes() -> list[Any]:
    from shmem import words

    if not words.HAVE_CORE:
        return [fallback]
    from shmem import _core

    return [_core, fallback]


@pytest.fixture(params=planes(), ids=lambda m: m.__name__)
def plane(request: pytest.FixtureRequest) -> Any:
    """Each data plane that this installation has."""
    return request.param


def test_the_layout_in_c_is_the_layout_in_python() -> None:
    found = dict(re.findall(r"\b([A-Z][A-Z_]+) = (-?\d+)", SOURCE.read_text()))
    names = {
        "NOT_MAPPED",
        "READ_ONLY",
        "IS_FROZEN",
        "RECHECK",
        "TIMED_OUT",
        "SLOTS",
        "MAX_AGENTS",
        "BOARD_GRANTS",
    }
    assert names <= set(found)
    for name, value in found.items():
        assert getattr(layout, name) == int(value), name


def test_words_are_64_bits_and_wrap(plane: Any) -> None:
    w = plane.Words(mmap.mmap(-1, 4096))
    w.store(8, 2**64 - 1)
    assert w.add(8, 3) == 2**64 - 1
    assert w.load(8) == 2
    assert w.cas(8, 5, 9) == 2
    assert w.cas(8, 2, 9) == 2
    assert w.load(8) == 9
    assert w.load(0) == w.load(16) == 0
    w.store32(4, 7)
    assert w.add32(4, -1) == 7
    assert w.load32(4) == 6


@pytest.mark.parametrize("offset", [-8, 1, 4, 4096, 4089, 2**70])
def test_words_refuse_what_lies_outside_or_askew(plane: Any, offset: int) -> None:
    w = plane.Words(mmap.mmap(-1, 4096))
    with pytest.raises((IndexError, OverflowError)):
        w.load(offset)


def test_words_of_a_read_only_mapping_cannot_be_written(plane: Any) -> None:
    fd = memfd.create("test", 4096)
    reader = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY)
    mapping = memfd.map_file(reader, 4096, writable=False)
    with pytest.raises(BufferError):
        plane.Words(mapping, True)
    with pytest.raises(TypeError):
        plane.Words(mapping, False).store(0, 1)
    os.close(fd)
    os.close(reader)


def test_wait_returns_at_once_if_the_word_differs_and_false_when_the_time_is_over(plane: Any) -> None:
    w = plane.Words(mmap.mmap(-1, 4096))
    assert w.wait(0, 1, -1, 0) is True
    assert w.wait(0, 0, 2_000_000, 0) is False


def test_wait_lets_other_threads_run(plane: Any) -> None:
    w = plane.Words(mmap.mmap(-1, 4096))
    ticks: list[int] = []

    def work() -> None:
        ticks.extend(range(1000))
        w.store32(0, 1)
        w.wake(0)

    thread = threading.Thread(target=work)
    thread.start()
    while w.load32(0) == 0:
        assert w.wait(0, 0, 5_000_000_000, 0)
    thread.join()
    assert len(ticks) == 1000


def _in_two_processes(body: Callable[[Any, Any], None], plane: Any, mapping: Any) -> None:
    child = os.fork()
    if child == 0:
        try:
            body(plane, mapping)
        finally:
            os._exit(0)
    body(plane, mapping)
    assert os.waitpid(child, 0)[1] == 0


def test_add_loses_nothing_between_processes(plane: Any) -> None:
    fd = memfd.create("test", 4096)
    mapping = memfd.map_file(fd, 4096, writable=True)
    count = 20_000 if plane.__name__ == "shmem._core" else 2_000

    def add(plane: Any, mapping: Any) -> None:
        w = plane.Words(mapping)
        for _ in range(count):
            w.add(0, 1)

    _in_two_processes(add, plane, mapping)
    assert plane.Words(mapping).load(0) == 2 * count
    os.close(fd)


SCRIPT = """
import sys, warnings
sys.path.insert(0, sys.argv[1])
import shmem
def work(agent):
    agent.wait(1, timeout=10)
    agent.send("host", 2)
with shmem.System(devices=1, agents="threads", pool=1 << 20, extent=1 << 20) as s:
    r = s.host.alloc(64)
    s.host.map(r)
    s.host.write(r, 0, b"x" * 64)
    assert s.host.atomic_add(r, 0, 1) == int.from_bytes(b"x" * 8, "little")
    task = s.devices[0].run(work)
    s.host.send("dev0", 1)
    assert s.host.wait(2, timeout=10) == "dev0"
    task.result(10)
print("core" if shmem.HAVE_CORE else "fallback")
"""


def test_the_fallback_runs_the_same_programs(tmp_path: Path) -> None:
    environment = os.environ | {"SHMEM_CORE": "fallback"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, str(ROOT / "impl")],
        env=environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("fallback\n", "")


def test_a_missing_core_announces_itself(tmp_path: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'impl')!r}); sys.modules['shmem._core'] = None\n"
        "import warnings\nwith warnings.catch_warnings(record=True) as w:\n"
        "    warnings.simplefilter('always'); import shmem\n"
        "print([str(x.message) for x in w if 'without its C part' in str(x.message)] != [])"
    )
    plain = {key: value for key, value in os.environ.items() if key != "SHMEM_CORE"}
    line = [sys.executable, "-c", code]
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=plain)
    assert done.stdout == "True\n", done.stderr
