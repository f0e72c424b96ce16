"""Curated bugs as data, and copies of the implementation that have one of them."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import shmem
from shmem_suite.errors import SuiteError

GROUPS = ("caches", "translation", "memory", "moves", "sync", "death")


@dataclass(frozen=True)
class Bug:
    """A name, what goes wrong in a sentence, and one change of the implementation's source."""

    name: str
    group: str
    sentence: str
    file: str
    text: str
    instead: str


@cache
def curated() -> dict[str, Bug]:
    """All curated bugs by name, in the order of the files.

    Raises `SuiteError` where two have one name.
    """
    found: dict[str, Bug] = {}
    for bug in _read():
        if bug.name in found:
            raise SuiteError(f"two curated bugs are called {bug.name}; give each its own name")
        found[bug.name] = bug
    return found


def _read() -> Iterator[Bug]:
    for group in GROUPS:
        text = files(__package__).joinpath("curated", f"{group}.toml").read_text(encoding="utf-8")
        for entry in tomllib.loads(text)["bug"]:
            yield Bug(group=group, **entry)


def source() -> Path:
    """Where the implementation that this process imports has its source."""
    return Path(shmem.__file__).parent


def changed(bug: Bug) -> str:
    """The source of the bug's file with the bug in it.

    Raises `SuiteError` where the text that it changes does not stand there exactly once: the implementation has moved
    on, and the bug must follow.
    """
    whole = (source() / bug.file).read_text(encoding="utf-8")
    if whole.count(bug.text) != 1:
        raise SuiteError(
            f"curated bug {bug.name}: its text stands {whole.count(bug.text)} times in impl/shmem/{bug.file}, "
            f"not once; write it anew in curated/{bug.group}.toml"
        )
    return whole.replace(bug.text, bug.instead)


def copy(to: Path) -> Path:
    """A copy of the implementation's package in a folder; that folder goes first on `PYTHONPATH`."""
    shutil.copytree(source(), to / "shmem", ignore=shutil.ignore_patterns("__pycache__"))
    return to / "shmem"


def plant(bug: Bug, to: Path) -> None:
    """Make a copy of the implementation that has the bug."""
    package = copy(to)
    (package / bug.file).write_text(changed(bug), encoding="utf-8")
