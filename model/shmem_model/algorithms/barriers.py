"""T12: the barriers of teams, central and by dissemination (`teams.py`).

Each member has a line of its own with the number of the epoch in which it arrived last.  Nothing is ever taken back and
no common count is kept, so a death leaves nothing half-way.  `>=` and not `==`: a fast member may be an epoch ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from shmem_model.algorithms.compiling import Algorithm
from shmem_model.algorithms.numbers import Num
from shmem_model.algorithms.programs import (
    END,
    SEQ_CST,
    Access,
    Fence,
    Flush,
    Load,
    Sleep,
    Step,
    Store,
    Thread,
    Wake,
    Word,
    WriteLine,
    add,
    branch,
)
from shmem_model.algorithms.waiting import driver
from shmem_model.language import FALSE, Property, Term, conj, disj


@dataclass(frozen=True)
class Choices:
    """The scope, and what a red twin leaves out.

    `cached`: arrivals are written through line caches and flushed, as on hardware without coherence; `shared_line`: all
    flags on one line; `counts`: each epoch has a number of its own; `at_least`: flags are compared with `>=`.
    """

    members: int = 3
    epochs: int = 2
    mortal: tuple[int, ...] = (0, 1, 2)
    flavour: str = "central"
    at_least: bool = True
    counts: bool = True
    mark: str = SEQ_CST
    cached: bool = False
    shared_line: bool = False
    driver_rings: bool = True
    waits_for_all: bool = True
    tells_all: bool = True
    rings: int = 9
    spurious: bool = True


def name(i: int) -> str:
    """A member's name."""
    return f"member{i}"


def build(choices: Choices = Choices()) -> Algorithm:
    """A barrier in a scope."""
    n = choices.members
    line = "flags" if choices.shared_line else ""
    words = [Word(f"arrived{i}", choices.epochs + 1, 0, line) for i in range(n)]
    words += [Word(f"left{i}", choices.epochs + 1) for i in range(n)]
    words += [Word(f"alive{i}", 2, 1) for i in range(n)]
    if choices.flavour == "central":
        bells, make = ["bell"], _central
    else:
        bells, make = [f"bell{i}" for i in range(n)], _dissemination
        words += [Word(f"flag{i}_{k}", choices.epochs + 1) for i in range(n) for k in range(_rounds(n))]
    words += [Word(bell, choices.rings + 1) for bell in bells]
    members = [_member(choices, i, make) for i in range(n)]
    told = bells if choices.driver_rings else []
    drivers = [driver(i, name(i), f"alive{i}", told) for i in choices.mortal]
    algorithm = Algorithm(choices.flavour, "A barrier of a team.", words, [*members, *drivers])
    algorithm.claims = tuple(_claims(algorithm, choices))
    return algorithm


def _rounds(n: int) -> int:
    return max(1, (n - 1).bit_length())


def _member(choices: Choices, i: int, make: Callable[[Choices, int], Iterator[Step]]) -> Thread:
    return Thread(
        name(i),
        tuple(make(choices, i)),
        {"epoch": choices.epochs + 1, "seen": choices.rings + 1},
        buffer=1 if choices.mark != SEQ_CST else 0,
        mortal=i in choices.mortal,
        spurious=choices.spurious,
    )


def _here(choices: Choices, r: Any) -> Num | int:
    """The number that stands for the member's epoch in shared words."""
    return r.epoch if choices.counts else 1


def _mark(choices: Choices, i: int, step: str, then: Any) -> Iterator[Step]:
    """Arrive: the member's own line gets the next epoch's number."""
    begin, word = {"epoch": lambda r: r.epoch + 1}, f"arrived{i}"
    value = lambda r: r.epoch + 1 if choices.counts else 1
    if choices.cached:
        yield Step(f"{step}.write", WriteLine(word, value), f"{step}.flush", sets=begin)
        yield Step(f"{step}.flush", Flush(word), f"{step}.fence")
        yield Step(f"{step}.fence", Fence(), then)
    else:
        yield Step(step, Store(word, value, choices.mark), then, sets=begin)


