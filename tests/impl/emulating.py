"""Systems over emulated memory whose devices' agents the test itself drives."""

from __future__ import annotations

from typing import Any

import shmem
from shmem.layout import LINE


def system(**more: Any) -> shmem.System:
    """A small system of two devices, of whose hardware nothing happens by itself."""
    chosen: dict[str, Any] = {"platform": "pcie", "devices": 2, "memory": "emulated", "agents": "threads"}
    return shmem.System(**{**chosen, "pool": 1 << 20, "extent": 1 << 16, **more})


def dev(s: shmem.System, i: int = 0) -> Any:
    """The agent of a device, driven by the test."""
    return s.devices[i].agent  # type: ignore[attr-defined]


def shared(s: shmem.System, size: int = LINE, **more: Any) -> shmem.SharedMemoryRegion:
    """A region that the host and dev0 have mapped, and dev1 may map."""
    r = s.host.alloc_broadcast(size, ["dev0", "dev1"], **more)
    s.host.map(r)
    dev(s).map(r)
    return r
