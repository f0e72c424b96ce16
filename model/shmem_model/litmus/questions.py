"""Terms and cells for the questions of a program: what must be observed, what a final state says."""

from __future__ import annotations

from collections.abc import Iterator

from shmem_model.language import FALSE, Function, Parameter, Term, conj, disj, forall
from shmem_model.language import terms as t
from shmem_model.machine import vocabulary as m

from . import statements as st
from . import syntax as sx
from .compiled import Compiled
from .search import Reached
from .values import truth_of

Cell = tuple[str, str | int]
"""A register (agent, name) or a word (region, index)."""


def cells_of(node: sx.Expr | sx.Condition) -> Iterator[sx.FinalRegister | sx.FinalWord]:
    """The registers and words that a condition asks about."""
    match node:
        case sx.FinalRegister() | sx.FinalWord():
            yield node
        case sx.Compare() | sx.Arith():
            yield from cells_of(node.left)
            yield from cells_of(node.right)
        case sx.Not():
            yield from cells_of(node.part)
        case sx.And() | sx.Or():
            for part in node.parts:
                yield from cells_of(part)


def asked(program: sx.Program, everything: bool = False) -> list[sx.FinalRegister | sx.FinalWord]:
    """What the outcome questions of a program mention, each once; with `everything` all registers as well."""
    found: dict[str, sx.FinalRegister | sx.FinalWord] = {}
    for question in program.questions:
        if question.condition is not None:
            for cell in cells_of(question.condition):
                found.setdefault(name_of(cell), cell)
    for block in program.blocks if everything else ():
        for statement in st.walk(block.body):
            register = getattr(statement, "register", None)
            if register is not None:
                cell = sx.FinalRegister(block.agent, register)
                found.setdefault(name_of(cell), cell)
    return list(found.values())


def name_of(cell: sx.FinalRegister | sx.FinalWord) -> str:
    """The cell as it is written in questions."""
    return f"{cell.agent}.{cell.name}" if isinstance(cell, sx.FinalRegister) else f"{cell.region}[{cell.index}]"


def kept_registers(cells: list[sx.FinalRegister | sx.FinalWord]) -> dict[str, set[str]]:
    """The registers that are asked about, by agent."""
    kept: dict[str, set[str]] = {}
    for cell in cells:
        if isinstance(cell, sx.FinalRegister):
            kept.setdefault(str(cell.agent), set()).add(str(cell.name))
    return kept


def register_function(compiled: Compiled, cell: sx.FinalRegister) -> Function | None:
    """The register's function; None if the agent never mentions it (then it is 0)."""
    code = next((c for c in compiled.codes if c.agent == cell.agent), None)
    return None if code is None else code.registers.get(str(cell.name))


def settled() -> Term:
    """Every posted word has drained, every dirty line has been written back, every copy has landed."""
    quiet = lambda a, f, w: ~m.posted(a, f, w) & ~m.dirty(a, f, w)  # noqa: E731
    landed = forall(m.Agent, m.Block, m.Word, lambda e, b, w: ~m.landing(e, b, w))
    return forall(m.Agent, m.Frame, m.Word, quiet) & landed


def observed(compiled: Compiled, cells: list[sx.FinalRegister | sx.FinalWord]) -> list[Term]:
    """What an outcome search must keep."""
    terms = [code.counter().same(code.place(0)) for code in compiled.codes]
    terms += [compiled.all_ended(), compiled.out_of_tokens()]
    for cell in cells:
        if isinstance(cell, sx.FinalRegister):
            function = register_function(compiled, cell)
            if function is not None:
                terms.append(function().same(compiled.world.values.element(0)))
    if any(isinstance(cell, sx.FinalWord) for cell in cells):
        terms.append(settled())
        terms.append(forall(m.Frame, m.Word, lambda f, w: m.memory(f, w).same(compiled.world.values.element(0))))
        terms.append(forall(m.Block, m.Frame, lambda b, f: m.at(b, f)))
    return terms


def final(compiled: Compiled, cells: list[sx.FinalRegister | sx.FinalWord]) -> Term:
    """The states in which an outcome is read off.

    If only registers are asked about, that is as soon as everybody has ended: what drains later changes none of them.
    """
    words = any(isinstance(cell, sx.FinalWord) for cell in cells)
    return conj(compiled.all_ended(), settled()) if words else compiled.all_ended()


def overflow(reached: Reached) -> Term:
    """Some number has left the range that was provided for."""
    other = reached.compiled.world.values.other
    if other is None:
        return FALSE
    element = reached.compiled.world.element(m.Value, other)
    parts = []
    for function in reached.packed.ground.partial.cells:
        if function.layer != "platform" and function.result is m.Value:
            variables = tuple(Parameter(f"v{i}", sort) for i, sort in enumerate(function.arguments))
            parts.append(t.close(t.Exists, variables, function(*variables).same(element)))
    return disj(*parts)


def value_in(reached: Reached, state: int, cell: sx.FinalRegister | sx.FinalWord) -> int | None:
    """The number that a cell holds in a state; None for a number out of range."""
    compiled, ground = reached.compiled, reached.packed.ground
    numbers = (*compiled.world.values.numbers, None)
    if isinstance(cell, sx.FinalRegister):
        function = register_function(compiled, cell)
        return 0 if function is None else numbers[ground.value(state, function, ())]
    world = compiled.world
    block, word = world.place(world.handle(cell.region, len(world.handles)), int(cell.index))
    frames = range(len(world.names[m.Frame]))
    home = [f for f in frames if ground.value(state, m.at, (block, f))]
    return numbers[ground.value(state, m.memory, (home[0], word))] if home else 0


Outcome = dict[str, int]


def outcomes(reached: Reached, cells: list[sx.FinalRegister | sx.FinalWord]) -> list[tuple[Outcome, int]]:
    """The different outcomes, each with the nearest state that has it."""
    found: dict[tuple[int, ...], tuple[Outcome, int]] = {}
    names = [name_of(cell) for cell in cells]
    for state in reached.where(final(reached.compiled, cells)):
        values = tuple(n for cell in cells if (n := value_in(reached, state, cell)) is not None)
        if len(values) == len(cells) and values not in found:
            found[values] = dict(zip(names, values, strict=True)), state
    return [found[key] for key in sorted(found)]


def satisfies(outcome: Outcome, condition: sx.Condition) -> bool:
    """The condition of a question holds for an outcome."""

    def known(node: sx.Expr) -> int:
        assert isinstance(node, sx.FinalRegister | sx.FinalWord)
        return outcome[name_of(node)]

    return truth_of(condition, known)
