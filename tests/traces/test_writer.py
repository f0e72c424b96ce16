"""The trace writer in C: what it writes is a clean trace, line by line in the documented form."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from shmem_model.conformance.traces import check_lines
from shmem_model.conformance.traces.events import event, head

SOURCE = Path(__file__).parents[2] / "docs" / "examples" / "trace_writer.c"


@pytest.fixture
def lines(tmp_path: Path) -> list[str]:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("there is no C compiler")
    program = tmp_path / "trace_writer"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler, *flags, str(SOURCE), "-o", str(program)], check=True)
    found = subprocess.run([str(program)], check=True, capture_output=True, text=True)
    return found.stdout.splitlines(keepends=True)


def test_what_the_c_writer_writes_is_well_formed_and_clean(lines: list[str]) -> None:
    agents = {name: i for i, name in enumerate(head(lines[0])["agents"])}
    assert [event(line, agents)["agent"] for line in lines[1:]] == ["host"] * 5 + ["dev0"] * 3
    answer = check_lines(lines)
    assert (answer.answer, answer.events) == ("clean", 8)


def test_without_its_invalidate_it_is_a_race(lines: list[str]) -> None:
    kept = [line for line in lines if '"invalidate", "region"' not in line]
    assert len(kept) == len(lines) - 1
    assert check_lines([*kept[:-1], kept[-1].replace('"n": 2', '"n": 1')]).answer == "race"
