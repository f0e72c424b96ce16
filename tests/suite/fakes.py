"""Checks that are no real questions: what they answer is given, so the suite itself can be tested."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shmem_suite.checks import Check, Outcome, Task
from shmem_suite.processes import run_tool
from shmem_suite.results import Report, Result
from shmem_suite.story import Change, Step, Trace

RUN = Trace(
    steps=(
        Step("host", "write", (("w", "buf[0]"), ("v", "1")), (Change("dirty", ("host", "line0"), "no", "yes"),)),
        Step("host", "send", (("t", "Token0"), ("s", "7"))),
        Step("dev0", "wait", (("t", "Token0"), ("s", "7"))),
        Step("", "drain", (), (Change("memory", ("line0", "0"), "0", "1"),)),
        Step("dev0", "read", (("w", "buf[0]"),), (), guilty=True),
    ),
    ending="dev0 reads 0, the last write is 1 & nobody <told> it",
    agents=("host", "dev0"),
)


def say(verdict: Any, **more: Any) -> Outcome:
    """Answer what is given."""
    return Outcome(verdict, **more)


def think(seconds: float, note: str) -> Outcome:
    """Take a while, and leave a note at the beginning."""
    with open(note, "a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")
    time.sleep(seconds)
    return Outcome("holds")


def crash(how: str) -> Outcome:
    """End in one of the ways that a worker can end."""
    match how:
        case "raise":
            raise ArithmeticError("two and two\nmade five")
        case "exit":
            os._exit(3)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "print":
            print("this must not reach standard output")
            return Outcome("holds")
        case "lambda":
            return Outcome("holds", facts={"cannot be sent": lambda: 0})
    return "no outcome"  # type: ignore[return-value]


def broken(path: str) -> Outcome:
    """Fail on any file."""
    return crash("raise")


def with_child(note: str, own_tool: bool) -> Outcome:
    """Start a program that would outlive the worker, and write down its number."""
    code = f"import os, time; open({note!r}, 'a').write(f'{{os.getpid()}}\\n'); time.sleep(600)"
    if own_tool:
        run_tool([sys.executable, "-c", code], seconds=600)
    else:
        subprocess.run([sys.executable, "-c", code], check=False)
    return Outcome("holds")


def check(id: str, verdict: Any = "holds", expected: Any = "holds", **fields: Any) -> Check:
    """A check that answers a given verdict; further fields go to the outcome if it has them, else to the
    check.
    """
    outcome = {k: fields.pop(k) for k in ("detail", "counts", "facts", "trace", "skipped") if k in fields}
    task = Task(id, _answer, (verdict, tuple(outcome.items())), weight=fields.pop("weight", 1.0))
    standard = {"kind": "theorem", "subject": id.split("/")[0], "statement": f"What {id} says."}
    return Check(id=id, expected=expected, **{"tasks": (task,), **standard, **fields})


def _answer(verdict: Any, more: Any) -> Outcome:
    return Outcome(verdict, **dict(more))


def result(id: str, verdict: Any = "holds", expected: Any = "holds", **fields: Any) -> Result:
    """The result of such a check."""
    asked = check(id, verdict, expected, **fields)
    return Result(asked, asked.tasks[0].function(*asked.tasks[0].arguments))


def report(*results: Result) -> Report:
    """A report on these results."""
    return Report(results, 1.5)


def write_manifest(folder: Path, entries: Sequence[dict[str, Any]], pins: Any = None) -> Path:
    """A manifest folder with the entries of the provider `fake`."""
    folder.mkdir(exist_ok=True)
    (folder / "fake.json").write_text(json.dumps({"checks": entries}))
    if pins is not None:
        (folder / "pins.json").write_text(json.dumps(pins))
    return folder


ENTRY = {"id": "T1", "kind": "theorem", "subject": "T1", "statement": "Reads see the last write."}
