"""Which steps of a program need not be interleaved, and which bits of a state no longer matter.

*Local steps.*  Some calls commute with whatever anybody else can do in between (a fence that is enabled stays enabled
and changes nothing that others see; likewise a flush of a line of which nothing is on its way, an invalidate of a
clean line, a send to a slot that only this call feeds and only waits empty, ...).  Where one is enabled, taking it
first loses no outcome, no fault and no deadlock; fills and evictions of the line before an invalidate or a flush are
absorbed by it, or (a dirty line's eviction) become the drain after it.  Never in a loop, so no step is put off for
ever, and only in programs in which mappings stay, nothing is freed and nobody dies.

*Dead bits.*  Registers that are not read again, cached words of a line that is not valid, posted words that are not
on their way, and clean lines of an agent that never accesses them again: the search sets them to zero.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shmem_model.language import BOOL, FALSE, TRUE, Function, Term
from shmem_model.language import terms as t
from shmem_model.machine import vocabulary as m
from shmem_model.machine.caches import nothing_posted, some_dirty
from shmem_model.readers.packed import Packed

from .calls import NOTHING
from .compiled import Compiled
from .driver import ACCESSES, needed_places
from .flow import Code
from .views import CUSTODY, OUTCOME

_ALWAYS = ("fence", "copy_start", "copy_wait", "gb_begin", "gb_end", NOTHING)


def local_when(compiled: Compiled, code: Code, place: int) -> Term:
    """When the call at a place may be taken before everything else."""
    world, call = compiled.world, code.calls[place]
    if compiled.view != OUTCOME or world.remaps or place in code.ahead(place) or len(call.ways) > 1:
        return FALSE
    values = call.ways[0].values
    if call.action in _ALWAYS:
        return call.ways[0].when
    if call.action in ("arrive", "leave"):
        return TRUE if len(world.epochs[_index(values["g"])]) == 1 else FALSE
    if call.action in ("send", "wait"):
        use = world.slots[list(world.slots)[_index(values["s"])]]
        alone = use.sends <= 1 and not use.repeating
        return TRUE if use.only_waits and (alone or (world.counting and not use.repeating)) else FALSE
    if call.action in ("flush", "invalidate"):
        clean = ~some_dirty(values["a"], values["f"])
        engines_ask = any(each.action == "gb_begin" for one in compiled.codes for each in one.calls)
        if call.action == "flush" and not engines_ask:
            return clean | nothing_posted(values["a"], values["f"])
        return clean
    return FALSE


def _index(term: Term) -> int:
    assert isinstance(term, t.Element)
    return term.index


@dataclass
class Counter:
    """Where in a packed state the place of an agent stands: `state >> low & mask` is the key of a place."""

    code: Code
    low: int
    mask: int
    keys: dict[int, int]

    def key(self, place: int) -> int | None:
        """The key of a place; None if the agent never gets there."""
        return next((key for key, p in self.keys.items() if p == place), None)

    def keys_of(self, places: Iterable[int]) -> list[int]:
        """The keys of several places."""
        chosen = set(places)
        return [key for key, place in self.keys.items() if place in chosen]


class Layout:
    """Positions of functions in packed states."""

    def __init__(self, packed: Packed) -> None:
        self.packed = packed
        self.functions = {f.name: f for f in packed.ground.partial.cells}

    def positions(self, function: Function, *indices: int) -> list[int | None]:
        """The position of each bit of a cell, lowest first; None for a bit that never changes."""
        ground = self.packed.ground
        if function not in ground.partial.cells:
            return []
        cell = ground.partial.cells[function][ground.cell_index(function, indices)]
        if not isinstance(cell, int):
            return [ground.positions.get(node) for node in cell]
        # A bare int is a node only where the function is a truth value; elsewhere it is the number of an element.
        return [ground.positions.get(cell)] if function.result is BOOL else []

    def mask(self, function: Function, *indices: int) -> int:
        """The bits of a cell that can change, as a mask."""
        return sum(1 << p for p in self.positions(function, *indices) if p is not None)

    def counter(self, code: Code) -> Counter:
        """Where the place of an agent stands."""
        ground = self.packed.ground
        cell = ground.partial.cells[code.counter][0]
        if isinstance(cell, int):
            return Counter(code, 0, 0, {0: cell})
        positions = [(i, ground.positions[node]) for i, node in enumerate(cell) if node > 1]
        fixed = sum(node << i for i, node in enumerate(cell) if node < 2)
        low = positions[0][1]
        keys = {}
        for place in range(code.size):
            if place & ~sum(1 << i for i, _ in positions) == fixed:
                keys[sum((place >> i & 1) << (p - low) for i, p in positions)] = place
        return Counter(code, low, sum(1 << (p - low) for _, p in positions), keys)


@dataclass
class Cleaning:
    """What to set to zero after steps, as masks."""

    registers: dict[str, dict[int, int]]
    """By agent and key: the registers that still matter (a mask to keep)."""
    forgotten: dict[str, dict[int, list[tuple[int, int]]]]
    """By agent and key: (dirty bits, bits of the line) of lines that are not needed any more."""
    contents: list[tuple[int, int]]
    """(bit, what it guards): a cached line and its words, a posted word and its value."""


def cleaning(compiled: Compiled, layout: Layout, counters: list[Counter], kept: dict[str, set[str]]) -> Cleaning:
    """The dead bits of a compiled program; `kept` are the registers that are asked about."""
    everything = (1 << layout.packed.width) - 1
    registers, forgotten = {}, {}
    for counter in counters:
        code = counter.code
        live = code.live_registers(frozenset(kept.get(code.agent, ())))
        masks = {name: layout.mask(function) for name, function in code.registers.items()}
        registers[code.agent] = {
            key: everything & ~sum(mask for name, mask in masks.items() if name not in live[place])
            for key, place in counter.keys.items()
        }
        forgotten[code.agent] = _forgotten(compiled, layout, counter)
    return Cleaning(registers, forgotten, _contents(compiled, layout))


def _forgotten(compiled: Compiled, layout: Layout, counter: Counter) -> dict[int, list[tuple[int, int]]]:
    found: dict[int, list[tuple[int, int]]] = {key: [] for key in counter.keys}
    world = compiled.world
    if world.remaps or compiled.view == CUSTODY or not compiled.reduced:
        return found
    agent = world.agents.index(counter.code.agent)
    words = range(len(world.names[m.Word]))
    for block in range(len(world.blocks)):
        line = layout.mask(m.valid, agent, block)
        if not line:
            continue
        line |= sum(layout.mask(m.data, agent, block, w) for w in words)
        dirty = sum(layout.mask(m.dirty, agent, block, w) for w in words)
        needed = set(needed_places(counter.code, block, ACCESSES))
        for key, place in counter.keys.items():
            if place not in needed:
                found[key].append((dirty, ~line))
    return found


def _contents(compiled: Compiled, layout: Layout) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    if compiled.view == CUSTODY:
        return pairs
    names = compiled.world.names
    words = range(len(names[m.Word]))
    for agent in range(len(names[m.Agent])):
        for frame in range(len(names[m.Frame])):
            data = sum(layout.mask(m.data, agent, frame, w) for w in words)
            pairs.append((layout.mask(m.valid, agent, frame), data))
            pairs += [
                (layout.mask(m.posted, agent, frame, w), layout.mask(m.posted_data, agent, frame, w)) for w in words
            ]
    return [(bit, mask) for bit, mask in pairs if bit and mask]
