"""The driver's loop: connections, deaths and idle times, in one thread.

It never blocks on a client: a client that does not read its answers, or floods the socket, loses its
connection or its turn and nobody else notices.  Death of a process is an event of its pidfd; nothing is
polled.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import threading
from dataclasses import dataclass
from typing import Any

from shmem import protocol
from shmem.driver.ops import Client, Ops
from shmem.errors import InvalidArgument, ShmemError

_IDLE_SECONDS = 0.05
_MOST_CONNECTIONS = 256


@dataclass(eq=False)
class _Connection:
    sock: socket.socket
    pidfd: int
    client: Client


class Server:
    """Serves one listening socket until it is told to stop."""

    def __init__(self, ops: Ops, listener: socket.socket) -> None:
        self.ops = ops
        self.service = ops.service
        self.listener = listener
        self.connections: dict[int, _Connection] = {}
        self._selector = selectors.DefaultSelector()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._stopping = False
        self._ringing = threading.Lock()
        self._compaction_due = False
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        self._selector.register(self._wake, selectors.EVENT_READ, self._woken)
        self.service.wants_compaction = self._want_compaction

    def start(self) -> threading.Thread:
        """Run in a thread of this process."""
        thread = threading.Thread(target=self.run, name="shmem-driver", daemon=True)
        thread.start()
        return thread

    def run(self) -> None:
        """Serve until `stop`."""
        try:
            while not self._stopping:
                events = self._selector.select(_IDLE_SECONDS if self._compaction_due else None)
                for key, _ in events:
                    key.data()
                if not events and self._compaction_due:
                    self._compaction_due = False
                    with self.service.lock:
                        self.service.compact_idle()
        finally:
            self._close()

    def stop(self) -> None:
        """Ask the loop to end."""
        self._stopping = True
        self._ring()

    def _ring(self) -> None:
        """Wake the loop, unless it has ended meanwhile and its descriptor is somebody else's."""
        with self._ringing:
            if self._wake >= 0:
                os.eventfd_write(self._wake, 1)

    def _woken(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._wake)

    def _want_compaction(self) -> None:
        if not self._compaction_due:
            self._compaction_due = True
            self._ring()

    def _accept(self) -> None:
        try:
            sock, _ = self.listener.accept()
        except OSError:
            return  # the client was gone before it was let in
        try:
            pid, uid, pidfd = protocol.peer(sock)
        except OSError:
            sock.close()
            return
        if len(self.connections) >= _MOST_CONNECTIONS:
            sock.close()
            os.close(pidfd)
            return
        sock.setblocking(False)
        connection = _Connection(sock, pidfd, Client(uid, pid))
        self.connections[sock.fileno()] = connection
        self._selector.register(sock, selectors.EVENT_READ, lambda: self._serve(connection))
        self._selector.register(pidfd, selectors.EVENT_READ, lambda: self._end(connection))

    def _serve(self, connection: _Connection) -> None:
        """One message of one connection: nobody gets more than a turn."""
        if connection.sock.fileno() < 0:
            return
        try:
            message, fds = self._receive(connection.sock)
        except BlockingIOError:
            return
        except OSError:
            self._end(connection)
            return
        except ShmemError as error:
            self._answer(connection, protocol.failure(error), [])
            return
        for fd in fds:
            os.close(fd)  # the driver takes no descriptors
        if message is None:
            self._end(connection)
            return
        self._answer(connection, *self._do(connection, message))

    def _receive(self, sock: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
        packet, fds, _, _ = socket.recv_fds(sock, protocol.LIMIT + 1, 16)
        for fd in fds:
            os.close(fd)
        if not packet:
            return None, []
        if len(packet) > protocol.LIMIT:
            raise InvalidArgument("a message to the driver", "it is too long", f"send at most {protocol.LIMIT} bytes")
        return protocol.decode(packet), []

    def _do(self, connection: _Connection, message: dict[str, Any]) -> tuple[dict[str, Any], list[int]]:
        try:
            result, fds = self.ops.call(connection.client, message)
            return {"ok": result}, fds
        except ShmemError as error:
            return protocol.failure(error), []
        except Exception as error:  # a mistake of ours must not take the other tenants down
            found = f"the driver failed: {type(error).__name__}: {error}"
            return protocol.failure(ShmemError("a call to the driver", found, "report this with what you did")), []

    def _answer(self, connection: _Connection, answer: dict[str, Any], fds: list[int]) -> None:
        try:
            protocol.send(connection.sock, answer, fds)
        except OSError:
            self._end(connection)  # it does not read its answers, or is gone

    def _end(self, connection: _Connection) -> None:
        """A connection or its process has ended: its agent is dead."""
        if connection.sock.fileno() < 0:
            return
        del self.connections[connection.sock.fileno()]
        self._selector.unregister(connection.sock)
        self._selector.unregister(connection.pidfd)
        connection.sock.close()
        os.close(connection.pidfd)
        if connection.client.agent is not None:
            with self.service.lock:
                self.service.died(connection.client.agent)

    def _close(self) -> None:
        for connection in list(self.connections.values()):
            self._end(connection)
        self._selector.unregister(self.listener)
        self._selector.unregister(self._wake)
        self.listener.close()
        self._selector.close()
        with self._ringing:
            os.close(self._wake)
            self._wake = -1
