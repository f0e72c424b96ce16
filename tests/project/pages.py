"""The documentation as data: its pages, their fenced blocks, and how each kind of block is run.

| fence | what a test does with it |
|---|---|
| `python` | runs it; blocks of one page share their names |
| `litmus` | asks `shmem litmus`, and every `expect` must come true |
| `console` | runs each `$ command` and compares what follows, where `...` stands for anything |
| `sh` | is for the reader's machine: each `make` target and `shmem` command must exist |
| `text` | nothing: a picture or a grammar, marked as such |
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.project.tree import ROOT, files

KINDS = {"python", "jsonl", "litmus", "console", "sh", "text"}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
SUITE = ROOT / "proofs" / "shmem_suite" / "cli.py"


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: str
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def litmus_name(self) -> str:
        """The NAME in the line `litmus NAME` of a litmus block."""
        named = re.search(r"^litmus\s+(\S+)", self.text, re.M)
        assert named, f"{self}: a litmus block needs its line `litmus NAME`"
        return named.group(1)


def pages() -> list[Path]:
    """Every page that we write for readers."""
    return [path for path in files() if path.suffix == ".md"]


def blocks(kind: str | None = None) -> list[Block]:
    """The fenced blocks of all pages, of one kind or of every kind."""
    found = []
    for path in pages():
        text = path.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(Block(path.relative_to(ROOT).as_posix(), line, match.group(1), match.group(2)))
    return [block for block in found if kind in (None, block.kind)]


def dialogue(block: Block) -> Iterator[tuple[str, str]]:
    """Each command of a console block with the output that the page promises."""
    command, promised = None, ""
    for line in block.text.splitlines(keepends=True):
        if line.startswith("$ "):
            if command is not None:
                yield command, promised
            command, promised = line[2:].strip(), ""
        else:
            promised += line
    assert command is not None, f"{block}: a console block starts with `$ command`"
    yield command, promised


def shmem(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command `shmem` of this tree in a folder."""
    paths = os.pathsep.join(str(ROOT / part) for part in ("impl", "model", "proofs"))
    environment = os.environ | {"PYTHONPATH": paths, "NO_COLOR": "1", "COLUMNS": "110"}
    line = [sys.executable, "-m", "shmem", *arguments]
    return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)
