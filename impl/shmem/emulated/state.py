"""The projection of emulated memory: what the machine's functions say, as plain sets and dictionaries.

Agents are named, a region is (number, generation), a block is (number, generation, line), a frame is a
physical address, words are numbered inside of their line, values are numbers.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from shmem.emulated.lines import value as value_of
from shmem.emulated.lines import words
from shmem.layout import LINE, WORD, WRITE

if TYPE_CHECKING:
    from shmem.emulated.machine import Machine

_EVERY = range(LINE // WORD)


def _block(block: tuple[int, int]) -> tuple[int, int, int]:
    return block[0] >> 64, block[0] & (1 << 64) - 1, block[1]


def _hardware(m: Machine, wanted: Collection[int] | None) -> dict[str, Any]:
    values: dict[str, dict[tuple[str, int, int], int]] = {"data": {}, "posted_data": {}}
    data, posted_data = values["data"], values["posted_data"]
    valid, dirty, posted, tlb, writable = set(), set(), set(), set(), set()
    for name, side in m.hardware.sides.items():
        for frame, line in side.lines.items():
            valid.add((name, frame))
            dirty |= {(name, frame, w) for w in words(line.mask)}
            data |= {(name, frame, w): value_of(line.data, w) for w in _EVERY}
        for frame, line in side.posted.items():
            for w in words(line.mask):
                posted.add((name, frame, w))
                posted_data[name, frame, w] = value_of(line.data, w)
        for block, (frame, may) in side.tlb.items():
            tlb.add((name, _block(block), frame))
            if may:
                writable.add((name, _block(block), frame))
    frames = set(wanted or ())
    if wanted is None:
        frames |= {f for _, f in valid} | {f for _, f, _ in posted} | set(m.hardware.frames.values())
        quarantine = [r for a in m.service.arenas.values() for r in a.quarantine]
        frames |= {f for r in quarantine for f in r.frames or []}
    memory = {(f, w): value_of(m.hardware.memory(f), w) for f in frames for w in _EVERY}
    return {
        "valid": valid, "dirty": dirty, "data": data, "posted": posted, "posted_data": posted_data,
        "memory": memory, "tlb": tlb, "tlb_writable": writable,
    }  # fmt: skip


def _regions(m: Machine) -> dict[str, Any]:
    names = {a.index: a.name for a in m.service.agents.values()}
    part_of, at, mapped, writable = set(), set(), set(), set()
    for block, frame in m.hardware.frames.items():
        part_of.add((_block(block), _block(block)[:2]))
        at.add((_block(block), frame))
        for index, right in m.hardware.regions[block[0]].mapped.items():
            mapped.add((names[index], _block(block)))
            if right & WRITE:
                writable.add((names[index], _block(block)))
    retired = {
        (a.number * 4096 + index, generation)
        for a in m.service.arenas.values()
        for index, last in a.generations.items()
        for generation in range(1, last + 1)
        if index not in a.regions or generation < last
    }
    holes = [hole for a in m.service.arenas.values() for hole in a.space.holes()]
    return {
        "part_of": part_of, "retired": retired, "at": at, "available": holes, "mapped": mapped,
        "mapped_writable": writable, "frozen": {_block(b) for b in m.hardware.frozen},
    }  # fmt: skip


def _agreements(m: Machine) -> dict[str, Any]:
    collecting, arrived, left = set(), set(), set()
    for (name, _), team in m.board.barriers.items():
        last = max(team.arrived.values(), default=0)
        if last and not team.complete(last):
            collecting.add((name, last))
        arrived |= {(name, epoch, who) for who, epoch in team.arrived.items()}
        left |= {(name, epoch, who) for who, epoch in team.left.items()}
    gb_open, gb_acked = set(), set()
    for writer, request in m.board.requests.items():
        region = request.key >> 64, request.key & (1 << 64) - 1
        gb_open.add((writer, request.members, region))
        blocks = [b for b in m.hardware.frames if b[0] == request.key]
        for member in request.members:
            gb_acked |= {(writer, member, _block(b)) for b in blocks if (member, b) not in request.missing}
    copying = {
        (job.owner, _block(a), at // WORD, _block(b), to // WORD) for job in m.jobs for a, at, b, to, _ in job.pieces
    }
    pending = {slot: m.board.count(slot) for slot in m.board.pending if m.board.count(slot)}
    return {
        "pending": pending, "collecting": collecting, "arrived": arrived, "left": left, "gb_open": gb_open,
        "gb_acked": gb_acked, "copying": copying, "dead": set(m.hardware.dead),
    }  # fmt: skip


def state(m: Machine, frames: Collection[int] | None = None) -> dict[str, Any]:
    """Everything, by the names of the machine's functions; `memory` of these frames only, where some are named."""
    return _hardware(m, frames) | _regions(m) | _agreements(m)
