"""The lines of a trace: read, and found well-formed or not.

The form is in docs/reference/traces.md and in `trace.schema.json`.  What is checked here needs one line only; what
needs the others (counts, epochs, handles) is checked where the streams come together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from shmem_model.conformance.adapter import FAULTS, REFUSALS

Event = dict[str, Any]
VERSION = 1
BIG = 1 << 62
"""Numbers in a trace are smaller, but for what atomics find and leave."""
_PLACE = {"region": list, "range": list}
_ATOMIC = {**_PLACE, "operand": int, "value": int}
ACTIONS: Mapping[str, Mapping[str, type]] = {
    "alloc": _PLACE, "free": {"region": list}, "map": {"region": list}, "unmap": {"region": list},
    "read": {**_PLACE, "value": str}, "write": {**_PLACE, "value": str}, "flush": _PLACE, "invalidate": _PLACE,
    "fence": {}, "send": {"to": str, "slot": int, "count": int}, "wait": {"slot": int, "upto": dict},
    "poll": {"slot": int, "got": bool}, "arrive": {"team": str, "epoch": int, "members": list},
    "leave": {"team": str, "epoch": int}, "gb_begin": {"region": list}, "gb_end": {}, "atomic_add": _ATOMIC,
    "atomic_swap": _ATOMIC, "compare_swap": {**_ATOMIC, "old": int},
    "copy_start": {**_PLACE, "target": list, "target_range": list}, "copy_wait": {}, "compact": {}, "die": {},
}  # fmt: skip
"""The actions that a trace may hold, and what each event must carry besides `agent`, `n` and `action`."""
ERRORS = (*REFUSALS, *FAULTS, "TimedOut", "DriverLost", "Deadlock", "ShmemError", "DeviceError")


class Malformed(Exception):
    """A trace that says what cannot be; the text says what is wrong and what to do."""


def _mistake(text: str, position: int) -> str:
    if not text.strip():
        return "an empty line; leave it out"
    return f"no JSON at column {position + 1}; each line must be one JSON object"


def parse(text: str) -> Event:
    """One line as an object.  Raises `Malformed`."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise Malformed(_mistake(text, error.pos)) from None
    except (RecursionError, ValueError) as error:
        raise Malformed(f"no JSON that can be read: {error}") from None
    if not isinstance(found, dict):
        raise Malformed("no JSON object; each line must be one")
    return found


def head(text: str) -> Event:
    """The first line.  Raises `Malformed`."""
    found = parse(text)
    if found.get("shmem_trace") != VERSION:
        raise Malformed(f'the first line must say {{"shmem_trace": {VERSION}, ...}}, and names the version that it has')
    agents: Any = found.get("agents")
    complete: Any = found.get("complete")
    platform: Any = found.get("platform")
    if not _names(agents) or not agents:
        raise Malformed("`agents` must be the list of all agents' names, each once")
    if not _names(complete) or not set(complete) <= set(agents):
        raise Malformed("`complete` must list those of the agents whose events are all here")
    if not isinstance(platform, dict):
        raise Malformed("`platform` must be an object with write_back, invalidate and cached")
    for key, known in (("write_back", ("line", "masked")), ("invalidate", ("discard", "write_back", "either"))):
        if platform.get(key) not in known:
            raise Malformed(f"`platform.{key}` must be one of {', '.join(known)}")
    if platform.get("slots", "sticky") not in ("sticky", "counting"):
        raise Malformed("`platform.slots` may be left out, or must be sticky or counting")
    if not _names(platform.get("cached")) or not set(platform["cached"]) <= set(agents):
        raise Malformed("`platform.cached` must list those of the agents that have a cache")
    return found


def _names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(n, str) for n in value) and len(set(value)) == len(value)


def event(text: str, agents: Mapping[str, int]) -> Event:
    """Any further line.  Raises `Malformed`."""
    found = parse(text)
    name = found.get("agent")
    if not isinstance(name, str) or name not in agents:
        raise Malformed(f"agent {name!r} is none of those that the first line names")
    if type(found.get("n")) is not int or not 0 <= found["n"] < BIG:
        raise Malformed("`n` must be the number of the event of its agent, from 0")
    action: Any = found.get("action")
    if not isinstance(action, str) or action not in ACTIONS:
        raise Malformed(f"action {action!r} is unknown")
    if not isinstance(found.get("where") or "", str):
        raise Malformed("`where` must be a text, the place in the program")
    if "error" in found:
        if found["error"] not in ERRORS:
            raise Malformed(f"error {found['error']!r} is none that a call can end with")
        return found
    for key, kind in ACTIONS[action].items():
        if type(found.get(key)) is not kind:
            raise Malformed(f"{action} needs `{key}`, {_WORDS[kind]}")
    for key in ("region", "range", "target", "target_range"):
        if key in found and not _pair(found[key]):
            raise Malformed(f"`{key}` must be two numbers, both at least 0 and less than 2^62")
    return found


_WORDS = {list: "a list", int: "a whole number", str: "a text", bool: "true or false", dict: "an object"}


def _pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(n) is int and 0 <= n < BIG for n in value)


def described(found: Event) -> str:
    """An event in few words, with its place in the program where it is told."""
    words = [found["agent"], found["action"]]
    if "region" in found:
        words.append(f"{found['region'][0]}.{found['region'][1]}")
    if "range" in found:
        words.append(f"[{found['range'][0]}:{found['range'][0] + found['range'][1]}]")
    return f"{' '.join(words)} at {place(found)}"


def place(found: Event) -> str:
    """Where an event comes from: the source line, else its number."""
    return found.get("where") or f"event {found['n']} of {found['agent']}"
