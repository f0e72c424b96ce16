"""A whole system: one host, its devices, and the driver (a thread of this process, or a daemon)."""

from __future__ import annotations

import functools
import os
import secrets
import socket
from types import TracebackType
from typing import TYPE_CHECKING, Any

from shmem import layout, tracing, waiting, words
from shmem.agent import Agent
from shmem.device import Device, ProcessDevice, ThreadDevice, _Main
from shmem.driver.ops import Client, Ops
from shmem.driver.server import Server
from shmem.driver.service import Service
from shmem.errors import InvalidArgument, ShmemError
from shmem.link import Link, LocalLink, SocketLink
from shmem.platforms import PLATFORMS, Platform

if TYPE_CHECKING:
    from shmem.emulated.machine import Machine


def platform_named(platform: str | Platform) -> Platform:
    """A platform by name, or itself."""
    if isinstance(platform, Platform):
        return platform
    if platform not in PLATFORMS:
        raise InvalidArgument(
            f"platform {platform!r}", "there is none of that name", f"use one of {', '.join(PLATFORMS)}"
        )
    return PLATFORMS[platform]


def _check_start(devices: int, pool: int, extent: int) -> None:
    if _Main.importing:
        raise InvalidArgument(
            "a System in a device's process",
            "the main script starts one when it is imported, and the device imports it for a function of it",
            'put the start under `if __name__ == "__main__":`',
        )
    for value, least, most, what in (
        (devices, 0, layout.MAX_AGENTS - 1, "devices"), (pool, 0, 1 << 48, "bytes of pool"),
        (extent, 1, 1 << 48, "bytes in an extent"),
    ):  # fmt: skip
        if not isinstance(value, int) or not least <= value <= most:
            raise InvalidArgument(f"a System with {value!r} {what}", f"there may be {least} to {most}", "choose fewer")


def join(
    address: str, name: str | None, kind: str, token: str | None, owner: str | None, options: dict[str, Any]
) -> Agent:
    """Become an agent of the driver at an address, in this process."""
    return agent_over(SocketLink(address), name, kind, token, owner, options)


def agent_over(
    link: Link, name: str | None, kind: str, token: str | None, owner: str | None, options: dict[str, Any]
) -> Agent:
    """Become an agent over a link."""
    try:
        told, fds = link.call("join", name=name, kind=kind, token=token, core=words.CORE, owner=owner)
    except (ShmemError, OSError):
        link.close()
        raise
    try:
        agent = Agent(link, told, fds)
    except OSError:
        link.close()
        for fd in fds:
            os.close(fd)
        raise
    if "trace" in options:
        tracing.attach(agent, options["trace"])
    return agent


