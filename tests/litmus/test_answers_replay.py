"""The runs that answers show are runs of the unreduced machine, and end as they say."""

from __future__ import annotations

import pytest

from shmem_model.litmus import catalogue, parse_file
from shmem_model.litmus.compiled import compile_program
from shmem_model.litmus.questions import asked, kept_registers, observed, outcomes, value_in
from shmem_model.litmus.search import Reached, search
from shmem_model.litmus.views import OUTCOME
from shmem_model.readers.ground import ground
from shmem_model.readers.packed import Packed, PackedAction

SAMPLE = [path for path in catalogue.files()[::9] if asked(parse_file(path))]


class Machine:
    """The unreduced machine of a program, one step at a time."""

    def __init__(self, program) -> None:
        self.compiled = compile_program(program, OUTCOME, reduced=False)
        self.packed = Packed(ground(self.compiled.scope))
        self.state = self.packed.initial
        self.by_name = {self.key(action): action for action in self.packed.actions}
        for action in () if self.compiled.world.remaps else self.packed.actions:
            if action.source.action.base == "translate":  # the reduced search starts with these entries
                self.state = self.packed.step(action, self.state) or self.state

    @staticmethod
    def key(action: PackedAction) -> tuple[str, tuple[int, ...]]:
        """An action by name and arguments."""
        return action.source.action.name, action.source.arguments

    def step(self, action: PackedAction) -> None:
        """Take the step, which must be enabled."""
        after = self.packed.step(self.by_name[self.key(action)], self.state)
        assert after is not None, f"{self.key(action)} is not enabled"
        self.state = after


@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: path.stem)
def test_every_outcome_has_a_run_of_the_unreduced_machine(path) -> None:
    program = parse_file(path)
    cells = asked(program)
    compiled = compile_program(program, OUTCOME)
    found = search(compiled, observed(compiled, cells), kept_registers(cells))
    for outcome, state in outcomes(found, cells):
        machine = Machine(program)
        for _, action, _ in found.path(state):
            machine.step(action)
        end = Reached(machine.packed, machine.compiled, [], {machine.state: None}, True)
        assert [value_in(end, machine.state, cell) for cell in cells] == list(outcome.values())
