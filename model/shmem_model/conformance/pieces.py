"""What the kit draws: single calls, and pieces of programs, of which one call may be left out.

A run of calls drawn one by one hardly ever hands a value over from one agent's cache to another's, and mistakes of
implementations hide just there.  A piece is a list of calls as a program would make them; whether each may be made,
and what may come of it, is asked of the machine as always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from shmem_model.conformance.adapter import World

Step = tuple[str, dict[str, Any]]
Piece = list[Step]


class Pieces:
    """The pieces that can be made of an alphabet."""

    def __init__(self, world: World, alphabet: Sequence[Step]) -> None:
        self.world, self.alphabet = world, list(alphabet)
        self.by_action: dict[str, Piece] = {}
        for step in alphabet:
            self.by_action.setdefault(step[0], []).append(step)
        self.kinds = [kind for kind in KINDS if next(kind(self, 0), None) is not None]

    def of(self, choice: int) -> Piece:
        """The piece that a number stands for; small numbers stand for simple ones."""
        if not self.kinds:
            return []
        choice, kind = divmod(choice, len(self.kinds))
        choice, left_out = divmod(choice, 16)
        piece = list(self.kinds[kind](self, choice))
        return piece[: left_out - 1] + piece[left_out:] if 0 < left_out <= len(piece) else piece

    def find(self, action: str, **wanted: Any) -> Piece:
        """The calls of an action with these arguments."""
        found = self.by_action.get(action, ())
        return [step for step in found if all(step[1].get(key) == value for key, value in wanted.items())]

    def some(self, choice: int, action: str, **wanted: Any) -> Iterator[Step]:
        """One of these calls, or nothing where there is none."""
        found = self.find(action, **wanted)
        if found:
            yield found[choice % len(found)]


def _place(step: Step) -> dict[str, Any]:
    return {key: step[1][key] for key in ("region", "line") if key in step[1]}


def _edge(pieces: Pieces, choice: int, sender: str, receiver: str) -> Iterator[Step]:
    """The receiver gets to know what the sender knows, over a slot or a barrier."""
    slots = [name for name, slot in pieces.world.slots.items() if slot.receiver == receiver and sender in slot.senders]
    teams = [name for name, members in pieces.world.teams.items() if {sender, receiver} <= set(members)]
    if slots and (choice % 2 or not teams):
        yield from pieces.some(0, "send", agent=sender, slot=slots[choice % len(slots)])
        yield from pieces.some(0, ("wait", "poll")[choice // 2 % 2], agent=receiver, slot=slots[choice % len(slots)])
    elif teams:
        members = pieces.world.teams[teams[choice % len(teams)]]
        for action in ("arrive", "leave"):
            for member in members:
                yield from pieces.some(0, action, agent=member, team=teams[choice % len(teams)])


def _hand_over(pieces: Pieces, choice: int) -> Iterator[Step]:
    """Another agent has the line already; it is written, published, told of, and read afresh."""
    writes = pieces.find("write")
    others = [name for name in pieces.world.agents if writes and name != writes[choice % len(writes)][1]["agent"]]
    if not writes or not others:
        return
    write, reader = writes[choice % len(writes)], others[choice // len(writes) % len(others)]
    place, word = _place(write), write[1].get("word", 0)
    writer = write[1]["agent"]
    yield from pieces.some(0, "read", agent=reader, word=word, **place)
    yield write
    yield from pieces.some(choice, "flush", agent=writer, **place)
    yield from pieces.some(0, "fence", agent=writer)
    yield from _edge(pieces, choice, writer, reader)
    yield from pieces.some(0, "invalidate", agent=reader, **place)
    yield from pieces.some(0, "read", agent=reader, word=word, **place)


def _look_around(pieces: Pieces, choice: int) -> Iterator[Step]:
    """A write, a flush, and every word of the region read by its writer."""
    for write in list(pieces.some(choice, "write")):
        yield write
        yield from pieces.some(choice, "flush", agent=write[1]["agent"], **_place(write))
        yield from pieces.find("read", agent=write[1]["agent"], region=write[1]["region"])


def _twice(pieces: Pieces, choice: int) -> Iterator[Step]:
    """Two notifications, and two waits for them."""
    for send in list(pieces.some(choice, "send")):
        slot = send[1]["slot"]
        yield send
        yield from pieces.some(choice // 7, "send", slot=slot)
        for action in ("poll", "wait") if choice % 2 else ("wait", "poll"):
            yield from pieces.some(0, action, agent=pieces.world.slots[slot].receiver, slot=slot)


def _meet(pieces: Pieces, choice: int) -> Iterator[Step]:
    """A use of a barrier, with somebody who is late."""
    teams = list(pieces.world.teams.items())
    if teams:
        name, members = teams[choice % len(teams)]
        for member in members[:-1]:
            yield from pieces.some(0, "arrive", agent=member, team=name)
        yield from pieces.some(0, "leave", agent=members[0], team=name)
        yield from pieces.some(0, "arrive", agent=members[-1], team=name)
        for member in members:
            yield from pieces.some(0, "leave", agent=member, team=name)


def _atomics(pieces: Pieces, choice: int) -> Iterator[Step]:
    """Two agents' atomics on one word, and a read of it."""
    names = [name for name in ("atomic_add", "atomic_swap", "compare_swap") if name in pieces.by_action]
    for first in list(pieces.some(choice, names[choice % len(names)])) if names else ():
        yield first
        place = {**_place(first), "word": first[1].get("word", 0)}
        yield from pieces.some(choice // 3, names[choice // 2 % len(names)], **place)
        yield from pieces.some(choice, "read", **place)


def _rights(pieces: Pieces, choice: int) -> Iterator[Step]:
    """A mapping comes and goes, with an access after each."""
    for step in list(pieces.some(choice, "map")):
        agent, region = step[1]["agent"], step[1]["region"]
        yield step
        yield from pieces.some(choice, ("write", "read")[choice % 2], agent=agent, region=region)
        yield from pieces.some(0, "unmap", of=agent, region=region)
        yield from pieces.some(choice, ("read", "write")[choice % 2], agent=agent, region=region)


def _life(pieces: Pieces, choice: int) -> Iterator[Step]:
    """A region is freed, another one allocated, and the old handle used again."""
    for step in list(pieces.some(choice, "free")):
        region = step[1]["region"]
        yield from pieces.some(choice, "read", region=region)
        yield step
        yield from pieces.some(0, "scrub")
        yield from pieces.some(choice, "alloc")
        yield from pieces.some(choice, "read", region=region)
        yield from pieces.some(choice, "read")


def _copied(pieces: Pieces, choice: int) -> Iterator[Step]:
    """A word is written, published and copied, and the copy read."""
    for step in list(pieces.some(choice, "copy_start")):
        agent = step[1]["agent"]
        yield from pieces.some(choice, "write", agent=agent, word=step[1]["word"], **_place(step))
        yield from pieces.some(choice, "flush", agent=agent, **_place(step))
        yield from pieces.some(0, "fence", agent=agent)
        yield step
        yield from pieces.some(0, "copy_wait", agent=agent)
        target = {"region": step[1]["to_region"], "line": step[1]["to_line"], "word": step[1]["to_word"]}
        yield from pieces.some(0, "read", agent=agent, **target)


KINDS: tuple[Callable[[Pieces, int], Iterator[Step]], ...] = (
    _hand_over, _look_around, _twice, _meet, _atomics, _rights, _life, _copied,
)  # fmt: skip
"""A piece for a number; nothing where the alphabet has not the calls for it."""
