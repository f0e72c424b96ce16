"""T14: the ring of a channel, with one producer and one consumer (`transfer.py`).

The producer writes length and payload, flushes, fences, and only then counts; both counts are changed by atomics in
memory, on lines of their own.  The consumer invalidates after it has seen the count.  Message n carries n in both
words, so that whatever is torn, overwritten too early or out of order shows as another number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shmem_model.algorithms.compiling import Algorithm
from shmem_model.algorithms.programs import (
    END,
    RELAXED,
    Access,
    Change,
    Fence,
    Flush,
    Invalidate,
    Load,
    Place,
    ReadLine,
    Step,
    Store,
    Take,
    Thread,
    Word,
    WriteLine,
    branch,
)
from shmem_model.language import Property, conj


@dataclass(frozen=True)
class Choices:
    """The scope, and what a red twin leaves out.  `cached`: through line caches, else through store buffers."""

    depth: int = 2
    messages: int = 3
    cached: bool = False
    mortal: bool = True
    payload_first: bool = True
    fence: bool = True
    flush: bool = True
    invalidate: bool = True
    index_line: str = ""
    credits: bool = True
    lengths: bool = True


def build(choices: Choices = Choices()) -> Algorithm:
    """The ring in a scope."""
    n = choices.messages + 1
    words = [Word("tail", n, 0, choices.index_line), Word("head", n), Word("arrivals", 2), Word("credits", 2)]
    words += [Word(f"{part}{k}", n) for k in range(choices.depth) for part in _parts(choices)]
    registers = {"done": n, "limit": n}
    producer = Thread("producer", tuple(_put(choices)), registers, buffer=2, mortal=choices.mortal)
    found = {"length": n, "data": n}
    consumer = Thread("consumer", tuple(_get(choices)), registers | found, mortal=choices.mortal)
    algorithm = Algorithm("ring", "One direction of a channel.", words, [producer, consumer])
    got = [
        algorithm.register("consumer", part).eq(algorithm.register("consumer", "done") + 1) for part in _parts(choices)
    ]
    sentence = "Every message is the next one, whole: nothing torn, overwritten before it was read, or out of order."
    claim = algorithm.claim(
        "messages_come_whole_and_in_order", sentence, algorithm.at("consumer", "get_count").implies(conj(*got))
    )
    waits = conj(
        algorithm.at("consumer", "get_wait"), algorithm.memory("arrivals").eq(0), algorithm.at("producer", END)
    )
    behind = algorithm.register("consumer", "done").ne(choices.messages)
    sentence = "The consumer does not wait for ever for a message that was sent."
    algorithm.claims = (claim, algorithm.claim("no_message_is_lost", sentence, ~conj(waits, behind)))
    return algorithm


def _parts(choices: Choices) -> tuple[str, ...]:
    return ("length", "data") if choices.lengths else ("data",)


def _entry(choices: Choices, part: str) -> Place:
    return lambda r: [((r.done % choices.depth).eq(k), f"{part}{k}") for k in range(choices.depth)]


def _put(choices: Choices) -> Iterator[Step]:
    parts = _parts(choices)
    full = lambda r: r.done.test(r.limit, lambda done, limit: done - limit >= choices.depth)
    begin = f"put_{parts[0]}" if choices.payload_first else "put_count"
    start = lambda r: branch(full(r), "put_look", begin) if choices.credits else branch(begin)
    again = lambda r: [(r.done.ge(choices.messages), END), *start(r)]
    yield Step("put_start", Access(), start)
    still = lambda r: branch(full(r), "put_wait", begin)
    yield Step("put_look", Change("head"), still, sets={"limit": lambda r: r.got})
    yield Step("put_wait", Take("credits", "consumer"), lambda r: branch(r.got.eq(0), "peer_lost", "put_look"))
    after = "put_count" if choices.payload_first else "put_notify"
    fence = "put_fence" if choices.fence else after
    flushed = f"put_flush.{parts[0]}" if choices.cached and choices.flush else fence
    value = (lambda r: r.done + 1) if choices.payload_first else (lambda r: r.done)
    for part, more in zip(parts, [*parts[1:], ""], strict=True):
        place = _write_place(choices, part)
        access = WriteLine(place, value) if choices.cached else Store(place, value, RELAXED)
        yield Step(f"put_{part}", access, f"put_{more}" if more else flushed)
        if choices.cached and choices.flush:
            yield Step(f"put_flush.{part}", Flush(place), f"put_flush.{more}" if more else fence)
    if choices.fence:
        yield Step("put_fence", Fence(), after)
    then = "put_notify" if choices.payload_first else f"put_{parts[0]}"
    yield Step("put_count", Change("tail", lambda r: r.done + 1), then, sets={"done": lambda r: r.done + 1})
    yield Step("put_notify", Change("arrivals", lambda r: 1), again)
    yield Step("peer_lost", Access(), END)


def _write_place(choices: Choices, part: str) -> Place:
    by = 0 if choices.payload_first else -1
    return lambda r: [
        ((r.done + by).map(lambda n: n % choices.depth).eq(k), f"{part}{k}") for k in range(choices.depth)
    ]


def _get(choices: Choices) -> Iterator[Step]:
    parts = _parts(choices)
    drop = choices.cached and choices.invalidate
    begin = f"get_drop.{parts[0]}" if drop else f"get_{parts[0]}"
    start = lambda r: branch(r.done.eq(r.limit), "get_look", begin)
    again = lambda r: [(r.done.ge(choices.messages), END), *start(r)]
    empty = lambda r: branch(r.done.eq(r.limit), "get_wait", begin)
    yield Step("get_look", Change("tail"), empty, sets={"limit": lambda r: r.got})
    yield Step("get_wait", Take("arrivals", "producer"), lambda r: branch(r.got.eq(0), "peer_lost", "get_look"))
    for part, more in zip(parts, [*parts[1:], ""], strict=True):
        place = _entry(choices, part)
        then = (f"get_drop.{more}" if drop else f"get_{more}") if more else "get_count"
        if drop:
            yield Step(f"get_drop.{part}", Invalidate(place), f"get_{part}")
        access = ReadLine(place) if choices.cached else Load(place)
        yield Step(f"get_{part}", access, then, sets={part: lambda r: r.got})
    clear = dict.fromkeys(parts, 0)
    done = {"done": lambda r: r.done + 1}
    yield Step("get_count", Change("head", lambda r: r.done + 1), "get_notify", sets={**done, **clear})
    yield Step("get_notify", Change("credits", lambda r: 1), again)
    yield Step("peer_lost", Access(), END)


def wrapped(a: Algorithm) -> Property:
    """A witness: an entry is used for the second time."""
    some = conj(a.register("consumer", "done").ge(2), a.at("consumer", "get_count"))
    return Property(
        "an_entry_is_used_again", "The consumer takes a message from an entry that was used before.", (), some, "state"
    )
