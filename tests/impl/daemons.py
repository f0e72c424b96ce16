"""A driver daemon for tests, and raw access to its socket without the client library."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.project.tree import ROOT

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "impl"), str(ROOT)])}


@contextlib.contextmanager
def daemon(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A running `shmem driver` and the path of its socket."""
    path = str(folder / "driver.sock")
    line = [sys.executable, "-m", "shmem", "driver", "--socket", path, *options]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
    assert process.stdout is not None
    try:
        assert "serving at" in process.stdout.readline()
        yield process, path
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


class Raw:
    """A client that speaks the protocol itself: any packet, any order."""

    def __init__(self, path: str) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.settimeout(20)
        self.sock.connect(path)

    def packet(self, data: bytes) -> tuple[dict[str, Any], list[int]]:
        """Send bytes, receive an answer."""
        self.sock.send(data)
        answer, fds, _, _ = socket.recv_fds(self.sock, 1 << 20, 64)
        return json.loads(answer), list(fds)

    def call(self, op: str, **arguments: Any) -> tuple[Any, list[int]]:
        """The result of a call, or the name of its error."""
        answer, fds = self.packet(json.dumps(arguments | {"op": op}).encode())
        return answer.get("ok", answer.get("error")), fds

    def join(self, name: str | None = None) -> list[int]:
        """Become an agent; its descriptors."""
        result, fds = self.call("join", name=name, kind="host", token=None, core="core", owner=None)
        assert isinstance(result, dict), result
        return fds


def in_child(uid: int, work: Any) -> Any:
    """Run a function in a forked process of another uid; its JSON result."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            result = work()
        except BaseException as error:
            result = f"{type(error).__name__}: {error}"
        os.write(write, json.dumps(result).encode())
        os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return json.loads(data)
