"""Every example of the documentation runs as its reader would run it, and answers what it should."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.impl.daemons import ENVIRONMENT
from tests.project.tree import ROOT

EXAMPLES = ROOT / "docs" / "examples"
ANSWERS = {
    "article_input.py": "[0.0, 2.0, 2046.0]",
    "article_mapping.py": "stale: that region has been freed",
    "article_broadcast.py": "[[1000.0, 2000.0, 3000.0], [1000.0, 2000.0, 3000.0], [1000.0, 2000.0, 3000.0]]",
    "model_loading.py": "[0.5, 1.0, 1.5]",
    "request_response.py": "0.0",
    "forgotten_flush.py": ", 0)",
}


def run(name: str, *arguments: str) -> str:
    """The output of an example."""
    line = [sys.executable, *arguments, str(EXAMPLES / name)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=ENVIRONMENT, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_example_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(ANSWERS)


@pytest.mark.parametrize("name", ANSWERS)
def test_an_example_answers(name: str) -> None:
    assert run(name).endswith(ANSWERS[name])


@pytest.mark.parametrize("name", ["article_input.py", "article_broadcast.py"])
def test_an_example_runs_on_emulated_memory_too(name: str) -> None:
    path = f"import sys; sys.path.insert(0, {str(EXAMPLES)!r})"
    code = f"{path}; import {name[:-3]} as m; print(m.main(memory='emulated'))"
    line = [sys.executable, "-c", code]
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=ENVIRONMENT, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ANSWERS[name]


def test_demo_measures_both_modes() -> None:
    options = "--requests 20 --size 65536 --parameters 65536 --devices 2 --json -".split()
    line = [sys.executable, "-m", "shmem", "demo", *options]
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=ENVIRONMENT, timeout=120)
    assert done.returncode == 0, done.stderr
    import json

    rows = json.loads(done.stdout)
    assert len(rows) == 2
    assert all({"p50_us", "p99_us"} <= set(row[mode]) for row in rows for mode in ("copy", "shared"))
