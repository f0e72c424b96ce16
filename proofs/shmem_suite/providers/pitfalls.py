"""Pitfalls of emulated memory: the wrong protocol is caught and replays from its seed, the right one never fails.

Entries: `pitfalls/wrong/*`, the first seed of `options.seeds` under which the wrong protocol reads what was not
written, run twice; `pitfalls/right/*` and `pitfalls/right-long/*`, every seed below `options.seeds`, in `options.parts`
tasks.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import shmem
from shmem_suite.checks import Check, Outcome, Task
from shmem_suite.errors import ManifestError
from shmem_suite.manifest import Entry
from shmem_suite.pitfalls import PITFALLS, holds

FAMILIES = ("wrong", "right", "right-long")


def checks(entries: Sequence[Entry], pins: Mapping[str, Mapping[str, Any]]) -> Iterator[Check]:
    """The checks that the entries stand for."""
    for entry in entries:
        family = entry.id.split("/")[1]
        if family not in FAMILIES:
            raise ManifestError(f"pitfalls.json: {entry.id} is none of {', '.join(FAMILIES)}")
        yield from (_check(entry, family, name) for name in PITFALLS)


def universe() -> dict[str, frozenset[str]]:
    """Every pitfall has all of them."""
    return {f"{family} protocol": frozenset(PITFALLS) for family in FAMILIES}


def _check(entry: Entry, family: str, name: str) -> Check:
    id, seeds = entry.check_id(name), entry.options["seeds"]
    about = (PITFALLS[name].run.__doc__ or name).strip()
    words = {"wrong": f"Some seed catches this, and again: {about}"}
    return Check(
        id=id,
        kind=entry.kind,
        subject=entry.subject,
        statement=words.get(family, f"Done right it fails under none of {seeds:,} seeds: {about}"),
        expected=entry.expected,
        tasks=_tasks(entry, family, id, name, seeds),
        tier=entry.tier,
        scope=entry.scope or f"{PITFALLS[name].platform}, {seeds:,} seeds",
        engine=entry.engine,
        covers=frozenset({f"{family} protocol:{name}"}),
    )


def _tasks(entry: Entry, family: str, id: str, name: str, seeds: int) -> tuple[Task, ...]:
    if family == "wrong":
        return (Task(id, hunt, (name, seeds), entry.weight),)
    parts = entry.options.get("parts", 1)
    bounds = [seeds * part // parts for part in range(parts + 1)]
    return tuple(
        Task(f"{id}/{first}", try_seeds, (name, first, last), entry.weight / parts) for first, last in pairwise(bounds)
    )


def hunt(name: str, seeds: int) -> Outcome:
    """Look for a seed under which the wrong protocol fails, and run it once more."""
    with _quietly():
        seed = next((n for n in range(seeds) if not holds(name, n, right=False)), None)
        if seed is None:
            return Outcome("holds", f"{seeds} seeds did not catch it")
        if holds(name, seed, right=False):
            return Outcome("unknown", f"seed {seed} failed once, and not again")
    return Outcome("fails", f"seed {seed}, twice", counts={"first failing seed": seed})


def try_seeds(name: str, first: int, last: int) -> Outcome:
    """Run the right protocol under each of these seeds."""
    with _quietly():
        bad = next((n for n in range(first, last) if not holds(name, n, right=True)), None)
    if bad is not None:
        return Outcome("fails", f"seed {bad} makes the right protocol fail", facts={"seed": bad})
    return Outcome("holds", counts={"runs": last - first})


@contextmanager
def _quietly() -> Iterator[None]:
    """Without warnings, and on one core: strands take turns, and a core of their own each would only cost
    wake-ups."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else set()
    if allowed:
        os.sched_setaffinity(0, {sorted(allowed)[os.getpid() % len(allowed)]})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", shmem.PartialLineWarning)
            yield
    finally:
        if allowed:
            os.sched_setaffinity(0, allowed)
