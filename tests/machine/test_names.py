"""One name everywhere, and the generated reference page is fresh."""

from __future__ import annotations

import os
from pathlib import Path

from shmem_model.language.actions import REFUSALS
from shmem_model.machine import MACHINE
from shmem_model.machine.hazards import HAZARDS
from shmem_model.machine.names import ACTION_NAMES, COMPOSITES
from shmem_model.readers.print_markdown import machine_page

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "machine.md"


def test_the_table_of_names_is_the_machine() -> None:
    assert {(n.name, n.group) for n in ACTION_NAMES} == {(a.name, a.group) for a in MACHINE.actions.values()}
    assert len(ACTION_NAMES) == len(MACHINE.actions) == 35


def test_every_hazard_is_somewhere_in_the_machine() -> None:
    assert [h.id for h in HAZARDS] == [f"H{i}" for i in range(1, 15)]
    for hazard in HAZARDS:
        assert set(hazard.actions) <= set(MACHINE.actions), hazard.id


def test_composites_are_no_actions() -> None:
    assert not set(COMPOSITES) & set(MACHINE.actions)


def test_the_machine_is_as_large_as_promised() -> None:
    assert len(MACHINE.actions) >= 28
    assert len(MACHINE.properties) >= 40


def test_refusals_come_in_the_fixed_order() -> None:
    for action in MACHINE.actions.values():
        order = [REFUSALS.index(c.name) for c in action.conditions if c.kind == "refused"]
        assert order == sorted(order), action.name


def test_the_reference_page_is_fresh() -> None:
    """`SHMEM_REWRITE=1` rewrites it."""
    text = machine_page(MACHINE)
    if os.environ.get("SHMEM_REWRITE"):
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text
