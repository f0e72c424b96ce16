"""A tenant that speaks to the driver's socket itself: it reads and writes nothing outside its rights."""

from __future__ import annotations

import errno
import fcntl
import json
import mmap
import os
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shmem
from shmem import layout
from tests.impl.daemons import Raw, daemon, in_child

STRANGER = 65534
CORE = pytest.mark.skipif(not shmem.HAVE_CORE, reason="the raw client of these tests claims to have the C part")
pytestmark = CORE


@pytest.fixture
def open_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that another uid may enter."""
    folder = tmp_path_factory.mktemp("open")
    for parent in [folder, *folder.parents]:
        if parent.owner() == folder.owner() and str(parent).startswith("/tmp/"):
            parent.chmod(0o755)
    return folder


def need_root() -> None:
    """Another uid can only be taken on by root."""
    if os.getuid() != 0:
        pytest.skip("not run: taking on another uid needs root (or setpriv)")


def errno_of(call: Callable[[], Any]) -> str:
    """The name of the error that a system call answers, or "allowed"."""
    try:
        call()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    except ValueError:
        return "EINVAL"
    return "allowed"


def granted_attack(path: str, driver: int, go: int, ready: int) -> dict[str, Any]:
    """Join first, so that the owner can name us in a list, then attack."""
    raw = Raw(path)
    raw.join("stranger")
    os.write(ready, b"x")
    secret, shared, both, generation = struct.unpack("4q", os.read(go, 32))
    handle = {"region": secret, "generation": 1}
    found: dict[str, Any] = {
        "map": raw.call("map", **handle, rights="r")[0],
        "extent": raw.call("extent", arena=secret // layout.REGIONS, extent=0)[0],
        "where": raw.call("where", **handle)[0],
        "free": raw.call("free", **handle, force=True)[0],
        "unmap": raw.call("unmap", **handle, agent="host")[0],
        "peer": raw.call("peer", name="host")[0],
        "team": raw.call("team", name="t", members=["host"], flavour="central")[0],
        "map rw": raw.call("map", region=shared, generation=generation, rights="rw")[0],
        "sees": sorted(a["name"] for a in raw.call("describe")[0]["agents"]),
    }
    told, fds = raw.call("map", region=shared, generation=generation, rights="r")
    _, (extent,) = raw.call("extent", arena=told["arena"], extent=told["extent"])
    size, seal = os.fstat(extent).st_size, 1033  # F_ADD_SEALS
    for name, fd in (("extent", extent), ("table", fds[0]), ("rights", fds[1])):
        tries = {
            "mapped": lambda fd=fd: mmap.mmap(fd, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE),
            "reopened": lambda fd=fd: os.open(f"/proc/self/fd/{fd}", os.O_RDWR),
            "written": lambda fd=fd: os.pwrite(fd, b"x", 0),
            "sealed": lambda fd=fd: fcntl.fcntl(fd, seal, 8),
            "cut": lambda fd=fd: os.ftruncate(fd, 0),
            "opened": lambda fd=fd: os.fchmod(fd, 0o666),
        }
        found |= {f"{name} {what}": errno_of(call) for what, call in tries.items()}
    found["past the end"] = errno_of(lambda: mmap.mmap(extent, size + 4096, prot=mmap.PROT_READ))
    found["driver's descriptors"] = errno_of(lambda: os.listdir(f"/proc/{driver}/fd"))
    found["driver's memory"] = errno_of(lambda: os.open(f"/proc/{driver}/mem", os.O_RDONLY))
    page = mmap.mmap(extent, size, prot=mmap.PROT_READ)
    found["reads"] = page[told["offset"] : told["offset"] + 6].decode()
    told, _ = raw.call("map", region=both, generation=1, rights="rw")
    _, (writable,) = raw.call("extent", arena=told["arena"], extent=told["extent"])
    found["own cut"] = errno_of(lambda: os.ftruncate(writable, 0))
    found["own grown"] = errno_of(lambda: os.ftruncate(writable, 1 << 30))
    found["own sealed"] = errno_of(lambda: fcntl.fcntl(writable, seal, 8))
    os.write(ready, b"x")
    os.read(go, 1)
    found["replayed handle"] = raw.call("map", region=shared, generation=generation, rights="r")[0]
    return found


REFUSED = {
    "map": "NotPermitted", "extent": "NotPermitted", "where": "NotPermitted", "free": "NotPermitted",
    "unmap": "NotPermitted", "peer": "NotPermitted", "team": "NotPermitted", "map rw": "NotPermitted",
    "sees": ["stranger"], "past the end": "EINVAL", "driver's descriptors": "EACCES",
    "driver's memory": "EACCES", "reads": "shared", "own cut": "EPERM", "own grown": "EPERM",
    "own sealed": "EPERM", "replayed handle": "StaleHandle",
}  # fmt: skip
TRIES = {
    "mapped": {"EACCES"}, "reopened": {"EACCES"}, "written": {"EBADF"}, "sealed": {"EPERM"},
    "cut": {"EINVAL", "EBADF"}, "opened": {"EPERM"},
}  # fmt: skip


def test_a_stranger_of_another_uid_gets_nothing_but_what_it_was_given(open_folder: Path) -> None:
    need_root()
    with daemon(open_folder, "--allow-uid", str(STRANGER)) as (process, path), shmem.connect(path) as s:
        secret = s.host.alloc(64)
        s.host.map(secret)
        s.host.write(secret, 0, b"secret")
        go, ready = os.pipe(), os.pipe()
        child = Forked(lambda: granted_attack(path, process.pid, go[0], ready[1]))
        os.read(ready[0], 1)
        shared = s.host.alloc(64, acl={"host": "rw", "stranger": "r"})
        both = s.host.alloc(64, acl={"host": "rw", "stranger": "rw"})
        s.host.map(shared)
        s.host.write(shared, 0, b"shared")
        os.write(go[1], struct.pack("4q", secret.id, shared.id, both.id, shared.generation))
        os.read(ready[0], 1)
        s.host.unmap(shared, "stranger")
        s.host.unmap(shared)
        s.host.free(shared)
        os.write(go[1], b"x")
        found = child.result()
        assert isinstance(found, dict), found
        for name in ("extent", "table", "rights"):
            for what, answers in TRIES.items():
                assert found.pop(f"{name} {what}") in answers, (name, what)
        assert found == REFUSED
        assert s.host.read(secret, 0, 6) == b"secret"
        for fd in (*go, *ready):
            os.close(fd)


class Forked:
    """A forked process of the stranger's uid that runs beside the test."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.write(write, json.dumps(in_child(STRANGER, work)).encode())
            os._exit(0)
        os.close(write)

    def result(self) -> Any:
        with open(self.read, "rb") as pipe:
            data = pipe.read()
        os.waitpid(self.pid, 0)
        return json.loads(data)


