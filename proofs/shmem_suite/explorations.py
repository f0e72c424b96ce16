"""The scopes that can be named on the command line, and the engines that can explore them."""

from __future__ import annotations

from importlib.util import find_spec


def engines() -> dict[str, str]:
    """Every engine, with the reason why it cannot be used here, or nothing."""
    return {"python": "", "numpy": "", "compiled": "" if find_spec("numba") else "numba is not installed"}
