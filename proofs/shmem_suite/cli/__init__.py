"""The command `shmem`.

Every command lives in a module of its own and is imported when it is called, so that `shmem --help` is
quick.  A new command is one line in `COMMANDS`.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
from importlib import import_module

import click

from shmem_suite.cli.settings import Settings
from shmem_suite.errors import SuiteError, did_you_mean

COMMANDS = {
    "verify": "Ask everything: theorems, witnesses, red twins, explorations, litmus files, mutants.",
    "prove": "Prove theorems for any number of agents, lines, regions and steps.",
    "explore": "Visit every state of a scope and count what happens.",
    "litmus": "Answer the questions of litmus files.",
    "trace": "Check what a running system did, by custody.",
    "vectors": "Make test vectors from the machine, and run them on an adapter.",
    "conform": "Check that an implementation behaves as the machine.",
    "export": "Print the machine in the language of another tool.",
    "bench": "Measure how fast the engines are.",
}
"""Each command with its one line; module `shmem_suite.cli.NAME` holds it as `command`."""

INTERRUPTED = 130
BROKEN = 3
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)


class _Lazy(click.Group):
    """A group that knows the names of its commands and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"shmem_suite.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(did_you_mean(args[0], COMMANDS, "command"), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _tell_version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        click.echo(f"shmem {import_module('shmem').__version__}")
        context.exit()


@click.group(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: shmem verify --quick",
)
@click.option(
    "-V", "--version", is_flag=True, is_eager=True, expose_value=False, callback=_tell_version, help="Show the version."
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_obj
def cli(settings: Settings, debug: bool) -> None:
    """An exact model of memory that a host shares with devices, its proofs, and answers about your protocol.

    Exit codes: 0 everything is as expected, 1 something is not, 2 wrong usage or malformed input, 3 a
    verdict is unknown or not inductive.
    """
    settings.debug = settings.debug or debug


def main(arguments: list[str] | None = None) -> int:
    """Answer a command line (default: that of this process) and return the exit code."""
    settings = Settings()
    if not _open_streams():
        return _tell("standard output is closed; give it a place, such as /dev/null", 2, settings)
    try:
        answer = cli.main(arguments, prog_name="shmem", standalone_mode=False, obj=settings)
        sys.stdout.flush()
        return int(answer or 0)
    except click.ClickException as error:
        return _usage(error, settings)
    except SuiteError as error:
        return _tell(str(error), error.exit_code, settings)
    except (click.Abort, KeyboardInterrupt):
        return _tell("interrupted", INTERRUPTED, settings)
    except BrokenPipeError:
        _drop_output()
        return INTERRUPTED
    except OSError as error:
        if error.errno not in _NO_ROOM:
            return _failed(error, settings)
        _drop_output()
        return _tell(f"cannot write the answer: {error.strerror}; nothing more was written", 2, settings)
    except ModuleNotFoundError as error:
        return _tell(_missing(error), 2, settings)
    except Exception as error:
        return _failed(error, settings)


def _failed(error: Exception, settings: Settings) -> int:
    reason = " ".join(str(error).split())
    return _tell(f"internal error, {type(error).__name__}: {reason} (--debug shows where)", BROKEN, settings)


def _open_streams() -> bool:
    """Make every character printable, whatever the terminal's encoding; whether there is a standard output at all."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    return sys.stdout is not None


def _drop_output() -> None:
    """Nobody takes the output any more: what is still in buffers goes nowhere, quietly."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _missing(error: ModuleNotFoundError) -> str:
    package = (error.name or "a module").partition(".")[0]
    if package.startswith("shmem"):
        return f"this installation is incomplete, it has no module {error.name}; install it again"
    return f"this needs the package {package}; install it with: pip install 'shmem[verify]'"


def _usage(error: click.ClickException, settings: Settings) -> int:
    context = getattr(error, "ctx", None)
    more = f"; see {context.command_path} --help" if context is not None else ""
    if isinstance(error, click.NoSuchOption) and error.possibilities:
        more = f"; did you mean {' or '.join(sorted(error.possibilities))}?"
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return error.exit_code
    message = (
        f"no such option: {error.option_name}" if isinstance(error, click.NoSuchOption) else error.format_message()
    )
    return _tell(" ".join(message.split()).rstrip(".") + more, 2, settings)


def _tell(line: str, code: int, settings: Settings) -> int:
    if settings.debug:
        traceback.print_exc()
    click.echo(f"shmem: {line}", err=True)
    return code
