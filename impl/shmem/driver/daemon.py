"""`shmem driver --socket PATH`: the driver as a process of its own, for several host processes and tenants.

The daemon cannot be looked into by others of its uid (PR_SET_DUMPABLE).  A socket in the file system would
survive `kill -9`, so a guardian process waits for the daemon's end and removes it; an abstract name (`@name`)
needs none.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import stat

from shmem import memfd, waiting
from shmem.driver.ops import Ops
from shmem.driver.server import Server
from shmem.driver.service import Service
from shmem.errors import InvalidArgument


def listen(path: str, anyone: bool) -> socket.socket:
    """A listening socket; one that a dead driver left behind is replaced, a living driver's is not."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
    if path.startswith("@"):
        sock.bind("\0" + path[1:])
    else:
        _clear(path)
        before = os.umask(0o111 if anyone else 0o177)
        try:
            sock.bind(path)
        finally:
            os.umask(before)
    sock.listen(64)
    return sock


def _clear(path: str) -> None:
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        if not stat.S_ISSOCK(mode):
            raise InvalidArgument(f"a driver at {path}", "there is a file that is no socket", "choose another path")
        probe.connect(path)
    except ConnectionRefusedError:
        os.unlink(path)
    else:
        raise InvalidArgument(f"a driver at {path}", "a driver is running there", "use it, or choose another path")
    finally:
        probe.close()


def guard(path: str) -> None:
    """Start the guardian: it removes the socket when this process has ended, however it ended."""
    inode = os.stat(path).st_ino
    watched = os.pidfd_open(os.getpid())
    if os.fork():
        os.close(watched)
        return
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in range(3):
            os.dup2(null, fd)
        os.closerange(3, watched)
        os.closerange(watched + 1, 4096)
        select.select([watched], [], [])
        with contextlib.suppress(OSError):
            if os.stat(path).st_ino == inode:
                os.unlink(path)
    finally:
        os._exit(0)


def serve(path: str, service: Service, uids: frozenset[int] | None) -> None:
    """Serve until SIGTERM or SIGINT; then nothing is left."""
    anyone = uids is None or uids != {os.getuid()}
    listener = listen(path, anyone)
    if not path.startswith("@"):
        guard(path)
    memfd.undumpable()
    service.spin_ns = waiting.measured_wakeup_ns()
    server = Server(Ops(service, None, uids), listener)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: server.stop())
    print(f"shmem driver: serving at {path} (pid {os.getpid()})", flush=True)
    try:
        server.run()
    finally:
        if not path.startswith("@"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        service.close()
