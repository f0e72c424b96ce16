"""One agent's connection to the driver: a direct call in the driver's own process, a socket elsewhere."""

from __future__ import annotations

import os
import select
import socket
import threading
from collections.abc import Callable
from typing import Any

from shmem import protocol
from shmem.driver.ops import Client, Ops
from shmem.errors import DriverLost

Answer = tuple[dict[str, Any], list[int]]


_INNER = ("sources", "peer", "where", "extent")
"""Calls that the library makes on its own, from any thread: they raise no kept errors."""


class Link:
    """How an agent calls the driver."""

    lost = False
    before: Callable[[], None] = staticmethod(lambda: None)
    """Asked before each call; may raise (errors of devices, kept for the host's next call)."""

    def call(self, op: str, **arguments: Any) -> Answer:
        """One call: its answer and descriptors (the caller's to close), or the driver's error."""
        raise NotImplementedError

    def close(self) -> None:
        """Leave: for the driver the agent ends here."""


def closed(what: str) -> DriverLost:
    """The system, or this agent's part in it, has ended."""
    return DriverLost(f"the call {what}", "this system was closed", "start another one")


class LocalLink(Link):
    """The driver is a thread of this process."""

    def __init__(self, ops: Ops, client: Client) -> None:
        self.ops = ops
        self.service = ops.service
        self.lock = ops.service.lock
        self.client = client

    def call(self, op: str, **arguments: Any) -> Answer:
        """Call the driver's function."""
        if op not in _INNER:
            self.before()
        if self.client.agent is None and op != "join":
            raise closed(op)
        result, fds = self.ops.call(self.client, arguments | {"op": op})
        copies: list[int] = []
        try:
            for fd in fds:
                copies.append(os.dup(fd))
        except OSError:  # no descriptor is left: none stays taken
            for fd in copies:
                os.close(fd)
            raise
        return result, copies

    def close(self) -> None:
        """The agent leaves, its process stays."""
        agent, self.client.agent = self.client.agent, None
        if agent is not None:
            with self.ops.service.lock:
                self.ops.service.died(agent)


class SocketLink(Link):
    """The driver is another process, or another thread that is treated like one."""

    def __init__(self, address: str, patience: float | None = None) -> None:
        """Connect; each call is given up after `patience` seconds (None: never, the driver's death is told)."""
        self.address = address
        self._lock = threading.Lock()
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
        self._sock.settimeout(patience)
        try:
            self._sock.connect(_real(address))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else error
            self._sock.close()
            raise DriverLost(
                f"connection to the driver at {address}",
                f"nobody answers ({why})",
                "start one: shmem driver --socket PATH",
            ) from error

    def call(self, op: str, **arguments: Any) -> Answer:
        """Send the call and wait for its answer."""
        if op not in _INNER:
            self.before()
        if self._sock.fileno() < 0:
            raise closed(op)
        with self._lock:
            try:
                protocol.send(self._sock, arguments | {"op": op})
                message, fds = protocol.receive(self._sock)
            except OSError:
                message, fds = None, []
        if message is None:
            self.lost = True
            raise DriverLost(f"the call {op}", "the driver has died or closed the connection", "start the system again")
        protocol.raise_failure(message)
        return message["ok"], fds

    def watch(self, told: Callable[[], None]) -> None:
        """Call `told` in a thread of its own as soon as the driver is gone; sleeps until then."""

        def run() -> None:
            poller = select.poll()
            poller.register(self._sock.fileno(), select.POLLRDHUP)
            while not poller.poll():
                pass
            self.lost = True
            told()

        threading.Thread(target=run, name="shmem-watcher", daemon=True).start()

    def close(self) -> None:
        """Hang up."""
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            self.lost = True  # the other side was faster
        self._sock.close()


def _real(address: str) -> str:
    """`@name` is the abstract socket of that name."""
    return "\0" + address[1:] if address.startswith("@") else address
