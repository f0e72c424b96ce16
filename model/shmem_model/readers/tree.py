"""Guards as a tree of tests, so that a state is asked once what many actions want to know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from shmem_model.readers.bits import Bits
from shmem_model.readers.packed import Packed, PackedAction


@dataclass
class Branch:
    """Where all `tests` (nodes) hold: actions with what is left of their guards, and further branches."""

    tests: list[int]
    leaves: list[tuple[PackedAction, int]] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)


def decision_tree(packed: Packed, least: int = 3) -> Branch:
    """Group the actions: a test that at least `least` of them share is asked once."""
    root = Branch([])
    _split(packed.bits, root, [(a, set(_parts(packed.bits, a.guard))) for a in packed.actions], least)
    return root


def _parts(bits: Bits, guard: int) -> Sequence[int]:
    inner = bits.parts(guard)
    return inner if inner and not guard & 1 else (guard,) if guard > 1 else ()


def _split(bits: Bits, branch: Branch, actions: list[tuple[PackedAction, set[int]]], least: int) -> None:
    """Take out the most wanted test again and again; the actions that want it go into a branch of their own."""
    while actions:
        wanted = Counter(part for _, parts in actions for part in parts)
        best = max(sorted(wanted), key=lambda part: wanted[part], default=None)
        if best is None or wanted[best] < least:
            break
        chosen = [(a, parts) for a, parts in actions if best in parts]
        shared = set.intersection(*(parts for _, parts in chosen))
        inner = Branch(sorted(shared))
        _split(bits, inner, [(a, parts - shared) for a, parts in chosen], least)
        branch.branches.append(inner)
        taken = {a.number for a, _ in chosen}
        actions = [(a, parts) for a, parts in actions if a.number not in taken]
    branch.leaves = [(a, bits.conj(sorted(parts))) for a, parts in actions]
