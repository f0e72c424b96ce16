"""The graph of reachable states: who can get where, by which steps; fair cycles.

States are named by their number in `Graph.states`, steps by the number of their ground action.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

Edge = tuple[int, int, int]
"""(number of the source state, number of the ground action, number of the target state)."""
Filter = Callable[[int], bool] | Iterable[int] | None
"""Which ground actions count: a predicate, a collection, or None for all."""


@dataclass(frozen=True)
class FairCycle:
    """A run that goes on for ever without getting where it should: the states it may stay in, and one round."""

    states: frozenset[int]
    round: tuple[Edge, ...]


class Graph:
    """States by number, and all fired transitions as edges."""

    def __init__(self, states: Sequence[int], edges: Sequence[Edge], start: int = 0) -> None:
        self.states = states
        self.edges = edges
        self.start = start
        self._out: list[list[Edge]] | None = None

    @property
    def out(self) -> list[list[Edge]]:
        """The edges that leave each state."""
        if self._out is None:
            self._out = [[] for _ in self.states]
            for edge in self.edges:
                self._out[edge[0]].append(edge)
        return self._out

    def backward_reachable(self, targets: Iterable[int], allowed: Filter = None) -> set[int]:
        """The states from which some target can be reached by allowed ground actions."""
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

    def _permitted(self, allowed: Filter) -> set[int] | None:
        if allowed is None:
            return None
        if callable(allowed):
            return {number for number in {edge[1] for edge in self.edges} if allowed(number)}
        return set(allowed)

    def fair_cycle(
        self, done: Collection[int], weak: Sequence[Collection[int]] = (), strong: Sequence[Collection[int]] = ()
    ) -> FairCycle | None:
        """A fair endless run that avoids the states in `done`, or None.

        Each element of `weak` and `strong` is a group of ground actions.  A run is fair when no weak group is enabled
        from some point on without being taken again and again, and no strong group is enabled again and again without
        being taken again and again.  A run may also stand still for ever where no group forbids it.
        """
        avoided = set(done)
        inside = {number for number in range(len(self.states)) if number not in avoided}
        return self._fair(inside, [set(g) for g in weak], [set(g) for g in strong])

    def _fair(self, inside: set[int], weak: list[set[int]], strong: list[set[int]]) -> FairCycle | None:
        for component in self._components(inside):
            taken = {e[1] for state in component for e in self.out[state] if e[2] in component}
            if any(not group & taken and all(group & self._enabled(s) for s in component) for group in weak):
                continue
            unfair = [g for g in strong if not g & taken and any(g & self._enabled(s) for s in component)]
            if not unfair:
                return FairCycle(frozenset(component), self._round(component, weak, strong))
            kept = {s for s in component if not any(g & self._enabled(s) for g in unfair)}
            found = self._fair(kept, weak, strong)
            if found is not None:
                return found
        return None

    def _enabled(self, state: int) -> set[int]:
        return {edge[1] for edge in self.out[state]}

    def _round(self, component: set[int], weak: list[set[int]], strong: list[set[int]]) -> tuple[Edge, ...]:
        """A closed walk in the component that shows for every group why it is treated fairly."""
        begin = at = min(component)
        walk: list[Edge] = []
        for group in [*weak, *strong]:
            steps = [e for s in sorted(component) for e in self.out[s] if e[2] in component and e[1] in group]
            if steps:
                walk += [*self._path(at, steps[0][0], component), steps[0]]
                at = steps[0][2]
            else:
                idle = min(s for s in component if not group & self._enabled(s))
                walk += self._path(at, idle, component)
                at = idle
        if not walk and at == begin:
            first = next((e for e in self.out[at] if e[2] in component), None)
            if first is not None:
                walk, at = [first], first[2]
        return (*walk, *self._path(at, begin, component))

    def _path(self, source: int, target: int, inside: set[int]) -> list[Edge]:
        """A shortest path inside a strongly connected set."""
        came: dict[int, Edge | None] = {source: None}
        queue = deque([source])
        while target not in came:
            for edge in self.out[queue.popleft()]:
                if edge[2] in inside and edge[2] not in came:
                    came[edge[2]] = edge
                    queue.append(edge[2])
        path: list[Edge] = []
        last = came[target]
        while last is not None:
            path.append(last)
            last = came[last[0]]
        return path[::-1]

    def _components(self, inside: set[int]) -> Iterator[set[int]]:
        """Strongly connected components (Tarjan, without recursion); standing still makes a single state one too."""
        index: dict[int, int] = {}
        low: dict[int, int] = {}
        stack: list[int] = []
        on_stack: set[int] = set()
        for root in sorted(inside):
            if root in index:
                continue
            work = [(root, iter(self.out[root]))]
            index[root] = low[root] = len(index)
            stack.append(root)
            on_stack.add(root)
            while work:
                state, edges = work[-1]
                for _, _, target in edges:
                    if target not in inside:
                        continue
                    if target not in index:
                        index[target] = low[target] = len(index)
                        stack.append(target)
                        on_stack.add(target)
                        work.append((target, iter(self.out[target])))
                        break
                    if target in on_stack:
                        low[state] = min(low[state], index[target])
                else:
                    work.pop()
                    if work:
                        low[work[-1][0]] = min(low[work[-1][0]], low[state])
                    if low[state] == index[state]:
                        cut = stack.index(state)
                        component = set(stack[cut:])
                        del stack[cut:]
                        on_stack -= component
                        yield component


def sorted_graph(
    first: int, parts: Iterable[tuple[list[int], list[tuple[int, Sequence[int] | None, list[int]]]]]
) -> Graph:
    """A graph from pieces: source states, and for each action number the positions of its sources and its targets."""
    found = [
        (sources[i], action, target)
        for sources, out in parts
        for action, positions, targets in out
        for i, target in zip(range(len(sources)) if positions is None else positions, targets, strict=True)
    ]
    states = sorted({first} | {state for source, _, target in found for state in (source, target)})
    number = {state: i for i, state in enumerate(states)}
    return Graph(states, [(number[source], action, number[target]) for source, action, target in found], number[first])
