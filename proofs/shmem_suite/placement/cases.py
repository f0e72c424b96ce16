"""Which laws are asked on which free lists, and what to do with the answers.

A call changes one hole (`take`) or melts two with what lies between (`give`), so lists of up to three holes have every
neighbourhood there is.  Lists of any length are the business of `whole`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from shmem.driver import allocator, regions
from shmem_suite.checks import Outcome
from shmem_suite.placement import laws
from shmem_suite.placement.numbers import Broken, Undecided
from shmem_suite.placement.rounding import FACTS, proved
from shmem_suite.placement.runs import CRASHES, explore
from shmem_suite.placement.twins import TWINS, wrong
from shmem_suite.placement.whole import wander

Law = Callable[[Any, Any], None]
ALIGNMENTS = (64, 128, 1, 32, 4096)
"""Alignments with which a counterexample is looked for anew where the first one was of no power of two."""

WIDE = 128
"""The alignment with which witnesses are looked for: masks are exact then."""


def _take(count: int, window: bool, rest: bool = True) -> Law:
    return partial(laws.take_answers_a_place, count=count, window=window, rest=rest)


def _give(count: int, gap: int) -> Law:
    return partial(laws.give_coalesces, count=count, gap=gap)


def _take_at(count: int) -> Law:
    return partial(laws.take_at_takes_exactly_that, count=count)


SMALL: Mapping[str, Law] = {
    "align_up": laws.align_up_finds_the_next_multiple,
    "take-from-none": _take(0, window=True),
    "take-from-1": _take(1, window=False),
    "take-from-1-window": _take(1, window=True),
    "choose-of-2": _take(2, window=False, rest=False),
    "extent": partial(laws.extents_lie_apart, window=False),
    "extent-in-a-window": partial(laws.extents_lie_apart, window=True),
    "take_at-of-1": _take_at(1),
    "take_at-of-2": _take_at(2),
    "give-to-none": _give(0, 0),
    "give-to-1-before-it": _give(1, 0),
    "give-to-1-after-it": _give(1, 1),
    "give-to-2-before-them": _give(2, 0),
    "give-to-2-between-them": _give(2, 1),
    "give-to-2-after-them": _give(2, 2),
}
"""Asked every time; a second or two."""
LARGER: Mapping[str, Law] = {
    "take-from-2": _take(2, window=False),
    "give-to-3-in-the-second-gap": _give(3, 1),
    "give-to-3-in-the-third-gap": _give(3, 2),
    "take_at-of-3": _take_at(3),
    "take-from-2-window": _take(2, window=True),
}
"""Asked by the full suite; two minutes."""
CASES = {**SMALL, **LARGER}
SEEN = {
    "an-address-is-rounded-up": ("an address was rounded up", "align_up"),
    "nothing-fits": ("nothing fitted", "take-from-1-window"),
    "a-hole-is-split-in-two": ("a hole was split in two", "take-from-1-window"),
    "three-pieces-become-one": ("three pieces became one", "give-to-2-between-them"),
    "an-extent-leaves-room": ("an extent left room before it", "extent-in-a-window"),
    "chosen-bytes-are-taken": ("chosen bytes were taken", "take_at-of-1"),
}
"""Witnesses: what some input must do, and the case in which it does."""


def ask(case: str) -> Outcome:
    """Run the allocator's code on every input of a case."""
    try:
        found = explore(partial(_asked, case))
    except Undecided as reason:
        return Outcome("unknown", f"{case}: {reason}")
    except Broken as broken:
        if not _replays(case, _about(case), broken):
            return Outcome("unknown", f"{case}: {broken}, of which plain numbers know nothing: {broken.values}")
        return Outcome("fails", f"{case}: {_told(broken)}")
    if not found.paths:
        return Outcome("unknown", f"{case}: no input at all")
    return Outcome("holds", counts={"obligations": found.paths, "questions": found.questions})


def _asked(case: str, world: Any, module: Any = None) -> None:
    CASES[case](world, _about(case) if module is None else module)


def _about(case: str) -> Any:
    """The module that the case is about."""
    return regions if case.startswith("extent") else allocator


def _told(broken: Broken) -> str:
    return f"{broken} with " + ", ".join(f"{name}={value:#x}" for name, value in broken.values.items())


def _replays(case: str, module: Any, broken: Broken) -> bool:
    """The input breaks a law on plain numbers, too (a value that leaves its word does so on terms only)."""
    align = broken.values.get("align", 1)
    if align & (align - 1):
        return False
    if broken.on_terms_only:
        return True
    try:
        _asked(case, laws.Given(broken.values), module)
    except (Broken, *CRASHES):
        return True
    return False


def ask_rounding() -> Outcome:
    """The facts about masks that terms rest on."""
    for name, fact in FACTS.items():
        answer = proved(fact)
        if answer != "holds":
            return Outcome("fails" if answer == "fails" else "unknown", f"of a rounded number: {name}: {answer}")
    return Outcome("holds", counts={"obligations": len(FACTS)})


def see(witness: str) -> Outcome:
    """Some input does what the witness says."""
    note, case = SEEN[witness]
    found = explore(partial(_asked, case), alignment=WIDE, until=note)
    return Outcome("holds" if found.notes[note] else "fails", f"{case}: after {found.paths} paths")


def break_twin(name: str) -> Outcome:
    """The law that the twin must break, with an input that is run again on plain numbers."""
    case, module = TWINS[name].case, wrong(name)
    for alignment in (None, *ALIGNMENTS):
        try:
            explore(partial(_asked, case, module=module), alignment=alignment)
        except Broken as broken:
            if _replays(case, module, broken):
                return Outcome("fails", f"{case}: {_told(broken)}")
        except Undecided as reason:
            return Outcome("unknown", f"{case}: {reason}")
    return Outcome("holds", f"{case} holds")


def ask_whole(seed: int, steps: int) -> Outcome:
    """Random calls on long free lists against an account of our own."""
    try:
        calls = wander(seed, steps)
    except AssertionError as error:
        return Outcome("fails", f"seed {seed}: {error}")
    return Outcome("holds", counts={"calls": calls})