class _HostDriver:
    """The driver as a thread of this process, for this host and its devices only."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.token = secrets.token_hex(16)
        self.ops = Ops(service, self.token, frozenset({os.getuid()}))
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
        self.address = f"@shmem-{os.getpid()}-{secrets.token_hex(4)}"
        listener.bind("\0" + self.address[1:])
        listener.listen(64)
        self.server = Server(self.ops, listener)
        self.thread = self.server.start()

    def link(self) -> Link:
        """A direct link for an agent of this process."""
        return LocalLink(self.ops, Client(os.getuid(), os.getpid()))

    def close(self) -> None:
        """Stop serving and let all memory go."""
        self.server.stop()
        self.thread.join(5.0)
        with self.service.lock:
            self.service.close()


class System:
    """A host and its devices; a context manager.

    `platform`: a name (`weakest`, `pcie`, `soc`, `coherent`, `a3`) or a `Platform`. `devices`: how many.
    `agents`: `"processes"`, or `"threads"` of this process for tests that drive the devices' agents
    themselves. `pool` and `extent`: bytes of memory at most, and per step. `compaction`: the fragmentation
    above which an idle driver compacts (None: never by itself).

    `memory="emulated"` puts a private cache in front of every agent. `seed` chooses the order of agents and
    the hazards (None: no hazard but those commanded through `hardware`), `hazards` is the chance of one more
    hardware step before each call, `driver="manual"` leaves shootdown, scrub, gb_ack and reclaim to commands.

    `trace`: a file for the event trace (JSON Lines) of all agents.
    """

    def __init__(
        self,
        platform: str | Platform = "pcie",
        devices: int = 1,
        memory: str = "coherent",
        *,
        agents: str = "processes",
        pool: int = 256 << 20,
        extent: int = 4 << 20,
        compaction: float | None = 0.5,
        seed: int | None = None,
        hazards: float = 0.5,
        driver: str = "automatic",
        trace: str | os.PathLike[str] | None = None,
    ) -> None:
        if memory not in ("coherent", "emulated") or agents not in ("processes", "threads"):
            raise InvalidArgument(
                f"a System with memory={memory!r}, agents={agents!r}",
                'memory is "coherent" or "emulated", agents are "processes" or "threads"',
                "choose among these",
            )
        _check_start(devices, pool, extent)
        chosen = platform_named(platform)
        self._options: dict[str, Any] = {}
        if trace is not None:
            self._options["trace"] = os.path.abspath(trace)
            names = ["host", *(f"dev{i}" for i in range(devices))]
            tracing.start(self._options["trace"], chosen, memory == "emulated" and chosen.cached, names)
        self.devices: list[Device] = []
        self.machine: Machine | None = None
        if memory == "emulated":
            from shmem.emulated.machine import EmulatedService, Machine

            service: Service = EmulatedService(chosen, pool, extent, None, memory)
            assert isinstance(service, EmulatedService)
            self.machine = Machine(chosen, service, seed, hazards, driver)
        else:
            service = Service(chosen, pool, extent, compaction, memory)
            service.spin_ns = waiting.measured_wakeup_ns()
        self.driver: _HostDriver | None = _HostDriver(service)
        self.address = self.driver.address
        try:
            if self.machine is not None:
                self._open_emulated(self.machine, devices, agents)
            else:
                self._open(self.driver.link(), self.driver.token, None, devices, agents)
        except BaseException:
            self.close()
            raise

    @property
    def hardware(self) -> Machine:
        """Emulated memory: commands every hazard and driver action, and answers `state()`."""
        if self.machine is None:
            raise InvalidArgument(
                "hardware of this System", "coherent memory is the real one", 'choose memory="emulated"'
            )
        return self.machine

    def _open_emulated(self, machine: Machine, devices: int, agents: str) -> None:
        from shmem.emulated.agent import EmulatedAgent
        from shmem.emulated.remote import RemoteDevice

        me = os.getuid(), os.getpid()
        self.host: Agent = EmulatedAgent(machine, machine.service.join("host", "host", *me))
        self._trace(self.host)
        for i in range(devices):
            agent = EmulatedAgent(machine, machine.service.join(f"dev{i}", "device", *me))
            self._trace(agent)
            kind = ThreadDevice if agents == "threads" else RemoteDevice
            self.devices.append(kind(self.host, agent))

    def _trace(self, agent: Agent) -> None:
        if "trace" in self._options:
            tracing.attach(agent, self._options["trace"])

    def _open(self, link: Link, token: str | None, name: str | None, devices: int, agents: str) -> None:
        self.host = agent_over(link, name, "host", token, None, self._options)
        self.host.interrupt = link.before = self.host.raise_latched
        if agents == "threads":
            for _ in range(devices):
                self.devices.append(self._thread_device(token))
            for agent in [self.host, *(d.agent for d in self.devices if isinstance(d, ThreadDevice))]:
                agent._spin_ns = agent.spin_ns = 0  # spinning would keep the interpreter from the sender
            return
        started = []
        for i in range(devices):
            wish = f"dev{i}" if self.driver is not None else None
            options = self._options
            device = ProcessDevice(
                self.host,
                {
                    "address": self.address, "name": wish, "kind": "device", "token": token,
                    "owner": self.host.name, "options": options,
                },
            )  # fmt: skip
            if "trace" in options:
                device.on_death = functools.partial(tracing.note_death, options["trace"])
            self.devices.append(device)
            started.append(device)
        for device in started:
            device.begin()
        for device in started:
            device.ready()

    def _thread_device(self, token: str | None) -> Device:
        link = self.driver.link() if self.driver is not None else SocketLink(self.address)
        return ThreadDevice(self.host, agent_over(link, None, "device", token, self.host.name, self._options))

    def close(self) -> None:
        """End the devices and the driver; nothing is left behind."""
        if hasattr(self, "host"):
            self.host.ending = True
        if self.machine is not None:
            self.machine.turns.close()
        for device in self.devices:
            device.close()
        if hasattr(self, "host"):
            self.host.interrupt = lambda: None
            if self.machine is None:
                self.host.link.before = self.host.interrupt
            self.host.close()
        if self.driver is not None:
            self.driver.close()
            self.driver = None

    def __enter__(self) -> System:
        if self.host._closed:
            raise InvalidArgument("use of a System", "it was closed", "start another one")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self.machine is not None:
            self.machine.turns.settle()
        self.close()
        if kind is None:
            self.host.raise_latched()


class _Connected(System):
    def __init__(self, address: str, name: str | None, devices: int, agents: str) -> None:
        self.driver = None
        self.machine = None
        self.address = address
        self._options = {}
        self.devices = []
        try:
            self._open(SocketLink(address), None, name, devices, agents)
        except BaseException:
            self.close()
            raise


def connect(path: str, name: str | None = None, devices: int = 0, *, agents: str = "processes") -> System:
    """A host process, with devices of its own, at the daemon that listens at `path` (`@name`: abstract
    socket)."""
    _check_start(devices, 0, 1)
    return _Connected(os.fspath(path), name, devices, agents)
