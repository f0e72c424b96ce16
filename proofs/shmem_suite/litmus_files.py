"""Litmus files as tasks: find them, answer them in a worker, and turn answers into outcomes and stories."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shmem_model.litmus import LitmusError, parse_file
from shmem_model.litmus.answers import FileAnswer, QuestionAnswer, answer_file
from shmem_model.litmus.matrix import matrix_file
from shmem_suite.checks import Outcome, Verdict
from shmem_suite.errors import UsageError
from shmem_suite.story import Change, Step, Trace

SUFFIX = ".litmus"
UNKNOWN: Verdict = "unknown"
_OWN = re.compile(r"^(?P<agent>\w+):(?P<line>\d+): (?P<call>.*?)(?:  \[(?P<changes>.*)\])?$")
_HARDWARE = re.compile(r"^\((?P<words>.*)\)$")


def find(paths: Sequence[str]) -> tuple[list[Path], dict[str, str]]:
    """The litmus files that the paths name, folders searched through, each once; and why each other path names none."""
    found: dict[Path, None] = {}
    wrong: dict[str, str] = {}
    for name in paths:
        try:
            inside = list(_inside(name))
        except FileNotFoundError:
            wrong[name] = f"there is no file or folder {_short(name)}"
        except (OSError, ValueError) as error:
            wrong[name] = f"{_short(name)} cannot be read: {getattr(error, 'strerror', None) or error}"
        except UsageError as error:
            wrong[name] = str(error)
        else:
            found |= dict.fromkeys(inside)
    return list(found), wrong


def _inside(name: str) -> Iterator[Path]:
    if name == "-":
        raise UsageError("standard input cannot be answered, since other processes read the files; name a file")
    path = Path(name)
    if path.is_relative_to("/dev"):
        path = path.resolve()
    if path.is_dir():
        inside = sorted(path.rglob(f"*{SUFFIX}"))
        if not inside:
            raise UsageError(f"the folder {name} has no file *{SUFFIX}")
        yield from inside
    elif path.stat() and not path.is_file():
        raise UsageError(f"{name} is no regular file; write the protocol into one")
    else:
        yield path


def _short(name: str) -> str:
    """A path as it is told; one of thousands of characters is told by its ends."""
    return name if len(name) <= 200 else f"{name[:80]}...{name[-80:]}"


def explained(path: Path) -> str:
    """What the comments before the `litmus` line say in words, after the lines that name sources."""
    head: list[str] = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if not line.startswith("#"):
            break
        head.append(line[1:].strip())
    prose = head[head.index("") + 1 :] if "" in head else []
    return " ".join(line for line in prose if line)


def answer(path: str) -> Outcome:
    """Answer the questions of a file; a malformed one is *unknown*, with the error in `facts`."""
    found = answer_file(path)
    if found.error is not None:
        return Outcome(UNKNOWN, found.error, facts={"file": path, "error": found.error, "shown": shown_error(path)})
    told = next((q for q in found.questions if not q.ok and q.run), None)
    told = told or next((q for q in found.questions if q.run), None)
    runs = [{"question": q.question, "run": list(q.run), "why": q.why} for q in found.questions]
    return Outcome(
        verdict(found),
        "; ".join(f"{q.question}: {q.answer}, expected {q.expect}" for q in found.questions if not q.ok),
        facts={**found.as_json(), "runs": runs},
        trace=trace(told) if told else None,
    )


def answer_with_matrix(path: str) -> Outcome:
    """The answers of a file, and in `facts` those under every kind of coherence."""
    found = answer(path)
    if "error" in found.facts:
        return found
    table = matrix_file(path).as_json()
    return replace(found, facts={**found.facts, "matrix": {"calls": table["calls"], "rows": table["rows"]}})


def verdict(found: FileAnswer) -> Verdict:
    """`holds` if every answer is the expected one, `unknown` if the others are all unknown."""
    wrong = [question for question in found.questions if not question.ok]
    if not found.questions:
        return UNKNOWN
    return "holds" if not wrong else "unknown" if all(q.answer == UNKNOWN for q in wrong) else "fails"


def shown_error(path: str) -> str:
    """What is wrong with a malformed file, with its line and a caret."""
    try:
        parse_file(path)
    except LitmusError as error:
        return error.render()
    return ""


def trace(question: QuestionAnswer) -> Trace:
    """The run that decides a question, as a story."""
    agents = dict.fromkeys(m["agent"] for line in question.run if (m := _OWN.match(line)))
    steps = [_step(line, agents) for line in question.run]
    if steps and question.answer in ("race", "fault", "deadlock"):
        steps[-1] = Step(steps[-1].agent, steps[-1].action, steps[-1].arguments, steps[-1].changes, guilty=True)
    ending = f"{question.question}: {question.answer}"
    return Trace(tuple(steps), f"{ending}; {question.why}" if question.why else ending, tuple(agents))


def _step(line: str, agents: Iterable[str]) -> Step:
    if own := _OWN.match(line):
        return Step(own["agent"], own["call"], (), tuple(_changes(own["agent"], own["changes"] or "")))
    hardware = _HARDWARE.match(line)
    words = (hardware["words"] if hardware else line).split()
    if words and words[0] in agents:
        return Step(words[0], " ".join(words[1:]))
    return Step("", " ".join(words))


def _changes(agent: str, text: str) -> list[Change]:
    pairs = [part.split(" = ") for part in text.split(", ") if " = " in part]
    return [Change(name, (agent,), "", value) for name, value in pairs]


def row(facts: dict[str, Any]) -> dict[str, Any]:
    """The answer about one file in the promised shape."""
    if "error" in facts:
        return {"file": facts["file"], "error": facts["error"]}
    keys = ("file", "name", "questions", "states", "seconds", "matrix")
    return {key: facts[key] for key in keys if key in facts}
