"""`parse_text(to_text(p)) == p`, and the key of the normal form sees no names."""

from __future__ import annotations

import dataclasses
import pickle
import random
import re

import pytest
from hypothesis import given, settings

from shmem_model.litmus import canonical_key, parse_text, to_text
from shmem_model.litmus.syntax import Program
from tests.litmus.programs import programs

TWO = """litmus mp
platform pcie with slots=sticky
slot dev0 7 from host
slot dev0 ready from host
region buf: 1 line of 2 words, broadcast host dev0
region flag: 1 line of 1 word, rights host rw dev0 r
init flag[0] = 3
team g {host dev0}
host:
    buf[0] = 1; flush buf; fence
    send dev0 7
    send dev0 ready
    r0 = flag[0]
    barrier g buf
dev0:
    wait 7
    wait ready
    invalidate buf
    r0 = buf[0]; r1 = buf[1]
    copy c buf[0..0] flag
    copy_wait c
    barrier g
ask dev0.r0 == 0 and host.r0 > 1
expect forbidden
expect race-free
"""
RENAMED = """litmus other-name
platform pcie with slots=sticky
region second: 1 line of 1 word, rights cpu rw npu r
region first: 1 line of 2 words, broadcast npu cpu
init second[0] = 3
team all {npu cpu}
slot npu 3 from cpu
slot npu go from cpu
npu:
    wait 3; wait go
    invalidate first
    a = first[0]
    b = first[1]
    copy copying first[0..0] second
    copy_wait copying
    barrier all
cpu:
    first[0] = 1
    flush first
    fence
    send npu 3; send npu go
    last = second[0]
    barrier all first
expect race-free
ask 1 < cpu.last and npu.a == 0
expect forbidden
"""


@given(programs())
@settings(max_examples=60)
def test_printing_and_parsing_gives_the_same_program(program: Program):
    text = to_text(program)
    again = parse_text(text)
    assert again == program
    assert hash(again) == hash(program)
    assert to_text(again) == text


@given(programs())
@settings(max_examples=30)
def test_comments_blank_lines_and_tabs_change_nothing(program: Program):
    text = to_text(program)
    loose = "\n# first\n\n" + text.replace("    ", "\t").replace("\n", "   # why: x[0] = 1; {\n\n\t\n")
    assert parse_text(loose) == program
    assert parse_text(text.replace("\n", "\r\n")) == program
    assert parse_text(text.rstrip("\n")) == program


@given(programs())
@settings(max_examples=30)
def test_a_tree_survives_pickling_with_its_places(program: Program):
    parsed = parse_text(to_text(program))
    again = pickle.loads(pickle.dumps(parsed))
    assert again == parsed
    assert again.blocks[0].agent.pos == parsed.blocks[0].agent.pos


# ---------------------------------------------------------------- the normal form


def renamed(text: str, names: dict[str, str]) -> str:
    return re.sub(r"[A-Za-z_]\w*", lambda found: names.get(found[0], found[0]), text)


def test_renaming_and_reordering_do_not_change_the_key():
    assert parse_text(TWO) != parse_text(RENAMED)
    assert canonical_key(parse_text(TWO)) == canonical_key(parse_text(RENAMED))


@given(programs())
@settings(max_examples=40)
def test_a_random_program_keeps_its_key_under_new_names_and_another_order(program: Program):
    names = {"host": "aa", "dev0": "zz", "npu_1": "mm", "x": "k", "buf": "j", "g": "team_1", "c": "cc"}
    names |= {"r0": "reg", "old": "new", "ready": "steady", "done": "fresh_slot", "fresh": "young"}
    title, _, rest = to_text(program).partition("\n")
    again = parse_text(title + "\n" + renamed(rest, names))
    blocks = list(again.blocks)
    random.Random(3).shuffle(blocks)
    assert canonical_key(program) == canonical_key(dataclasses.replace(again, blocks=tuple(blocks)))


DIFFERENT = [
    ("another value", "buf[0] = 1", "buf[0] = 2"),
    ("another word", "buf[0] = 1", "buf[1] = 1"),
    ("a missing fence", "; fence", ""),
    ("another slot", "    wait 7\n    wait ready", "    wait ready\n    wait 7"),
    ("a drop", "flush buf;", "flush buf drop;"),
    ("another platform", "pcie", "soc"),
    ("another deviation", "sticky", "counting"),
    ("another right", "dev0 r\n", "dev0 rw\n"),
    ("another start value", "[0] = 3", "[0] = 4"),
    ("another question", "dev0.r0 == 0", "dev0.r1 == 0"),
    ("another region", "invalidate buf", "invalidate flag"),
    ("another register", "r1 = buf[1]", "r0 = buf[1]"),
    ("other senders", "slot dev0 7 from host", "slot dev0 7 from dev0"),
    ("another size", "1 line of 2 words", "2 lines of 1 word"),
    ("a question less", "expect race-free\n", ""),
]


@pytest.mark.parametrize(("old", "new"), [case[1:] for case in DIFFERENT], ids=[case[0] for case in DIFFERENT])
def test_programs_that_differ_in_more_than_names_have_different_keys(old: str, new: str):
    assert old in TWO
    assert canonical_key(parse_text(TWO)) != canonical_key(parse_text(TWO.replace(old, new)))


def test_the_expected_answer_is_no_part_of_the_key():
    other = TWO.replace("forbidden", "allowed").replace("race-free", "race")
    assert canonical_key(parse_text(TWO)) == canonical_key(parse_text(other))


def test_look_alike_agents_are_told_apart_by_what_they_exchange():
    rest = "expect no-deadlock\n"
    agent = "{}:\n    send {} 1; wait 1\n".format
    ring = "litmus ring\n" + agent("{0}", "{1}") + agent("{1}", "{2}") + agent("{2}", "{0}") + rest
    pair = "litmus pair\n" + agent("{0}", "{1}") + agent("{1}", "{0}") + agent("{2}", "{2}") + rest
    keys = {
        canonical_key(parse_text(text.format(*order)))
        for text in (ring, pair)
        for order in (("a", "b", "c"), ("c", "a", "b"), ("b", "a", "c"))
    }
    assert len(keys) == 2


def test_the_numbers_that_wait_any_shows_are_more_than_names():
    text = "litmus t\na:\n    wait_any r0 1 2\nb:\n    send a 1\nask a.r0 == 1\nexpect allowed\n"
    other = text.replace("1 2", "3 2").replace("send a 1", "send a 3")
    assert canonical_key(parse_text(text)) != canonical_key(parse_text(other))