def _everybody(choices: Choices, i: int, context: str, yes: Any, no: Any) -> Iterator[Step]:
    """Has everybody arrived?  One line after the other, until one says no."""
    others = [j for j in range(choices.members) if j != i]
    for j, after in zip(others, [*others[1:], None], strict=True):
        then = yes if after is None else f"team_look.{context}{after}"
        here = lambda r: r.got.ge(_here(choices, r)) if choices.at_least else r.got.eq(_here(choices, r))
        goto = lambda r, here=here, then=then: [(~here(r), no), *_ways(then, r)]
        yield Step(f"team_look.{context}{j}", Load(f"arrived{j}"), goto)


def _ways(goto: Any, r: Any) -> list[tuple[Term, str]]:
    return branch(goto) if isinstance(goto, str) else list(goto(r))


def _first(i: int) -> int:
    return 1 if i == 0 else 0


def _missing(choices: Choices, i: int, context: str, sleep: str) -> Iterator[Step]:
    """Who is dead, and did not arrive before?  In this order: the dead do not arrive any more."""
    others = [j for j in range(choices.members) if j != i]
    for j, after in zip(others, [*others[1:], None], strict=True):
        then = sleep if after is None else f"team_alive.{context}{after}"
        dead = lambda r, j=j, then=then: branch(r.got.eq(0), f"team_line.{context}{j}", then)
        yield Step(f"team_alive.{context}{j}", Load(f"alive{j}"), dead)
        lost = lambda r, then=then: branch(r.got.lt(_here(choices, r)), "peer_lost", then)
        yield Step(f"team_line.{context}{j}", Load(f"arrived{j}"), lost)


def _central(choices: Choices, i: int) -> Iterator[Step]:
    begin = "arrive_mark.write" if choices.cached else "arrive_mark"
    over = lambda r: branch(r.epoch.ge(choices.epochs), END, begin)
    yield from _mark(choices, i, "arrive_mark", f"team_look.arrive{_first(i)}")
    yield from _everybody(choices, i, "arrive", "arrive_ring", "team_read_bell")
    yield Step("arrive_ring", add("bell", 1), "arrive_wake")
    yield Step("arrive_wake", Wake("bell"), "team_read_bell")
    look = f"team_look.leave{_first(i)}" if choices.waits_for_all else "leave_mark"
    yield Step("team_read_bell", Load("bell"), look, sets={"seen": lambda r: r.got})
    yield from _everybody(choices, i, "leave", "leave_mark", f"team_alive.leave{_first(i)}")
    yield from _missing(choices, i, "leave", "team_sleep")
    yield Step("team_sleep", Sleep("bell", lambda r: r.seen), "team_read_bell")
    yield Step("leave_mark", Store(f"left{i}", lambda r: r.epoch), over, sets={"seen": 0})
    yield Step("peer_lost", Access(), END, sets={"seen": 0})


def _dissemination(choices: Choices, i: int) -> Iterator[Step]:
    rounds = _rounds(choices.members)
    over = lambda r: branch(r.epoch.ge(choices.epochs), END, "diss_mark")
    yield from _mark(choices, i, "diss_mark", "tell_flag.0")
    for k in range(rounds):
        yield from _round(choices, i, k, f"tell_flag.{k + 1}" if k + 1 < rounds else "diss_leave")
    yield Step("diss_leave", Store(f"left{i}", lambda r: r.epoch), over, sets={"seen": 0})
    yield Step("peer_lost", Access(), END, sets={"seen": 0})


def _round(choices: Choices, i: int, k: int, after: str) -> Iterator[Step]:
    """Tell one member, then wait until another one has told."""
    n, bell = choices.members, f"bell{i}"
    to = (i + 2**k) % n
    yield Step(f"tell_flag.{k}", Store(f"flag{to}_{k}", lambda r: _here(choices, r)), f"tell_ring.{k}")
    yield Step(f"tell_ring.{k}", add(f"bell{to}", 1), f"tell_wake.{k}")
    wait = f"team_read_bell.{k}"
    told = f"team_died.{k}tell{_first(i)}" if choices.tells_all else wait
    yield Step(f"tell_wake.{k}", Wake(f"bell{to}"), told)
    yield from _died(choices, i, f"{k}tell", f"all_ring.{k}_0", wait)
    for m in range(n):
        then = f"all_ring.{k}_{m + 1}" if m + 1 < n else wait
        yield Step(f"all_ring.{k}_{m}", add(f"bell{m}", 1), f"all_wake.{k}_{m}")
        yield Step(f"all_wake.{k}_{m}", Wake(f"bell{m}") if m != i else Access(), then)
    yield Step(wait, Load(bell), f"diss_heard.{k}", sets={"seen": lambda r: r.got})
    missing = f"team_alive.{k}missing{_first(i)}"
    here = lambda r: r.got.ge(_here(choices, r)) if choices.at_least else r.got.eq(_here(choices, r))
    heard = lambda r: branch(here(r), after, f"team_died.{k}heard{_first(i)}")
    yield Step(f"diss_heard.{k}", Load(f"flag{i}_{k}"), heard)
    yield from _died(choices, i, f"{k}heard", f"team_look.{k}heard{_first(i)}", missing)
    yield from _everybody(choices, i, f"{k}heard", after, missing)
    yield from _missing(choices, i, f"{k}missing", f"team_sleep.{k}")
    yield Step(f"team_sleep.{k}", Sleep(bell, lambda r: r.seen), wait)


