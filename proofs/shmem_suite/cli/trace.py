"""`shmem trace`: check what a running system did, by custody."""

from __future__ import annotations

from pathlib import Path

import click
from rich.text import Text

from shmem_model.conformance.traces.checker import CODES, Answer, check_file
from shmem_suite.cli.settings import Settings, common, console

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
