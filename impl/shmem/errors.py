"""Errors say three things: what was asked, what is so, and what to do.

Refusals (a call that changed nothing) and faults (an access that was not allowed) have the names of the
machine.
"""


class ShmemError(Exception):
    """Base class of every error that this package raises.

    `asked` is the request that failed, `found` the fact that stands against it, and `remedy` what the
    caller can do now. All three are whole phrases, and `str()` puts them into one line.
    """

    def __init__(self, asked: str, found: str, remedy: str) -> None:
        super().__init__(asked, found, remedy)
        self.asked = asked
        self.found = found
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.asked}: {self.found}; {self.remedy}"


class Refusal(ShmemError):
    """A call that was refused and changed nothing."""


class StaleHandle(Refusal):
    """The handle names a region that has been freed."""


class InvalidArgument(Refusal):
    """A range, size, alignment, window, name or number that makes no sense here."""


class NotPermitted(Refusal):
    """An access-control list, a right to a slot or a team stands against it."""


class PeerLost(Refusal):
    """Everybody who could have answered has died."""


class RegionBusy(Refusal):
    """The region is mapped, pinned, frozen or being copied; the message names the holders."""


class Fragmented(Refusal):
    """There is enough free memory, but no hole is large enough."""


class OutOfMemory(Refusal):
    """There is not enough free memory."""


class Fault(ShmemError):
    """An access that translation did not allow."""


class NotMapped(Fault):
    """The agent's page table does not map the region."""


class ReadOnly(Fault):
    """The agent's mapping does not allow writing."""


class Frozen(Fault):
    """The driver is moving the region and has not let it go in time."""


class TimedOut(ShmemError):
    """The time of a blocking call is over; nothing was taken, and the call may be made again."""


class DriverLost(PeerLost):
    """The driver has died; nothing more can be allocated, mapped or told."""


class DeviceError(ShmemError):
    """A function on a device failed; raised at the host's next call."""


class Deadlock(ShmemError):
    """Emulated memory: no agent can go on, and nobody will ever wake another."""


REFUSALS = (
    "StaleHandle",
    "InvalidArgument",
    "NotPermitted",
    "PeerLost",
    "RegionBusy",
    "Fragmented",
    "OutOfMemory",
)
FAULTS = ("NotMapped", "ReadOnly", "Frozen")
BY_NAME: dict[str, type[ShmemError]] = {
    kind.__name__: kind
    for kind in (
        StaleHandle,
        InvalidArgument,
        NotPermitted,
        PeerLost,
        RegionBusy,
        Fragmented,
        OutOfMemory,
        NotMapped,
        ReadOnly,
        Frozen,
        TimedOut,
        DriverLost,
        DeviceError,
        Deadlock,
        ShmemError,
    )
}
"""How an error that travelled as text becomes an exception again."""
