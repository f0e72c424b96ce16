"""Whatever is wrong with a litmus file ends in one line with its place, a caret, and never in a traceback."""

from __future__ import annotations

import os
import pickle
import random
import re
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from shmem_model.litmus import LitmusError, parse_file, parse_text
from tests.litmus.malformed import ALL, BODIES, HEAD, TAIL, Malformed

VALID = f"{HEAD}host:\n    x[0] = 1\n    send dev0 7\n{TAIL}"


def refused(text: str) -> LitmusError:
    with pytest.raises(LitmusError) as caught:
        parse_text(text, "some.litmus")
    return caught.value


def test_there_are_more_than_enough_kinds_and_each_is_one():
    assert len(ALL) >= 160
    assert len({case.name for case in ALL}) == len(ALL)
    assert all(case.marked.count("¦") == 1 for case in ALL)


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_malformed_text_gets_its_place_and_message(case: Malformed):
    error = refused(case.text)
    assert (error.line, error.column) == case.place
    assert case.fragment in str(error)
    assert str(error).startswith(f"some.litmus:{error.line}:{error.column}: ")
    assert "\n" not in str(error)


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_every_message_says_what_to_do(case: Malformed):
    assert refused(case.text).hint


@pytest.mark.parametrize("case", [c for c in ALL if c.name.startswith("body: ")], ids=lambda case: case.name)
def test_the_caret_stands_under_the_guilty_column(case: Malformed):
    error = refused(case.text)
    first, source, caret = error.render().split("\n")
    assert first == str(error)
    at = caret.index("^")
    marked = case.marked.split("\n")[error.line - 1]
    before, after = marked.split("¦")
    if len(before) + len(after) <= 100:
        assert source[2:at] == before.replace("\x1b", "?")
    assert source[at : at + 3] == after.replace("\x1b", "?").replace("\u00a0", "?")[:3]


def test_tabs_before_the_caret_are_kept():
    _, source, caret = refused(VALID.replace("    x[0] = 1", "    x[0]\t=\t-1")).render().split("\n")
    assert source == "      x[0]\t=\t-1"
    assert caret == "          \t \t^"


def test_the_caret_allows_for_wide_letters():
    error = LitmusError("odd", line=1, column=3, source="\uff1d\uff1dx")
    assert error.render().split("\n")[2] == "      ^"


def test_an_error_survives_pickling_and_shows_no_control_characters():
    error = LitmusError("odd \x1b[31m", file="a\nb.litmus", line=2, column=3, hint="do \ud800", source="x\x07y")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "a?b.litmus:2:3: odd ?[31m; do ?"
    assert again.render() == error.render()
    error.render().encode("utf-8")


# ---------------------------------------------------------------- files


def file_error(path: Path | str) -> LitmusError:
    with pytest.raises(LitmusError) as caught:
        parse_file(path)
    return caught.value


def written(folder: Path, data: bytes) -> Path:
    path = folder / "odd.litmus"
    path.write_bytes(data)
    return path


def test_a_file_that_is_fine_is_read_with_its_name(tmp_path: Path):
    program = parse_file(written(tmp_path, VALID.encode()))
    assert program == parse_text(VALID)
    assert program.file == str(tmp_path / "odd.litmus")


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_and_byte_order_mark_of_other_systems_are_accepted(tmp_path: Path, end: str):
    data = b"\xef\xbb\xbf" + VALID.replace("\n", end).encode()
    assert parse_file(written(tmp_path, data)) == parse_text(VALID)


def test_a_missing_file_and_a_folder_are_one_line(tmp_path: Path):
    assert "No such file" in str(file_error(tmp_path / "none.litmus"))
    assert "this is a folder" in str(file_error(tmp_path))
    assert "cannot read the file" in str(file_error("nul\0byte"))


