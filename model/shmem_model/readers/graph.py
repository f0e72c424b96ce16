"""The graph of reachable states: who can get where, by which steps; fair cycles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

Edge = tuple[int, int, int]
"""(number of the source state, number of the ground action, number of the target state)."""


class Graph:
    """States by number in the order of their discovery, and all fired transitions as edges."""

    def __init__(self, states: Sequence[int], edges: Sequence[Edge]) -> None:
        self.states = states
        self.edges = edges

    def backward_reachable(
        self, targets: Iterable[int], allowed: Callable[[int], bool] | Iterable[int] | None = None
    ) -> set[int]:
        """Numbers of the states from which some target can be reached by allowed ground actions (default: all)."""
        before: dict[int, list[int]] = {}
        permitted = self._permitted(allowed)
        for source, action, target in self.edges:
            if permitted is None or action in permitted:
                before.setdefault(target, []).append(source)
        found = set(targets)
        stack = list(found)
        while stack:
            for source in before.get(stack.pop(), ()):
                if source not in found:
                    found.add(source)
                    stack.append(source)
        return found

    def _permitted(self, allowed: Callable[[int], bool] | Iterable[int] | None) -> set[int] | None:
        if allowed is None:
            return None
        if callable(allowed):
            return {number for number in {edge[1] for edge in self.edges} if allowed(number)}
        return set(allowed)