def test_inside_one_tenant_the_kernel_protects_nothing_as_documented(tmp_path: Path) -> None:
    """Same uid: foreign memory is not given out, but what was given can be reopened for writing."""
    with daemon(tmp_path) as (_, path), shmem.connect(path) as s:
        secret = s.host.alloc(64)
        raw = Raw(path)
        raw.join("friend")
        shared = s.host.alloc(64, acl={"host": "rw", "friend": "r"})
        assert raw.call("map", region=secret.id, generation=1, rights="r")[0] == "NotPermitted"
        assert raw.call("extent", arena=secret.id // layout.REGIONS, extent=0)[0] == "NotPermitted"
        assert raw.call("map", region=shared.id, generation=1, rights="rw")[0] == "NotPermitted"
        told, _ = raw.call("map", region=shared.id, generation=1, rights="r")
        _, (extent,) = raw.call("extent", arena=told["arena"], extent=0)
        assert errno_of(lambda: os.pwrite(extent, b"x", 0)) == "EBADF"
        assert errno_of(lambda: os.close(os.open(f"/proc/self/fd/{extent}", os.O_RDWR))) == "allowed"
        again = os.open(f"/proc/self/fd/{extent}", os.O_RDWR)
        assert errno_of(lambda: os.ftruncate(again, 0)) == "EPERM"
        os.close(again)


def test_a_daemon_for_one_user_lets_nobody_else_in(open_folder: Path) -> None:
    need_root()

    def visit(path: str) -> str:
        return errno_of(lambda: Raw(path))

    with daemon(open_folder) as (_, path):
        assert in_child(STRANGER, lambda: visit(path)) == "EACCES"
        os.chmod(path, 0o666)
        asked = in_child(STRANGER, lambda: Raw(path).call("describe")[0])
        assert asked == "NotPermitted"


def test_the_private_driver_of_a_system_lets_nobody_join(system: shmem.System) -> None:
    raw = Raw("\0" + system.address[1:])
    answer, _ = raw.call("join", name="dev7", kind="device", token="guess", core="core", owner=None)
    assert answer == "NotPermitted"
    assert raw.call("alloc", size=64)[0] in ("NotPermitted", "InvalidArgument")


def nonsense(choose: random.Random) -> bytes:
    """A malformed message."""
    ops = [
        "join",
        "alloc",
        "map",
        "free",
        "extent",
        "unmap",
        "peer",
        "grant",
        "team",
        "sources",
        "describe",
        "x",
    ]
    values = [None, -1, 2**80, 1.5, "", "x" * 100, [], {}, True, [1, 2], {"a": "rw"}, 0, 10**9, "host"]
    keys = "size align window flags acl purpose region generation rights force arena extent".split()
    keys += "agent name slot senders members flavour kind token core owner".split()
    form = choose.random()
    if form < 0.2:
        return choose.randbytes(choose.randrange(1, 200))
    message: Any = {key: choose.choice(values) for key in choose.sample(keys, choose.randrange(len(keys)))}
    message["op"] = choose.choice(ops) if choose.random() < 0.9 else choose.choice(values)
    data = json.dumps(message if form < 0.9 else [message]).encode()
    return data[: choose.randrange(1, len(data))] if form < 0.3 else data


def flood(path: str, count: int, seed: int) -> int:
    """Send malformed messages; how many were answered."""
    choose, raw, answers = random.Random(seed), Raw(path), 0
    raw.join()
    for _ in range(count):
        answer, fds = raw.packet(nonsense(choose))
        answers += "error" in answer or "ok" in answer
        for fd in fds:
            os.close(fd)
    raw.packet(b"[" * 50_000)
    raw.packet(b"9" * 50_000)
    raw.sock.send(b"x" * 100_000)
    return answers


@pytest.mark.parametrize("count", [3_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_malformed_messages_are_answered_and_hurt_nobody(tmp_path: Path, count: int) -> None:
    with daemon(tmp_path) as (process, path), shmem.connect(path) as s:
        r = s.host.alloc(64)
        s.host.map(r)
        s.host.write(r, 0, b"mine")
        before = len(os.listdir(f"/proc/{process.pid}/fd")) if os.getuid() == 0 else 0
        assert flood(path, count, seed=7) == count
        assert s.host.read(r, 0, 4) == b"mine"
        assert s.host.alloc(64).size == 64
        assert process.poll() is None
        for _ in range(100):
            after = len(os.listdir(f"/proc/{process.pid}/fd")) if os.getuid() == 0 else 0
            if after <= before + 8:
                break
            s.host.compact()
        assert after <= before + 8, "the flood left descriptors in the driver"


def test_a_client_that_does_not_read_its_answers_loses_its_connection_only(tmp_path: Path) -> None:
    with daemon(tmp_path) as (_, path), shmem.connect(path) as s:
        raw = Raw(path)
        raw.join("deaf")
        raw.sock.settimeout(0.2)

        def ask_on() -> None:
            while True:
                raw.sock.send(b'{"op":"describe"}')

        with pytest.raises(OSError):
            ask_on()
        assert s.host.alloc(64).size == 64
