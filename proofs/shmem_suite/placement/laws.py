"""What placement promises, as code that runs on plain numbers and on terms alike.

A law builds a free list, makes one call and looks at what came of it.  It says nothing of how the allocator works: it
compares sets of bytes before and after, by asking about one byte, `point`, that may be any.  The allocator has
a new state after each call that is again a free list of the kind that the laws begin with, so what holds of one step
from every such list holds of every sequence of calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, Protocol

from shmem.errors import OutOfMemory
from shmem.layout import LINE, PAGE
from shmem_suite.placement.numbers import Broken

ADDRESSES = 1 << 62
"""Physical addresses and the ends of windows lie below (the driver checks that)."""
SIZES = 1 << 48
"""Sizes and alignments are at most this (the driver checks that)."""
Hole = tuple[Any, Any]


class World(Protocol):
    """Where inputs come from: `numbers.Run` (all of them) or `Given` (one)."""

    def number(self, name: str, below: int = ..., step: int = ...) -> Any:
        """An input: any multiple of the step from 0 up to a bound that it does not reach."""
        ...

    def power(self, name: str, most: int) -> Any:
        """An input that is a power of two, from 1 to `most`."""
        ...

    def suppose(self, condition: Callable[[], object]) -> None:
        """Look only at inputs for which every comparison in the condition holds."""
        ...

    def every(self, check: Callable[[], None]) -> None:
        """Make a check of what has come out."""
        ...

    def note(self, what: str) -> None:
        """Remember that this has happened."""
        ...


class Given:
    """One input, for running a counterexample again on plain numbers."""

    def __init__(self, values: dict[str, int]) -> None:
        self.values = values
        self.notes: set[str] = set()

    def number(self, name: str, below: int = 1 << 64, step: int = 1) -> int:
        """The input of that name."""
        return self.values[name]

    def power(self, name: str, most: int) -> int:
        """See `World.power`."""
        return self.values[name]

    def suppose(self, condition: Callable[[], object]) -> None:
        """The input was found under these conditions."""
        condition()

    def every(self, check: Callable[[], None]) -> None:
        """See `World.every`."""
        check()

    def note(self, what: str) -> None:
        """See `World.note`."""
        self.notes.add(what)


def must(holds: object, why: str) -> None:
    """A law: `Broken` unless this holds on every path."""
    if not holds:
        raise Broken(why)


def inside(point: Any, holes: Sequence[Hole]) -> bool:
    """The byte lies in one of these."""
    return any(start <= point and point < start + size for start, size in holes)


@dataclass(frozen=True)
class Request:
    """What `take` is asked for."""

    size: Any
    align: Any
    window: tuple[Any, Any] | None

    def fits(self, place: Any, hole: Hole) -> bool:
        """The block could lie at this place in this hole."""
        start, length = hole
        if not (start <= place and place + self.size <= start + length and (place & (self.align - 1)) == 0):
            return False
        return (place & (LINE - 1)) == 0 and (
            self.window is None or (self.window[0] <= place and place + self.size <= self.window[1])
        )


def _apart(hole: Hole, start: Any) -> object:
    """Something lies between the hole and the address, so that the two need not melt."""
    return hole[0] + hole[1] < start


class Setup:
    """A free list with some holes, in address order, not touching, and the allocator that holds it."""

    def __init__(self, world: World, module: Any, count: int) -> None:
        self.world = world
        self.module = module
        self.holes: list[Hole] = []
        for i in range(count):
            start, size = self._lines(f"hole{i}", f"length{i}")
            if self.holes:
                world.suppose(partial(_apart, self.holes[-1], start))
            self.holes.append((start, size))
        self.space = self.with_holes(self.holes)

    def with_holes(self, holes: Sequence[Hole]) -> Any:
        """An allocator with exactly these holes."""
        space = self.module.Allocator()
        for start, size in holes:
            space.give(start, size)
        return space

    def block(self) -> tuple[Any, Any]:
        """A block of whole lines."""
        return self._lines("start", "size")

    def _lines(self, first: str, length: str) -> tuple[Any, Any]:
        start, size = (self.world.number(name, ADDRESSES, step=LINE) for name in (first, length))
        self.world.suppose(lambda: size > 0 and start + size <= ADDRESSES)
        return start, size

    def request(self, window: bool) -> Request:
        """Any request that the driver lets through."""
        size, align = self.world.number("size", SIZES + 1, step=LINE), self.world.power("align", SIZES)
        self.world.suppose(lambda: size > 0)
        if not window:
            return Request(size, align, None)
        low, high = self.world.number("low", ADDRESSES), self.world.number("high", ADDRESSES)
        self.world.suppose(lambda: low < high)
        return Request(size, align, (low, high))

    def well_formed(self) -> None:
        """The free list after the call: ordered, disjoint, coalesced, of whole lines, and with the right figures."""
        after: list[Hole] = self.space.holes()
        for start, size in after:
            must(size > 0 and start % LINE == 0 and size % LINE == 0, "a hole is not made of whole lines")
        for (start, size), (following, _) in pairwise(after):
            must(start + size < following, "two holes touch, overlap or are out of order")
        must(self.space.free == sum(size for _, size in after), "the count of free bytes is wrong")
        must(self.space.largest() == max((size for _, size in after), default=0), "the largest hole is another")
        must(vars(self.space) == vars(self.with_holes(after)), "the state is not that of a new list with these holes")

    def changed_by(self, start: Any, size: Any, taken: bool) -> None:
        """The bytes of a block changed sides, nothing else did, and the free list is well formed."""
        point = self.world.number("point", ADDRESSES)

        def bytes_moved() -> None:
            was, free = inside(point, self.holes), inside(point, self.space.holes())
            moved = inside(point, [(start, size)])
            must(was != free if moved else was == free, "a byte was lost or won")
            must(not moved or was == taken, "a byte of the block was on the wrong side before")

        self.world.every(bytes_moved)
        self.world.every(self.well_formed)

    def unchanged(self) -> None:
        """The call left no trace."""

        def same() -> None:
            self.well_formed()
            must(self.space.holes() == self.holes, "a call that was refused changed the free list")

        self.world.every(same)


def align_up_finds_the_next_multiple(world: World, module: Any) -> None:
    """Rounding up gives the first multiple that is not below the address."""
    address, align = world.number("address", ADDRESSES), world.power("align", SIZES)
    found = module.align_up(address, align)
    must((found & (align - 1)) == 0, "it is no multiple")
    must(found >= address, "it is below the address")
    must(found - address < align, "there is a nearer multiple")
    if found != address:
        world.note("an address was rounded up")


def take_answers_a_place(world: World, module: Any, count: int, window: bool, rest: bool = True) -> None:
    """What is taken lies aligned in one hole and in the window; it is the lowest place in the smallest hole that fits;
    the rest of the hole stays free; where nothing is taken nothing would have fitted.

    Without `rest` nothing is asked of the free list afterwards.
    """
    setup = Setup(world, module, count)
    asked = setup.request(window)
    where = setup.space.take(asked.size, asked.align, asked.window)
    place = world.number("place", ADDRESSES)
    if where is None:
        world.note("nothing fitted")
        world.every(lambda: must(not any(asked.fits(place, hole) for hole in setup.holes), "there was a place"))
        if rest:
            setup.unchanged()
        return

    chosen = [hole for hole in setup.holes if asked.fits(where, hole)]
    must(len(chosen) == 1, "the block is not aligned, or not inside a hole and the window")
    ((start, length),) = chosen
    if where > start and where + asked.size < start + length:
        world.note("a hole was split in two")

    def best(other: Hole) -> None:
        if asked.fits(place, other):
            better = "a smaller hole, or a lower one of the same size, would have fitted"
            must((other[1], other[0]) >= (length, start), better)
            must(other[0] != start or place >= where, "there was a lower place in the hole")

    for hole in setup.holes:
        world.every(partial(best, hole))
    if rest:
        setup.changed_by(where, asked.size, taken=True)


def give_coalesces(world: World, module: Any, count: int, gap: int) -> None:
    """A block given back is free again, and melts into the holes that it touches on either side."""
    setup = Setup(world, module, count)
    start, size = setup.block()
    left = setup.holes[gap - 1] if gap else (0, 0)
    right = setup.holes[gap] if gap < count else (ADDRESSES, 0)
    world.suppose(lambda: left[0] + left[1] <= start and start + size <= right[0])
    setup.space.give(start, size)
    setup.changed_by(start, size, taken=False)
    if len(setup.space.holes()) < count:
        world.note("three pieces became one")


def take_at_takes_exactly_that(world: World, module: Any, count: int) -> None:
    """Exactly these bytes are taken if all are free, else none."""
    setup = Setup(world, module, count)
    start, size = setup.block()

    def free() -> bool:
        return any(s <= start and start + size <= s + n for s, n in setup.holes)

    try:
        setup.space.take_at(start, size)
    except ValueError:
        world.every(lambda: must(not free(), "these bytes were free"))
        setup.unchanged()
        return
    world.every(lambda: must(free(), "these bytes were not free"))
    setup.changed_by(start, size, taken=True)
    world.note("chosen bytes were taken")


def extents_lie_apart(world: World, module: Any, window: bool) -> None:
    """A new extent begins on a page behind all earlier ones, ends inside what the platform reaches, and touches the
    window that it is wanted for; without such a window there is none only where there is no room."""
    low, high, frontier = (world.number(name, ADDRESSES, step=PAGE) for name in ("low", "high", "frontier"))
    size = world.number("size", SIZES, step=PAGE)
    world.suppose(lambda: low <= frontier and low < high and size > 0)
    wanted = (world.number("first", ADDRESSES), world.number("last", ADDRESSES)) if window else None
    if wanted:
        world.suppose(lambda: wanted[0] < wanted[1])
    driver = SimpleNamespace(platform=SimpleNamespace(windows=((low, high),), name="any"), _frontier=[frontier])
    try:
        start = module.Regions._place(driver, size, wanted)
    except OutOfMemory:
        must(window or frontier + size > high, "there was room")
        return
    must(start % PAGE == 0, "an extent does not begin on a page")
    must(frontier <= start, "an extent lies over an earlier one")
    must(start + size <= high, "an extent ends where the platform does not reach")
    must(not wanted or (start < wanted[1] and wanted[0] < start + size), "an extent lies outside of its window")
    if start > frontier:
        world.note("an extent left room before it")
