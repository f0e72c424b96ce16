"""Processes that end when we do: how many may run, how a tool is started, how a group of them is stopped."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_prctl: Callable[..., Any] | None = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


def usable_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def die_with_parent() -> None:
    """Let the kernel kill this process when its parent ends (Linux; elsewhere nothing happens)."""
    if _prctl is not None:
        _prctl(_DIE_WITH_PARENT, int(signal.SIGKILL))


def run_tool(command: Sequence[str], seconds: float, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, as `subprocess.run` with text output; it is killed when this process ends."""
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
        preexec_fn=die_with_parent,
        **options,
    )


def kill_group(process: subprocess.Popen[bytes]) -> int:
    """Kill a process that leads a group, and its children; its exit status, negative for a signal."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.wait()
