"""Find the factory that `--adapter module:factory` names."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from shmem_model.conformance.adapter import Factory


def factory_named(name: str) -> Factory:
    """The factory `module:factory`; the module may be a file, `path/adapter.py:factory`, or lie in the working folder.

    Raises ValueError, one line, where there is none.
    """
    module, colon, attribute = name.rpartition(":")
    if not colon or not module or not attribute:
        raise ValueError(f"{name!r} is no adapter; write MODULE:FACTORY, for example my_adapter:make")
    place = Path(module)
    folder = str(place.parent.resolve()) if module.endswith(".py") else str(Path.cwd())
    if module.endswith(".py") and not place.is_file():
        raise ValueError(f"adapter {name}: there is no file {module}")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found = getattr(importlib.import_module(place.stem if module.endswith(".py") else module), attribute, None)
    except ImportError as error:
        raise ValueError(f"adapter {name}: {error}") from None
    if not callable(found):
        raise ValueError(f"adapter {name}: module {module} has no callable {attribute}")
    factory: Factory = found
    return factory
