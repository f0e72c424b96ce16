"""The progress display tells what is done, what runs, what is slow and how long it will take."""

from __future__ import annotations

import io

from rich.console import Console

from shmem_suite.checks import Outcome
from shmem_suite.progress import Progress
from shmem_suite.results import Result
from tests.suite import fakes

CHECKS = [fakes.check("T1", weight=6.0), fakes.check("T2", weight=2.0), fakes.check("T3", weight=2.0)]


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_display_tells_how_it_goes() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=200)
    with Progress(CHECKS, 2, console) as progress:
        progress.started(CHECKS[0].tasks[0])
        progress.started(CHECKS[1].tasks[0])
        assert progress.seconds_left is None
        progress.finished(CHECKS[1].tasks[0], Outcome("holds", seconds=4.0))
        console.print(progress._show())
        assert progress.seconds_left == 8.0  # weight 8 left, twice as slow as thought, in two lanes
    text = shown(console)
    for words in ("1 of 3 done", "about 8 s left", "running: T1 (0 s)", "slowest so far: T2 (4.0 s)"):
        assert words in text


def test_what_is_not_as_expected_is_told_at_once_and_what_is_skipped_is_not() -> None:
    console = Console(file=io.StringIO(), width=200)
    with Progress(CHECKS, 1, console) as progress:
        progress.settled(Result(CHECKS[0], Outcome("fails", "a state was lost")))
        progress.settled(Result(CHECKS[1], Outcome("unknown", skipped="no rumur")))
        progress.settled(Result(CHECKS[2], Outcome("holds")))
    assert shown(console) == "not as expected: T1 fails, expected holds: a state was lost\n"


def test_a_log_gets_a_line_now_and_then() -> None:
    console = Console(file=io.StringIO(), width=200)
    with Progress(CHECKS, 1, console) as progress:
        progress._told -= 60
        progress.finished(CHECKS[0].tasks[0], Outcome("holds", seconds=1.0))
        progress.finished(CHECKS[1].tasks[0], Outcome("holds", seconds=1.0))
    assert shown(console).startswith("1 of 3 done")
    assert shown(console).count("\n") == 1
