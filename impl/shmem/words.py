"""Which data plane this process uses: the C one where it was built, else the Python one, which says so.

`SHMEM_CORE=fallback` in the environment chooses the Python one on purpose, silently. The command `shmem` has
no use for the warning either: most of its commands run no data plane, and `doctor` and `demo` tell which one it is.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shmem._core import Access, Inbox, Port, Words, fence

    HAVE_CORE: bool
else:
    _wanted = os.environ.get("SHMEM_CORE", "")
    try:
        if _wanted == "fallback":
            raise ImportError("the environment asks for the fallback")
        from shmem._core import Access, Inbox, Port, Words, fence

        HAVE_CORE = True
    except ImportError:
        from shmem.fallback import Access, Inbox, Port, Words, fence

        HAVE_CORE = False
        _command = os.path.basename(sys.argv[0]) == "shmem" or ["-m", "shmem"] == sys.orig_argv[1:3]
        if _wanted != "fallback" and not _command:
            warnings.warn(
                "shmem runs without its C part (_core was not built): correct, but notifications and "
                "atomics are 10 to 100 times slower; install a C compiler and reinstall the package",
                RuntimeWarning,
                stacklevel=2,
            )

CORE = "core" if HAVE_CORE else "fallback"
"""What the driver compares: all processes of one driver use the same."""

TOLD = "data plane: " + ("_core, in C" if HAVE_CORE else "the Python fallback, slower (no C part was built, or chosen)")
"""The same for people."""

__all__ = ["CORE", "HAVE_CORE", "TOLD", "Access", "Inbox", "Port", "Words", "fence"]
