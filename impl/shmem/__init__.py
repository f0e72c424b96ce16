"""Shared memory between a host and devices whose caches are not kept coherent.

This package is where the reference implementation grows. So far it holds the version and the base class
of all errors; the exact model of such memory is `shmem_model`, what is proved about it is `shmem_proofs`,
and the command `shmem` runs both. This package imports none of them.
"""

from shmem.errors import ShmemError

__version__ = "0.1.0"

__all__ = ["ShmemError", "__version__"]
