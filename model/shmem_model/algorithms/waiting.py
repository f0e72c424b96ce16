"""T11: spin, then sleep, with wake-ups that are skipped where nobody sleeps (`_core_slots.h`, `notify.py`).

The sender counts and then looks whether somebody waits; the receiver says that it waits and then looks at the counters.
Both must be sequentially consistent: then one of the two sees the other.  The bell closes the second gap, between the
last look and the sleep: the receiver has read it before, and the futex compares it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from shmem_model.algorithms.compiling import Algorithm
from shmem_model.algorithms.programs import (
    END,
    RELEASE,
    SEQ_CST,
    Access,
    Fence,
    Goto,
    Load,
    Sleep,
    Step,
    Store,
    Thread,
    Wake,
    Word,
    add,
    branch,
)
from shmem_model.language import FALSE, Property, Term, conj, disj


@dataclass(frozen=True)
class Choices:
    """The scope, and what a red twin leaves out.

    `sends` gives each sender's number of notifications, `batch` who sends them in batches (release stores and one
    fence), `waits` how often the receiver waits.  `fallback` is the way without a
    compiler: nobody says that it waits, and every send rings.
    """

    sends: tuple[int, ...] = (1, 1)
    batch: tuple[bool, ...] = (False, True)
    waits: int = 2
    mortal: bool = True
    sender_fence: bool = True
    announce: str = SEQ_CST
    announces_first: bool = True
    bell_first: bool = True
    rings: bool = True
    looks_last: bool = True
    fallback: bool = False


def build(choices: Choices = Choices()) -> Algorithm:
    """The wait algorithm in a scope."""
    senders = range(len(choices.sends))
    rings = sum(choices.sends) + (len(choices.sends) if choices.mortal else 0)
    words = [Word("bell", rings + 1), Word("waiting", 2)]
    for s, n in enumerate(choices.sends):
        words += [Word(f"sent{s}", n + 1), Word(f"alive{s}", 2, 1)]
    threads = [_receiver(choices), *(_sender(choices, s) for s in senders)]
    if choices.mortal:
        threads += [driver(s, f"sender{s}", f"alive{s}", ["bell"]) for s in senders]
    algorithm = Algorithm("waiting", "Receiver and senders of a slot.", words, threads)
    algorithm.claims = tuple(_claims(algorithm, choices))
    return algorithm


def driver(number: int, agent: str, alive: str, bells: Sequence[str]) -> Thread:
    """What the driver does when an agent has died: mark it on the board, then ring and wake everybody."""
    first = f"death_ring.{bells[0]}" if bells else END
    steps = [Step("death_mark", Store(alive, 0), first, after_death=agent)]
    for bell, then in zip(bells, [*bells[1:], ""][: len(bells)], strict=True):
        steps.append(Step(f"death_ring.{bell}", add(bell, 1), f"death_wake.{bell}"))
        steps.append(Step(f"death_wake.{bell}", Wake(bell), f"death_ring.{then}" if then else END))
    return Thread(f"driver{number}", tuple(steps))


def _sender(choices: Choices, s: int) -> Thread:
    look_or_ring = "send_ring" if choices.fallback else "send_look_for_waiter"
    after = "batch_fence" if choices.sender_fence else look_or_ring
    if choices.batch[s]:
        first = "batch_count"
        store = Store(f"sent{s}", lambda r: r.done + 1, RELEASE)
        steps = [Step(first, store, after, sets={"done": lambda r: r.done + 1})]
        steps += [Step("batch_fence", Fence(), look_or_ring)] if choices.sender_fence else []
    else:
        first = "send_count"
        steps = [Step(first, add(f"sent{s}", 1), look_or_ring, sets={"done": lambda r: r.done + 1})]
    over = lambda r: branch(r.done.ge(choices.sends[s]), END, first)
    ring = "send_ring" if choices.rings else "send_wake"
    look = lambda r: branch(r.got.eq(0) & r.done.ge(choices.sends[s]), END, r.got.eq(0), first, ring)
    steps += [] if choices.fallback else [Step("send_look_for_waiter", Load("waiting"), look)]
    steps += [Step("send_ring", add("bell", 1), "send_wake")] if choices.rings else []
    steps.append(Step("send_wake", Wake("bell"), over))
    return Thread(f"sender{s}", tuple(steps), {"done": choices.sends[s] + 1}, buffer=1, mortal=choices.mortal)


def _receiver(choices: Choices) -> Thread:
    return Thread(
        "receiver",
        tuple(_receiving(choices)),
        {"done": choices.waits + 1, "seen": sum(choices.sends) + len(choices.sends) + 1}
        | {f"taken{s}": n + 1 for s, n in enumerate(choices.sends)},
        buffer=1 if choices.announce != SEQ_CST else 0,
        mortal=choices.mortal,
    )


def _receiving(choices: Choices) -> Iterator[Step]:
    senders = range(len(choices.sends))
    over = lambda r: branch(r.done.ge(choices.waits), END, "take_look.spin0")
    read_bell = Step("wait_read_bell", Load("bell"), "take_look.again0", sets={"seen": lambda r: r.got})
    late_bell = Step("wait_read_bell", Load("bell"), "wait_sleep", sets={"seen": lambda r: r.got})
    silent = choices.fallback
    first = "wait_announce" if choices.announces_first and not silent else "take_look.before0"
    begin = "wait_read_bell" if choices.bell_first else "take_look.again0"
    ready = "wait_sleep" if choices.bell_first else "wait_read_bell"
    yield from _take(choices, "spin", over, begin)
    yield read_bell if choices.bell_first else late_bell
    yield from _take(choices, "again", over, "wait_check_alive.0")
    lost = "take_look.last0" if choices.looks_last else "peer_lost"
    for s in senders:
        then = f"wait_check_alive.{s + 1}" if s + 1 < len(senders) else lost
        yield Step(f"wait_check_alive.{s}", Load(f"alive{s}"), _alive(first, then))
    if choices.looks_last:
        yield from _take(choices, "last", over, "peer_lost")
    yield Step("peer_lost", Access(), END)
    announce = Store("waiting", 1, choices.announce) if choices.announce != SEQ_CST else add("waiting", 1)
    last = "take_look.before0" if choices.announces_first else ready
    if not silent:
        yield Step("wait_announce", announce, last)
    found = "wait_withdraw.got" if choices.announces_first and not silent else over
    yield from _take(choices, "before", found, ready if choices.announces_first or silent else "wait_announce")
    yield Step("wait_sleep", Sleep("bell", lambda r: r.seen), "take_look.after0")
    if silent:
        yield from _take(choices, "after", over, begin)
        return
    yield from _take(choices, "after", "wait_withdraw.got", "wait_withdraw.empty")
    withdraw = Store("waiting", 0, choices.announce) if choices.announce != SEQ_CST else add("waiting", -1)
    yield Step("wait_withdraw.got", withdraw, over, sets={"seen": 0})
    yield Step("wait_withdraw.empty", withdraw, begin, sets={"seen": 0})


def _alive(alive: str, dead: str) -> Goto:
    return lambda r: branch(r.got.eq(1), alive, dead)


def _take(choices: Choices, context: str, found: Any, none: str) -> Iterator[Step]:
    """Look at each sender's counter and take one notification if there is one."""
    for s in range(len(choices.sends)):
        then = f"take_look.{context}{s + 1}" if s + 1 < len(choices.sends) else none
        claim = f"take_claim.{context}{s}"
        pending = lambda r, s=s, c=claim, t=then: branch(r.got.ne(r[f"taken{s}"]), c, t)
        yield Step(f"take_look.{context}{s}", Load(f"sent{s}"), pending)
        sets: dict[str, Any] = {"done": lambda r: r.done + 1, f"taken{s}": lambda r, s=s: r[f"taken{s}"] + 1}
        yield Step(claim, Access(), found, sets=sets)


