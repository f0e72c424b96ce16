"""A window of a trace as a picture: a lane per agent, events down the page, the broken access marked."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from importlib.resources import files
from itertools import islice
from pathlib import Path

from shmem_model.conformance.traces import Answer, check_lines
from shmem_model.conformance.traces.events import Malformed, described
from shmem_suite.report.pictures import picture
from shmem_suite.story import Step, Trace
from shmem_suite.trace_order import Order, Placed

MOST = 1000
"""So many events are drawn at most."""


def lines(file: Path) -> Iterator[str]:
    """The lines of a file, one at a time.  Raises `OSError`, `UnicodeDecodeError`, `Malformed` for an open end."""
    with file.open(encoding="utf-8", newline="\n") as text:
        for line in text:
            if not line.endswith("\n"):
                raise Malformed("the last line has no end, so it may be cut off; end it with a newline")
            yield line


def _plain(text: Iterable[str]) -> Iterator[str]:
    """Without `where`: then a problem names its event by number, which is the only one of that name."""
    for line in text:
        if '"where"' in line and line.endswith("\n"):
            try:
                found = json.loads(line)
                found.pop("where", None)
            except (ValueError, AttributeError, TypeError):
                yield line
                continue
            yield json.dumps(found) + "\n"
        else:
            yield line


def checked(file: Path) -> Answer:
    """What the check says, each problem named by the number of its event."""
    return check_lines(_plain(lines(file)))


def broken(placed: Placed, answer: Answer) -> str:
    """The problem that the check found at an event, or nothing."""
    told = described({key: value for key, value in placed.event.items() if key != "where"})
    return next((str(problem) for problem in answer.problems if problem.what == told), "")


def window(order: Order, answer: Answer, first: int | None, count: int) -> tuple[int, list[Placed]]:
    """`count` events from number `first` on, or around the first problem, or from the beginning."""
    if first is not None or not answer.problems:
        start = first or 0
        return start, list(islice(order, start, start + count))
    before: deque[Placed] = deque(maxlen=max(1, count * 3 // 4))
    events = iter(order)
    number = 0
    for number, placed in enumerate(events, 1):  # noqa: B007
        before.append(placed)
        if broken(placed, answer):
            break
    start = number - len(before)
    return start, [*before, *islice(events, count - len(before))]


def steps(events: Iterable[Placed], answer: Answer) -> Iterator[Step]:
    """Events as steps of a story; the edges are arguments, by which the picture draws its arrows."""
    for placed in events:
        found = placed.event
        what = described({**found, "where": "-"}).removesuffix(" at -").split(" ", 1)[1]
        marks = tuple(("e", " ".join(mark)) for mark in placed.gives + placed.takes)
        yield Step(found["agent"], found["action"], marks or _rest(what), guilty=bool(broken(placed, answer)))


def _rest(what: str) -> tuple[tuple[str, str], ...]:
    rest = what.partition(" ")[2]
    return (("at", rest),) if rest else ()


def svg(order: Order, events: list[Placed], answer: Answer, ending: str) -> str:
    """A file of its own, with the colours of the reports."""
    drawn = picture(Trace(tuple(steps(events, answer)), ending, order.agents))
    style = files("shmem_suite.report").joinpath("templates", "style.css.j2").read_text("utf-8")
    begin = '<svg xmlns="http://www.w3.org/2000/svg"'
    return str(drawn).replace("<svg", begin, 1).replace(">", f"><style>{style}</style>", 1) + "\n"


def text(order: Order, events: list[Placed], answer: Answer, start: int) -> Iterator[str]:
    """One line an event, a column per agent; edges are told by the number of the event where they begin."""
    wide = 26
    yield " " * 9 + "".join(name[: wide - 1].ljust(wide) for name in order.agents)
    begun: dict[tuple[str, ...], int] = {}
    for number, placed in enumerate(events, start):
        found = placed.event
        what = described({**found, "where": "-"}).removesuffix(" at -").split(" ", 1)[1]
        begun |= dict.fromkeys(placed.gives, number)
        if found["action"] == "send":
            what += f" -> {found['to']}:{found['slot']}"
        came = [str(begun[mark]) if mark in begun else "earlier" for mark in placed.takes]
        what += f" <- {', '.join(came)}" if came else ""
        problem = broken(placed, answer)
        lane = "".join((what if name == found["agent"] else "|").ljust(wide) for name in order.agents)
        yield f"{number:>7} {'!' if problem else ' '}{lane}".rstrip()
        if problem:
            where = f"; the access is at {found['where']}" if found.get("where") else ""
            yield f"{'':>9}! {problem}{where}"
