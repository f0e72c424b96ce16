"""Devices: processes of their own that run functions for the host (or, on request, threads of the host
process).

A device process is started with nothing but one end of a socket pair.  It joins the driver under its own
identity and then runs one function after the other.  It ends when the host's end of the pair closes, whatever
the function is doing: a killed host leaves no process behind.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING, Any

from shmem.errors import InvalidArgument, PeerLost, ShmemError, TimedOut

if TYPE_CHECKING:
    from shmem.agent import Agent

_START_SECONDS = 60.0
_GRACE_SECONDS = 0.5


class Task:
    """A function that runs on a device."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.future: Future[Any] = Future()
        self.told = False
        self.hold: Callable[[Task, float | None], None] | None = None

    def result(self, timeout: float | None = None) -> Any:
        """What the function returned; its error, raised again; TimedOut if it still runs."""
        self.told = True
        if self.hold is not None:
            self.hold(self, timeout)
        try:
            return self.future.result(timeout)
        except FutureTimeout:
            if self.future.done():
                raise
            raise TimedOut(self.what, f"it still runs after {timeout} s", "wait longer, or kill the device") from None

    def done(self) -> bool:
        """Whether it has ended."""
        return self.future.done()


class Device:
    """One device as the host sees it."""

    name: str
    pid: int

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Task:
        """Start `function(agent, *args, **kwargs)` on the device, after those that were started before;
        returns at once.  The function must be importable there (defined at the top level of a module or of
        the main script). An error of a function whose result nobody asks for is raised at the host's next
        call."""
        raise NotImplementedError

    def kill(self) -> None:
        """The fault `die`: kill -9 (a thread's agent makes no further call)."""
        raise NotImplementedError

    @property
    def alive(self) -> bool:
        """Whether it can still run functions."""
        raise NotImplementedError

    def close(self) -> None:
        """End it."""
        raise NotImplementedError


