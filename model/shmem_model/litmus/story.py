"""A run as a short story: who did what, in the words of the file, and what the hardware did in between."""

from __future__ import annotations

from collections.abc import Iterator

from shmem_model.machine import vocabulary as m
from shmem_model.readers.packed import PackedAction

from .calls import Call
from .flow import Code
from .search import Reached


def story(reached: Reached, state: int) -> list[str]:
    """The shortest run to a state, one line per step."""
    return [_line(reached, before, action, after) for before, action, after in reached.path(state)]


def _line(reached: Reached, before: int, action: PackedAction, after: int) -> str:
    found = reached.compiled.owner.get(action.source.action.name)
    if found is None:
        return _hardware(reached, action)
    code, place = found
    call = code.calls[place]
    name = action.source.action.name
    text = f"{code.agent}:{call.statement.pos.line}: {call.text}{_part(reached, call)}"
    if "!" in name:
        return f"{text}  -> {name.split('!')[1].split('.')[0]}, {code.agent} ends"
    changes = ", ".join(_registers(reached, code, before, after))
    return f"{text}  [{changes}]" if changes else text


def _part(reached: Reached, call: Call) -> str:
    """Which step of a composite this is."""
    word = call.text.split()[0]
    values = call.ways[0].values
    if call.action == word or len(call.text.split(" = ")) > 1 or call.action == "nothing":
        shown = [values[n] for n in ("b",) if n in values and call.action in ("flush", "invalidate")]
        return f" ({shown[0].fields[0]})" if shown else ""
    shown = [values[n] for n in ("b", "s") if n in values]
    return f" ({call.action}{''.join(f' {x.fields[0]}' for x in shown)})"


def _registers(reached: Reached, code: Code, before: int, after: int) -> Iterator[str]:
    ground = reached.packed.ground
    for name, function in code.registers.items():
        if function in ground.partial.cells:
            old, new = (ground.value(state, function, ()) for state in (before, after))
            if old != new:
                yield f"{name} = {ground.scope.label(m.Value, new)}"


def _hardware(reached: Reached, action: PackedAction) -> str:
    one = action.source
    words = reached.packed.ground.label(one)
    base = one.action.base
    extra = one.action.name.split("@")[1] if "@" in one.action.name else ""
    who = words.get("a") or words.get("e") or ""
    where = words.get("b") or words.get("f") or ""
    parts = [part for part in (who, base, where if where else extra) if part]
    return f"({' '.join(parts)})"
