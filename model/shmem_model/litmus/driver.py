"""What happens around the calls of a program: hardware, driver and faults, and how little of it suffices.

The full machine may fill, evict and translate any line at any time.  For an answer about a program it suffices that

* a line is filled, and a translation walked, only for an agent that still accesses it (is at, or may come to, a
  statement that does): a fill that no access uses changes nothing but a cache that nobody looks at;
* a clean line is evicted only while it is still needed (the search forgets the others at once), except in programs
  in which frames or mappings change: there an eviction may be what a scrub or a move waits for;
* the driver shoots down what is no longer mapped, is frozen or belonged to a dead agent: anything else would be
  translated again as before;
* the engine of a copy copies the words of the copies that the program starts.

`compact` asks the driver to move what it likes: while some agent is at that statement the driver may freeze any line,
wait until it is quiet and move it to any free frame; the agent goes on when no line is frozen.  The driver may also
find nothing worth moving, so both are covered.  After a death, or where memory is freed or allocated, the driver shoots
down, scrubs and reclaims at any time.  After a mere `unmap` the old translation may stay as long as it likes (H7) and
may be gone at any moment, since a translation cache replaces entries and the driver shoots down when it sees fit: an
access through it may succeed and may fault, and nobody can count on either.
"""

from __future__ import annotations

from collections.abc import Iterator

from shmem_model.language import Action, Machine, Term, conj, disj, exists
from shmem_model.language import terms as t
from shmem_model.language.actions import waits
from shmem_model.machine import vocabulary as m
from shmem_model.machine.caches import some_dirty

from .flow import Code
from .world import World

ACCESSES = ("read", "write")
TRANSLATED = (*ACCESSES, "flush", "invalidate", "atomic_add", "atomic_swap", "compare_swap")


def environment(world: World, codes: list[Code], machine: Machine, reduced: bool) -> list[Action]:
    """The actions that nobody calls."""
    maker = _Environment(world, codes, machine, reduced)
    return [one for one in maker.actions() if maker.possible(one)]


def needed_places(code: Code, block: int, actions: tuple[str, ...]) -> list[int]:
    """The places of an agent from which it may come to a call of these actions on the line."""
    here = {p for p, call in enumerate(code.calls) if call.action in actions and block in call.blocks("b")}
    return [p for p in range(code.end) if p in here or here & code.ahead(p)]


class _Environment:
    def __init__(self, world: World, codes: list[Code], machine: Machine, reduced: bool) -> None:
        self.world = world
        self.codes = codes
        self.machine = machine
        self.reduced = reduced
        self.compacts = [(code, p) for code in codes for p, call in enumerate(code.calls) if _compact(call.text)]

    def possible(self, one: Action) -> bool:
        """Its base is part of this view of the machine."""
        return one.base in self.machine.actions

    def _base(self, name: str) -> Iterator[Action]:
        found = self.machine.actions.get(name)
        if found is not None:
            yield found

    def actions(self) -> Iterator[Action]:
        """Hardware, then driver, then faults."""
        yield from self._hardware()
        yield from self._copies()
        yield from self._barriers()
        yield from self._driver()
        for agent in self.world.program.mortal:
            for base in self._base("die"):
                yield base.bind({"a": self.world.agent(agent)}, str(agent))

    def _hardware(self) -> Iterator[Action]:
        a, b, f = (t.Parameter(n, s) for n, s in (("a", m.Agent), ("b", m.Block), ("f", m.Frame)))
        for base in self._base("fill"):
            yield base.bind({}, extra=[waits("still accessed", self._still(a, b, ACCESSES))])
        for base in self._base("evict"):
            holds = exists(m.Block, lambda x: m.at(x, f) & self._still(a, x, ACCESSES))
            clean = some_dirty(a, f) | holds if self.reduced and not self.world.remaps else t.TRUE
            yield base.bind({}, extra=[waits("dirty, or still accessed", clean)])
        yield from self._base("drain")
        if self.world.remaps or not self.reduced:
            for base in self._base("translate"):
                yield base.bind({}, extra=[waits("still used", self._still(a, b, TRANSLATED))])
        if self.world.dies:
            yield from self._base("lose")

    def _still(self, a: Term, b: Term, actions: tuple[str, ...]) -> Term:
        """The agent may come to such a call on the line (everything may, where the machine is not reduced)."""
        if not self.reduced:
            return t.TRUE
        parts = []
        for code in self.codes:
            agent = self.world.agent(code.agent)
            for block in range(len(self.world.blocks)):
                places = needed_places(code, block, actions)
                if places:
                    here = conj(a.same(agent), b.same(self.world.element(m.Block, block)), code.at(*places))
                    parts.append(conj(here, ~m.dead(agent)) if self.world.dies else here)
        return disj(*parts)

    def _copies(self) -> Iterator[Action]:
        """One action per word that some statement copies."""
        seen = set()
        for code in self.codes:
            for call in code.calls:
                way = call.ways[0]
                if call.action == "copy_start":
                    values = {"e": way.values["e"], "b": way.values["b"], "w": way.values["w"]}
                    values |= {"c": way.values["c"], "p": way.values["p"]}
                    if not self.world.moves:
                        values["f"], values["g"] = (self._frame(way.values[n]) for n in ("b", "c"))
                    key = tuple(values.values())
                    if key not in seen:
                        seen.add(key)
                        yield from self._bound("copy_step", values, f"{values['e']} {self._words(values)}")

    def _words(self, values: dict[str, Term]) -> str:
        """From where to where, as it is shown."""
        places = [self.world.word_name(_index(values[b]), _index(values[w])) for b, w in (("b", "w"), ("c", "p"))]
        return f"{places[0]} to {places[1]}"

    def _frame(self, block: Term) -> Term:
        return self.world.element(m.Frame, _index(block))

    def _bound(self, name: str, values: dict[str, Term], suffix: str) -> Iterator[Action]:
        for base in self._base(name):
            names = {p.name for p in base.parameters}
            yield base.bind({n: v for n, v in values.items() if n in names}, suffix)

    def _barriers(self) -> Iterator[Action]:
        seen = set()
        for code in self.codes:
            for call in code.calls:
                if call.action == "gb_begin":
                    values = {n: call.ways[0].values[n] for n in ("a", "g", "r")}
                    if tuple(values.values()) not in seen:
                        seen.add(tuple(values.values()))
                        yield from self._bound("gb_ack", values, f"{code.agent}:{call.statement.pos.line}")

    def _driver(self) -> Iterator[Action]:
        if self.world.remaps:
            yield from self._shootdown()
        if self.world.moves or self.world.dies:
            yield from self._base("scrub")
        if self.world.dies:
            yield from self._base("reclaim")
        if self.compacts:
            while_asked = disj(*(code.at(place) for code, place in self.compacts))
            for name in ("freeze", "migrate"):
                for base in self._base(name):
                    yield base.bind({}, extra=[waits("asked to compact", while_asked)])
            yield from self._base("unfreeze")

    def _shootdown(self) -> Iterator[Action]:
        a, b = t.Parameter("a", m.Agent), t.Parameter("b", m.Block)
        for base in self._base("shootdown"):
            stale = ~m.mapped(a, b) | m.frozen(b) | m.dead(a) if self.reduced else t.TRUE
            yield base.bind({}, extra=[waits("no longer of use", stale)])


def _compact(text: str) -> bool:
    return text == "compact"


def _index(term: Term) -> int:
    assert isinstance(term, t.Element)
    return term.index
