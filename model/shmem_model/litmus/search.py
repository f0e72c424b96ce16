"""The search through the runs of a compiled program: generated Python over packed states.

The explorer's own engine would do; this one knows programs.  It takes local steps first, forgets what no longer
matters (`reduction`), remembers how it came to each state, and which steps may be counted on to save a stuck program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from shmem_model.language import FALSE, Term
from shmem_model.readers.ground import ground
from shmem_model.readers.packed import Packed, PackedAction
from shmem_model.readers.pycode import PythonCode

from .compiled import Compiled
from .driver import ACCESSES, TRANSLATED
from .reduction import Counter, Layout, cleaning, local_when

DRIVER_HELPS = ("drain", "copy_step", "gb_ack", "shootdown", "scrub", "migrate", "unfreeze", "reclaim")
"""Steps that happen in the end, so a program may count on them; `fill` and `translate` only on demand, `shootdown` only
where the driver needs it: to scrub, to move, to reclaim."""


@dataclass
class Reached:
    """The states that were found, in the order of their distance, each with how it was reached first."""

    packed: Packed
    compiled: Compiled
    counters: list[Counter]
    parents: dict[int, tuple[int, int] | None]
    complete: bool
    rescues: list[tuple[int, int]] = field(default_factory=list)

    @property
    def states(self) -> int:
        """How many states were found."""
        return len(self.parents)

    def where(self, term: Term) -> list[int]:
        """The states in which a formula holds, the nearest first."""
        return filtered(self.packed, self.packed.states_where(term), self.parents)

    def path(self, state: int) -> list[tuple[int, PackedAction, int]]:
        """The steps of the shortest run to a state."""
        steps = []
        while (came := self.parents[state]) is not None:
            before, number = came
            steps.append((before, self.packed.actions[number], state))
            state = before
        return steps[::-1]


def filtered(packed: Packed, node: int, states: Any) -> list[int]:
    """The states in which a node holds, in their order."""
    if node < 2:
        return list(states) if node else []
    code = PythonCode(packed)
    lines = ["def where(states):", "  out = []", "  for s in states:"]
    for shared in code.shared([node]):
        lines.append(f"    n{shared} = {code.truth(shared)}")
        code.names[shared] = f"n{shared}"
    lines += [f"    if {code.truth(node)}:", "      out.append(s)", "  return out"]
    found: list[int] = _made("\n".join(lines), "where", {})(states)
    return found


def search(
    compiled: Compiled,
    observe: list[Term] | None,
    kept: dict[str, set[str]],
    *,
    bad: Term = FALSE,
    stop: Term = FALSE,
    rescues: bool = False,
    limit: int | None = None,
    local: bool = True,
) -> Reached:
    """All states of a program.  It ends at the first state where `bad` holds, and does not go on where `stop` does."""
    packed = Packed(ground(compiled.scope, observe))
    made = _Generator(compiled, packed, kept, rescues, local)
    return made.run(packed.states_where(bad), packed.states_where(stop), limit)


class _Generator:
    def __init__(
        self, compiled: Compiled, packed: Packed, kept: dict[str, set[str]], rescues: bool, local: bool
    ) -> None:
        self.compiled, self.packed, self.rescues = compiled, packed, rescues
        layout = Layout(packed)
        self.counters = [layout.counter(code) for code in compiled.codes]
        self.cleaning = cleaning(compiled, layout, self.counters, kept)
        self.code = PythonCode(packed)
        self.tables: dict[str, Any] = {}
        self.by_agent = {counter.code.agent: i for i, counter in enumerate(self.counters)}
        self.local = local and compiled.reduced
        for i, counter in enumerate(self.counters):
            self.tables[f"KEEP{i}"] = self.cleaning.registers[counter.code.agent]
            self.tables[f"DROP{i}"] = self.cleaning.forgotten[counter.code.agent]

    def run(self, bad: int, stop: int, limit: int | None) -> Reached:
        expand = _made(self._source(stop), "expand", self.tables)
        parents: dict[int, tuple[int, int] | None] = {self.packed.initial: None}
        result = Reached(self.packed, self.compiled, self.counters, parents, True)
        level = [self.packed.initial]
        while level:
            if bad and filtered(self.packed, bad, level):
                result.complete = False
                break
            if limit is not None and len(parents) > limit:
                result.complete = False
                break
            out: list[int] = []
            expand(level, parents, out, result.rescues)
            level = out
        return result

    # ------------------------------------------------------------ source

    def _source(self, stop: int) -> str:
        lines = ["def expand(level, parents, out, back):", "  for s in level:"]
        if stop:
            lines.append(f"    if {self.code.truth(stop)}: continue")
        lines += [f"    k{i} = s >> {c.low} & {c.mask}" for i, c in enumerate(self.counters)]
        groups, others = self._groups()
        if self.local:
            for i, places in groups.items():
                lines += self._chain(i, {p: list(self._local(i, p, acts)) for p, acts in places.items()})
        for i, places in groups.items():
            lines += self._chain(i, {p: [x for a in acts for x in self._fire(a, i)] for p, acts in places.items()})
        for action in others:
            lines += ["    " + line for line in self._fire(action, None)]
        return "\n".join(lines)

    def _groups(self) -> tuple[dict[int, dict[int, list[PackedAction]]], list[PackedAction]]:
        """The calls of each agent by place, and everything else."""
        groups: dict[int, dict[int, list[PackedAction]]] = {i: {} for i in range(len(self.counters))}
        others = []
        for action in self.packed.actions:
            owner = self.compiled.owner.get(action.source.action.name)
            if owner is None:
                others.append(action)
            else:
                groups[self.by_agent[owner[0].agent]].setdefault(owner[1], []).append(action)
        return groups, others

    def _chain(self, number: int, places: dict[int, list[str]]) -> Iterator[str]:
        word = "if"
        for place, lines in places.items():
            key = self.counters[number].key(place)
            if lines and key is not None:
                yield f"    {word} k{number} == {key}:"
                yield from ("      " + line for line in lines)
                word = "elif"

    def _local(self, number: int, place: int, actions: list[PackedAction]) -> Iterator[str]:
        when = local_when(self.compiled, self.counters[number].code, place)
        if when is FALSE:
            return
        for action in actions:
            if "!" not in action.source.action.name:
                guard = self.packed.bits.conj([action.guard, self.packed.states_where(when)])
                yield from self._step(action, guard, number, True)

    def _fire(self, action: PackedAction, number: int | None) -> list[str]:
        return list(self._step(action, action.guard, number, False))

    def _step(self, action: PackedAction, guard: int, number: int | None, alone: bool) -> Iterator[str]:
        if guard == 0:
            return
        first, successor = self.code.successor(action)
        yield f"if {self.code.truth(guard)}:"
        yield from (f"  {line}" for line in first)
        yield f"  t = {successor}"
        for bit, mask in self.cleaning.contents:
            if action.clear & bit:
                yield f"  if not t & {bit}: t &= {~mask}"
        if number is not None:
            counter = self.counters[number]
            yield f"  k = t >> {counter.low} & {counter.mask}"
            yield f"  t &= KEEP{number}[k]"
            yield f"  for d, c in DROP{number}[k]:"
            yield "    if not t & d: t &= c"
        yield "  if t not in parents:"
        yield f"    parents[t] = s, {action.number}"
        yield "    out.append(t)"
        if self.rescues:
            condition = self._counted_on(action)
            if condition:
                yield f"  if {condition}: back.append((t, s))"
        if alone:
            yield "  continue"

    def _counted_on(self, action: PackedAction) -> str:
        """When the step may be counted on to save the program, as source; empty: never."""
        base, name = action.source.action.base, action.source.action.name
        world = self.compiled.world
        if base == "shootdown" and name not in self.compiled.owner and not (world.moves or world.dies):
            return ""
        if name in self.compiled.owner or base in DRIVER_HELPS:
            return "True"
        if base not in ("fill", "translate"):
            return ""
        agent, block = action.source.arguments[:2]
        counter = next((c for c in self.counters if world.agents[agent] == c.code.agent), None)
        if counter is None:
            return ""
        wanted = ACCESSES if base == "fill" else TRANSLATED
        places = [p for p, c in enumerate(counter.code.calls) if c.action in wanted and block in c.blocks("b")]
        number = self.by_agent[counter.code.agent]
        return f"k{number} in {tuple(counter.keys_of(places))}"


def _made(source: str, name: str, scope: dict[str, Any]) -> Callable[..., Any]:
    names = dict(scope)
    exec(compile(source, f"<litmus {name}>", "exec", dont_inherit=True), names)
    made: Callable[..., Any] = names[name]
    return made
