"""A program as canonical text: `parse_text(to_text(p)) == p`.

One form per statement, four spaces, one statement per line. Comments and layout are not kept; they are no
part of the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from . import statements as st
from . import syntax as sx
from .names import SlotId

_BASE, _TIGHT = 0, 1


def to_text(program: sx.Program) -> str:
    """The whole file."""
    lines = [f"litmus {program.name}", *_head(program)]
    for block in program.blocks:
        lines += [f"{block.agent}:", *_body(block.body)]
    for question in program.questions:
        if question.condition is not None:
            lines.append(f"ask {condition(question.condition)}")
        lines.append(f"expect {question.expect}")
    return "\n".join(lines) + "\n"


def _head(program: sx.Program) -> Iterator[str]:
    yield _platform(program.platform)
    if program.pool:
        yield f"pool {_count(program.pool, 'line')}"
    for grant in program.slots:
        yield f"slot {grant.receiver} {grant.slot} from {_list(grant.senders)}"
    if program.mortal:
        yield f"mortal {_list(program.mortal)}"
    for region in program.regions:
        yield f"region {_region(region)}"
    for init in program.inits:
        yield f"init {init.region}[{init.index}] = {init.value}"
    for team in program.teams:
        yield f"team {team.name} {{{_list(team.members)}}}"


def _platform(platform: sx.Platform) -> str:
    names = ("write_back", "invalidate", "slots", "multicast")
    options = [f"{name}={getattr(platform, name)}" for name in names if getattr(platform, name) is not None]
    if platform.cached is not None:
        options.append(f"cached={{{_list(platform.cached)}}}")
    return f"platform {platform.profile}" + (f" with {', '.join(options)}" if options else "")


def _region(region: sx.Region) -> str:
    if region.sharing == "rights":
        rights = " ".join(f"{right.agent} {right.right}" for right in region.rights)
    else:
        rights = _list(right.agent for right in region.rights)
    size = f"{_count(region.lines, 'line')} of {_count(region.words_per_line, 'word')}"
    return f"{region.name}: {size}, {region.sharing} {rights}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _list(names: Iterable[object]) -> str:
    return " ".join(map(str, names))


# ---------------------------------------------------------------- statements


def _body(body: tuple[sx.Statement, ...], depth: int = 1) -> Iterator[str]:
    indent = "    " * depth
    for each in body:
        match each:
            case st.If():
                yield f"{indent}if {condition(each.condition)}:"
                yield from _body(each.then, depth + 1)
                if each.otherwise:
                    yield f"{indent}else:"
                    yield from _body(each.otherwise, depth + 1)
            case st.Repeat():
                yield f"{indent}repeat {each.count}:"
                yield from _body(each.body, depth + 1)
            case st.Until():
                yield f"{indent}until {condition(each.condition)}:"
                yield from _body(each.body, depth + 1)
            case _:
                yield indent + statement(each)


def statement(node: sx.Statement) -> str:
    """A statement that holds no others."""
    form = _FORMS.get(type(node))
    if form is None:
        raise TypeError(f"no text for the statement {type(node).__name__}")
    return form(node)


def _place(node: Any) -> str:
    return f"{node.region}[{expression(node.index)}]"


def _target(target: sx.Target | None) -> str:
    if target is None:
        return "*"
    return str(target.region) + ("" if target.first is None else f"[{target.first}..{target.last}]")


def _slots(slots: tuple[SlotId, ...]) -> str:
    return _list(slots)


def _with_regions(word: str) -> Callable[[Any], str]:
    return lambda n: " ".join((word, n.team, *n.regions))


_FORMS: dict[type[sx.Statement], Callable[[Any], str]] = {
    st.Write: lambda n: f"{_place(n)} = {expression(n.value)}",
    st.Read: lambda n: f"{n.register} = {_place(n)}",
    st.Set: lambda n: f"{n.register} = {expression(n.value)}",
    st.Flush: lambda n: f"flush {_target(n.target)}" + (" drop" if n.drop else ""),
    st.Invalidate: lambda n: f"invalidate {_target(n.target)}",
    st.Fence: lambda n: "fence",
    st.Send: lambda n: f"send {n.receiver} {n.slot}",
    st.SendBatch: lambda n: f"send_batch {n.receiver} {_slots(n.slots)}",
    st.Broadcast: lambda n: f"broadcast {{{_list(n.receivers)}}} {n.slot}",
    st.Wait: lambda n: f"wait {n.slot}",
    st.WaitAny: lambda n: f"wait_any {n.register} {_slots(n.slots)}",
    st.Poll: lambda n: f"poll {n.register} {n.slot}",
    st.Clear: lambda n: f"clear {n.slot}",
    st.GlobalBarrier: lambda n: f"global_barrier {n.region} {{{_list(n.agents)}}}",
    st.Arrive: _with_regions("arrive"),
    st.Leave: lambda n: f"leave {n.team}",
    st.Barrier: _with_regions("barrier"),
    st.AtomicAdd: lambda n: f"{n.register} = atomic_add {_place(n)} {expression(n.value, _TIGHT)}",
    st.AtomicSwap: lambda n: f"{n.register} = atomic_swap {_place(n)} {expression(n.value, _TIGHT)}",
    st.CompareSwap: lambda n: (
        f"{n.register} = compare_swap {_place(n)} {expression(n.old, _TIGHT)} {expression(n.new, _TIGHT)}"
    ),
    st.MapRegion: lambda n: f"map {n.region}",
    st.Unmap: lambda n: f"unmap {n.region}" + (f" {n.agent}" if n.agent is not None else ""),
    st.Shootdown: lambda n: f"shootdown {n.region} {n.agent}",
    st.Alloc: lambda n: f"alloc {_region(n.region)}",
    st.Free: lambda n: f"free {n.region}",
    st.Compact: lambda n: "compact",
    st.Die: lambda n: "die",
    st.Copy: lambda n: f"copy {n.name} {_target(n.source)} {_target(n.destination)}",
    st.CopyWait: lambda n: f"copy_wait {n.name}",
    st.Assert: lambda n: f"assert {condition(n.condition)}",
}


# ---------------------------------------------------------------- expressions


def expression(node: sx.Expr, level: int = _BASE) -> str:
    """A number; in parentheses where a single operand is needed."""
    match node:
        case sx.Const():
            return str(node.value)
        case sx.Register():
            return str(node.name)
        case sx.FinalRegister():
            return f"{node.agent}.{node.name}"
        case sx.FinalWord():
            return f"{node.region}[{node.index}]"
    text = f"{expression(node.left)} {node.op} {expression(node.right, _TIGHT)}"
    return f"({text})" if level == _TIGHT else text


def condition(node: sx.Condition) -> str:
    """A condition; `and` binds tighter than `or`, `not` tighter than both."""
    match node:
        case sx.Compare():
            return f"{expression(node.left)} {node.op} {expression(node.right)}"
        case sx.Not():
            inner = condition(node.part)
            return f"not ({inner})" if isinstance(node.part, sx.And | sx.Or) else f"not {inner}"
        case sx.And():
            return " and ".join(f"({condition(p)})" if isinstance(p, sx.Or) else condition(p) for p in node.parts)
    return " or ".join(map(condition, node.parts))
