"""The command `shmem`, also as `python -m shmem`.

The commands for running systems (`driver`, `ls`, `show`, `top`, `doctor`, `demo`) are here and need NumPy
only. This package must not know the model or the proofs, so all others are looked up by name when they are
wanted: the entry points of the group `shmem.commands`. They need the extra `verify`; where it is missing the
answer is one line and exit code 2.
"""

import sys
from importlib.metadata import EntryPoint, entry_points

from shmem import __version__

USAGE = 2
OWN = ("driver", "ls", "show", "top", "doctor", "demo")
OWN_PACKAGES = ("shmem", "shmem_model", "shmem_proofs", "shmem_suite")


def main() -> int:
    """Answer the command line in `sys.argv` and return the exit code."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        print(f"shmem {__version__}")
        return 0
    if sys.argv[1:2] and sys.argv[1] in OWN:
        from shmem.commands import run

        return run(sys.argv[1:])
    suite = _find("suite")
    if suite is None:
        return _refuse("the commands are not installed; in a source tree run `make setup`")
    try:
        command = suite.load()
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in OWN_PACKAGES:
            return _refuse(f"this installation is incomplete, it has no module {error.name}; install it again")
        return _refuse(f"this needs the package {missing}; install it with: pip install 'shmem[verify]'")
    return int(command() or 0)


def _find(name: str) -> EntryPoint | None:
    """Return the entry point of that name, or None where the distribution is not installed."""
    return next(iter(entry_points(group="shmem.commands", name=name)), None)


def _refuse(reason: str) -> int:
    print(f"shmem: {reason}", file=sys.stderr)
    return USAGE


if __name__ == "__main__":
    sys.exit(main())
