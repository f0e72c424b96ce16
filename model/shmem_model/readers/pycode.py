"""Nodes and packed actions as Python source over an int `s` (any width)."""

from __future__ import annotations

from collections.abc import Iterable

from shmem_model.readers.packed import Packed, PackedAction


class PythonCode:
    """Prints nodes as Python expressions; what would be printed too often gets a name."""

    def __init__(self, packed: Packed) -> None:
        self.packed = packed
        self.names: dict[int, str] = {}

    def truth(self, node: int) -> str:
        """An expression whose truth is the node's."""
        if node < 2:
            return "True" if node else "False"
        name = self.names.get(node & ~1)
        if name is not None:
            return f"not {name}" if node & 1 else name
        inner = self.packed.bits.parts(node)
        if not inner:
            mask = 1 << self.packed.positions[node & ~1]
            return f"not s & {mask}" if node & 1 else f"s & {mask}"
        return self._negated(inner) if node & 1 else self._conjunction(inner)

    def _cube(self, parts: Iterable[int]) -> tuple[int, int, list[int]]:
        """Literals as mask and wanted value; the other parts."""
        mask = want = 0
        others = []
        for part in parts:
            position = self.packed.positions.get(part & ~1)
            if position is None or part & ~1 in self.names:
                others.append(part)
            else:
                mask |= 1 << position
                want |= (~part & 1) << position
        return mask, want, others

    def _conjunction(self, inner: Iterable[int]) -> str:
        mask, want, others = self._cube(inner)
        parts = []
        if mask:
            single = mask == want and not mask & mask - 1
            parts.append(f"s & {mask}" if single else f"s & {mask} == {want}" if want else f"not s & {mask}")
        parts += [f"({self.truth(part)})" for part in others]
        return " and ".join(parts)

    def _negated(self, inner: Iterable[int]) -> str:
        mask, want, others = self._cube(inner)
        parts = []
        if mask:
            single = mask == want and not mask & mask - 1
            parts.append(f"not s & {mask}" if single else f"s & {mask} != {want}" if want else f"s & {mask}")
        parts += [f"({self.truth(part ^ 1)})" for part in others]
        return " or ".join(parts)

    def shared(self, nodes: Iterable[int]) -> list[int]:
        """Conjunctions that several of the others mention, innermost first."""
        count: dict[int, int] = {}
        order: list[int] = []

        def visit(node: int) -> None:
            base = node & ~1
            if not self.packed.bits.parts(base):
                return
            count[base] = count.get(base, 0) + 1
            if count[base] == 1:
                for part in self.packed.bits.parts(base):
                    visit(part)
                order.append(base)

        for node in nodes:
            visit(node)
        return [base for base in order if count[base] > 1]

    def successor(self, action: PackedAction) -> tuple[list[str], str]:
        """Statements that must come first, and the expression of the next state."""
        self.names = {}
        lines = []
        by_node: dict[int, int] = {}
        shifts: dict[tuple[int, int], int] = {}
        for position, node in action.computed:
            source = self.packed.positions.get(node & ~1)
            if source is None:
                by_node[node] = by_node.get(node, 0) | 1 << position
            else:
                key = (source - position, node & 1)
                shifts[key] = shifts.get(key, 0) | 1 << position
        for node in self.shared(by_node):
            lines.append(f"n{node} = {self.truth(node)}")
            self.names[node] = f"n{node}"
        parts = [f"s & {~action.clear}" if action.clear else "s"]
        if action.set:
            parts.append(str(action.set))
        parts += [f"{_shifted(shift, flip)} & {mask}" for (shift, flip), mask in shifts.items()]
        parts += [f"({mask} if {self.truth(node)} else 0)" for node, mask in by_node.items()]
        self.names = {}
        return lines, " | ".join(parts)


def _shifted(shift: int, flip: int) -> str:
    text = "~s" if flip else "s"
    return f"({text} >> {shift})" if shift > 0 else f"({text} << {-shift})" if shift else text
