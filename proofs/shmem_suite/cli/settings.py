"""What all commands share: options, where output goes, and how JSON is written."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from shmem_suite.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Settings:
    """Of one command line: whether tracebacks are shown, and where JSON goes (`-`: standard output)."""

    debug: bool = False
    json: str | None = None

    @property
    def json_alone(self) -> bool:
        """Standard output holds JSON and nothing else."""
        return self.json == "-"

    def say(self, text: str) -> None:
        """Print for a human: to standard output, or to standard error when that belongs to JSON."""
        click.echo(text, err=self.json_alone)

    def aside(self, text: str) -> None:
        """Tell how it goes, on standard error."""
        click.echo(text, err=True)

    def write_json(self, value: Any) -> None:
        """Write the answer as JSON where it was asked for, if it was."""
        if self.json is None:
            return
        text = json.dumps(value, indent=1, ensure_ascii=False)
        if self.json_alone:
            click.echo(text)
            return
        write_text(self.json, text + "\n")


def write_text(file: str, text: str) -> None:
    """Write a file; what the system refuses is a usage error."""
    try:
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from error


def look_at_place(file: str) -> None:
    """Tell early, before hours of work, that a file cannot be written."""
    place = Path(file)
    folder = place.parent
    try:
        place.exists()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot write {file[:80]}...: {reason}") from error
    if not folder.is_dir():
        raise UsageError(f"cannot write {file}: there is no folder {folder}")
    if place.is_dir():
        raise UsageError(f"cannot write {file}: it is a folder")
    if not os.access(place if place.exists() else folder, os.W_OK):
        raise UsageError(f"cannot write {file}: it is not permitted")


def _set_json(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value not in (None, "-"):
        look_at_place(str(value))
    context.find_object(Settings).json = value  # type: ignore[union-attr]


def _set_debug(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.find_object(Settings).debug = True  # type: ignore[union-attr]


def common(function: F) -> F:
    """The options that every command takes: `--json` and `--debug`."""
    function = click.option(
        "--json",
        metavar="FILE|-",
        expose_value=False,
        callback=_set_json,
        help="Write the answer as JSON (-: to standard output, alone).",
    )(function)
    return click.option(
        "--debug",
        is_flag=True,
        expose_value=False,
        callback=_set_debug,
        help="Show the traceback of an error.",
    )(function)


def jobs(function: F) -> F:
    """The option `--jobs`."""
    return click.option(
        "-j",
        "--jobs",
        type=click.IntRange(1, 1024),
        metavar="N",
        help="Processes to use (default: the usable cores).",
    )(function)


def console(settings: Settings, err: bool = False) -> Any:
    """A rich console for humans; standard error when standard output belongs to JSON, or when asked for."""
    from rich.console import Console

    stream = sys.stderr if err or settings.json_alone else sys.stdout
    width = None if stream.isatty() else 140
    return Console(file=stream, width=width, highlight=False, soft_wrap=False)
