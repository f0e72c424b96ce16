"""kill -9 of whole host processes at random points: their devices end, and the others notice nothing else."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import shmem
from shmem.commands.look import problems
from tests.impl.daemons import ENVIRONMENT, daemon
from tests.impl.patience import running, until

# A process without threads that forks hosts on demand; each starts a device of its own and works with it.
NURSERY = """
import os, signal, sys, traceback
import shmem
from tests.impl import programs
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
def host(path, out):
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    s = shmem.connect(path, devices=1)
    os.write(out, f"{os.getpid()} {s.devices[0].pid}\\n".encode())
    mine = s.host.alloc_broadcast(4096, [s.devices[0].name])
    s.devices[0].run(programs.maintain_beside, mine)
    name = s.host.name
    while True:
        r = s.host.alloc(70000, acl={name: "rw", "survivor": "r"})
        s.host.map(r)
        s.host.copy_in(r, b"v" * 70000)
        s.host.send("survivor", 1)
        with s.host.view(r, None, "w") as v:
            v[:] = 3
        team = s.host.team("g-" + name, [name, s.devices[0].name])
        for blocks in (lambda: s.host.barrier(team, timeout=0.002), lambda: s.host.wait(5, timeout=0.002)):
            try:
                blocks()
            except (shmem.TimedOut, shmem.InvalidArgument):
                pass
        del v
        s.host.unmap(r)
        s.host.free(r)
        s.host.compact()
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        try:
            host(sys.argv[1], 1)
        except BaseException:
            traceback.print_exc()
        os._exit(1)
"""


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("kills", [3, pytest.param(80, marks=pytest.mark.slow)])
def test_kill_of_host_processes_at_random_points(tmp_path: Path, kills: int) -> None:
    choose = random.Random(3)
    pattern = bytes(range(250)) * 20
    pids: list[int] = []
    with daemon(tmp_path) as (process, path), shmem.connect(path, name="survivor") as s:
        line = [sys.executable, "-c", NURSERY, path]
        nursery = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        mine = s.host.alloc(5000)
        s.host.map(mine)
        s.host.write(mine, 0, pattern)
        for k in range(kills):
            nursery.stdin.write(f"{k}\n")
            nursery.stdin.flush()
            told = nursery.stdout.readline().split()
            assert len(told) == 2, "a host ended by itself"
            pids += map(int, told)
            time.sleep(choose.uniform(0.001, 0.15))
            os.kill(int(told[0]), signal.SIGKILL)
            assert s.host.read(mine) == pattern
        picture: dict[str, list[dict[str, object]]] = {}

        def settled() -> bool:
            nonlocal picture
            picture = s.host.link.call("describe")[0]
            return sum(bool(agent["alive"]) for agent in picture["agents"]) == 1

        assert until(lambda: not any(map(running, pids))), "a device outlived its host"
        assert until(settled)
        assert until(lambda: settled() and problems(picture) == []), problems(picture)
        assert process.poll() is None
        assert s.host.read(mine) == pattern
        assert sum(len(arena["regions"]) for arena in picture["arenas"]) == 1, "regions of the dead stay"  # type: ignore[arg-type, misc]
        s.host.free(s.host.alloc(1 << 20))
        nursery.stdin.close()
        nursery.stdout.close()
        nursery.wait(30)
