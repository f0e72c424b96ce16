"""The explorer's engine for small spaces: generated Python over ints of any width."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shmem_model.readers.graph import Graph
from shmem_model.readers.packed import Packed
from shmem_model.readers.pycode import PythonCode


class PythonEngine:
    """States are ints; a level is a list of them in the order of their discovery."""

    name = "python"
    compile_seconds = 0.0

    def __init__(self, packed: Packed, keep_graph: bool = False) -> None:
        self.packed = packed
        self.fired = [0] * len(packed.actions)
        self.index: dict[int, int] = {packed.initial: 0}
        self.edges: list[tuple[int, int, int]] | None = [] if keep_graph else None
        self.first: list[int] = [packed.initial]
        self._where: dict[int, Callable[..., Any]] = {}
        self._expand = compile_source(self._expand_source(keep_graph), "expand")

    @property
    def states(self) -> int:
        """How many different states have been found."""
        return len(self.index)

    def _expand_source(self, keep_graph: bool) -> str:
        code = PythonCode(self.packed)
        lines = ["def expand(level, index, out, fired, edges):"]
        lines += [f"  f{a.number} = 0" for a in self.packed.actions]
        lines += ["  for s in level:", "    pass"]
        if keep_graph:
            lines.append("    i = index[s]")
        for action in self.packed.actions:
            first, successor = code.successor(action)
            lines.append(f"    if {code.truth(action.guard)}:")
            lines += [f"      {line}" for line in first]
            lines.append(f"      f{action.number} += 1")
            lines.append(f"      t = {successor}")
            lines.append("      if t not in index:")
            lines.append("        index[t] = len(index)")
            lines.append("        out.append(t)")
            if keep_graph:
                lines.append(f"      edges.append((i, {action.number}, index[t]))")
        lines += [f"  fired[{a.number}] += f{a.number}" for a in self.packed.actions]
        return "\n".join(lines)

    def expand(self, level: list[int]) -> list[int]:
        """The states first reached from this level."""
        out: list[int] = []
        self._expand(level, self.index, out, self.fired, self.edges)
        return out

    def count(self, level: list[int]) -> int:
        """How many states a level has."""
        return len(level)

    def contains(self, level: list[int], state: int) -> bool:
        """The level has this state."""
        return state in level

    def graph(self) -> Graph:
        """All states and transitions found so far."""
        return Graph(list(self.index), self.edges or [])

    def where(self, level: Sequence[int], node: int) -> list[int]:
        """The states of a level in which a node holds."""
        if node < 2:
            return list(level) if node else []
        if node not in self._where:
            self._where[node] = self._make_where(node)
        found: list[int] = self._where[node](level)
        return found

    def _make_where(self, node: int) -> Callable[..., Any]:
        code = PythonCode(self.packed)
        lines = ["def where(level):", "  out = []", "  for s in level:"]
        for shared in code.shared([node]):
            lines.append(f"    n{shared} = {code.truth(shared)}")
            code.names[shared] = f"n{shared}"
        lines += [f"    if {code.truth(node)}:", "      out.append(s)", "  return out"]
        return compile_source("\n".join(lines), "where")


def compile_source(source: str, name: str, names: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """The function `name` that the source defines; `names` are its globals."""
    scope: dict[str, Any] = dict(names or {})
    exec(compile(source, f"<{name}>", "exec", dont_inherit=True), scope)
    made: Callable[..., Any] = scope[name]
    return made
