"""The whole catalogue: every question of every file gets the answer that the file expects."""

from __future__ import annotations

import functools

import pytest

from shmem_model.litmus import catalogue
from shmem_model.litmus.answers import FileAnswer, answer_file

FOUND = ("allowed", "race", "deadlock", "fault")
FOLDERS = sorted({path.parent.name for path in catalogue.files()})


def wrong(answer: FileAnswer) -> list[str]:
    """The questions that were not answered as expected."""
    return [f"{q.question}: {q.answer}, expected {q.expect}" for q in answer.questions if not q.ok]


@functools.cache
def answers(folder: str) -> dict[str, FileAnswer]:
    """The answers to all files of a folder."""
    return {path.name: answer_file(path) for path in catalogue.files() if path.parent.name == folder}


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_answer_is_the_expected_one(folder: str) -> None:
    found = answers(folder)
    assert {name: answer.error or wrong(answer) for name, answer in found.items() if not answer.ok} == {}
    assert all(answer.questions for answer in found.values())


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_run_is_shown_where_one_was_found(folder: str) -> None:
    silent = [
        (name, question.question)
        for name, answer in answers(folder).items()
        for question in answer.questions
        if bool(question.run or question.why) != (question.answer in FOUND)
    ]
    assert silent == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_race_says_what_is_missing(folder: str) -> None:
    unclear = [
        name
        for name, answer in answers(folder).items()
        for question in answer.questions
        if question.answer == "race" and (not question.why or "a custody rule" in question.why)
    ]
    assert unclear == []
