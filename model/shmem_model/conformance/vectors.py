"""Test vectors: JSON files that an implementation in any language can follow, without the machine.

A file holds a graph (see `automaton`) and walks through it that together make every call at every node.  To follow
one: build the file's world, make the walk's calls in order, look each outcome up in the table of the node where you
are, and go on at the node that it names.  An outcome that is not there is a failure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shmem_model.conformance.adapter import Factory, World, capabilities
from shmem_model.conformance.automaton import build, strolls, walks
from shmem_model.conformance.loading import built
from shmem_model.conformance.oracle import Oracle
from shmem_model.conformance.outcome import broken, describe, matching, outcome_of
from shmem_model.conformance.vector_scopes import VectorScope

INDEX = "index.json"
LONGEST = 400
"""Calls in one walk."""
STROLLS, LENGTH = 60, 50
"""Walks at random that are added to each file, and calls in each."""


class VectorError(ValueError):
    """A vector file cannot be used; the text is one line."""


def vector(scope: VectorScope) -> dict[str, Any]:
    """The content of a scope's file.  The same every time."""
    graph = build(Oracle(scope.world, scope.commands), scope.actions)
    planned = walks(graph, LONGEST) + strolls(graph, STROLLS, LENGTH, scope.name)
    return {
        "shmem_vectors": 1,
        "scope": scope.name,
        "about": scope.about,
        "hardware": "commanded" if scope.commanded else "hidden",
        "world": json.loads(json.dumps(scope.world.as_json())),
        "states": graph.states,
        "transitions": graph.transitions,
        "calls": [{"action": action, "arguments": arguments} for action, arguments in graph.calls],
        "nodes": [{str(call): outcomes for call, outcomes in row.items()} for row in graph.nodes],
        "walks": planned,
    }


def coverage(data: dict[str, Any]) -> tuple[int, int]:
    """How many (node, call) pairs the walks make under some allowed outcomes, and how many there are.

    Where every call has one allowed outcome, as nearly all in commanded scopes, that is what every run makes.
    """
    made: set[tuple[int, int]] = set()
    for walk in data["walks"]:
        nodes = {0}
        for call in walk:
            here = [node for node in nodes if str(call) in data["nodes"][node]]
            made.update((node, call) for node in here)
            nodes = {target for node in here for target in data["nodes"][node][str(call)].values()}
    return len(made), sum(map(len, data["nodes"]))


def write(scopes: Iterable[VectorScope], folder: Path) -> list[dict[str, Any]]:
    """Write a file for each scope, and the index with the coverage of each; the entries of the index."""
    entries = []
    folder.mkdir(parents=True, exist_ok=True)
    for scope in scopes:
        data = vector(scope)
        made, edges = coverage(data)
        (folder / f"{scope.name}.json").write_text(_text(data), encoding="utf-8")
        entries.append({
            "file": f"{scope.name}.json", "hardware": data["hardware"], "states": data["states"],
            "transitions": data["transitions"], "nodes": len(data["nodes"]), "edges": edges, "covered": made,
            "walks": len(data["walks"]), "calls": sum(map(len, data["walks"])),
        })  # fmt: skip
    index = {"shmem_vectors_index": 1, "files": entries}
    (folder / INDEX).write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    return entries


