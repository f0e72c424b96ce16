"""The machine as pages of documentation: generated from the one text, so they cannot drift from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shmem_model.language import Action, Machine, Property
from shmem_model.language.actions import FAULTS, GROUPS, REFUSED, WAITS
from shmem_model.machine.hazards import HAZARDS

_TITLES = {
    "software": "Calls of programs",
    "hardware": "What hardware does by itself",
    "driver": "What the driver does",
    "fault": "Faults",
}


def machine_page(machine: Machine) -> str:
    """The reference page of a machine: its functions, its actions and its claims."""
    return "\n".join(_page(machine)) + "\n"


def _page(machine: Machine) -> Iterator[str]:
    yield "# The machine"
    yield ""
    yield "This page is generated from `model/shmem_model/machine/`; do not edit it."
    yield ""
    yield f"{len(machine.actions)} actions, {len(machine.state)} state functions, {len(machine.properties)} claims."
    yield from _hazards()
    for layer in ("platform", "hardware", "software", "ghost"):
        yield from _functions(machine, layer)
    for group in GROUPS:
        yield from _actions(group, (a for a in machine.actions.values() if a.group == group))
    yield from _claims("Assumptions about the platform", machine.axioms)
    yield from _claims("Claims about every state", machine.invariants)
    yield from _claims("Claims about every step", (p for p in machine.properties if p.kind == "step"))


def _hazards() -> Iterator[str]:
    yield from (
        "",
        "## Hazards",
        "",
        "| id | what hardware may do | where | why it is real |",
        "|---|---|---|---|",
    )
    for hazard in HAZARDS:
        where = ", ".join(f"`{name}`" for name in hazard.actions)
        yield f"| {hazard.id} | {hazard.sentence} | {where} | {hazard.why} |"


def _functions(machine: Machine, layer: str) -> Iterator[str]:
    yield from (
        "",
        f"## Functions: {layer}",
        "",
        "| function | over | value | meaning |",
        "|---|---|---|---|",
    )
    for f in machine.functions:
        if f.layer == layer:
            over = ", ".join(sort.name for sort in f.arguments) or "–"
            yield f"| `{f.name}` | {over} | {f.result.name} | {f.sentence} |"


def _actions(group: str, actions: Iterable[Action]) -> Iterator[str]:
    head = "| action | what it does | waits until | refused or faults as | changes |"
    yield from ("", f"## {_TITLES[group]}", "", head, "|---|---|---|---|---|")
    for action in actions:
        waits = "; ".join(c.name for c in action.conditions if c.kind == WAITS) or "–"
        answers = (c for c in action.conditions if c.kind in (REFUSED, FAULTS))
        names = ", ".join(dict.fromkeys(c.name for c in answers)) or "–"
        changes = ", ".join(f"`{f.name}`" for f in action.updates) or "–"
        parameters = ", ".join(p.name for p in action.parameters)
        yield f"| `{action.name}({parameters})` | {action.sentence} | {waits} | {names} | {changes} |"


def _claims(title: str, claims: Iterable[Property]) -> Iterator[str]:
    yield from ("", f"## {title}", "", "| name | sentence |", "|---|---|")
    for claim in claims:
        yield f"| `{claim.name}` | {claim.sentence} |"
