"""The implementation's own algorithms, at the level of atomic steps.

Read `programs` first (what an algorithm is written in), then `waiting`, `barriers`, `asking`, `ring`, `table`; `memory`
says how accesses reach memory, `compiling` makes a machine of it all.  Every step has the name that stands beside it in
the source, as a comment `step: NAME`; `TIED` says where.
"""

from __future__ import annotations

TIED: dict[str, tuple[str, ...]] = {
    "waiting": ("_core_slots.h", "notify.py", "driver/service.py"),
    "waiting without a compiler": ("fallback.py", "notify.py", "driver/service.py"),
    "central": ("teams.py", "driver/service.py"),
    "dissemination": ("teams.py", "driver/service.py"),
    "asking": ("agent.py", "engine.py", "driver/service.py"),
    "ring": ("transfer.py",),
    "table": ("_core.c", "driver/compaction.py"),
    "table without a compiler": ("fallback.py", "driver/compaction.py"),
}
"""Algorithm -> the files of the implementation, below `impl/shmem`, in which its steps are marked."""
