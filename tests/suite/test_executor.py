"""Tasks run in processes of their own, and nothing that goes wrong there becomes a success or stays
behind.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shmem_suite.checks import Outcome, Task
from shmem_suite.executor import Finished, LocalExecutor, Started, longest_first
from tests.conftest import ROOT
from tests.suite import fakes


def outcomes(tasks: list[Task], jobs: int = 2) -> dict[str, Outcome]:
    """Run the tasks here and return what came out."""
    found = {}
    for event in LocalExecutor(jobs).run(tasks):
        if isinstance(event, Finished):
            found[event.task.key] = event.outcome
    return found


def crashing(how: str) -> Task:
    return Task(how, fakes.crash, (how,))


def test_every_task_has_an_outcome_and_its_time() -> None:
    found = outcomes([Task(f"t{n}", fakes.say, ("holds",)) for n in range(7)])
    assert {key: outcome.verdict for key, outcome in found.items()} == {f"t{n}": "holds" for n in range(7)}
    assert all(outcome.seconds > 0 for outcome in found.values())


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("raise", "ArithmeticError: two and two made five"),
        ("exit", "the worker ended with exit code 3"),
        ("kill", "the worker was killed by SIGKILL"),
        ("lambda", "Can't"),
        ("other", "TypeError: task other answered 'no outcome', which is no outcome"),
    ],
)
def test_a_worker_that_fails_makes_its_task_unknown_and_the_others_go_on(how: str, reason: str) -> None:
    found = outcomes([crashing(how), *(Task(f"t{n}", fakes.say, ("holds",)) for n in range(3))], jobs=1)
    assert found[how].verdict == "unknown"
    assert reason in found[how].detail
    assert [found[f"t{n}"].verdict for n in range(3)] == ["holds"] * 3


def test_a_task_that_cannot_be_sent_is_unknown() -> None:
    found = outcomes([Task("lambda", lambda: Outcome("holds")), Task("t", fakes.say, ("holds",))], jobs=1)
    assert (found["lambda"].verdict, found["t"].verdict) == ("unknown", "holds")


def test_what_hangs_is_given_up_at_last(tmp_path: Path) -> None:
    hangs = Task("hangs", fakes.think, (600.0, str(tmp_path / "note")), limit=0.7)
    found = outcomes([hangs, Task("t", fakes.say, ("holds",), weight=0.5)], jobs=1)
    assert found["hangs"].detail == "given up after 0.7 s of wall clock"
    assert (found["hangs"].verdict, found["t"].verdict) == ("unknown", "holds")
    assert gone(tmp_path / "note")


def test_what_a_task_prints_stays_away_from_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    assert outcomes([crashing("print")])["print"].verdict == "holds"
    assert capfd.readouterr() == ("", "")


def test_the_longest_task_starts_first() -> None:
    tasks = [Task(key, fakes.say, ("holds",), weight=weight) for key, weight in (("a", 1), ("b", 9), ("c", 5))]
    assert [task.key for task in longest_first(tasks)] == ["b", "c", "a"]
    started = [event.task.key for event in LocalExecutor(1).run(tasks) if isinstance(event, Started)]
    assert started == ["b", "c", "a"]


def gone(note: Path, within: float = 10.0) -> bool:
    """The processes whose numbers are in the note have ended (some were there)."""
    numbers = [int(line) for line in note.read_text().split()]
    assert numbers, "nobody wrote down its number, so this test says nothing"
    end = time.monotonic() + within
    while time.monotonic() < end:
        if not any(alive(number) for number in numbers):
            return True
        time.sleep(0.05)
    return False


def alive(number: int) -> bool:
    """The process exists and is no zombie."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for(note: Path, lines: int) -> None:
    """Wait until that many processes have written down their number."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if note.exists() and note.read_text().count("\n") >= lines:
            return
        time.sleep(0.05)
    pytest.fail("the processes did not start")


def test_an_early_end_leaves_no_process_behind(tmp_path: Path) -> None:
    note = tmp_path / "note"
    events = LocalExecutor(2).run([Task(f"c{n}", fakes.with_child, (str(note), False)) for n in range(2)])
    assert [type(next(events)) for _ in range(2)] == [Started, Started]
    # The second task is handed over when the third event is asked for; both run until then.
    with pytest.raises(TimeoutError), alarm(2.0):
        next(events)
    events.close()
    assert gone(note)


class alarm:
    """Raise TimeoutError after some seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __enter__(self) -> None:
        def ring(*_: object) -> None:
            raise TimeoutError

        self.old = signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.old)


PARENT = """
import signal
import sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits it ignored
from shmem_suite.checks import Task
from shmem_suite.executor import LocalExecutor
from tests.suite import fakes
note = sys.argv[1]
tasks = [Task("think", fakes.think, (600.0, note)), Task("child", fakes.with_child, (note, True))]
for event in LocalExecutor(2).run(tasks):
    pass
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills children with their parent")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_and_their_tools_die_with_the_parent(tmp_path: Path, how: signal.Signals) -> None:
    note = tmp_path / "note"
    path = os.pathsep.join(str(ROOT / folder) for folder in (".", "model", "proofs", "impl"))
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(note)],
        env=os.environ | {"PYTHONPATH": path},
        stderr=subprocess.DEVNULL,
    )
    wait_for(note, 2)
    parent.send_signal(how)
    assert parent.wait(timeout=120) != 0
    assert gone(note)
