"""What programs hold: regions, their addresses, and views of them."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shmem.driver.records import FLAG_NAMES, NO_COMPACT, SECURE, UNCACHED
from shmem.errors import InvalidArgument, ShmemError

if TYPE_CHECKING:
    from shmem.agent import Agent

__all__ = [
    "NO_COMPACT",
    "SECURE",
    "UNCACHED",
    "AddressMapping",
    "SharedMemoryRegion",
    "SyncPrimitive",
    "View",
]


class SharedMemoryRegion:
    """A handle of a region: plain data, may be sent to other processes, says nothing of type or meaning of
    the contents.  It carries a generation, so use after free is StaleHandle and never another region's data.

    `size` is in bytes; `device_address` is the first address in the devices' address space, which stays when
    the region moves."""

    __slots__ = ("device_address", "flags", "generation", "id", "key", "owner", "size")

    def __init__(
        self, id: int, generation: int, size: int, device_address: int, flags: int = 0, owner: str = ""
    ) -> None:
        self.id = id
        self.generation = generation
        self.size = size
        self.device_address = device_address
        self.flags = flags
        self.owner = owner
        self.key = id << 64 | generation

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SharedMemoryRegion) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __reduce__(self) -> tuple[object, ...]:
        values = (self.id, self.generation, self.size, self.device_address, self.flags, self.owner)
        return SharedMemoryRegion, values

    def __str__(self) -> str:
        flags = "".join(f" {name}" for bit, name in FLAG_NAMES.items() if self.flags & bit)
        return f"region {self.id}.{self.generation} ({self.size} bytes{flags})"

    __repr__ = __str__


class SyncPrimitive:
    """Base of what agents synchronise with: slots and teams."""

    name: str


class AddressMapping:
    """A region in an agent's page table: one memory, three addresses.

    `host_address` is where this process sees it, `device_address` where devices do, `physical_address` where
    it lies. The first and the last change when compaction moves the region, so ask again; a view keeps them
    still.
    """

    def __init__(self, agent: Agent, region: SharedMemoryRegion, rights: str) -> None:
        self.agent = agent
        self.region = region
        self.rights = rights

    @property
    def host_address(self) -> int:
        """Virtual address in this process."""
        return self.agent._host_address(self.region)

    @property
    def device_address(self) -> int:
        """Address in the devices' address space."""
        return self.region.device_address

    @property
    def physical_address(self) -> int:
        """Address in physical memory, now."""
        return self.agent._physical_address(self.region)

    def unmap(self) -> None:
        """Take the region out of the page table again."""
        self.agent.unmap(self.region)

    def __enter__(self) -> AddressMapping:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.unmap()
        except ShmemError:
            if kind is None:
                raise

    def __repr__(self) -> str:
        return f"<{self.region} mapped {self.rights} by {self.agent.name}>"


class View:
    """An array over a range of a region; a context manager, or closed by `close`.

    On coherent memory it is the shared memory itself; on emulated memory it is a private copy whose changed
    bytes are written at the end. While it is open the region does not move and is not freed. An array that
    outlives it keeps the memory (never a dangling pointer): the region is not moved, and its memory is not
    given out again, until the array is gone.
    """

    def __init__(self, array: npt.NDArray[Any], close: Callable[[View], None]) -> None:
        self.array: npt.NDArray[Any] | None = array
        self._close: Callable[[View], None] | None = close

    def close(self) -> None:
        """End the view; again is harmless."""
        finish, self._close = self._close, None
        if finish is not None:
            finish(self)
        self.array = None

    def __enter__(self) -> npt.NDArray[Any]:
        if self.array is None:
            raise InvalidArgument("use of a view", "it is closed", "open another one")
        return self.array

    def __exit__(self, *_: object) -> None:
        self.close()


def as_bytes(data: Any) -> bytes | memoryview:
    """The bytes of anything that has a contiguous buffer."""
    if isinstance(data, bytes):
        return data
    if isinstance(data, np.ndarray):
        data = np.ascontiguousarray(data)
        return data.reshape(-1).view(np.uint8).data if data.size else b""
    view = memoryview(data)
    return view.cast("B") if view.nbytes else b""
