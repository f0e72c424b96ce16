"""The theorems as a page of documentation, generated so that it cannot drift from what is proved."""

from __future__ import annotations

from collections.abc import Iterator

from shmem_proofs.theorems import THEOREMS
from shmem_proofs.theorems.statement import Theorem


def theorems_page() -> str:
    """Every theorem with its method, its witnesses and its red twins."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    yield "# The theorems"
    yield ""
    yield "This page is generated from `proofs/shmem_proofs/theorems/`; do not edit it."
    yield ""
    yield "A *witness* is a state that must be reachable, so that a theorem does not hold for want of anything to"
    yield "happen. A *red twin* is the machine with one thing left out: the theorem must fail in it, and the length of"
    yield "the shortest run that shows so is pinned."
    for theorem in THEOREMS:
        yield from _theorem(theorem)


def _theorem(theorem: Theorem) -> Iterator[str]:
    yield from ("", f"## {theorem.id} {theorem.name}", "", theorem.sentence, "")
    claims = f", {len(theorem.claims)} claims" if theorem.claims else ""
    yield f"Method: {theorem.method}{claims}."
    if theorem.litmus:
        yield f"Litmus files: {', '.join(f'`{pattern}`' for pattern in theorem.litmus)}."
    yield from _worlds(theorem)
    yield from _witnesses(theorem)
    yield from _red_twins(theorem)


def _witnesses(theorem: Theorem) -> Iterator[str]:
    seen = [(w.name, w.sentence) for w in theorem.witnesses]
    seen += [(case.name, case.sentence) for case in theorem.cases if not case.is_red_twin]
    if seen:
        yield from ("", "| witness | what has happened |", "|---|---|")
        for name, sentence in dict.fromkeys(seen):
            yield f"| `{name}` | {sentence} |"


def _red_twins(theorem: Theorem) -> Iterator[str]:
    rows = [f"| {t.name} | {t.sentence} | `{t.breaks}` | {t.steps} |" for t in theorem.red_twins]
    rows += [f"| {case.name} | {case.sentence} | {case.breaks} | 1 |" for case in theorem.cases if case.is_red_twin]
    if rows:
        yield from ("", "| red twin | why it must fail | breaks | steps |", "|---|---|---|---|")
        yield from rows


def _worlds(theorem: Theorem) -> Iterator[str]:
    """The worlds in which an algorithm is explored, what is reached there, and the weakened algorithms."""
    if not theorem.worlds:
        return
    yield from ("", "| world | what is in it | besides | states | transitions |", "|---|---|---|---|---|")
    for world in theorem.worlds:
        besides = "refines T3" if world.refines else "fair runs end" if world.progress else ""
        yield f"| {world.name} | {world.sentence} | {besides} | {world.states} | {world.transitions} |"
    yield from ("", "| witness | what has happened | steps |", "|---|---|---|")
    for world in theorem.worlds:
        algorithm = world.build().algorithm
        for make, steps in world.witnesses:
            state = make(algorithm)
            yield f"| `{state.name}` | {state.sentence} | {steps} |"
    yield from ("", "| red twin | why it must fail | breaks | steps |", "|---|---|---|---|")
    for twin in (twin for world in theorem.worlds for twin in world.twins):
        broken = f"`{twin.breaks}`" if twin.breaks else "progress"
        yield f"| {twin.name} | {twin.sentence} | {broken} | {twin.steps} |"
