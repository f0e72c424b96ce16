"""All that can be seen of a small world, as a graph: what may be called, which answers are right, and where they lead.

A node is a set of the machine's states that nobody can tell apart by what was seen so far; where all hardware is
commanded it is one state, and the graph is that of the scope itself.  An edge is a call at a node, with every allowed
outcome.  Nodes from which the same calls have the same answers for ever are one node.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from random import Random

from shmem_model.conformance.expand import alphabet
from shmem_model.conformance.oracle import Belief, Oracle, Step, TooMany

Table = list[dict[int, dict[str, int]]]
"""For each node: number of the call -> outcome -> next node."""


@dataclass(frozen=True)
class Automaton:
    """Node 0 is the start; `calls` are numbered."""

    calls: tuple[Step, ...]
    nodes: Table
    states: int
    """So many states of the machine are behind it."""
    transitions: int
    """So many times a call can be made in one of those states."""

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Every (node, call)."""
        return [(node, call) for node, table in enumerate(self.nodes) for call in table]


def build(oracle: Oracle, actions: tuple[str, ...], limit: int = 100_000) -> Automaton:
    """The graph of an oracle, for these actions.  Raises `TooMany` above the limit."""
    calls = alphabet(oracle.world, actions)
    number: dict[Belief, int] = {oracle.start: 0}
    found: list[Belief] = [oracle.start]
    table: Table = []
    transitions = 0
    for belief in found:  # grows meanwhile
        row: dict[int, dict[str, int]] = {}
        for i, (action, kw) in enumerate(calls):
            if not oracle.speaks(belief, action, kw):
                continue
            after = oracle.allowed(belief, action, kw)
            for target in after.values():
                if target not in number:
                    number[target] = len(found)
                    found.append(target)
            row[i] = {outcome: number[target] for outcome, target in after.items()}
        table.append(row)
        if len(found) > limit:
            raise TooMany(f"scope {oracle.world.name} has more than {limit:,} nodes")
    states = set().union(*found)
    transitions = sum(1 for key in states for action, kw in calls if oracle.speaks(frozenset([key]), action, kw))
    return Automaton(tuple(calls), smallest(table), len(states), transitions)


def smallest(table: Table) -> Table:
    """The same graph with nodes merged that nobody can tell apart, numbered from the start, breadth first."""
    part = [0] * len(table)
    count = 1
    while True:
        names: dict[object, int] = {}
        finer = []
        for node, row in enumerate(table):
            sign = tuple((call, *((o, part[t]) for o, t in to.items())) for call, to in row.items())
            finer.append(names.setdefault((part[node], sign), len(names)))
        part = finer
        if len(names) == count:
            break
        count = len(names)
    return _numbered(table, part)


def _numbered(table: Table, part: Sequence[int]) -> Table:
    member = {p: node for node, p in reversed(list(enumerate(part)))}
    number, order = {part[0]: 0}, [part[0]]
    result: Table = []
    for p in order:  # grows meanwhile
        row: dict[int, dict[str, int]] = {}
        for call, to in table[member[p]].items():
            for target in to.values():
                if part[target] not in number:
                    number[part[target]] = len(order)
                    order.append(part[target])
            row[call] = {outcome: number[part[target]] for outcome, target in to.items()}
        result.append(row)
    return result


def walks(automaton: Automaton, longest: int) -> list[list[int]]:
    """Runs from the start that together make every call at every node, each with at most so many calls.

    Greedy: the nearest call that was not made yet.  Which outcome comes is the implementation's choice, so a run ends
    with a call that has several, unless what follows it cannot be reached otherwise.
    """
    return _Walker(automaton, longest).all()


def strolls(automaton: Automaton, count: int, steps: int, seed: str) -> list[list[int]]:
    """Runs at random, the same ones for the same seed.

    An implementation may remember more than the machine does (a write that is stuck in a buffer), so that a call is
    wrong after one way to a node and right after another: these runs come by many ways.
    """
    random, runs = Random(seed), []

    def some(items: Collection[int]) -> int:
        return list(items)[int(random.random() * len(items))]

    for _ in range(count):
        node = 0
        run: list[int] = []
        while len(run) < steps and automaton.nodes[node]:
            run.append(some(automaton.nodes[node]))
            node = some(automaton.nodes[node][run[-1]].values())
        runs.append(run)
    return runs


class _Walker:
    def __init__(self, automaton: Automaton, longest: int) -> None:
        self.table, self.longest = automaton.nodes, longest
        self.left = [list(row) for row in automaton.nodes]
        self.open = {node for node, row in enumerate(self.left) if row}

    def all(self) -> list[list[int]]:
        """Runs until every call was made at every node."""
        runs: list[list[int]] = []
        while self.open:
            run = self._run()
            assert run, "a node without a way to it"
            runs.append(run)
        return runs

    def _run(self) -> list[int]:
        """Only by calls with one allowed outcome while there are any; after another the node is not known for sure."""
        node, sure = 0, True
        run: list[int] = []
        while self.open:
            way = self._nearest(node, sure)
            if way is None and not run:
                sure = False
                way = self._nearest(node, sure)
            if way is None or (run and len(run) + len(way) > self.longest):
                return run
            for call, target in way:
                run.append(call)
                self._made(node, call)
                several = len(set(self.table[node][call].values())) > 1
                node = target
            if several and sure:
                return run
        return run

    def _made(self, node: int, call: int) -> None:
        if call in self.left[node]:
            self.left[node].remove(call)
            if not self.left[node]:
                self.open.discard(node)

    def _nearest(self, start: int, sure: bool) -> list[tuple[int, int]] | None:
        """The way to, and with, the nearest call that was not made yet: loops first, then the others in order."""
        came: dict[int, tuple[int, int]] = {}
        queue, seen = deque([start]), {start}
        while queue:
            node = queue.popleft()
            if node in self.open:
                call = min(self.left[node], key=lambda c: (node not in self.table[node][c].values(), c))
                way = [(call, next(iter(self.table[node][call].values())))]
                while node != start:
                    before, by = came[node]
                    way.append((by, node))
                    node = before
                return way[::-1]
            for call, to in self.table[node].items():
                for target in () if sure and len(set(to.values())) > 1 else to.values():
                    if target not in seen:
                        seen.add(target)
                        came[target] = node, call
                        queue.append(target)
        return None
