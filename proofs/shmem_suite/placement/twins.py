"""Allocators (and drivers) with one thing wrong: the source of the real one with one piece of text replaced.

Each must break the law that it names, on an input that is run again on plain numbers.  Where the text does not stand
in the source any more, the allocator has moved on and the twin must follow: that is an error and no pass.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from types import ModuleType

from shmem.driver import allocator, regions
from shmem_suite.errors import SuiteError


@dataclass(frozen=True)
class Twin:
    """What to replace by what, and the case of a law that must fail then."""

    text: str
    instead: str
    case: str
    module: ModuleType = allocator


TWINS = {
    "rounds-down": Twin("(address + align - 1) & -align", "address & -align", "align_up"),
    "dips-below-zero": Twin("(address + align - 1) & -align", "(address - 1 + align) & -align", "align_up"),
    "window-end-off-by-one": Twin("where + size <= high", "where + size <= high + 1", "take-from-1-window"),
    "shares-a-line": Twin("align_up(low, max(align, LINE))", "align_up(low, align)", "take-from-1-window"),
    "loses-the-piece-in-front": Twin("if where > start:", "if where > start + LINE:", "take-from-1-window"),
    "takes-a-larger-hole": Twin("in range(at, len(holes))", "in reversed(range(at, len(holes)))", "choose-of-2"),
    "left-neighbour-does-not-melt": Twin("self._end.pop(start, None)", "None", "give-to-1-after-it"),
    "right-neighbour-does-not-melt": Twin("self._start.pop(start + size, None)", "None", "give-to-1-before-it"),
    "takes-beyond-the-hole": Twin("start + size <= first + length", "start <= first + length", "take_at-of-1"),
    "extent-over-another": Twin("max(start, window[0])", "window[0]", "extent-in-a-window", regions),
}


def wrong(name: str) -> ModuleType:
    """A module that has this wrong; SuiteError if its text is not in the source."""
    twin = TWINS[name]
    source, file = inspect.getsource(twin.module), twin.module.__name__.rpartition(".")[2]
    if twin.text not in source:
        raise SuiteError(
            f"red twin {name} of T9: `{twin.text}` does not stand in impl/shmem/driver/{file}.py any more; "
            "write it anew in shmem_suite/placement/twins.py"
        )
    module = ModuleType(twin.module.__name__)
    exec(compile(source.replace(twin.text, twin.instead), f"<{name}>", "exec", dont_inherit=True), vars(module))
    return module
