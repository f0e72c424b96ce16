"""What a run took place with: versions of the tools, cores.  Nothing that names a person or a machine."""

from __future__ import annotations

import platform
import shutil
from importlib.metadata import PackageNotFoundError, version

from shmem import __version__
from shmem_suite.processes import run_tool, usable_cores

PACKAGES = ("z3-solver", "cvc5", "numpy", "numba", "hypothesis", "lark")


def environment() -> dict[str, str]:
    """Name to version of everything that a verdict rests on, and how many cores there are."""
    found = {
        "shmem": __version__,
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }
    found |= {package: _version(package) for package in PACKAGES}
    found["rumur"] = rumur_version() or "not installed"
    found["cores"] = str(usable_cores())
    return found


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def rumur_version() -> str:
    """The version of the Murphi verifier `rumur`, or nothing where it is not installed."""
    program = shutil.which("rumur")
    if program is None:
        return ""
    said = run_tool([program, "--version"], seconds=20)
    return (said.stdout or said.stderr).strip().removeprefix("Rumur version ").splitlines()[0]
