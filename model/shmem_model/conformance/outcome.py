"""One call of an adapter, and in one word what came of it; and which property a wrong answer breaks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from shmem_model.conformance.adapter import FAULTS, REFUSALS, RESULTS, WAITS

ANYWHERE = "frames unknown"
"""The outcome of an `alloc` whose adapter does not tell the frames (it returned None)."""


def outcome_of(adapter: Any, action: str, arguments: Mapping[str, Any]) -> str:
    """Make the call: `done`, `value N`, `frames N ...`, `WouldBlock`, the name of a refusal or fault, or `error: ...`.

    An exception that is none of these, and a result of the wrong kind, are errors: no machine allows them.
    """
    try:
        result = getattr(adapter, action)(**arguments)
    except Exception as error:
        name = type(error).__name__
        return name if name in (*REFUSALS, *FAULTS, WAITS) else f"error: {name}: {' '.join(str(error).split())}"
    if action == "alloc":
        return ANYWHERE if result is None else _frames(result)
    if action not in RESULTS:
        return "done"
    try:
        return f"value {int(result)}"
    except (TypeError, ValueError):
        return f"error: {action} returned {result!r}, which is no {'bool' if action == 'poll' else 'number'}"


def _frames(result: Any) -> str:
    try:
        return " ".join(["frames", *(str(int(frame)) for frame in result)])
    except (TypeError, ValueError):
        return f"error: alloc returned {result!r}, which is no list of frames"


def matching(outcome: str, allowed: Iterable[str]) -> list[str]:
    """The allowed outcomes that this one may stand for: itself, or all frames where they are unknown."""
    if outcome == ANYWHERE:
        return [other for other in allowed if other.startswith("frames ")]
    return [other for other in allowed if other == outcome]


def describe(action: str, arguments: Mapping[str, Any]) -> str:
    """A call as it is shown to people."""
    return f"{action}({', '.join(f'{key}={value}' for key, value in arguments.items())})"


def broken(action: str, outcome: str, allowed: Iterable[str]) -> str:
    """The property that an outcome breaks which is none of the allowed ones, as a sentence."""
    allowed = list(allowed)
    expected = [name for name in allowed if name in (*REFUSALS, *FAULTS)]
    if outcome.startswith("error: "):
        return f"interface: {action} ends with its result, a refusal, a fault or WouldBlock ({outcome[7:]})"
    if action == "read" and outcome.startswith("value "):
        values = [other for other in allowed if other.startswith("value ")]
        if values:
            return "visibility (T1): a read returned a value that no cache, buffer or memory can hold now"
    if outcome == WAITS:
        return f"progress: {action} waits although nothing is missing that others must do"
    if WAITS in allowed and action in ("wait", "leave", "gb_end", "copy_wait"):
        return f"no early wake-up: {action} returned before what it waits for has happened"
    if expected and len(expected) == len(allowed) and outcome not in (*REFUSALS, *FAULTS):
        return f"isolation: {action} must be refused ({' or '.join(expected)}) and was not"
    if outcome in (*REFUSALS, *FAULTS):
        why = f"the first condition that fails is {' or '.join(expected)}" if expected else "nothing is wrong with it"
        return f"refusals: {action} was refused as {outcome}, and {why}"
    if action == "poll":
        return "notifications: each is taken once, none is lost and none is invented"
    if action == "alloc":
        return "placement: alloc gives free, scrubbed frames inside of the region's window, each to one line"
    if action in ("atomic_add", "atomic_swap", "compare_swap"):
        return f"atomicity: {action} returns what memory held before, its own earlier stores included"
    return f"results: {action} answered what the machine never answers"