def _died(choices: Choices, i: int, context: str, yes: str, no: str) -> Iterator[Step]:
    others = [j for j in range(choices.members) if j != i]
    for j, after in zip(others, [*others[1:], None], strict=True):
        then = no if after is None else f"team_died.{context}{after}"
        goto = lambda r, then=then: branch(r.got.eq(0), yes, then)
        yield Step(f"team_died.{context}{j}", Load(f"alive{j}"), goto)


def _claims(a: Algorithm, choices: Choices) -> Iterator[Property]:
    members = range(choices.members)
    leave = "leave_mark" if choices.flavour == "central" else "diss_leave"

    def come(j: int, epoch: Num) -> Term:
        """The member has arrived in the epoch (its own count; what a dead one has left is in memory)."""
        dead = a.dead(name(j)) if j in choices.mortal else FALSE
        return disj(conj(~dead, a.register(name(j), "epoch").ge(epoch)), conj(dead, a.memory(f"arrived{j}").ge(epoch)))

    epoch = {i: a.register(name(i), "epoch") for i in members}
    early = (conj(a.at(name(i), leave), ~come(j, epoch[i])) for i in members for j in members if i != j)
    yield a.claim(
        "nobody_leaves_early", "Nobody leaves an epoch in which somebody has not arrived.", ~disj(FALSE, *early)
    )
    known = (
        a.at(name(i), "peer_lost").implies(
            disj(FALSE, *(conj(a.dead(name(j)), ~come(j, epoch[i])) for j in choices.mortal))
        )
        for i in members
    )
    yield a.claim("told_rightly", "PeerLost is the answer only where a member died before it arrived.", conj(*known))
    quiet = conj(*(_rests(a, thread) for thread in a.runners))
    sleeps = disj(FALSE, *(a.asleep(name(i)) for i in members))
    yield a.claim(
        "nobody_is_left_asleep", "Nobody sleeps on when all others have done all that they will do.", ~(quiet & sleeps)
    )


def _rests(a: Algorithm, thread: str) -> Term:
    if not thread.startswith("driver"):
        return a.idle(thread)
    waiting = conj(a.at(thread, "death_mark"), ~a.dead(name(int(thread.removeprefix("driver")))))
    return disj(a.at(thread, END), waiting)


def ahead(a: Algorithm) -> Property:
    """A witness: the number of the epoch is needed."""
    some = conj(a.memory("arrived0").eq(2), a.register("member1", "epoch").eq(1), a.asleep("member1"))
    sentence = "A member has arrived in the second epoch while another still sleeps in the first."
    return Property("a_fast_member_is_an_epoch_ahead", sentence, (), some, "state")


def told(a: Algorithm) -> Property:
    """A witness: somebody learns of a death."""
    some = disj(FALSE, *(a.at(thread, "peer_lost") for thread in a.runners if thread.startswith("member")))
    return Property(
        "a_member_is_told_of_a_death", "A member is told that another died before it arrived.", (), some, "state"
    )


def arrived_and_died(a: Algorithm) -> Property:
    """A witness: a dead member counts where it had arrived."""
    some = conj(a.dead("member1"), a.memory("alive1").eq(0), a.memory("left0").eq(1), a.memory("left1").eq(0))
    return Property(
        "a_dead_member_had_arrived", "A member left an epoch in which another had arrived and died.", (), some, "state"
    )
