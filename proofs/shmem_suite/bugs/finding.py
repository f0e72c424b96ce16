"""Let the lock-step test loose on a copy of the implementation that has a bug, and see how soon it is found.

The copy is imported by a process of its own, whose `PYTHONPATH` begins with it.  That process takes random steps in
all worlds in turn, with one seed after the other, until machine and implementation part or its time is over.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

from shmem_suite.bugs.planting import Bug, copy, plant
from shmem_suite.errors import SuiteError

SECONDS = 60.0
"""So long a bug is searched for before it counts as not found."""
PIECE = 300
"""Steps in one world before the next one has its turn."""


@dataclass(frozen=True)
class Found:
    """How a search ended: after how many steps and seconds, and what was seen (empty: nothing)."""

    steps: int
    seconds: float
    told: str


def find(bug: Bug | None, seconds: float = SECONDS) -> Found:
    """Search for a curated bug (None: for any in the implementation as it is)."""
    with tempfile.TemporaryDirectory(prefix="shmem-bug-") as folder:
        if bug is None:
            copy(Path(folder))
        else:
            plant(bug, Path(folder))
        return search_copy(Path(folder), seconds)


def search_copy(folder: Path, seconds: float) -> Found:
    """Search in the copy of the implementation in a folder.

    A copy that cannot be imported, or that hangs or crashes, counts as found: a test run would not be green.
    Raises `SuiteError` where the process ran, but not on the copy.
    """
    path = os.pathsep.join([str(folder), *(p for p in sys.path if p)])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "shmem_suite.bugs.finding", str(folder), str(seconds)]
    begin = time.monotonic()
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=seconds + 30
        )
    except subprocess.TimeoutExpired:
        return Found(0, time.monotonic() - begin, "it hangs")
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["it died without a word"]
        return Found(0, time.monotonic() - begin, f"it crashes: {last[0]}")
    answer = json.loads(done.stdout)
    if Path(answer["source"]).parent.parent.resolve() != folder.resolve():
        raise SuiteError(f"the search ran on {answer['source']}, not on the copy in {folder}")
    return Found(answer["steps"], answer["seconds"], answer["told"])


def main() -> int:
    """Search in the implementation that this process imports; print what was found as JSON."""
    import shmem

    # Imported here: the lock-step test must find the copy, not the implementation that the caller has.
    from shmem_suite.differential.lockstep import run
    from shmem_suite.differential.worlds import WORLDS

    warnings.simplefilter("ignore")
    seconds, begin, steps, seed = float(sys.argv[2]), time.monotonic(), 0, 0
    told = ""
    while not told and time.monotonic() - begin < seconds:
        for world in WORLDS.values():
            result = run(PIECE, seed, world, seconds=max(0.1, begin + seconds - time.monotonic()))
            steps += result.steps
            if result.divergence is not None:
                told = str(result.divergence)
                break
        seed += 1
    took = time.monotonic() - begin
    print(json.dumps({"source": shmem.__file__, "steps": steps, "seconds": took, "told": told}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
