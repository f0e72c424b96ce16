"""`shmem conform`: does an implementation behave as the machine?"""

from __future__ import annotations

from pathlib import Path

import click

from shmem_model.conformance import kit
from shmem_model.conformance.adapter import Factory
from shmem_model.conformance.divergences import read
from shmem_model.conformance.loading import FactoryError, factory_named
from shmem_suite.cli.settings import Settings, common
from shmem_suite.errors import UsageError, did_you_mean


@click.command("conform", epilog="Example: shmem conform --adapter my_adapter:make --world hand-over")
@click.option("--adapter", required=True, metavar="MODULE:FACTORY", help="What makes your adapter for a world.")
@click.option("--world", "worlds", multiple=True, metavar="NAME", help="Only this world (default: all).")
@click.option("--examples", type=click.IntRange(1), default=100, metavar="N", help="Runs in each world.")
@click.option("--divergences", metavar="FILE", help="Your list of known differences, TOML or JSON.")
@click.option("--cases", default="shmem-cases", metavar="DIR", help="Where failing cases are saved.")
@click.option("--seed", type=int, metavar="N", help="Draw other calls (default: the same ones each time).")
@click.option("--replay", metavar="FILE", help="Run one saved case again.")
@common
@click.pass_obj
def command(
    settings: Settings, /, adapter: str, worlds: tuple[str, ...], examples: int, divergences: str | None, cases: str,
    seed: int | None, replay: str | None,
) -> int:  # fmt: skip
    """Drive an adapter along the machine and look for an answer that is not allowed.

    Exit codes: 0 it conforms, 1 it does not (or the divergence list is wrong), 2 wrong usage, 3 unknown.
    """
    for name in worlds:
        if name not in kit.WORLDS:
            raise UsageError(did_you_mean(name, kit.WORLDS, "world"))
    try:
        factory = factory_named(adapter)
        known = read(Path(divergences)) if divergences else ()
        if replay is not None:
            return _replay(settings, Path(replay), factory)
    except ValueError as error:
        raise UsageError(str(error)) from None
    verdicts = []
    for name in worlds or kit.WORLDS:
        try:
            found = kit.check_world(factory, name, examples=examples, divergences=known, save=Path(cases), seed=seed)
        except FactoryError as error:
            raise UsageError(str(error)) from error
        settings.say(_line(found, adapter))
        verdicts.append(found)
    settings.write_json([_about(one) for one in verdicts])
    every = {one.verdict for one in verdicts}
    return 1 if kit.FAILS in every else 3 if kit.UNKNOWN in every or every == {kit.NOT_RUN} else 0


def _replay(settings: Settings, file: Path, factory: Factory) -> int:
    case = kit.replay(file, factory)
    settings.say(f"{file}: every answer is allowed now" if case is None else case.story())
    settings.write_json(None if case is None else case.as_json())
    return 0 if case is None else 1


def _line(found: kit.Verdict, adapter: str) -> str:
    text = kit.told(found, adapter)
    return text if found.verdict != kit.HOLDS else f"{text}, {found.calls} calls"


def _about(found: kit.Verdict) -> dict[str, object]:
    return {
        "world": found.world, "verdict": found.verdict, "why": found.why, "calls": found.calls, "known": found.known,
        "case": None if found.case is None else found.case.as_json(),
    }  # fmt: skip
