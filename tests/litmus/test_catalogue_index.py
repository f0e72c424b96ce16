"""The catalogue covers what is public, says where each file comes from, and holds nothing twice."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from shmem_model.litmus import Program, canonical_key, catalogue, parse_file, parse_text

PUBLIC = json.loads((Path(__file__).parent / "public_cases.json").read_text("utf-8"))
PROGRAMS = {path: parse_file(path) for path in catalogue.files()}
INDEX = catalogue.index()


def what_runs(program: Program) -> str:
    """The normal form without the questions: a second question about one program belongs into its file."""
    return canonical_key(dataclasses.replace(program, questions=()))


def twins(programs: list[Program]) -> list[tuple[str, str]]:
    """Pairs that are equal up to renaming."""
    seen: dict[str, str] = {}
    found = []
    for program in programs:
        first = seen.setdefault(what_runs(program), program.name)
        if first != program.name:
            found.append((first, str(program.name)))
    return found


def first_answer(name: str) -> str:
    """The answer to the first question of a file about outcomes, or `allowed` where it is a deadlock."""
    questions = parse_file(catalogue.FOLDER / name).questions
    return next((q.expect for q in questions if q.kind == "outcome"), "allowed")


def test_the_index_is_up_to_date() -> None:
    remedy = "python -m shmem_model.litmus.catalogue"
    assert catalogue.INDEX.read_text("utf-8") == catalogue.index_text(), f"run {remedy}"


def test_every_file_is_called_like_its_program() -> None:
    assert [path.name for path, program in PROGRAMS.items() if path.stem != program.name] == []


def test_every_file_names_where_it_comes_from() -> None:
    assert [name for name, ids in INDEX["files"].items() if not ids] == []


def test_every_file_says_in_words_what_it_shows() -> None:
    silent = []
    for path in PROGRAMS:
        head = path.read_text("utf-8").partition("\nlitmus ")[0]
        prose = head.partition("\n#\n")[2]
        if len(prose.split()) < 8:
            silent.append(path.name)
    assert silent == []


def test_no_two_files_are_equal_up_to_renaming() -> None:
    assert len(PROGRAMS) >= 150
    assert twins(list(PROGRAMS.values())) == []


ONE = """litmus one
region x: 1 line of 1 word, broadcast a b
a:
    x[0] = 1
ask x[0] == 1
expect allowed
"""
TWO = """litmus two
region buf: 1 line of 1 word, broadcast a b
b:
    buf[0] = 1
ask buf[0] == 0
expect forbidden
"""


def test_two_equal_files_are_found() -> None:
    assert twins([parse_text(ONE), parse_text(TWO)]) == [("one", "two")]
    assert twins([parse_text(ONE), parse_text(TWO.replace("= 1", "= 2"))]) == []


@pytest.mark.parametrize("name", PUBLIC["litmus_cases"])
def test_public_litmus_case_has_the_public_verdict(name: str) -> None:
    if name in INDEX["not_expressed"]:
        assert name not in INDEX["ids"]
        return
    expected = PUBLIC["litmus_cases"][name]
    answers = {first_answer(file) for file in INDEX["ids"][name]}
    assert answers == {expected} or name in PUBLIC["other_verdict"]


@pytest.mark.parametrize("case", [name for name, by in PUBLIC["bug_cases"].items() if by == "explorer"])
def test_public_bug_case_has_both_programs(case: str) -> None:
    assert case in INDEX["not_expressed"] or all(f"{case} {role}" in INDEX["ids"] for role in ("buggy", "fixed"))


def test_everything_public_is_expressed_or_listed() -> None:
    names = [*PUBLIC["pitfalls"], *PUBLIC["litmus"], *PUBLIC["litmus_cases"], *PUBLIC["bug_cases"]]
    known = {name.partition(" ")[0] for name in INDEX["ids"]} | set(INDEX["not_expressed"])
    assert [name for name in names if name not in known] == []
    assert [name for name in known if name not in names] == []


def test_no_reason_is_given_for_what_is_expressed() -> None:
    assert [name for name in INDEX["not_expressed"] if name in {n.partition(" ")[0] for n in INDEX["ids"]}] == []