class ProcessDevice(Device):
    """A device that is a process."""

    def __init__(self, host: Agent, join: dict[str, Any]) -> None:
        self.host = host
        self.join = join
        ours, theirs = socket.socketpair()
        os.set_inheritable(theirs.fileno(), True)
        path = f"import sys; sys.path[:] = {sys.path!r}"
        code = f"{path}; from shmem.device import main; sys.exit(main({theirs.fileno()}))"
        command = [sys.executable, "-c", code]
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        theirs.close()
        self.pid = self.process.pid
        self._sock = ours
        self._send_lock = threading.Lock()
        self._tasks: dict[int, Task] = {}
        self._number = 0
        self.on_death: Callable[[str], None] = lambda name: None
        self._closing = False
        self._lost = False
        self._listener: threading.Thread | None = None

    def begin(self) -> None:
        """Tell it what it is; the answer is waited for in `ready`, so that several start side by side."""
        from multiprocessing import spawn

        main = spawn.get_preparation_data("device")
        main.pop("authkey", None)
        _send(self._sock, {"join": self.join, "main": main})

    def ready(self) -> None:
        """Wait until it has joined."""
        self._sock.settimeout(_START_SECONDS)
        try:
            answer = _receive(self._sock)
        except (OSError, EOFError):
            answer = None
        if answer is None:
            self.process.kill()
            self.process.wait()
            raise PeerLost(
                f"start of {self.join['name'] or 'a device'}",
                f"its process ended with code {self.process.returncode} before it joined",
                "look at its output above",
            )
        if isinstance(answer, ShmemError):
            raise answer
        self._sock.settimeout(None)
        self.name = answer
        self._listener = threading.Thread(target=self._listen, name=f"shmem-{self.name}", daemon=True)
        self._listener.start()

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Task:
        """See `Device.run`."""
        self.host.interrupt()
        task = Task(f"{getattr(function, '__name__', 'function')} on {self.name}")
        try:
            payload = pickle.dumps((function, args, kwargs))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InvalidArgument(
                f"run of {function!r} on {self.name}",
                f"it cannot be sent to another process ({error})",
                "define it at the top level of a module, and pass plain data and regions",
            ) from error
        with self._send_lock:
            if not self.alive:
                raise self._gone(task.what)
            self._number += 1
            self._tasks[self._number] = task
            try:
                _send(self._sock, (self._number, payload))
            except OSError:
                del self._tasks[self._number]
                raise self._gone(task.what) from None
        return task

    def _gone(self, what: str) -> PeerLost:
        return PeerLost(what, f"{self.name} (pid {self.pid}) has died", "start the system again")

    def _listen(self) -> None:
        while True:
            try:
                number, good, value = _receive(self._sock)
            except (OSError, EOFError):
                break
            self._finish(self._tasks.pop(number), good, value)
        with self._send_lock:
            self._lost = True
            tasks, self._tasks = self._tasks, {}
        self.process.wait()
        if not self._closing:
            self.on_death(self.name)
        for task in tasks.values():
            task.future.set_exception(self._gone(task.what))

    def _finish(self, task: Task, good: bool, value: Any) -> None:
        if good:
            task.future.set_result(value)
            return
        error, trace = value
        error.add_note(f"raised by {task.what}:\n{trace}")
        task.future.set_exception(error)
        if not task.told:
            self.host.latch(task.what, error, trace)

    def kill(self) -> None:
        """kill -9."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return not self._lost and self.process.poll() is None

    def close(self) -> None:
        """Let what it runs end within a moment (so that its errors are heard), then end it."""
        self._closing = self.process.poll() is None  # else it has died, and that is told
        with contextlib.suppress(OSError):
            _send(self._sock, None)
        try:
            self.process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self._listener is not None:
            self._listener.join(1.0)
        self._sock.close()


class ThreadDevice(Device):
    """A device that is a thread of the host process: for tests that want to drive its agent themselves."""

    def __init__(self, host: Agent, agent: Agent) -> None:
        self.host = host
        self.agent = agent
        self.name = agent.name
        self.pid = os.getpid()
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._dead = False
        self._thread = threading.Thread(target=self._work, name=f"shmem-{self.name}", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while True:
            job = self._queue.get()
            if job is None:
                return
            job()

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Task:
        """See `Device.run`."""
        self.host.interrupt()
        task = Task(f"{getattr(function, '__name__', 'function')} on {self.name}")
        if self._dead:
            raise PeerLost(task.what, f"{self.name} has died", "start the system again")
        self.agent.starting(task)

        def work() -> Any:
            with self.agent.running(task):
                try:
                    return function(self.agent, *args, **kwargs)
                except BaseException as error:
                    # Kept before the turn ends: nobody else goes on without knowing.
                    if not task.told and not self.host.ending:
                        self.host.latch(task.what, error, traceback.format_exc())
                    raise

        def job() -> None:
            try:
                task.future.set_result(work())
            except BaseException as error:
                task.future.set_exception(error)

        task.hold = self.host.holding
        self._queue.put(job)
        return task

    def kill(self) -> None:
        """The agent makes no further call."""
        self._dead = True
        self.agent.die()

    @property
    def alive(self) -> bool:
        """Whether `kill` was not called."""
        return not self._dead

    def close(self) -> None:
        """End the thread after its tasks."""
        self._queue.put(None)
        self.agent.close()


def _send(sock: socket.socket, value: Any) -> None:
    data = pickle.dumps(value)
    sock.sendall(len(data).to_bytes(8, "little") + data)


def _receive(sock: socket.socket) -> Any:
    """The next value; EOFError when the other side is gone."""
    return pickle.loads(_exactly(sock, int.from_bytes(_exactly(sock, 8), "little")))


def _exactly(sock: socket.socket, n: int) -> bytes:
    parts = bytearray()
    while len(parts) < n:
        part = sock.recv(min(n - len(parts), 1 << 20))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)


# -- the device's side
# -----------------------------------------------------------------------------------------


def main(fd: int) -> int:
    """The life of a device process."""
    sock = socket.socket(fileno=fd)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the host decides
    try:
        begin = _receive(sock)
    except (OSError, EOFError):
        return 1
    from shmem.system import join

    try:
        agent = join(**begin["join"])
    except ShmemError as error:
        _send(sock, error)
        return 1
    _send(sock, agent.name)
    jobs: queue.SimpleQueue[tuple[int, bytes] | None] = queue.SimpleQueue()
    threading.Thread(target=_hear, args=(sock, jobs), name="shmem-host", daemon=True).start()
    prepare = _Main(begin["main"])
    while (job := jobs.get()) is not None:
        _send(sock, (job[0], *_run(agent, job[1], prepare)))
    agent.close()
    os._exit(0)  # threads of the program must not keep the process alive


def _hear(sock: socket.socket, jobs: queue.SimpleQueue[tuple[int, bytes] | None]) -> None:
    while True:
        try:
            job = _receive(sock)
        except (OSError, EOFError):
            os._exit(0)  # the host is gone: so are we, whatever the function is doing
        jobs.put(job)


class _Main:
    """The host's main script, imported when a function of it is wanted (as `multiprocessing` does)."""

    importing = False
    """The script is being imported in this process right now: it must not start a System of its own."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.done = False

    def __call__(self, payload: bytes) -> None:
        if not self.done and b"__main__" in payload:
            from multiprocessing import spawn

            self.done = _Main.importing = True
            try:
                spawn.prepare(self.data)
            finally:
                _Main.importing = False


def _run(agent: Agent, payload: bytes, prepare: _Main) -> tuple[bool, Any]:
    try:
        prepare(payload)
        function, args, kwargs = pickle.loads(payload)
        value = function(agent, *args, **kwargs)
        agent.raise_latched()
        pickle.dumps(value)
    except BaseException as error:
        trace = traceback.format_exc()
        return False, (_sendable(error), trace)
    return True, value


def _sendable(error: BaseException) -> BaseException:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    error.__traceback__ = None
    return error
