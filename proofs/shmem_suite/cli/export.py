"""`shmem export`: the machine in the language of another tool."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from shmem_model.machine import MACHINE
from shmem_suite.cli.settings import Settings, common, write_text
from shmem_suite.errors import UsageError
from shmem_suite.explorations import default_scope, scope_named

FORMATS = ("murphi", "tla", "smt2")


@click.command("export", epilog="Examples: shmem export murphi > model.m; shmem export smt2 --output obligations")
@click.argument("format", type=click.Choice(FORMATS))
@click.option("--scope", metavar="SCOPE", help="For murphi and tla: the scope that is printed.")
@click.option("-o", "--output", metavar="DIR", help="Write files into this folder instead of printing them.")
@common
@click.pass_obj
def command(settings: Settings, /, format: str, scope: str | None, output: str | None) -> int:
    """Print the machine in the language of another tool.

    murphi is a model of one scope for rumur or CMurphi; tla a module for any sizes with a model and a
    configuration of one scope for TLC; smt2 every proof obligation as a script of its own, for any solver
    that knows UF.
    """
    if scope is not None and format == "smt2":
        raise click.UsageError("--scope is for murphi and tla; the obligations hold for any size")
    files = dict(texts(format, scope))
    if output is None:
        if not settings.json_alone:
            click.echo(together(list(files.values())), nl=False)
    else:
        place = folder(output)
        for name, text in files.items():
            write_text(str(place / name), text)
        settings.say(f"wrote {len(files)} {'file' if len(files) == 1 else 'files'} into {output}")
    settings.write_json({"format": format, "files": [{"name": name, "text": text} for name, text in files.items()]})
    return 0


def together(files: list[str]) -> str:
    """Files one after the other; an SMT-LIB script that another follows resets the solver instead of
    leaving it.
    """
    *others, last = files
    return "".join(text.removesuffix("(exit)\n") + "(reset)\n" if "(exit)" in text else text for text in others) + last


def texts(format: str, scope: str | None) -> Iterator[tuple[str, str]]:
    """The files of a format: name and text."""
    if format == "smt2":
        yield from _obligations()
        return
    chosen = default_scope() if scope is None else scope_named(scope)
    if format == "murphi":
        from shmem_model.readers.print_murphi import murphi

        yield f"{chosen.name}.m", murphi(chosen)
        return
    from shmem_model.readers.print_tla import tla, tla_config, tla_model, tla_module_name

    module = tla_module_name(chosen.machine)
    yield f"{module}.tla", tla(chosen.machine)
    yield f"MC_{module}.tla", tla_model(chosen)
    yield f"MC_{module}.cfg", tla_config(chosen)


def _obligations() -> Iterator[tuple[str, str]]:
    from shmem_model.readers.print_smtlib import obligations

    for name, text in obligations(MACHINE):
        yield f"{name.replace('/', '-')}.smt2", text


def folder(output: str) -> Path:
    """Make the folder; what the system refuses is a usage error."""
    place = Path(output)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write into {output}: {error.strerror}") from error
    return place
