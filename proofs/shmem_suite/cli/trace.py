"""`shmem trace`: check what a running system did, by custody."""

from __future__ import annotations

from pathlib import Path

import click
from rich.text import Text

from shmem_model.conformance.traces.checker import CODES, Answer, check_file
from shmem_model.conformance.traces.events import Malformed
from shmem_suite import trace_chrome, trace_view
from shmem_suite.cli.settings import Settings, common, console
from shmem_suite.errors import UsageError
from shmem_suite.trace_order import Order

_WORST = ("malformed", "unknown", "violation", "race", "clean")


@click.group("trace", epilog="Example: shmem trace check run.jsonl")
def command() -> None:
    """Traces of running systems: one JSON object a line, see docs/reference/traces.md.

    Its commands take --json and --debug.
    """


@command.command("check", epilog="Example: shmem trace check run.jsonl --json -")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@common
@click.pass_obj
def check(settings: Settings, files: tuple[str, ...]) -> int:
    """Say of each FILE whether it is clean, a race, a violation, malformed or unknown.

    A race is an access that custody does not cover, with the other side and the step that is missing between the two;
    a violation is a read of something else than the last write although custody was kept: the implementation is
    wrong. Exit codes: 0 all clean, 1 a race or a violation, 2 malformed or unreadable, 3 unknown; the worst wins.
    """
    answers = [(file, _answer(file)) for file in files]
    screen = console(settings)
    for file, answer in answers:
        screen.print(told(file, answer), soft_wrap=True)
    settings.write_json([answer.as_json(file) for file, answer in answers])
    worst = min((answer.answer for _, answer in answers), key=_WORST.index)
    return CODES[worst]


def _answer(file: str) -> Answer:
    try:
        return check_file(Path(file))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        return Answer("malformed", why=f"it cannot be read: {reason}")


def told(file: str, answer: Answer) -> Text:
    """An answer for human readers."""
    place = f"{file}:{answer.line}" if answer.line else file
    text = Text(f"{place}: ")
    text.append(answer.answer, style="green" if answer.answer == "clean" else "bold red")
    text.append(f", {answer.events} events" if answer.answer != "malformed" else "")
    text.append(f": {answer.why}" if answer.why else "")
    for problem in answer.problems:
        text.append(f"\n  {problem.kind}: {problem}")
    if answer.count > len(answer.problems):
        text.append(f"\n  and {answer.count - len(answer.problems)} more")
    return text


@command.command("view", epilog="Example: shmem trace view run.jsonl --out run.svg")
@click.argument("file", metavar="FILE")
@click.option("--out", metavar="FILE", help="Write a picture (.svg) or text (.txt) there.")
@click.option("--from", "first", type=click.IntRange(0), metavar="N", help="Begin with event N of the order shown.")
@click.option(
    "--count", type=click.IntRange(1, trace_view.MOST), default=60, show_default=True, help="So many events at most."
)
@common
@click.pass_obj
def view(settings: Settings, file: str, out: str | None, first: int | None, count: int) -> int:
    """Draw a window of FILE: a lane per agent, edges, and the broken access; around the first problem by default.

    Exit codes: 0 drawn, 2 the trace contradicts itself (what can be is drawn) or cannot be read.
    """
    if out is not None and not out.endswith((".svg", ".txt")):
        raise UsageError(f"cannot draw to {out}: its name must end in .svg or .txt")
    try:
        answer = trace_view.checked(Path(file))
        order = Order(trace_view.lines(Path(file)))
        start, events = trace_view.window(order, answer, first, count)
        why = f" ({answer.why})" if answer.why else ""
        ending = f"{answer.answer}{why}; {len(events)} of {answer.events} events, from {start}"
        drawn = (
            trace_view.svg(order, events, answer, ending)
            if out and out.endswith(".svg")
            else "".join(line + "\n" for line in [*trace_view.text(order, events, answer, start), ending])
        )
        if out:
            Path(out).write_text(drawn, encoding="utf-8")
    except (Malformed, OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot draw {file}: {error}") from error
    console(settings).print(Text(f"written to {out}" if out else drawn.rstrip()), soft_wrap=True)
    settings.write_json({"file": file, "answer": answer.answer, "from": start, "count": len(events)})
    return CODES["malformed"] if answer.answer == "malformed" else 0


@command.command("export", epilog="Example: shmem trace export run.jsonl --format chrome --out run.json")
@click.argument("file", metavar="FILE")
@click.option("--format", "form", type=click.Choice(["chrome"]), default="chrome", show_default=True)
@click.option("--out", required=True, metavar="FILE", help="Where to write; Perfetto opens it.")
@common
@click.pass_obj
def export(settings: Settings, file: str, form: str, out: str) -> int:
    """Write FILE in the Chrome trace-event format.  Its times are places in an order, since a trace has no clock."""
    if Path(out).resolve() == Path(file).resolve():
        raise UsageError(f"cannot export {file} to itself: name another file by --out")
    half = Path(f"{out}.half")
    try:
        order = Order(trace_view.lines(Path(file)))
        with half.open("w", encoding="utf-8") as target:
            count = trace_chrome.export(order, target)
        half.replace(out)
    except OSError as error:
        name = file if error.filename == file else out
        raise UsageError(f"cannot export {file}: {name}: {error.strerror}") from error
    except (Malformed, UnicodeDecodeError) as error:
        raise UsageError(f"cannot export {file}: {error}") from error
    finally:
        half.unlink(missing_ok=True)
    console(settings).print(f"{count} events written to {out}", soft_wrap=True)
    settings.write_json({"file": file, "format": form, "events": count, "out": out})
    return 0