def test_a_pipe_is_refused_at_once(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.litmus")
    assert "this is a pipe, not a file; save" in str(file_error(tmp_path / "pipe.litmus"))


ODD_BYTES = [
    ("latin 1", VALID.encode() + b"# caf\xe9\n", (13, 6), "byte 0xe9 is not UTF-8; save the file as UTF-8"),
    ("utf 16", VALID.encode("utf-16"), (1, 1), "the file is UTF-16; save it as UTF-8"),
    ("a binary", b"\x7fELF\x02\x01\x01\x00\x00\xff\xfe", (1, 10), "is not UTF-8"),
    ("zeros", b"\0" * 64, (1, 1), "NUL byte"),
    ("a PNG", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", (1, 1), "byte 0x89 is not UTF-8"),
    ("empty", b"", (1, 1), "the file is empty"),
    ("blank", b"\n \n\t\n", (1, 1), "the file is empty"),
    ("after a two-byte letter", "# é".encode() + b"\xff\n", (1, 4), "byte 0xff is not UTF-8"),
    ("100000 lines", b"    fence\n" * 100_000, (1, 1), "the file has more than 5000 lines"),
    ("one long line", b"# " + b"x" * 300_000, (1, 1), "the file is larger than 262144 bytes"),
]


@pytest.mark.parametrize(("data", "place", "said"), [c[1:] for c in ODD_BYTES], ids=[c[0] for c in ODD_BYTES])
def test_odd_bytes_get_their_place(tmp_path: Path, data: bytes, place: tuple[int, int], said: str):
    error = file_error(written(tmp_path, data))
    assert (error.line, error.column) == place
    assert said in str(error)
    assert "\n" not in str(error)


def test_the_largest_allowed_file_answers_quickly():
    block = "host:\n" + "    fence\n" * 1900
    questions = "ask dev0.r0 == 0\nexpect allowed\n" * 1400
    text = HEAD + block + TAIL.split("ask")[0] + questions
    started = time.monotonic()
    assert len(parse_text(text).questions) == 1400
    assert time.monotonic() - started < 20


# ---------------------------------------------------------------- anything at all

WORDS = sorted(set(re.findall(r"\w+|[^\w\s]", " ".join([VALID, *(line for _, line, _ in BODIES)]))))


def only_litmus_errors(text: str) -> None:
    error = None
    try:
        parse_text(text)
    except LitmusError as raised:
        error = raised
    if error is not None:
        assert "\n" not in str(error)
        error.render().encode("utf-8")


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
@pytest.mark.parametrize("before", ["", "litmus t\n"])
def test_a_block_that_is_missing_at_the_end_is_missed_behind_its_line(before: str, end: str) -> None:
    with pytest.raises(LitmusError, match="an indented block is missing") as told:
        parse_text(f"{before}A:{end}")
    assert (told.value.line, told.value.column) == (before.count("\n") + 1, 3)


@given(some.text())
@example("litmus t\n\x0c")
@example("litmus t\n    \u2028")
@example("A:")
def test_any_text_is_a_program_or_one_error(text: str):
    only_litmus_errors(text)


@given(some.lists(some.sampled_from([*WORDS, "\n", "\n    ", "\n        "]), max_size=25).map(" ".join))
def test_any_heap_of_words_is_a_program_or_one_error(words: str):
    only_litmus_errors(words)
    only_litmus_errors(f"{HEAD}host:\n    {words}\n{TAIL}")


def test_any_single_damage_to_a_valid_file_is_a_program_or_one_error():
    source = random.Random(7)
    for _ in range(600):
        at = source.randrange(len(VALID))
        with_char = VALID[:at] + source.choice("\n\t :;[]{}()=.-+#x0é\0") + VALID[at:]
        for text in (VALID[:at] + VALID[at + 1 :], with_char, VALID[:at]):
            only_litmus_errors(text)


@given(some.binary(max_size=200))
def test_any_bytes_are_one_error(tmp_path_factory: pytest.TempPathFactory, data: bytes):
    folder = tmp_path_factory.getbasetemp()
    path = folder / "any.litmus"
    path.write_bytes(data)
    with pytest.raises(LitmusError):
        parse_file(path)
