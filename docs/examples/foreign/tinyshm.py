"""The adapter of the C library `tinyshm.c`, through ctypes: what `shmem conform` and `shmem vectors run` drive.

`make` is the clean library; `bug1`, `bug2` and `bug3` are the same with a planted bug.
"""

import ctypes
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("tinyshm.c")


class WouldBlock(Exception):
    """The call would have to wait for somebody else."""


class NotPermitted(Exception):
    """The agent has no right to it."""


class NotMapped(Exception):
    """The agent has not mapped the line."""


class ReadOnly(Exception):
    """The mapping does not allow writing."""


class InvalidArgument(Exception):
    """Nothing is there to be unmapped."""


CODES = {-1: WouldBlock, -2: NotPermitted, -3: NotMapped, -4: ReadOnly, -5: InvalidArgument}


@functools.cache
def library(bug: int) -> ctypes.CDLL:
    """The compiled library; RuntimeError without a C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise RuntimeError("the example needs a C compiler, cc")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / f"tinyshm{bug}.so"
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", f"-DBUG={bug}", "-o", target, SOURCE], check=True)
        loaded = ctypes.CDLL(str(target))
    loaded.tiny_new.restype = ctypes.c_void_p
    return loaded


class Tiny:
    """One method for each action that the library has."""

    def __init__(self, world, bug: int = 0) -> None:
        if (len(world.regions), world.words, world.notify) != (1, 1, "sticky") or set(world.cached) != set(
            world.agents
        ):
            raise NotImplementedError("it has one region of one word, a cache for every agent, and sticky slots")
        self.library = library(bug)
        self.tiny = ctypes.c_void_p(self.library.tiny_new())
        self.agents = {name: number for number, name in enumerate(world.agents)}
        self.slots = {name: number for number, name in enumerate(world.slots)}
        (region,) = world.regions.values()
        for name, number in self.agents.items():
            right = region.rights.get(name, "")
            self._do("rights", number, "r" in right, "w" in right)
            if region.mapped and "r" in right:
                self._do("map", number, "w" in right)
        for name, slot in world.slots.items():
            senders = sum(1 << self.agents[sender] for sender in slot.senders)
            self._do("slot", self.slots[name], self.agents[slot.receiver], senders)

    def _do(self, name: str, *arguments: int) -> int:
        code = getattr(self.library, f"tiny_{name}")(self.tiny, *map(int, arguments))
        if code in CODES:
            raise CODES[code](name)
        return code

    def close(self) -> None:
        self.library.tiny_delete(self.tiny)

    def map(self, agent, region, writable):
        self._do("map", self.agents[agent], writable)

    def unmap(self, agent, of, region):
        self._do("unmap", self.agents[agent], self.agents[of])

    def read(self, agent, region, line, word):
        return self._do("read", self.agents[agent])

    def write(self, agent, region, line, word, value):
        self._do("write", self.agents[agent], value)

    def flush(self, agent, region, line, drop):
        self._do("flush", self.agents[agent], drop)

    def invalidate(self, agent, region, line):
        self._do("invalidate", self.agents[agent])

    def fence(self, agent):
        self._do("fence", self.agents[agent])

    def send(self, agent, slot):
        self._do("send", self.agents[agent], self.slots[slot])

    def wait(self, agent, slot):
        self._do("wait", self.agents[agent], self.slots[slot])

    def poll(self, agent, slot):
        return bool(self._do("poll", self.agents[agent], self.slots[slot]))


def make(world):
    """The clean library."""
    return Tiny(world)


def bug1(world):
    """A fence that does not wait."""
    return Tiny(world, 1)


def bug2(world):
    """A wait that returns although nothing was sent."""
    return Tiny(world, 2)


def bug3(world):
    """A read that is not refused."""
    return Tiny(world, 3)
