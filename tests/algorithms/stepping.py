"""The real code with a pause before each marked step, and threads that take their steps one at a time.

Nothing is rewritten by hand: the hooks are put into the text of the source at its `step:` marks, and the result is
compiled (C) or executed (Python).
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
import sysconfig
import threading
import time
import types
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

IMPL = Path(__file__).parents[2] / "impl" / "shmem"
PATIENCE = 20.0
HEAD = """
#ifndef STEP
void (*shmem_step)(const char *) = 0;
#define STEP(name) do { if (shmem_step) shmem_step(name); } while (0)
#endif
"""
Edit = Callable[[str], str]


def replaced(old: str, new: str) -> Edit:
    """An edit that weakens a source; what it replaces must be there."""

    def edit(text: str) -> str:
        assert old in text, old
        return text.replace(old, new, 1)

    return edit


def python_steps(text: str) -> str:
    """A Python source with a call of `_step` before each statement that is marked."""
    hooked = re.compile(r"^( *)([^\s#\])][^\n]*?)  # step: ([a-z_]+)", re.M)
    return hooked.sub(lambda m: f"{m[1]}_step({m[3]!r})\n{m[0]}", text)


def c_steps(text: str) -> str:
    """A C source with a call of `STEP` before each statement that is marked."""

    def hook(m: re.Match[str]) -> str:
        call = f'STEP("{m[3]}"); '
        if m[2].startswith("static"):
            return m[1] + m[2].replace("{ ", "{ " + call, 1)
        return m[1] + call + m[2]

    return re.sub(r"^( *)(\S[^\n]*?) /\* step: ([a-z_]+) \*/$", hook, text, flags=re.M)


def stepped_python(name: str, control: Control, *edits: Edit) -> types.ModuleType:
    """A module of the implementation with hooks."""
    text = (IMPL / f"{name}.py").read_text(encoding="utf-8")
    for edit in edits:
        text = edit(text)
    module = types.ModuleType(f"stepped_{name}")
    sys.modules[module.__name__] = module
    module.__dict__["_step"] = control.step
    exec(compile(python_steps(text), f"stepped {name}.py", "exec"), module.__dict__)
    return module


def stepped_core(folder: Path, control: Control, *edits: Edit) -> Any:
    """The C part with hooks, compiled into a folder."""
    text = (IMPL / "_core.c").read_text(encoding="utf-8")
    text = text.replace('#include "_core_slots.h"', (IMPL / "_core_slots.h").read_text(encoding="utf-8"))
    for edit in edits:
        text = edit(text)
    source, library = folder / "_core.c", folder / "_core.so"
    source.write_text(HEAD + c_steps(text), encoding="utf-8")
    include = f"-I{sysconfig.get_paths()['include']}"
    command = ["cc", "-shared", "-fPIC", "-O1", "-std=gnu11", "-fno-strict-aliasing", include, "-o", library, source]
    subprocess.run(command, check=True, capture_output=True)
    hook = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(lambda name: control.step(name.decode()))
    control.kept.append(hook)
    ctypes.c_void_p.in_dll(ctypes.CDLL(str(library)), "shmem_step").value = ctypes.cast(hook, ctypes.c_void_p).value
    spec = spec_from_file_location("_core", library)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Control:
    """Threads that stop before each step until they are told to go on."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.before: dict[str, str] = {}
        self.may: set[str] = set()
        self.free = False
        self.kept: list[Any] = []
        self.threads: dict[str, threading.Thread] = {}
        self.answers: dict[str, Any] = {}
        self.pages: list[tuple[int, int]] = []

    def watch(self, page: Any) -> None:
        """A page on whose words threads sleep."""
        at = ctypes.addressof(ctypes.c_char.from_buffer(page))
        self.pages.append((at, at + len(page)))

    def step(self, name: str) -> None:
        """What the hooks call."""
        me = threading.current_thread().name
        if me not in self.threads:
            return
        with self.changed:
            self.before[me] = name
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.free or me in self.may, 3 * PATIENCE)
            self.may.discard(me)
            del self.before[me]
            self.changed.notify_all()

    def start(self, name: str, call: Callable[[], Any]) -> None:
        """Start a thread; it stops before its first step."""

        def run() -> None:
            try:
                self.answers[name] = call()
            except Exception as error:
                self.answers[name] = error

        self.threads[name] = threading.Thread(target=run, name=name, daemon=True)
        self.threads[name].start()

    def where(self, name: str) -> str:
        """The step before which a thread stands, `asleep`, `end`, or nothing while it runs."""
        with self.changed:
            if name in self.before:
                return self.before[name]
        if not self.threads[name].is_alive():
            return "end"
        return "asleep" if self._asleep(name) else ""

    def _asleep(self, name: str) -> bool:
        """The thread is in the system call futex(word of a page, FUTEX_WAIT)."""
        try:
            words = Path(f"/proc/self/task/{self.threads[name].native_id}/syscall").read_text().split()
        except OSError:
            return False
        if len(words) < 3 or int(words[2], 16) != 0:
            return False
        return any(low <= int(words[1], 16) < high for low, high in self.pages)

    def settled(self, name: str, wanted: str = "") -> str:
        """Where a thread comes to rest; with `wanted`, whether it comes there."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = self.where(name)
            if found and (not wanted or found == wanted):
                return found
            time.sleep(0.0003)
        return self.where(name)

    def go(self, name: str) -> None:
        """Let a thread take the step before which it stands, up to its next rest."""
        with self.changed:
            self.may.add(name)
            self.changed.notify_all()
            self.changed.wait_for(lambda: name not in self.may, PATIENCE)

    def finish(self) -> None:
        """Let all threads run, and wait for their end."""
        with self.changed:
            self.free = True
            self.changed.notify_all()
        for thread in self.threads.values():
            thread.join(PATIENCE)


def can_tell_sleep() -> bool:
    """This system shows in which system call a thread is."""
    return os.access("/proc/self/syscall", os.R_OK) and sys.platform == "linux"
