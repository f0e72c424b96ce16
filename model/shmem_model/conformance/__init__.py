"""Test YOUR implementation against the machine: adapters, stateful tests, test vectors, a pytest plugin.

`check(make_adapter)` drives an adapter along the machine; see docs/how-to/test-your-implementation.md.
"""

from __future__ import annotations

from typing import Any

__all__ = ["check"]


def check(make_adapter: Any, **options: Any) -> Any:
    """See `kit.check`, which is imported when it is called."""
    from shmem_model.conformance.kit import check as run

    return run(make_adapter, **options)
