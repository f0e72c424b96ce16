"""The commands that need NumPy only: `driver`, `ls`, `show`, `top`, `doctor`, `demo`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable

from shmem.errors import ShmemError

USAGE = 2


def run(arguments: list[str]) -> int:
    """Answer one of these commands: 0 as asked, 1 something is wrong, 2 usage or an error in one line."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = chosen.command
    try:
        return command(chosen)
    except ShmemError as error:
        if chosen.debug:
            raise
        print(f"shmem {arguments[0]}: {error}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever reads the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except OSError as error:
        if chosen.debug:
            raise
        print(f"shmem {arguments[0]}: {error.strerror or error}{f': {error.filename}' if error.filename else ''}",
              file=sys.stderr)  # fmt: skip
        return USAGE


def emit(value: object, where: str) -> None:
    """Write JSON to a file, or to standard output for `-`."""
    text = json.dumps(value, indent=2) + "\n"
    if where == "-":
        sys.stdout.write(text)
    else:
        with open(where, "w", encoding="utf-8") as file:
            file.write(text)


def _parser() -> argparse.ArgumentParser:
    from shmem.commands import demo, driver, look

    parser = argparse.ArgumentParser(prog="shmem", description="Shared memory between a host and its devices.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in (driver, look, demo):
        module.add(commands)
    return parser


def subcommand(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    what: str,
    example: str,
    command: Callable[[argparse.Namespace], int],
) -> argparse.ArgumentParser:
    """A parser for one command, with an example and the options that all have."""
    parser = commands.add_parser(
        name,
        help=what,
        description=what,
        epilog=f"example: {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--debug", action="store_true", help="show tracebacks of errors")
    parser.set_defaults(command=command)
    return parser
