"""One name on both sides: every action with the group it belongs to and where it is called from.

This table is what tests compare the machine, the litmus words, the trace events and an implementation with.
`method` says where an implementation has it: on an `agent`, in the `driver`, as `hardware` (only where hardware can
be commanded: in emulated memory, never in coherent memory), or as a `fault` that is injected.
"""

from __future__ import annotations

from typing import NamedTuple


class Name(NamedTuple):
    """An action's name, its group, and where an implementation has a method of that name."""

    name: str
    group: str
    method: str


_SOFTWARE = (
    "alloc free map unmap read write flush invalidate fence send wait poll arrive leave gb_begin gb_end "
    "atomic_add atomic_swap compare_swap copy_start copy_wait"
)
_HARDWARE = "fill evict drain translate lose copy_step"
_DRIVER = "shootdown scrub freeze migrate unfreeze gb_ack reclaim"

ACTION_NAMES = (
    *(Name(name, "software", "agent") for name in _SOFTWARE.split()),
    *(Name(name, "hardware", "hardware") for name in _HARDWARE.split()),
    *(Name(name, "driver", "driver") for name in _DRIVER.split()),
    Name("die", "fault", "fault"),
)

COMPOSITES = {
    "send_batch": "one send per slot, in the order given",
    "broadcast": "one send per receiver, in the order given",
    "wait_any": "a wait on whichever of the slots has a notification",
    "barrier": "arrive, then leave",
    "global_barrier": "flush of every line of the region, fence, gb_begin, gb_end",
    "copy": "copy_start for every word, in the order given",
    "compact": "for lines that may move: freeze, shootdown of every translation, migrate, unfreeze",
    "copy_in": "copy from private memory into a region, then copy_wait",
    "copy_out": "copy from a region into private memory, then copy_wait",
}
"""What composites expand to, the same way on both sides."""
