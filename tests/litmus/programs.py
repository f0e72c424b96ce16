"""Random programs for the round trip: valid by construction, with every statement and every option."""

from __future__ import annotations

from hypothesis import strategies as some

from shmem_model.litmus import statements as st
from shmem_model.litmus import syntax as sx
from shmem_model.litmus.names import (
    AgentName,
    CopyName,
    Name,
    RegionName,
    RegisterName,
    SlotName,
    TeamName,
    Whole,
)

AGENTS = [AgentName(name) for name in ("host", "dev0", "npu_1")]
REGIONS = [RegionName(name) for name in ("x", "buf", "line")]
REGISTERS = [RegisterName(name) for name in ("r0", "r1", "old", "of")]
TEAM = TeamName("g")
COPY = CopyName("c")
WORDS = 4

agents = some.sampled_from(AGENTS)
regions = some.sampled_from(REGIONS)
registers = some.sampled_from(REGISTERS)
several_agents = some.lists(agents, min_size=1, unique=True).map(tuple)
numbers = some.integers(0, 65535)
numbered = some.integers(0, 9).map(Whole)
named = some.sampled_from([SlotName("ready"), SlotName("drop"), SlotName("done")])
slots = numbered | named
several_slots = some.lists(numbered, min_size=1, unique=True) | some.lists(named, min_size=1, unique=True)
indexes = some.builds(sx.Const, some.integers(0, WORDS - 1)) | some.builds(sx.Register, registers)
leaves = some.builds(sx.Const, numbers) | some.builds(sx.Register, registers)
values = some.recursive(
    leaves, lambda inner: some.builds(sx.Arith, some.sampled_from("+-"), inner, inner), max_leaves=5
)
OPERATORS = some.sampled_from(["==", "!=", "<", "<=", ">", ">="])


def conditions(operands: some.SearchStrategy[sx.Expr]) -> some.SearchStrategy[sx.Condition]:
    """Conditions over these operands; `and` in `and` cannot be written, so it is not made."""
    compare = some.builds(sx.Compare, OPERATORS, operands, operands)

    def larger(inner: some.SearchStrategy[sx.Condition]) -> some.SearchStrategy[sx.Condition]:
        def several(kind: type[sx.And] | type[sx.Or]) -> some.SearchStrategy[sx.Condition]:
            parts = inner.filter(lambda part: not isinstance(part, kind))
            return some.builds(kind, some.lists(parts, min_size=2, max_size=3).map(tuple))

        return several(sx.And) | several(sx.Or) | some.builds(sx.Not, inner)

    return some.recursive(compare, larger, max_leaves=6)


@some.composite
def ranges(draw: some.DrawFn) -> sx.Target:
    """A target with its range."""
    first = draw(some.integers(0, WORDS - 1))
    return sx.Target(draw(regions), Whole(first), Whole(draw(some.integers(first, WORDS - 1))))


targets = some.builds(sx.Target, regions) | ranges()
anything = some.none() | targets
several_regions = some.lists(regions, unique=True).map(tuple)

SIMPLE = some.one_of(
    some.builds(st.Write, regions, indexes, values),
    some.builds(st.Read, registers, regions, indexes),
    some.builds(st.Set, registers, values),
    some.builds(st.Flush, anything, some.booleans()),
    some.builds(st.Invalidate, anything),
    some.builds(st.Fence),
    some.builds(st.Send, agents, slots),
    some.builds(st.SendBatch, agents, several_slots.map(tuple)),
    some.builds(st.Broadcast, several_agents, slots),
    some.builds(st.Wait, slots),
    some.builds(st.WaitAny, registers, several_slots.map(tuple)),
    some.builds(st.Poll, registers, slots),
    some.builds(st.Clear, slots),
    some.builds(st.GlobalBarrier, regions, several_agents),
    some.builds(st.Arrive, some.just(TEAM), several_regions),
    some.builds(st.Leave, some.just(TEAM)),
    some.builds(st.Barrier, some.just(TEAM), several_regions),
    some.builds(st.AtomicAdd, registers, regions, indexes, values),
    some.builds(st.AtomicSwap, registers, regions, indexes, values),
    some.builds(st.CompareSwap, registers, regions, indexes, values, values),
    some.builds(st.MapRegion, regions),
    some.builds(st.Unmap, regions, some.none() | agents),
    some.builds(st.Shootdown, regions, agents),
    some.builds(st.Free, regions),
    some.builds(st.Compact),
    some.builds(st.Die),
    some.builds(st.Copy, some.just(COPY), some.builds(sx.Target, regions), some.builds(sx.Target, regions)),
    some.builds(st.Assert, conditions(values)),
)


