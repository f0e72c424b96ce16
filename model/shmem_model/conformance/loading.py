"""Find the factory that `--adapter module:factory` names, and call it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from shmem_model.conformance.adapter import Factory, World, capabilities


class FactoryError(ValueError):
    """A factory gave no adapter; the text is one line."""


def built(factory: Factory, world: World) -> Any:
    """An adapter for a world.

    Raises `FactoryError` where the factory fails or gives something else, and NotImplementedError where it declines.
    """
    name = getattr(factory, "__name__", repr(factory))
    try:
        adapter = factory(world)
    except NotImplementedError:
        raise
    except (Exception, SystemExit) as error:
        asked = f"the factory {name} was asked for world {world.name} and raised {said(error)}"
        raise FactoryError(f"{asked}; raise NotImplementedError to decline a world") from error
    if adapter is None or isinstance(adapter, type):
        raise FactoryError(f"the factory {name} returned {adapter!r}; return an adapter object")
    try:
        can = capabilities(adapter)
    except ValueError as error:
        raise FactoryError(f"the factory {name}: {error}") from None
    if not can:
        asked = f"the factory {name} returned {type(adapter).__name__}, which has no method of any action"
        raise FactoryError(f"{asked}; the names are those of shmem_model.conformance.adapter.SIGNATURES")
    return adapter


def said(error: BaseException) -> str:
    """An exception in one line, with the place where it was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}{f': {text}' if text else ''}{place}"


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
    except (Exception, SystemExit) as error:
        raise ValueError(f"adapter {name}: importing it raised {said(error)}") from error
    if not callable(found):
        raise ValueError(f"adapter {name}: module {module} has no callable {attribute}")
    factory: Factory = found
    return factory
