"""The sequence lock of the shared region table, and the pins that keep a region from being moved (`_core.c`).

The driver makes the sequence number odd, writes the entry, makes it even; a reader takes what it read only if the
number was even and is the same afterwards.  A reader pins before it looks, the driver freezes before it looks at the
pins: one of the two sees the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from shmem_model.algorithms.compiling import Algorithm
from shmem_model.algorithms.programs import END, SEQ_CST, Access, Load, Step, Store, Thread, Word, add, branch
from shmem_model.language import Property, conj

LIVE, FROZEN = 0, 1


@dataclass(frozen=True)
class Choices:
    """The scope, and what a red twin leaves out.  `order` is that of the driver's stores to the entry."""

    readers: int = 1
    looks: int = 2
    moves: int = 1
    mortal: bool = True
    odd: bool = True
    again: bool = True
    late: bool = True
    order: str = SEQ_CST
    pin: str = SEQ_CST
    pins_first: bool = True
    driver_looks: bool = True


def build(choices: Choices = Choices()) -> Algorithm:
    """The table entry of one region in a scope: the driver moves the region, readers use it."""
    published = 2 * choices.moves
    words = [
        Word("seq", 2 * published + 1),
        Word("state", 2),
        Word("place", choices.moves + 1),
        Word("twin", choices.moves + 1),
    ]
    readers = range(choices.readers)
    words += [Word(f"pins{i}", 2) for i in readers]
    registers = {"seq": 2 * published + 1, "place": choices.moves + 1}
    buffer = 0 if choices.order == SEQ_CST else 3
    driver = Thread("driver", tuple(_publish(choices)), registers, buffer=buffer, mortal=choices.mortal)
    threads = [driver, *(_reader(choices, i, words) for i in readers)]
    algorithm = Algorithm("table", "A region's entry in the shared table.", words, threads)
    algorithm.claims = tuple(_claims(algorithm, choices))
    return algorithm


def _publish(choices: Choices) -> Iterator[Step]:
    """Freeze, look at the pins, move, let go; the entry's two fields say the same place."""
    count = lambda r: r.seq + 1
    order = choices.order
    pins = "move_look.0" if choices.driver_looks else "move_copy"
    for phase, state, then in (("freeze", FROZEN, pins), ("live", LIVE, "")):
        after = then or (lambda r: branch(r.place.ge(choices.moves), END, _first(choices, "freeze")))
        if choices.odd:
            yield Step(
                f"publish_odd.{phase}", Store("seq", count, order), f"publish_state.{phase}", sets={"seq": count}
            )
        yield Step(f"publish_state.{phase}", Store("state", state, order), f"publish_field.{phase}0")
        yield Step(f"publish_field.{phase}0", Store("place", lambda r: r.place, order), f"publish_field.{phase}1")
        yield Step(f"publish_field.{phase}1", Store("twin", lambda r: r.place, order), f"publish_even.{phase}")
        even = (lambda r: r.seq + 1) if choices.odd else (lambda r: r.seq + 2)
        yield Step(f"publish_even.{phase}", Store("seq", even, order), after, sets={"seq": even})
    for i in range(choices.readers):
        then = f"move_look.{i + 1}" if i + 1 < choices.readers else "move_copy"
        busy = f"move_look.{i}"
        goto = lambda r, then=then, busy=busy: branch(r.got.eq(0), then, busy)
        yield Step(f"move_look.{i}", Load(f"pins{i}"), goto)
    yield Step("move_copy", Access(), _first(choices, "live"), sets={"place": lambda r: r.place + 1})


def _first(choices: Choices, phase: str) -> str:
    return f"publish_odd.{phase}" if choices.odd else f"publish_state.{phase}"


