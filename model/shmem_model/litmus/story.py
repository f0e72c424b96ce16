"""A run as a short story: who did what, in the words of the file, and what the hardware did in between."""

from __future__ import annotations

from collections.abc import Iterator

from shmem_model.language import Element, Term
from shmem_model.machine import vocabulary as m
from shmem_model.readers.packed import PackedAction

from . import statements as st
from .calls import Call
from .flow import Code
from .search import Reached

SINGLE = (st.Read, st.Write, st.AtomicAdd, st.AtomicSwap, st.CompareSwap, st.WaitAny)
"""Statements that are one step, though not called like their action or with a choice of slots."""


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
    """Which step of a composite, or of a sequence over several lines, this is."""
    values, words = call.ways[0].values, call.text.split()
    if call.action == "copy_start":
        names = [reached.compiled.world.word_name(_at(values[b]), _at(values[w])) for b, w in (("b", "w"), ("c", "p"))]
        return f" ({names[0]} to {names[1]})"
    shown = [_show(values[name]) for name in ("b", "s") if name in values]
    if call.action == words[0]:
        several = call.action in ("flush", "invalidate") and not _only_line(reached, values["b"])
        return f" ({shown[0]})" if several or words[1:2] == ["*"] else ""
    if call.action == "nothing" or isinstance(call.statement, SINGLE):
        return ""
    return f" ({' '.join([call.action, *shown])})"


def _show(term: Term) -> str:
    return str(term.fields[0])


def _at(term: Term) -> int:
    assert isinstance(term, Element)
    return term.index


def _only_line(reached: Reached, block: Term) -> bool:
    handle, _ = reached.compiled.world.blocks[_at(block)]
    return len(handle.blocks) == 1


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
    if base == "copy_step":
        return f"({extra.replace(' ', ' copies ', 1)})"
    who = words.get("c") if base == "gb_ack" else words.get("a")
    where = words.get("b") or words.get("f") or extra
    return f"({' '.join(part for part in (who, base, where) if part)})"
