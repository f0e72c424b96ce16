"""Devices of emulated memory as processes: the machine is the host's, the program runs elsewhere.

The device's process has a stand-in agent whose every method is a message to its thread in the host process,
which makes the call there, in its turn.  So a run is the same function of program and seed as with threads.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shmem.device import ThreadDevice, _Main, _receive, _send, _sendable
from shmem.errors import InvalidArgument, PeerLost
from shmem.handles import AddressMapping, SharedMemoryRegion, View
from shmem.tracing import caller, where

if TYPE_CHECKING:
    from shmem.agent import Agent
    from shmem.emulated.agent import EmulatedAgent

METHODS = frozenset(
    "alloc alloc_broadcast free map unmap compact read write flush invalidate fence atomic_add atomic_swap "
    "compare_swap copy_start copy_wait copy copy_in copy_out send send_batch broadcast grant wait wait_any "
    "wait_all poll pending team arrive leave barrier gb_begin gb_end global_barrier translate check_writable "
    "_host_address _physical_address".split()
)
"""What a device may ask of its agent in the host."""


class RemoteDevice(ThreadDevice):
    """A device whose program runs in a process of its own and whose agent is the host's."""

    def __init__(self, host: Agent, agent: EmulatedAgent) -> None:
        ours, theirs = socket.socketpair()
        path = f"import sys; sys.path[:] = {sys.path!r}"
        code = f"{path}; from shmem.emulated.remote import main; sys.exit(main({theirs.fileno()}))"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code], pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
        )
        theirs.close()
        self._sock = ours
        from multiprocessing import spawn

        prepare = spawn.get_preparation_data("device")
        prepare.pop("authkey", None)
        _send(ours, {"name": agent.name, "platform": agent.platform, "sticky": agent.sticky, "main": prepare})
        super().__init__(host, agent)
        self.pid = self.process.pid

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """See `Device.run`."""
        try:
            payload = pickle.dumps((function, args, kwargs))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InvalidArgument(
                f"run of {function!r} on {self.name}",
                f"it cannot be sent ({error})",
                "define it at top level",
            ) from error
        return super().run(self._session, payload, _name=getattr(function, "__name__", "function"))

    def _session(self, agent: EmulatedAgent, payload: bytes, _name: str) -> Any:
        """Serve the program's calls until it ends."""
        copies: dict[int, Any] = {}
        try:
            _send(self._sock, payload)
            while True:
                kind, *rest = _receive(self._sock)
                if kind == "done":
                    return rest[0]
                if kind == "failed":
                    error, trace = rest
                    error.add_note(f"raised by {_name} on {self.name}:\n{trace}")
                    raise error
                _send(self._sock, self._answer(agent, copies, *rest))
        except (OSError, EOFError) as error:
            self._dead = True
            agent.die()
            raise PeerLost(f"{_name} on {self.name}", "its process has died", "start the system again") from error

    def _answer(
        self, agent: EmulatedAgent, copies: dict[int, Any], method: str, args: Any, kwargs: Any, place: str | None
    ) -> tuple[bool, Any]:
        if method not in METHODS:
            return False, InvalidArgument(f"the call {method}", "an agent has no such method", "use another")
        try:
            if method == "copy_wait" and args and isinstance(args[0], int):
                args = (copies.pop(args[0]), *args[1:])
            caller.set(place)  # this thread makes the calls of that process only
            value = getattr(agent, method)(*args, **kwargs)
            if method == "copy_start":
                copies[id(value)] = value
                value = id(value)
            if method == "map":
                value = None
            return True, value
        except Exception as error:
            return False, _sendable(error)

    def kill(self) -> None:
        """kill -9 of the process; the agent makes no further call."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        super().kill()

    def close(self) -> None:
        """End the process."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        try:
            self.process.wait(2.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        super().close()
        self._thread.join(1.0)
        self._sock.close()


class StandIn:
    """The agent as the device's program sees it: same methods, each one a message."""

    def __init__(self, sock: socket.socket, told: dict[str, Any]) -> None:
        self._sock = sock
        self.name: str = told["name"]
        self.platform: str = told["platform"]
        self.sticky: bool = told["sticky"]

    def __getattr__(self, method: str) -> Callable[..., Any]:
        if method not in METHODS:
            raise AttributeError(method)

        def call(*args: Any, **kwargs: Any) -> Any:
            _send(self._sock, ("call", method, args, kwargs, where()))
            good, value = _receive(self._sock)
            if not good:
                raise value
            return value

        return call

    def map(self, region: SharedMemoryRegion, rights: str = "rw") -> AddressMapping:
        """See `Agent.map`."""
        self.__getattr__("map")(region, rights)
        return AddressMapping(self, region, rights)  # type: ignore[arg-type]

    def view(
        self,
        region: SharedMemoryRegion,
        range: tuple[int, int] | None = None,
        mode: str = "r",
        dtype: npt.DTypeLike = np.uint8,
    ) -> View:
        """See `Agent.view`."""
        from shmem.emulated.agent import copied_view

        offset, length = range if range is not None else (0, region.size)
        before = self.read(region, offset, length)
        if mode != "r":
            self.check_writable(region)
        return copied_view(self, region, offset, before, mode, dtype)

    def __repr__(self) -> str:
        return f"<agent {self.name}, emulated>"


def main(fd: int) -> int:
    """The life of a device process."""
    sock = socket.socket(fileno=fd)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        told = _receive(sock)
        threading.Thread(target=_watch, args=(sock,), name="shmem-host", daemon=True).start()
        agent, prepare = StandIn(sock, told), _Main(told["main"])
        while True:
            _send(sock, _work(agent, prepare, _receive(sock)))
    except (OSError, EOFError):
        os._exit(0)  # the host is gone


def _watch(sock: socket.socket) -> None:
    """End with the host, whatever the program is doing."""
    poller = select.poll()
    poller.register(sock.fileno(), select.POLLRDHUP)
    while not poller.poll():
        pass
    os._exit(0)


def _work(agent: StandIn, prepare: _Main, payload: bytes) -> tuple[Any, ...]:
    try:
        prepare(payload)
        function, args, kwargs = pickle.loads(payload)
        value = function(agent, *args, **kwargs)
        pickle.dumps(value)
    except (OSError, EOFError):
        raise
    except BaseException as error:
        trace = traceback.format_exc()
        return "failed", _sendable(error), trace
    return "done", value
