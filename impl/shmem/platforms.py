"""Platforms: what hardware may do, where memory may lie, and what its links cost.

The choices are those of the machine's profiles (a test compares the names).  Costs are a stated model, not a
measurement: one machine has one memory, so the price of a link can only be assumed.  The figures are defaults
derived from what Ascend users publish (host-device copies of about 20 us plus 50 GB/s; a system on chip an
order of magnitude better); replace them with `dataclasses.replace`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Window = tuple[int, int]
"""First physical address, and first one after it."""


@dataclass(frozen=True)
class Link:
    """What moving bytes costs: `setup_us` for each copy, `gbps` over the link, `local_gbps` in own memory
    (1e9 bytes a second), `line_ns` for maintaining one cache line."""

    setup_us: float
    gbps: float
    local_gbps: float
    line_ns: float

    def copy_us(self, size: int, reads: int = 1) -> float:
        """Microseconds to copy `size` bytes once and read them `reads` times in own memory."""
        return self.setup_us + size / self.gbps / 1e3 + reads * size / self.local_gbps / 1e3

    def shared_us(self, size: int, reads: int = 1) -> float:
        """Microseconds to read `size` bytes `reads` times over the link, lines invalidated before each."""
        lines = -(-size // 64)
        return reads * (size / self.gbps / 1e3 + lines * self.line_ns / 1e3)

    def cheaper(self, size: int, reads: int = 1) -> str:
        """`"copy"` or `"shared"`, whichever the model finds cheaper (shared if equal)."""
        return "copy" if self.copy_us(size, reads) < self.shared_us(size, reads) else "shared"


@dataclass(frozen=True)
class Platform:
    """One choice of hardware: `write_back` line|masked, `invalidate` discard|write_back|either, `slots`
    sticky|counting, `cached` (agents have private caches on emulated memory), `multicast`; the physical
    windows; the link."""

    name: str
    write_back: str = "line"
    invalidate: str = "either"
    slots: str = "sticky"
    cached: bool = True
    multicast: bool = False
    windows: tuple[Window, ...] = ((0x1_0000_0000, 0x100_0000_0000),)
    link: Link = Link(setup_us=20.0, gbps=25.0, local_gbps=400.0, line_ns=2.0)


_SOC = Link(setup_us=2.0, gbps=100.0, local_gbps=200.0, line_ns=1.0)
# Host memory that the accelerators of an A3 server reach lies in four physical windows
# (cann/shmem, examples/rma_d2h_demo/check_support.py).
_A3 = (
    (0x29580000000, 0x34000000000),
    (0xA9580000000, 0xB4000000000),
    (0x129580000000, 0x134000000000),
    (0x1A9580000000, 0x1B4000000000),
)

PLATFORMS: Mapping[str, Platform] = {
    p.name: p
    for p in (
        Platform("weakest"),
        Platform("pcie", invalidate="discard", slots="counting"),
        Platform("soc", write_back="masked", invalidate="discard", multicast=True, link=_SOC),
        Platform("coherent", slots="counting", cached=False, multicast=True, link=_SOC),
        Platform("a3", invalidate="discard", slots="counting", windows=_A3),
    )
}
"""The named platforms."""
