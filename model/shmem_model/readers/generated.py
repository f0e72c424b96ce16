"""Generated modules, compiled once: they live in the user's cache folder, named by the hash of their text."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType

KEPT = 64
"""How many generated modules stay in the cache folder."""


def cache_folder() -> Path:
    """Where generated modules are kept: XDG_CACHE_HOME, else ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache") / "shmem" / "explorer"


def name(source: str) -> str:
    """What the module with this text is called."""
    return f"shmem_explorer_{hashlib.sha256(source.encode()).hexdigest()[:24]}"


def load(source: str) -> ModuleType:
    """The module with this text; from a temporary folder where the cache folder cannot be written."""
    own = name(source)
    found = sys.modules.get(own)
    if found is not None:
        return found
    try:
        path = _write(cache_folder(), own, source)
    except OSError:
        path = _write(Path(tempfile.mkdtemp(prefix="shmem-")), own, source)
    spec = importlib.util.spec_from_file_location(own, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[own] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[own]
        raise
    return module


def _write(folder: Path, name: str, source: str) -> Path:
    """Put the text there in one step, so that a reader never sees half of it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{name}.py"
    if path.exists() and path.read_text() == source:
        os.utime(path)
        return path
    _forget_oldest(folder)
    handle, temporary = tempfile.mkstemp(dir=folder, suffix=".new")
    with os.fdopen(handle, "w") as file:
        file.write(source)
    os.replace(temporary, path)
    return path


def _forget_oldest(folder: Path) -> None:
    modules = sorted(folder.glob("shmem_explorer_*.py"), key=lambda path: path.stat().st_mtime)
    for old in modules[: max(0, len(modules) - KEPT + 1)]:
        for left in [old, *folder.glob(f"__pycache__/{old.stem}.*")]:
            left.unlink(missing_ok=True)