def _reader(choices: Choices, i: int, words: list[Word]) -> Thread:
    sizes = {word.name: word.size for word in words}
    registers = {
        "seq": sizes["seq"],
        "state": 2,
        "place": sizes["place"],
        "twin": sizes["twin"],
        "looks": choices.looks + 1,
    }
    buffer = 0 if choices.pin == SEQ_CST else 1
    first = "enter_pin" if choices.pins_first else "enter_seq"
    return Thread(f"reader{i}", tuple(_enter(choices, i)), registers, buffer=buffer, mortal=choices.mortal, first=first)


def _enter(choices: Choices, i: int) -> Iterator[Step]:
    pin, unpin = (
        (add(f"pins{i}", 1), add(f"pins{i}", -1))
        if choices.pin == SEQ_CST
        else (Store(f"pins{i}", 1, choices.pin), Store(f"pins{i}", 0, choices.pin))
    )
    begin = "enter_pin" if choices.pins_first else "enter_seq"
    fields = "enter_state" if choices.late else "enter_again"
    yield Step("enter_pin", pin, "enter_seq" if choices.pins_first else "inside")
    odd = lambda r: branch(r.got.test(0, lambda seq, _: seq % 2 == 1), "enter_seq", fields)
    if not choices.again:
        odd = lambda r: branch(r.got.test(0, lambda seq, _: seq % 2 == 1), "enter_seq", "enter_state")
    yield Step("enter_seq", Load("seq"), odd, sets={"seq": lambda r: r.got})
    yield Step("enter_state", Load("state"), "enter_field.0", sets={"state": lambda r: r.got})
    yield Step("enter_field.0", Load("place"), "enter_field.1", sets={"place": lambda r: r.got})
    after = "enter_again" if choices.again and choices.late else "accept"
    yield Step("enter_field.1", Load("twin"), after, sets={"twin": lambda r: r.got})
    same = "accept" if choices.late else "enter_state"
    if choices.again:
        yield Step("enter_again", Load("seq"), lambda r: branch(r.got.ne(r.seq), "enter_seq", same))
    back = "leave_pin" if choices.pins_first else "enter_seq"
    use = "inside" if choices.pins_first else "enter_pin"
    yield Step("accept", Access(), lambda r: branch(r.state.eq(FROZEN), back, use), sets={"seq": 0})
    yield Step("inside", Access(), "leave_pin")
    clear: dict[str, Any] = {"state": 0, "place": 0, "twin": 0, "looks": lambda r: r.looks + 1}
    yield Step("leave_pin", unpin, lambda r: branch(r.looks.ge(choices.looks), END, begin), sets=clear)


def _claims(a: Algorithm, choices: Choices) -> Iterator[Property]:
    readers = [f"reader{i}" for i in range(choices.readers)]
    whole = (a.at(r, "accept").implies(a.register(r, "place").eq(a.register(r, "twin"))) for r in readers)
    yield a.claim("no_torn_entry", "A reader accepts only what was published as a whole.", conj(*whole))
    away = (~conj(a.at(r, "inside"), a.at("driver", "move_copy")) for r in readers)
    yield a.claim("nobody_is_inside_a_move", "The driver moves a region only while nobody uses it.", conj(*away))
    place = (a.at(r, "inside").implies(a.register(r, "place").eq(a.register("driver", "place"))) for r in readers)
    living = ~a.dead("driver") if choices.mortal else conj()
    yield a.claim(
        "nobody_uses_an_old_place", "Whoever uses a region uses it where it is.", living.implies(conj(*place))
    )


def frozen_out(a: Algorithm) -> Property:
    """A witness: a reader meets a freeze."""
    some = conj(a.at("reader0", "accept"), a.register("reader0", "state").eq(FROZEN))
    return Property("a_reader_met_a_freeze", "A reader found the region frozen.", (), some, "state")


def retried(a: Algorithm) -> Property:
    """A witness: a reader meets a change."""
    some = conj(a.at("reader0", "enter_again"), ~a.register("reader0", "seq").eq(a.memory("seq")))
    return Property("a_reader_looks_again", "The entry has changed while a reader read it.", (), some, "state")
