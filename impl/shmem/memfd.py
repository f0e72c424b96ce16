"""Shared memory without a name: sealed memfds, passed by descriptor, gone with the last process that holds
them.

Sealed against shrinking and growing, so that nobody can cut a mapping under another's feet (a SIGBUS), and
against further seals.  Memory is reserved and touched at creation, so a full machine is an error here and not
a signal later.  Mode 0600: without it another uid reopens a read-only descriptor for writing through
`/proc/self/fd`.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import resource

from shmem import layout
from shmem.errors import OutOfMemory

# linux/fcntl.h
_ADD_SEALS = 1033
_SEAL_SEAL, _SEAL_SHRINK, _SEAL_GROW = 1, 2, 4
SEALS = _SEAL_SEAL | _SEAL_SHRINK | _SEAL_GROW
_DONTDUMP = getattr(mmap, "MADV_DONTDUMP", 16)


class Mapping(mmap.mmap):
    """A mapping that remembers the descriptor behind it (the fallback locks words through it)."""

    file: int = -1


def pages(size: int) -> int:
    """Round up to whole pages."""
    return -(-size // layout.PAGE) * layout.PAGE


def create(name: str, size: int) -> int:
    """A sealed memfd of `size` bytes (whole pages), all of it reserved and zero; its descriptor."""
    fd = os.memfd_create(f"shmem:{name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.fchmod(fd, 0o600)
        os.posix_fallocate(fd, 0, size)
        fcntl.fcntl(fd, _ADD_SEALS, SEALS)
    except OSError as error:
        os.close(fd)
        if error.errno not in (errno.ENOSPC, errno.ENOMEM):
            raise
        raise OutOfMemory(
            f"memory for {name} ({size} bytes)",
            f"the system has not that much shared memory left ({error.strerror})",
            "free memory on this machine, or ask for less (pool= and extent= of the System)",
        ) from error
    return fd


def read_only(fd: int) -> int:
    """Another descriptor of the same memory that cannot be mapped writable."""
    return os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)


def map_file(fd: int, size: int, writable: bool, secret: bool = False) -> Mapping:
    """Map all of a memfd, its pages present; a secret one stays out of core dumps of this process."""
    access = mmap.PROT_READ | mmap.PROT_WRITE if writable else mmap.PROT_READ
    flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0x8000)
    mapping = Mapping(fd, size, flags=flags, prot=access)
    mapping.file = fd
    if secret:
        mapping.madvise(_DONTDUMP)
    return mapping


def lock(mapping: mmap.mmap, size: int) -> None:
    """Keep the pages in memory; OutOfMemory with the limit where the kernel refuses."""
    import numpy as np

    address = np.frombuffer(mapping, dtype=np.uint8).ctypes.data
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(size)) == 0:
        return
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    raise OutOfMemory(
        f"{size} bytes of secure memory",
        f"the kernel does not lock that much (RLIMIT_MEMLOCK is {limit} bytes: {os.strerror(ctypes.get_errno())})",
        "raise the limit (ulimit -l) or ask for a smaller secure extent (extent= of the System)",
    )


def undumpable() -> None:
    """Keep other processes of this uid from reading this one through ptrace and /proc (PR_SET_DUMPABLE =
    4)."""
    ctypes.CDLL(None, use_errno=True).prctl(4, 0, 0, 0, 0)
