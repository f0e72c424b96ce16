"""Which data plane this process uses: the C one where it was built, else the Python one, which says so.

`SHMEM_CORE=fallback` in the environment chooses the Python one on purpose, silently.
"""

from __future__ import annotations

import os
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
        if _wanted != "fallback":
            warnings.warn(
                "shmem runs without its C part (_core was not built): correct, but notifications and "
                "atomics are 10 to 100 times slower; install a C compiler and reinstall the package",
                RuntimeWarning,
                stacklevel=2,
            )

CORE = "core" if HAVE_CORE else "fallback"
"""What the driver compares: all processes of one driver use the same."""

__all__ = ["CORE", "HAVE_CORE", "Access", "Inbox", "Port", "Words", "fence"]
