"""Shared memory between a host and devices whose caches are not kept coherent: the reference implementation.

Devices are processes, memory is real shared memory, isolation is the kernel's.

    with shmem.System(platform="pcie", devices=1) as s:
        r = s.host.alloc(4096, acl={"host": "rw", "dev0": "r"})

`System` and `connect` are where to begin; `Agent` has one method for each action. The exact model of such
memory is `shmem_model`, what is proved about it is `shmem_proofs`, and the command `shmem` runs both; this
package imports none of them.
"""

from shmem.agent import Agent
from shmem.device import Device, Task
from shmem.errors import (
    Deadlock,
    DeviceError,
    DriverLost,
    Fault,
    Fragmented,
    Frozen,
    InvalidArgument,
    NotMapped,
    NotPermitted,
    OutOfMemory,
    PeerLost,
    ReadOnly,
    Refusal,
    RegionBusy,
    ShmemError,
    StaleHandle,
    TimedOut,
)
from shmem.handles import (
    NO_COMPACT,
    SECURE,
    UNCACHED,
    AddressMapping,
    SharedMemoryRegion,
    SyncPrimitive,
    View,
)
from shmem.memory import Copy, PartialLineWarning
from shmem.platforms import PLATFORMS, Link, Platform
from shmem.system import System, connect
from shmem.teams import Team
from shmem.transfer import Channel, Fetched, Transfer
from shmem.words import HAVE_CORE

__version__ = "0.1.0"

__all__ = [
    "HAVE_CORE",
    "NO_COMPACT",
    "PLATFORMS",
    "SECURE",
    "UNCACHED",
    "AddressMapping",
    "Agent",
    "Channel",
    "Copy",
    "Deadlock",
    "Device",
    "DeviceError",
    "DriverLost",
    "Fault",
    "Fetched",
    "Fragmented",
    "Frozen",
    "InvalidArgument",
    "Link",
    "NotMapped",
    "NotPermitted",
    "OutOfMemory",
    "PartialLineWarning",
    "PeerLost",
    "Platform",
    "ReadOnly",
    "Refusal",
    "RegionBusy",
    "SharedMemoryRegion",
    "ShmemError",
    "StaleHandle",
    "SyncPrimitive",
    "System",
    "Task",
    "Team",
    "TimedOut",
    "Transfer",
    "View",
    "__version__",
    "connect",
]
