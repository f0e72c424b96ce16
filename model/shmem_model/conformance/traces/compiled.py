"""The same text, compiled by numba (extra `fast`): for traces that are long.

The first use compiles for some seconds; the result is kept in the user's cache folder under the text's hash.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from shmem_model.conformance.traces import custody, scan, streams, tables
from shmem_model.conformance.traces import streams as st
from shmem_model.conformance.traces.columns import NAMES, Columns, Texts
from shmem_model.conformance.traces.events import ACTIONS, ERRORS
from shmem_model.readers.generated import cache_folder, load, name

MODULES = (tables, custody, streams, scan)
CHUNK = 1 << 20
"""Bytes that are read at once."""


def available() -> bool:
    """Whether numba is installed."""
    return find_spec("numba") is not None


@cache
def code() -> ModuleType:
    """All functions of the check, compiled when they are called first."""
    return load(text())


def ready() -> bool:
    """Whether it has been compiled before, by this user."""
    if not available():
        return False
    stem = name(text())
    return any((cache_folder() / "__pycache__").glob(f"{stem}.run-*.nbi"))


@cache
def text() -> str:
    """One module of all functions and numbers of the check.

    They allocate nothing, so they need no counting of references, which would take half of the time.
    """
    parts = ["from __future__ import annotations", "from numba import njit"]
    for module in MODULES:
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        for node in ast.parse(source).body:
            piece = ast.get_source_segment(source, node) or ""
            if isinstance(node, ast.FunctionDef):
                inline = ", forceinline=True" if module is scan and node.name != "scan" else ""
                parts.append(f"@njit(cache=True, _nrt=False{inline})\n{piece}\n")
            elif isinstance(node, ast.Assign):
                parts.append(piece)
    return "\n".join(parts) + "\n"


def _needs() -> Any:
    """For each action the fields that its events must have."""
    needs = np.zeros(len(ACTIONS), "i8")
    for number, fields in enumerate(ACTIONS.values()):
        for key, kind in fields.items():
            is_number = key == "value" and kind is int
            needs[number] |= scan.F_NUMBER if is_number else 1 << scan.FIELDS.index(key)
    return needs


class Table:
    """Texts of all kinds and their numbers in arrays, the same as those of `kinds`."""

    def __init__(self, kinds: Sequence[Texts]) -> None:
        self.kinds = kinds
        self.names = _names(0, 2)
        self.room(0, 0)

    def room(self, count: int, bytes_: int) -> None:
        """Room for so many more texts of so many bytes together."""
        have = sum(len(texts.known) for texts in self.kinds)
        total = sum(len(known.encode()) for texts in self.kinds for known in texts.known) + bytes_
        names = self.names
        enough = len(names.text) >= total and len(names.table) >= 2 * (have + count)
        if names.used[scan.KINDS] == have and enough:
            return
        self.names = _names(2 * total, 1 << max(4, (4 * (have + count)).bit_length()))
        for kind, texts in enumerate(self.kinds):
            for known in texts.known:
                data = np.frombuffer(known.encode(), "u1")
                code().number_of(self.names, kind, data, 0, len(data), True)

    def learn(self) -> None:
        """Texts that the scanner has met get their numbers in `kinds`, too."""
        names, stride = self.names, scan.ENTRY_STRIDE
        for at in range(sum(len(texts.known) for texts in self.kinds), int(names.used[scan.KINDS])):
            start, kind = names.entry[at * stride + scan.START], names.entry[at * stride + scan.KIND]
            self.kinds[kind].of(bytes(names.text[start : names.entry[(at + 1) * stride + scan.START]]).decode())


def _names(bytes_: int, size: int) -> scan.Names:
    entries = (size + 1) * scan.ENTRY_STRIDE
    tables: Any = np.zeros(bytes_, "u1"), np.zeros(entries, "i8"), np.zeros(size, "i8"), np.zeros(scan.KINDS + 1, "i8")
    return scan.Names(*tables)


class Scanner:
    """Reads lines of a trace into columns."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        fixed = [Texts(tuple(columns.agents)), Texts(NAMES), Texts(ERRORS), Texts(scan.FIELDS)]
        self.table = Table([*fixed, columns.teams, columns.places])
        self.needs = _needs()
        self.told = np.zeros(scan.S_TOLD, "i8")

    def load(self, data: bytes, line: int) -> None:
        """The next lines to be read, all with their ends; `line`: how many came before."""
        self.buffer = np.frombuffer(data + bytes(16), "u1")
        self.data = data
        self.told[:] = 0
        self.told[scan.S_LINE], self.told[scan.S_END] = line, len(data)

    def scan(self) -> str | None:
        """Go on until a line is odd, which is returned, or all are read."""
        columns, told = self.columns, self.told
        left = len(self.data) - int(told[scan.S_AT])
        columns.room(left // 20 + 1, left // 2 + 1, left // 2 + st.LENGTH_OF_DIGEST)
        self.table.room(left // 8, left)
        told[scan.S_COUNT], told[scan.S_EXTRAS], told[scan.S_BYTES] = columns.count, columns.extras, columns.bytes
        ended = code().scan(self.buffer, self.table.names, columns.ev, columns.extra, columns.values, self.needs, told)
        columns.count, columns.extras, columns.bytes = (
            int(told[k]) for k in (scan.S_COUNT, scan.S_EXTRAS, scan.S_BYTES)
        )
        self.table.learn()
        if ended == scan.GOOD:
            return None
        at = int(told[scan.S_AT])
        end = self.data.index(b"\n", at) + 1
        told[scan.S_AT] = end
        told[scan.S_LINE] += 1
        return self.data[at:end].decode("utf-8", "strict")

    @property
    def line(self) -> int:
        """The number of the last line that was read."""
        return int(self.told[scan.S_LINE])
