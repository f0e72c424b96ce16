"""Boolean functions of the bits of a state, as a hash-consed graph of conjunctions and negations.

A node is an int.  0 is false, 1 is true, and `n ^ 1` is the negation of `n`, so negation costs nothing and a formula
and its negation share everything.  Every other node is a variable (one bit of the state) or a conjunction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

FALSE, TRUE = 0, 1
Value = int | tuple[int, ...]
"""An element of a sort: its index, or (where it depends on the state) its bits as nodes, lowest first."""


class Bits:
    """A graph of Boolean functions; equal functions of equal shape are one node."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, ...]] = [()]  # by node >> 1: operands of a conjunction, () for others
        self._variable: dict[int, int] = {}  # node -> number of the variable
        self._known: dict[tuple[int, ...], int] = {}

    def variable(self, number: int) -> int:
        """A new variable."""
        node = len(self._parts) << 1
        self._parts.append(())
        self._variable[node] = number
        return node

    def number(self, node: int) -> int | None:
        """The number of the variable that an even node is, None for a conjunction."""
        return self._variable.get(node)

    def parts(self, node: int) -> tuple[int, ...]:
        """The operands of the conjunction at `node` (its negation bit is ignored)."""
        return self._parts[node >> 1]

    def conj(self, nodes: Iterable[int]) -> int:
        """All of them hold."""
        found: set[int] = set()
        choices = False
        for node in nodes:
            if node == FALSE:
                return FALSE
            if node == TRUE:
                continue
            inner = self._parts[node >> 1]
            if not inner:
                found.add(node)
            elif node & 1:
                choices = True
                found.add(node)
            else:
                found.update(inner)
                choices = True
        if len(found) < 2:
            return found.pop() if found else TRUE
        for node in found:
            if node ^ 1 in found:
                return FALSE
        if choices:
            return self._propagate(found)
        return self._make(found)

    def _propagate(self, found: set[int]) -> int:
        """Conjunction with disjunctions among its operands: what the others decide is taken out of them."""
        for node in sorted(found):
            inner = self._parts[node >> 1]
            if node & 1 and inner:
                if any(part ^ 1 in found for part in inner):
                    found.discard(node)
                elif any(part in found for part in inner):
                    rest = self.conj(part for part in inner if part not in found) ^ 1
                    return self.conj([*(found - {node}), rest])
        if len(found) < 2:
            return found.pop() if found else TRUE
        return self._make(found)

    def _make(self, found: set[int]) -> int:
        key = tuple(sorted(found))
        node = self._known.get(key)
        if node is None:
            node = self._known[key] = len(self._parts) << 1
            self._parts.append(key)
        return node

    def disj(self, nodes: Iterable[int]) -> int:
        """At least one of them holds."""
        return self.conj([node ^ 1 for node in nodes]) ^ 1

    def ite(self, condition: int, then: int, otherwise: int) -> int:
        """`then` where the condition holds, `otherwise` elsewhere."""
        if condition < 2:
            return then if condition else otherwise
        if then == otherwise:
            return then
        return self.disj((self.conj((condition, then)), self.conj((condition ^ 1, otherwise))))

    def same(self, left: int, right: int) -> int:
        """Both hold or neither does."""
        return self.ite(left, right, right ^ 1)

    def choose(self, condition: int, then: Value, otherwise: Value) -> Value:
        """If-then-else of values."""
        if condition < 2 or then == otherwise:
            return then if condition else otherwise
        width = max(bit_width(then), bit_width(otherwise))
        pairs = zip(spread(then, width), spread(otherwise, width), strict=True)
        return pack(tuple(self.ite(condition, x, y) for x, y in pairs))

    def equal(self, left: Value, right: Value) -> int:
        """Both are the same element."""
        if isinstance(left, int) and isinstance(right, int):
            return TRUE if left == right else FALSE
        width = max(bit_width(left), bit_width(right))
        pairs = zip(spread(left, width), spread(right, width), strict=True)
        return self.conj([self.same(x, y) for x, y in pairs])

    def support(self, nodes: Iterable[int]) -> set[int]:
        """The variables (as nodes) on which the nodes depend."""
        seen: set[int] = set()
        stack = [node & ~1 for node in nodes]
        while stack:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                stack.extend(part & ~1 for part in self._parts[node >> 1])
        return {node for node in seen if node in self._variable}

    def rewrite(self, node: int, mapping: Mapping[int, int], memo: dict[int, int]) -> int:
        """Replace variables (even nodes) by nodes; `memo` belongs to the mapping."""
        base = node & ~1
        found = memo.get(base)
        if found is None:
            inner = self._parts[base >> 1]
            if inner:
                found = self.conj([self.rewrite(part, mapping, memo) for part in inner])
            else:
                found = mapping.get(base, base)
            memo[base] = found
        return found ^ (node & 1)

    def evaluate(self, node: int, bit: Callable[[int], bool]) -> bool:
        """The value of a node when `bit(variable number)` gives the variables."""
        memo: dict[int, bool] = {0: False}

        def value(at: int) -> bool:
            base = at & ~1
            found = memo.get(base)
            if found is None:
                inner = self._parts[base >> 1]
                found = all(value(part) for part in inner) if inner else bit(self._variable[base])
                memo[base] = found
            return found != bool(at & 1)

        return value(node)


def bit_width(value: Value) -> int:
    """How many bits the value has at least."""
    return value.bit_length() if isinstance(value, int) else len(value)


def spread(value: Value, width: int) -> tuple[int, ...]:
    """The value as `width` nodes, lowest bit first."""
    if isinstance(value, int):
        return tuple(value >> i & 1 for i in range(width))
    return value + (FALSE,) * (width - len(value))


def pack(nodes: tuple[int, ...]) -> Value:
    """The opposite of `spread`: an index where all bits are known."""
    if all(node < 2 for node in nodes):
        return sum(node << i for i, node in enumerate(nodes))
    return nodes