def _holding(inner: some.SearchStrategy[sx.Statement]) -> some.SearchStrategy[sx.Statement]:
    bodies = some.lists(inner, min_size=1, max_size=3).map(tuple)
    return some.one_of(
        some.builds(st.If, conditions(values), bodies, bodies | some.just(())),
        some.builds(st.Repeat, some.integers(1, 3).map(Whole), bodies),
        some.builds(st.Until, conditions(values), bodies),
    )


STATEMENTS = some.recursive(SIMPLE, _holding, max_leaves=6)
PLATFORMS = some.builds(
    sx.Platform,
    some.sampled_from(["weakest", "pcie", "soc", "coherent"]),
    some.sampled_from([None, "line", "masked"]),
    some.sampled_from([None, "discard", "write_back", "either"]),
    some.sampled_from([None, "sticky", "counting"]),
    some.none() | some.lists(agents, unique=True).map(tuple),
    some.sampled_from([None, "yes", "no"]),
)


@some.composite
def shapes(draw: some.DrawFn, name: RegionName) -> sx.Region:
    """A region of four words with any kind of rights."""
    sharing = draw(some.sampled_from(["broadcast", "exclusive", "rights"]))
    named = draw(several_agents)[: 1 if sharing == "exclusive" else None]
    right = some.sampled_from(["r", "rw"]) if sharing == "rights" else some.just("rw")
    lines = draw(some.sampled_from([1, 2, 4]))
    rights = tuple(sx.Right(agent, draw(right)) for agent in named)
    return sx.Region(name, Whole(lines), Whole(WORDS // lines), sharing, rights)


def _final_values(set_by: dict[AgentName, list[RegisterName]]) -> some.SearchStrategy[sx.Expr]:
    words = some.builds(sx.FinalWord, regions, some.integers(0, WORDS - 1))
    known = [sx.FinalRegister(agent, register) for agent, names in set_by.items() for register in names]
    return some.builds(sx.Const, numbers) | words | (some.sampled_from(known) if known else words)


@some.composite
def programs(draw: some.DrawFn) -> sx.Program:
    """A whole file."""
    bodies = [draw(some.lists(STATEMENTS, min_size=1, max_size=5)) for _ in AGENTS]
    bodies[0] += [st.Copy(COPY, sx.Target(REGIONS[0]), sx.Target(REGIONS[1])), st.CopyWait(COPY)]
    bodies[1].append(st.Alloc(draw(shapes(RegionName("fresh")))))
    blocks = tuple(sx.Block(agent, tuple(body)) for agent, body in zip(AGENTS, bodies, strict=True))
    set_by = {
        block.agent: sorted({s.register for s in st.walk(block.body) if hasattr(s, "register")}) for block in blocks
    }
    asked = draw(some.lists(conditions(_final_values(set_by)), max_size=3))
    questions = [
        sx.Question("outcome", draw(some.sampled_from(["allowed", "forbidden"])), asked_for) for asked_for in asked
    ]
    questions.append(sx.Question("race", draw(some.sampled_from(["race", "race-free"]))))
    keys = draw(some.lists(some.tuples(agents, slots), unique=True, max_size=3))
    inits = draw(some.lists(some.tuples(regions, some.integers(0, WORDS - 1)), unique=True, max_size=3))
    return sx.Program(
        Name(draw(some.from_regex(r"[A-Za-z0-9_.+-]{1,20}", fullmatch=True))),
        draw(PLATFORMS),
        Whole(draw(some.integers(0, 4))),
        tuple(sx.SlotGrant(receiver, slot, draw(several_agents)) for receiver, slot in keys),
        draw(some.lists(agents, unique=True).map(tuple)),
        tuple(draw(shapes(name)) for name in REGIONS),
        tuple(sx.Init(region, Whole(index), Whole(draw(numbers))) for region, index in inits),
        (sx.Team(TEAM, draw(several_agents)),),
        blocks,
        tuple(questions),
    )
