"""Slots, teams and global barriers of emulated memory: what agents agreed on, without any memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from shmem.emulated.hardware import Hardware
from shmem.emulated.lines import Block
from shmem.layout import SLOTS

Slot = tuple[str, int]
"""Receiver and number."""


@dataclass
class Barrier:
    """A team: in which epoch each member arrived last, and left last."""

    name: str
    members: tuple[str, ...]
    arrived: dict[str, int] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)

    def inside(self, name: str) -> bool:
        """Whether the member has arrived and not left."""
        return self.arrived.get(name, 0) != self.left.get(name, 0)

    def complete(self, epoch: int) -> bool:
        """Whether every member has arrived in the epoch."""
        return all(self.arrived.get(m, 0) >= epoch for m in self.members)


@dataclass
class Request:
    """A writer's global barrier."""

    members: tuple[str, ...]
    key: int
    missing: set[tuple[str, Block]]


class Board:
    """Notifications and barriers."""

    def __init__(self, hardware: Hardware) -> None:
        self.hardware = hardware
        self.pending: dict[Slot, dict[str, int]] = {}
        self.sent: dict[tuple[str, str, int], int] = {}
        """(sender, receiver, slot) -> notifications so far."""
        self.taken: dict[tuple[str, str, int], int] = {}
        """The same, taken so far."""
        self.denied: dict[Slot, set[str]] = {}
        """Slots that not everybody may send to -> who may."""
        self.barriers: dict[tuple[str, tuple[str, ...]], Barrier] = {}
        self.requests: dict[str, Request] = {}
        self.sticky = hardware.platform.slots == "sticky"

    def may_send(self, sender: str, slot: Slot) -> bool:
        """Whether the receiver granted the slot."""
        return sender != slot[0] and (slot not in self.denied or sender in self.denied[slot])

    def post(self, sender: str, slot: Slot, n: int) -> None:
        """A notification (or n) enters a slot."""
        held = self.pending.setdefault(slot, {})
        held[sender] = 1 if self.sticky else held.get(sender, 0) + n
        self.sent[sender, *slot] = self.sent.get((sender, *slot), 0) + n

    def take(self, slot: Slot) -> str | None:
        """Take one notification (sticky: all, as one); its sender, or None."""
        held = self.pending.get(slot)
        if not held:
            return None
        sender = next(iter(held))
        if self.sticky:
            for name in held:
                self.taken[name, *slot] = self.sent[name, *slot]
            held.clear()
        else:
            self.taken[sender, *slot] = self.taken.get((sender, *slot), 0) + 1
            held[sender] -= 1
            if not held[sender]:
                del held[sender]
        return sender

    def count(self, slot: Slot) -> int:
        """How many notifications a slot holds."""
        held = sum(self.pending.get(slot, {}).values())
        return min(held, 1) if self.sticky else held

    def deserted(self, slot: Slot) -> bool:
        """Whether somebody else may send to the slot, and everybody who may is dead."""
        others = [name for name in self.hardware.sides if self.may_send(name, slot)]
        return bool(others) and all(name in self.hardware.dead for name in others)

    def acknowledge(self, writer: str, member: str, block: Block) -> None:
        """A member's engine (with multicast: every living member's) drops its clean line and acknowledges."""
        request = self.requests[writer]
        names = [member]
        if self.hardware.platform.multicast:
            names = [m for m in request.members if m not in self.hardware.dead]
        frame = self.hardware.frames.get(block)
        for name in names:
            request.missing.discard((name, block))
            line = self.hardware.sides[name].lines.get(frame) if frame is not None else None
            if line is not None and frame is not None and not line.mask:
                del self.hardware.sides[name].lines[frame]


__all__ = ["SLOTS", "Barrier", "Board", "Request"]
