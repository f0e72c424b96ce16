"""How many files of the litmus catalogue are answered per second, on one core."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from shmem_model.litmus.answers import answer_file
from shmem_model.litmus.catalogue import files
from shmem_suite.bench.measure import Bench, Row, one_core, take_turns
from shmem_suite.errors import SuiteError

UNIT = "files/s"


def run(rounds: int, tell: Callable[[str], None], every: int = 1) -> Bench:
    """Answer every n-th file of the catalogue, with and without the runs that decide."""
    chosen = files()[::every]

    def plain() -> Mapping[str, float]:
        return {"answers": _rate(False)}

    def with_runs() -> Mapping[str, float]:
        return {"answers with runs": _rate(True)}

    def _rate(runs: bool) -> float:
        begin = time.perf_counter()
        for file in chosen:
            found = answer_file(file, runs=runs)
            if not found.ok:
                raise SuiteError(f"{file.name} does not answer as it expects; a speed without answers says nothing")
        return len(chosen) / (time.perf_counter() - begin)

    with one_core():
        values = take_turns([plain, with_runs], rounds, tell)
    rows = tuple(Row(name, found, UNIT) for name, found in values.items())
    return Bench("litmus", rows, subject=f"{len(chosen)} files")
