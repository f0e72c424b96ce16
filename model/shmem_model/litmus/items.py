"""What a file consists of before it is sorted into a `Program`, beside the nodes of the tree itself."""

from __future__ import annotations

from dataclasses import dataclass

from . import syntax as sx
from .names import AgentName, Name, Whole


@dataclass(frozen=True)
class Title(sx.Node):
    """`litmus NAME`"""

    name: Name


@dataclass(frozen=True)
class Pool(sx.Node):
    """`pool 2 lines`"""

    lines: Whole


@dataclass(frozen=True)
class Mortal(sx.Node):
    """`mortal dev0`"""

    agents: tuple[AgentName, ...]


@dataclass(frozen=True)
class Ask(sx.Node):
    """`ask` as written; the `expect` lines below it are joined to it in `assemble.py`."""

    condition: sx.Condition
    expect: Expect | None = None


@dataclass(frozen=True)
class Expect(sx.Node):
    """One `expect`."""

    word: str
