"""Imports go one way (ARCHITECTURE.md): a differential test of a thing against itself proves nothing."""

import subprocess
import sys

import pytest

from tests.project.tree import ROOT, imported, modules

# Folder -> what its modules may import besides the standard library.
MAY_IMPORT = {
    "impl/shmem": {"numpy", "shmem"},
    "model/shmem_model/language": {"numpy", "shmem_model.language"},
    "model/shmem_model/machine": {"numpy", "shmem_model.language", "shmem_model.machine"},
    "model/shmem_model": {
        "numpy",
        "lark",
        "numba",
        "llvmlite",
        "hypothesis",
        "pytest",
        "jinja2",
        "shmem_model",
    },
    "proofs/shmem_proofs": {"numpy", "z3", "cvc5", "hypothesis", "shmem_model", "shmem_proofs"},
}
HOLDS_A_SOLVER = {"z3", "cvc5"}


def strangers(folder: str) -> list[str]:
    """The imports below a folder that MAY_IMPORT does not grant, as `file imports module`."""
    granted = MAY_IMPORT[folder]
    found = []
    for name, tree in modules(folder):
        for module in sorted(imported(name, tree)):
            parts = module.split(".")
            prefixes = {".".join(parts[:n]) for n in range(1, len(parts) + 1)}
            if parts[0] not in sys.stdlib_module_names and not prefixes & granted:
                found.append(f"{name} imports {module}")
    return found


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_imports_go_one_way(folder: str) -> None:
    assert strangers(folder) == []


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_the_folder_has_modules_to_look_at(folder: str) -> None:
    assert list(modules(folder)), f"{folder} is empty, so the test of its imports says nothing"


def test_a_wrong_arrow_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Red twin: with one grant taken away, the test above names the importing file."""
    monkeypatch.setitem(MAY_IMPORT, "impl/shmem", {"numpy"})
    assert any(line.startswith("impl/shmem/__init__.py imports shmem.errors") for line in strangers("impl/shmem"))


PROBE = """
import importlib.abc, sys
class OnlyNumpy(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names | {"numpy", "shmem", "shmem_model"}:
            raise ModuleNotFoundError(f"hidden: {name}", name=name)
sys.meta_path.insert(0, OnlyNumpy())
import importlib
importlib.import_module(sys.argv[1])
"""


@pytest.mark.parametrize("package", ["shmem", "shmem_model", "shmem_model.language", "shmem_model.machine"])
def test_imports_with_numpy_alone(package: str) -> None:
    paths = [str(ROOT / folder) for folder in ("impl", "model")]
    code = f"import sys; sys.path[:0] = {paths!r}\n{PROBE}"
    done = subprocess.run([sys.executable, "-c", code, package], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
