"""What all tests share: the root of the tree, and one place to ask for an optional tool.

A test that cannot run on this machine says so through `need_tool` or `pytest.importorskip`, with a reason
that is printed at the end of the run; nothing is left out silently.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

# The same examples in every run: a verdict of this project does not depend on the day.
settings.register_profile("shmem", derandomize=True, deadline=None, database=None, print_blob=True)
settings.load_profile("shmem")


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the source tree."""
    return ROOT


@pytest.fixture(scope="session")
def need_tool() -> Callable[[str], str]:
    """A function that answers the path of a program, or skips the test with a visible reason."""

    def find(name: str) -> str:
        path = shutil.which(name)
        if path is None:
            pytest.skip(f"the program {name} is not installed on this machine")
        return path

    return find
