"""The reduced search answers like the unreduced machine: same outcomes, same deadlocks, same faults, same races."""

from __future__ import annotations

import pytest

from shmem_model.litmus import catalogue, parse_file, parse_text, world
from shmem_model.litmus import syntax as sx
from shmem_model.litmus.answers import LIMIT, answer_text, race_machine
from shmem_model.litmus.compiled import Compiled, compile_program
from shmem_model.litmus.deadlock import stuck_states
from shmem_model.litmus.footprint import used_words
from shmem_model.litmus.questions import asked, kept_registers, observed, outcomes
from shmem_model.litmus.search import Reached, search
from shmem_model.litmus.values import Values
from shmem_model.litmus.views import CUSTODY, FULL, OUTCOME
from shmem_model.machine import vocabulary as m
from shmem_model.readers.explorer import explore
from tests.litmus.small_programs import small_program

SMALL = 6000
SAMPLE = catalogue.files()[::16]
Facts = tuple[list[list[tuple[str, int]]], bool, bool]


def everything(program: sx.Program, reduced: bool, local: bool, limit: int = SMALL) -> Facts | None:
    """Outcomes of all registers, whether something is stuck, whether something fails; None if it is too large."""
    compiled = compile_program(program, OUTCOME, reduced)
    cells = asked(program, everything=True)
    found = search(compiled, observed(compiled, cells), kept_registers(cells), rescues=True, limit=limit, local=local)
    if not found.complete:
        return None
    seen = [list(outcome.items()) for outcome, _ in outcomes(found, cells)]
    return seen, bool(stuck_states(found)), bool(found.where(compiled.some_failed()))


def breaks(compiled: Compiled, limit: int = SMALL) -> bool | None:
    """Some run breaks a custody rule; None if it is too large."""
    watched = [m.intact(), *(code.counter().same(code.place(0)) for code in compiled.codes)]
    found: Reached = search(compiled, watched, {}, bad=~m.intact(), limit=limit)
    hit = bool(found.where(~m.intact()))
    return hit if hit or found.complete else None


@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: path.stem)
def test_catalogue_sample_has_the_outcomes_of_the_full_machine(path) -> None:
    program = parse_file(path)
    full = everything(program, reduced=False, local=False, limit=40_000)
    if full is None:
        pytest.skip("the unreduced machine is too large here")
    assert everything(program, reduced=True, local=True) == full
    assert everything(program, reduced=True, local=False) == full


@pytest.mark.parametrize("kind", ["plain", "living", "mapping"])
@pytest.mark.parametrize("first", [100, 200, 300])
def test_random_programs_have_the_outcomes_of_the_full_machine(first: int, kind: str) -> None:
    compared = 0
    for seed in range(first, first + 20):
        program = parse_text(small_program(seed, living=kind == "living", mapping=kind == "mapping"))
        full = everything(program, reduced=False, local=False)
        if full is not None:
            compared += 1
            reduced = everything(program, reduced=True, local=True)
            assert reduced == full, program
    assert compared >= 12


@pytest.mark.parametrize("living", [False, True], ids=["plain", "living"])
def test_random_programs_break_rules_like_the_full_machine(living: bool) -> None:
    seen = set()
    for seed in range(400, 440):
        program = parse_text(small_program(seed, living=living))
        full = breaks(compile_program(program, FULL, reduced=False))
        if full is not None:
            seen.add(full)
            assert breaks(race_machine(program)) is full, small_program(seed, living=living)
    assert seen == {True, False}


def verdicts(text: str) -> tuple[Facts | None, bool | None]:
    """Everything that can be asked about a program."""
    program = parse_text(text)
    return everything(program, reduced=True, local=True), breaks(race_machine(program))


def test_words_that_stand_for_others_change_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = "x: 2 lines of 4 words"
    texts = [small_program(seed).replace("x: 1 line of 2 words", wide) for seed in range(50, 70)]
    few = [verdicts(text) for text in texts]

    def all_words(program: sx.Program, values: Values) -> dict[str, set[int]]:
        sizes = {str(region.name): region.words for region in program.regions}
        return {name: set(range(sizes[name])) for name in used_words(program, values)}

    monkeypatch.setattr(world, "used_words", all_words)
    assert [verdicts(text) for text in texts] == few


def test_the_explorer_runs_a_compiled_program_like_any_scope() -> None:
    program = parse_text(small_program(3))
    compiled = compile_program(program, OUTCOME, reduced=False)
    found = explore(compiled.scope, observe=observed(compiled, []), limit=LIMIT)
    mine = search(compiled, observed(compiled, []), {}, local=False)
    ended = compiled.all_ended()
    assert bool(found.where(ended)) is bool(mine.where(ended))
    assert found.complete
    assert mine.complete


def registers_after(program: sx.Program, what: str) -> list[list[tuple[str, int]]]:
    """What the registers can hold in the end, in one of the views of the machine."""
    cells = [cell for cell in asked(program, everything=True) if isinstance(cell, sx.FinalRegister)]
    compiled = compile_program(program, what)
    found = search(compiled, observed(compiled, cells), kept_registers(cells), limit=SMALL)
    assert found.complete
    return [list(outcome.items()) for outcome, _ in outcomes(found, cells)]


def test_race_free_programs_are_sequentially_consistent() -> None:
    compared = 0
    for seed in range(500, 560):
        program = parse_text(small_program(seed, length=5))
        if breaks(race_machine(program)) is False:
            compared += 1
            assert registers_after(program, OUTCOME) == registers_after(program, CUSTODY), program.name
    assert compared > 30


REGISTER_NEVER_CHANGES = """litmus register-never-changes
platform weakest
region x: 1 line of 4 words, exclusive host
host:
    i = 3
    x[i] = 1
    j = 4
    x[j] = 1
ask host.j == 4
expect allowed
expect fault
"""


def test_a_register_that_never_changes_is_no_bit_of_the_state() -> None:
    found = answer_text(REGISTER_NEVER_CHANGES)
    assert [question.answer for question in found.questions] == ["allowed", "fault"]
