"""T12: the writer-driven global barrier, with multicast and without (`agent.py`, `engine.py`).

The writer numbers its requests, puts the number where each member's engine looks, and rings: with multicast one word
that all watch.  An engine drops its lines, then answers with the number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from shmem_model.algorithms.compiling import Algorithm
from shmem_model.algorithms.programs import (
    END,
    Access,
    Load,
    Registers,
    Sleep,
    Step,
    Store,
    Thread,
    Wake,
    Word,
    add,
    branch,
)
from shmem_model.algorithms.waiting import driver
from shmem_model.language import FALSE, Property, Term, conj, disj


@dataclass(frozen=True)
class Choices:
    """The scope, and what a red twin leaves out."""

    members: int = 2
    rounds: int = 2
    multicast: bool = True
    mortal: bool = True
    numbers: bool = True
    drops_first: bool = True
    looks_last: bool = True
    reads_first: bool = True


def build(choices: Choices = Choices()) -> Algorithm:
    """The global barrier in a scope."""
    n, members = choices.rounds + 1, range(choices.members)
    rings = choices.members * (choices.rounds + 1) + 1
    words = [Word("data", n), Word("bell", rings)]
    words += [Word(engine, rings) for engine in dict.fromkeys(_engine(choices, i) for i in members)]
    for i in members:
        words += [Word(f"asked{i}", n), Word(f"acked{i}", n), Word(f"dropped{i}", n), Word(f"alive{i}", 2, 1)]
    writer = Thread("writer", tuple(_writer(choices)), {"n": n, "seen": rings}, mortal=choices.mortal)
    engines = [_serving(choices, i, rings) for i in members]
    drivers = [_driver(choices, i) for i in members] if choices.mortal else []
    title = "multicast" if choices.multicast else "asking"
    algorithm = Algorithm(title, "The global barrier of a writer.", words, [writer, *engines, *drivers])
    algorithm.claims = tuple(_claims(algorithm, choices))
    return algorithm


def _engine(choices: Choices, i: int) -> str:
    return "engine" if choices.multicast else f"engine{i}"


def _driver(choices: Choices, i: int) -> Thread:
    engines = dict.fromkeys(_engine(choices, j) for j in range(choices.members))
    return driver(i, f"member{i}", f"alive{i}", ["bell", *engines])


def _writer(choices: Choices) -> Iterator[Step]:
    members = range(choices.members)
    number = lambda r: r.n if choices.numbers else 1
    yield Step("gb_publish", Store("data", lambda r: r.n + 1), "gb_ask.0", sets={"n": lambda r: r.n + 1})
    for i in members:
        then = f"gb_ask.{i + 1}" if i + 1 < choices.members else "gb_ring.0"
        yield Step(f"gb_ask.{i}", Store(f"asked{i}", number), then)
    engines = list(dict.fromkeys(_engine(choices, i) for i in members))
    for k, engine in enumerate(engines):
        yield Step(f"gb_ring.{k}", add(engine, 1), f"gb_wake.{k}")
        yield Step(f"gb_wake.{k}", Wake(engine), f"gb_ring.{k + 1}" if k + 1 < len(engines) else "gb_read_bell")
    over = lambda r: branch(r.n.ge(choices.rounds), END, "gb_publish")
    yield Step("gb_read_bell", Load("bell"), "gb_look.0", sets={"seen": lambda r: r.got})
    for i in members:
        after = f"gb_look.{i + 1}" if i + 1 < choices.members else "gb_done"
        goto = lambda r, i=i, after=after: branch(r.got.lt(number(r)), f"gb_alive.{i}", after)
        yield Step(f"gb_look.{i}", Load(f"acked{i}"), goto)
    for i in members:
        lost = f"gb_answered.{i}" if choices.looks_last else "peer_lost"
        yield Step(f"gb_alive.{i}", Load(f"alive{i}"), _alive(lost))
        last = lambda r: branch(r.got.lt(number(r)), "peer_lost", "gb_sleep")
        yield Step(f"gb_answered.{i}", Load(f"acked{i}"), last)
    yield Step("gb_sleep", Sleep("bell", lambda r: r.seen), "gb_read_bell")
    yield Step("gb_done", Access(), over, sets={"seen": 0})
    yield Step("peer_lost", Access(), END, sets={"seen": 0})


def _alive(lost: str) -> Callable[[Registers], list[tuple[Term, str]]]:
    return lambda r: branch(r.got.eq(0), lost, "gb_sleep")


def _serving(choices: Choices, i: int, rings: int) -> Thread:
    word = _engine(choices, i)
    look, drop, ack = "serve_look", "serve_drop", "serve_ack"
    asked = lambda r: branch(r.got.ne(r.acked), drop if choices.drops_first else ack, "serve_sleep")
    begin = "serve_read" if choices.reads_first else look
    late = "serve_sleep" if choices.reads_first else "serve_read"
    goto = lambda r: [(w, label if label != "serve_sleep" else late) for w, label in asked(r)]
    steps = (
        Step("serve_read", Load(word), look if choices.reads_first else "serve_sleep", sets={"seen": lambda r: r.got}),
        Step(look, Load(f"asked{i}"), goto, sets={"asked": lambda r: r.got}),
        Step(drop, Load("data"), f"{drop}.done", sets={"fresh": lambda r: r.got}),
        Step(
            f"{drop}.done",
            Store(f"dropped{i}", lambda r: r.fresh),
            ack if choices.drops_first else late,
            sets={"fresh": 0},
        ),
        Step(ack, Store(f"acked{i}", lambda r: r.asked), "serve_ring", sets={"acked": lambda r: r.asked}),
        Step("serve_ring", add("bell", 1), "serve_wake"),
        Step("serve_wake", Wake("bell"), late if choices.drops_first else drop, sets={"asked": 0}),
        Step("serve_sleep", Sleep(word, lambda r: r.seen), begin),
    )
    n = choices.rounds + 1
    registers = {"seen": rings, "asked": n, "acked": n, "fresh": n}
    return Thread(f"member{i}", steps, registers, mortal=choices.mortal, first=begin)


def _claims(a: Algorithm, choices: Choices) -> Iterator[Property]:
    members = range(choices.members)
    n = a.register("writer", "n")
    dropped = conj(*(a.memory(f"dropped{i}").ge(n) for i in members))
    yield a.claim(
        "done_means_dropped",
        "The writer goes on only when every engine has dropped its lines after the write.",
        a.at("writer", "gb_done").implies(dropped),
    )
    if choices.mortal:
        silent = disj(FALSE, *(conj(a.dead(f"member{i}"), a.memory(f"acked{i}").lt(n)) for i in members))
        yield a.claim(
            "told_rightly",
            "PeerLost is the answer only where a member died before it answered.",
            a.at("writer", "peer_lost").implies(silent),
        )
    quiet = conj(*(_rests(a, thread) for thread in a.runners if thread != "writer"))
    yield a.claim(
        "the_writer_is_not_left_asleep",
        "The writer does not sleep on when all others have done all that they will do.",
        ~conj(a.asleep("writer"), quiet),
    )


def _rests(a: Algorithm, thread: str) -> Term:
    if not thread.startswith("driver"):
        return a.idle(thread)
    waiting = conj(a.at(thread, "death_mark"), ~a.dead(f"member{thread.removeprefix('driver')}"))
    return disj(a.at(thread, END), waiting)


def answered(a: Algorithm) -> Property:
    """A witness: the second request is answered, too."""
    some = conj(a.at("writer", "gb_done"), a.register("writer", "n").eq(2))
    return Property("two_requests_were_answered", "All engines have answered the second request.", (), some, "state")