def _claims(a: Algorithm, choices: Choices) -> Iterator[Property]:
    senders = range(len(choices.sends))
    others = [name for name in a.runners if name != "receiver"]
    resting = conj(*(_rests(a, name) for name in others))
    pending = disj(FALSE, *(a.memory(f"sent{s}").ne(a.register("receiver", f"taken{s}")) for s in senders))
    yield a.claim(
        "no_wake_up_is_lost",
        "A receiver never sleeps on when a notification is there and everybody else has done all that he will do.",
        ~conj(a.asleep("receiver"), pending, resting),
    )
    told = conj(*(a.dead(f"sender{s}") for s in senders)) if choices.mortal else FALSE
    yield a.claim(
        "a_waiter_is_told_of_death",
        "A receiver never sleeps on when everybody who could send is dead and the driver has told.",
        ~conj(a.asleep("receiver"), told, resting),
    )
    yield a.claim(
        "told_only_where_nothing_is_left",
        "PeerLost is the answer only where every sender is dead and nothing that was sent is left.",
        a.at("receiver", "peer_lost").implies(conj(told, ~pending)),
    )
    got = [a.register("receiver", f"taken{s}").test(a.memory(f"sent{s}"), lambda x, y: x <= y) for s in senders]
    yield a.claim("nothing_is_invented", "Nobody takes more than was sent.", conj(*got))


def _rests(a: Algorithm, name: str) -> Term:
    """It will do nothing more by itself; a driver also when nobody whom it watches has died."""
    if not name.startswith("driver"):
        return a.idle(name)
    waiting = conj(a.at(name, "death_mark"), ~a.dead(f"sender{name.removeprefix('driver')}"))
    return disj(a.at(name, END), waiting)


def skipped(a: Algorithm) -> Property:
    """A witness: a sender has skipped the wake-up, and the receiver has everything."""
    some = conj(a.at("sender0", END), a.memory("bell").eq(0), a.register("receiver", "done").ge(1))
    return Property("a_wake_up_was_skipped", "A notification was taken and nobody was woken for it.", (), some, "state")


def woken(a: Algorithm) -> Property:
    """A witness: the bell was rung for a sleeper."""
    some = conj(a.asleep("receiver"), a.at("sender0", "send_wake"))
    return Property("a_sleeper_is_about_to_be_woken", "A sender rings while the receiver sleeps.", (), some, "state")