def _text(data: dict[str, Any]) -> str:
    """JSON with one call, node or walk a line."""
    parts = []
    for key, value in data.items():
        if key in ("calls", "nodes", "walks"):
            body = ",\n  ".join(json.dumps(one, separators=(",", ":")) for one in value)
            parts.append(f' "{key}": [\n  {body}\n ]')
        else:
            parts.append(f' "{key}": {json.dumps(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def load(file: Path) -> dict[str, Any]:
    """A vector file.  Raises `VectorError` where it is none."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise VectorError(f"{file}: {' '.join(str(error).split())}; make it again with `shmem vectors make`") from None
    if not isinstance(data, dict) or data.get("shmem_vectors") != 1:
        raise VectorError(f'{file}: no vector file of version 1 (it has no "shmem_vectors": 1)')
    keys = ("scope", "world", "calls", "nodes", "walks", "hardware")
    missing = [key for key in keys if not data.get(key)]
    if missing:
        raise VectorError(f"{file}: nothing under {', '.join(missing)}; make it again with `shmem vectors make`")
    return data


def files(place: Path) -> list[Path]:
    """The vector files of a folder, as its index names them, or the one file."""
    if place.is_file():
        return [place]
    index = place / INDEX
    try:
        names = [entry["file"] for entry in json.loads(index.read_text(encoding="utf-8"))["files"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise VectorError(f"{index}: {' '.join(str(error).split())}; name a folder of `shmem vectors make`") from None
    if not names:
        raise VectorError(f"{index} names no file; make vectors with `shmem vectors make`")
    return [place / name for name in names]


@dataclass
class Failure:
    """A call whose outcome is not allowed: the scope, the walk, all calls so far with their outcomes."""

    scope: str
    walk: int
    seen: list[tuple[str, str]]
    allowed: list[str]
    property: str

    def story(self) -> str:
        """What happened, the last lines of it, and what should have."""
        shown = self.seen[-12:]
        first = len(self.seen) - len(shown) + 1
        lines = [f"{self.scope}, walk {self.walk}, call {len(self.seen)}: {self.property}"]
        lines += [f"  ... {first - 1} calls before"] if first > 1 else []
        lines += [f"  {i:4} {call}  ->  {outcome}" for i, (call, outcome) in enumerate(shown, first)]
        return "\n".join([*lines, f"       allowed: {' | '.join(self.allowed)}"])


@dataclass
class Run:
    """What came of a file: walks and calls made, (node, call) pairs covered, failures; or why it was not run."""

    scope: str
    walks: int = 0
    calls: int = 0
    edges: int = 0
    covered: int = 0
    cut: int = 0
    """Walks that ended early: the implementation chose another allowed outcome than the plan."""
    missing: tuple[str, ...] = ()
    declined: str = ""
    """Why the adapter cannot build the world (its factory raised NotImplementedError)."""
    failures: list[Failure] = field(default_factory=list)

    @property
    def skipped(self) -> str:
        """Why it was not run; empty if it was."""
        return self.declined or (f"the adapter has no {', '.join(self.missing)}" if self.missing else "")


def run(data: dict[str, Any], factory: Factory, *, most: int = 1, only: int | None = None) -> Run:
    """Follow the walks of a file; it stops after so many failures.  `only` follows one walk.

    A file whose actions the adapter does not have is not run, and says which are missing; nor is one whose world the
    factory declines by NotImplementedError.
    """
    world = World.from_json(data["world"])
    result = Run(data["scope"], edges=sum(map(len, data["nodes"])))
    made: set[tuple[int, int]] = set()
    for number, walk in enumerate(data["walks"]):
        if only is not None and number != only:
            continue
        try:
            adapter = built(factory, world)
        except NotImplementedError as error:
            result.declined = str(error) or "the adapter cannot build this world"
            return result
        try:
            needed = {call["action"] for call in data["calls"]}
            result.missing = tuple(sorted(needed - capabilities(adapter)))
            if result.missing:
                return result
            failure = _follow(data, number, walk, adapter, made, result)
        finally:
            close = getattr(adapter, "close", None)
            if close is not None:
                close()
        result.walks += 1
        if failure is not None:
            result.failures.append(failure)
            if len(result.failures) >= most:
                break
    result.covered = len(made)
    return result


def _follow(
    data: dict[str, Any], number: int, walk: list[int], adapter: Any, made: set[tuple[int, int]], result: Run
) -> Failure | None:
    node, seen = 0, []
    for call in walk:
        table = data["nodes"][node].get(str(call))
        if table is None:
            result.cut += 1
            return None
        action, arguments = data["calls"][call]["action"], data["calls"][call]["arguments"]
        outcome = outcome_of(adapter, action, arguments)
        seen.append((describe(action, arguments), outcome))
        made.add((node, call))
        result.calls += 1
        found = matching(outcome, table)
        if not found:
            return Failure(data["scope"], number, seen, list(table), broken(action, outcome, table))
        if len({table[one] for one in found}) > 1:
            return None  # frames unknown, and it matters which: the rest of this walk cannot be judged
        node = table[found[0]]
    return None


def run_all(place: Path, factory: Factory, **options: Any) -> Iterator[Run]:
    """Run every file of a folder.  Raises `VectorError`."""
    for file in files(place):
        yield run(load(file), factory, **options)
