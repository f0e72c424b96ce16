"""Every catalogue program starts in a state that the machine's claims allow, on a platform that its axioms allow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shmem_model.litmus import catalogue, parse_file
from shmem_model.litmus.compiled import compile_program
from shmem_model.litmus.views import FULL
from shmem_model.machine import MACHINE
from shmem_model.readers.bits import TRUE
from shmem_model.readers.ground import ground

FOLDERS = sorted({path.parent.name for path in catalogue.files()})


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_start_state_satisfies_every_invariant(folder: str) -> None:
    broken = []
    for path in catalogue.files():
        if path.parent.name == folder:
            scope = compile_program(parse_file(path), FULL).scope
            start = ground(replace(scope, machine=scope.machine.with_actions([])))
            for claim in (*MACHINE.invariants, *MACHINE.axioms):
                if start.formula(claim.closed) != TRUE:
                    broken.append((path.name, claim.name))
    assert broken == []
