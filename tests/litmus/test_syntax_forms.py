"""Every form of the litmus language: the text, and the node that it becomes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shmem_model.litmus import parse_text, to_text
from shmem_model.litmus import statements as st
from shmem_model.litmus import syntax as sx
from shmem_model.litmus.names import AgentName, CopyName, RegionName, RegisterName, SlotName, TeamName, Whole
from shmem_model.litmus.words import STATEMENTS

HEAD = """litmus forms
region x: 2 lines of 4 words, broadcast host dev0
region y: 1 line of 4 words, rights host rw dev0 r
team g {host dev0 dev1}
"""
X, Y, G, C = RegionName("x"), RegionName("y"), TeamName("g"), CopyName("c")
R0, R1 = RegisterName("r0"), RegisterName("r1")
HOST, DEV0, DEV1 = AgentName("host"), AgentName("dev0"), AgentName("dev1")
SEVEN, EIGHT = Whole(7), Whole(8)


def const(value: int) -> sx.Const:
    return sx.Const(value)


def reg(name: str) -> sx.Register:
    return sx.Register(RegisterName(name))


def words(region: RegionName, first: int, last: int) -> sx.Target:
    return sx.Target(region, Whole(first), Whole(last))


IS_ONE = sx.Compare("==", reg("r0"), const(1))
NEW = sx.Region(RegionName("z"), Whole(1), Whole(2), "exclusive", (sx.Right(DEV0, "rw"),))

FORMS = [
    ("x[3] = 7", st.Write(X, const(3), const(7))),
    ("x[r1] = r0", st.Write(X, reg("r1"), reg("r0"))),
    (
        "x[0] = r0 + 1 - r1",
        st.Write(X, const(0), sx.Arith("-", sx.Arith("+", reg("r0"), const(1)), reg("r1"))),
    ),
    ("r0 = x[0x3]", st.Read(R0, X, const(3))),
    ("r0 = x[r1]", st.Read(R0, X, reg("r1"))),
    ("r1 = r0 + 1", st.Set(R1, sx.Arith("+", reg("r0"), const(1)))),
    ("r1 = r0 - (r0 - 1)", st.Set(R1, sx.Arith("-", reg("r0"), sx.Arith("-", reg("r0"), const(1))))),
    ("r1 = 3", st.Set(R1, const(3))),
    ("flush x", st.Flush(sx.Target(X))),
    ("flush x[0..3]", st.Flush(words(X, 0, 3))),
    ("flush x[2]", st.Flush(words(X, 2, 2))),
    ("flush x drop", st.Flush(sx.Target(X), True)),
    ("flush x[0..3] drop", st.Flush(words(X, 0, 3), True)),
    ("flush *", st.Flush(None)),
    ("flush * drop", st.Flush(None, True)),
    ("invalidate x", st.Invalidate(sx.Target(X))),
    ("invalidate x[4..7]", st.Invalidate(words(X, 4, 7))),
    ("invalidate *", st.Invalidate(None)),
    ("fence", st.Fence()),
    ("send dev0 7", st.Send(DEV0, SEVEN)),
    ("send dev0 ready", st.Send(DEV0, SlotName("ready"))),
    ("send_batch dev0 7 8", st.SendBatch(DEV0, (SEVEN, EIGHT))),
    ("broadcast {dev0 dev1} 7", st.Broadcast((DEV0, DEV1), SEVEN)),
    ("broadcast {dev0, dev1} 7", st.Broadcast((DEV0, DEV1), SEVEN)),
    ("wait 7", st.Wait(SEVEN)),
    ("wait_any r0 7 8", st.WaitAny(R0, (SEVEN, EIGHT))),
    ("poll r0 7", st.Poll(R0, SEVEN)),
    ("clear 7", st.Clear(SEVEN)),
    ("global_barrier x {dev0 dev1}", st.GlobalBarrier(X, (DEV0, DEV1))),
    ("arrive g", st.Arrive(G)),
    ("arrive g x y", st.Arrive(G, (X, Y))),
    ("leave g", st.Leave(G)),
    ("barrier g x y", st.Barrier(G, (X, Y))),
    ("r0 = atomic_add x[1] 2", st.AtomicAdd(R0, X, const(1), const(2))),
    ("r0 = atomic_swap x[r1] r0", st.AtomicSwap(R0, X, reg("r1"), reg("r0"))),
    ("r0 = compare_swap x[1] 0 1", st.CompareSwap(R0, X, const(1), const(0), const(1))),
    (
        "r0 = compare_swap x[1] r0 (r0 + 1)",
        st.CompareSwap(R0, X, const(1), reg("r0"), sx.Arith("+", reg("r0"), const(1))),
    ),
    ("map x", st.MapRegion(X)),
    ("unmap x", st.Unmap(X)),
    ("unmap x dev0", st.Unmap(X, DEV0)),
    ("shootdown x dev0", st.Shootdown(X, DEV0)),
    ("alloc z: 1 line of 2 words, exclusive dev0", st.Alloc(NEW)),
    ("free x", st.Free(X)),
    ("compact", st.Compact()),
    ("die", st.Die()),
    ("copy c x[0..3] y[0..3]", st.Copy(C, words(X, 0, 3), words(Y, 0, 3))),
    ("copy c x[4..7] y", st.Copy(C, words(X, 4, 7), sx.Target(Y))),
    ("copy c x[0] y[1]; copy_wait c", st.CopyWait(C)),
    ("if r0 == 1: fence", st.If(IS_ONE, (st.Fence(),))),
    ("if r0 == 1: fence; die\n    else: fence", st.If(IS_ONE, (st.Fence(), st.Die()), (st.Fence(),))),
    ("if r0 == 1: fence else: die", st.If(IS_ONE, (st.Fence(),), (st.Die(),))),
    ("if r0 == 1:\n        fence\n    else:\n        die", st.If(IS_ONE, (st.Fence(),), (st.Die(),))),
    ("repeat 3: fence; die;", st.Repeat(Whole(3), (st.Fence(), st.Die()))),
    ("fence; repeat 3:\n      fence;\n      die", st.Repeat(Whole(3), (st.Fence(), st.Die()))),
    ("until r0 == 1: poll r0 7", st.Until(IS_ONE, (st.Poll(R0, SEVEN),))),
    ("assert r0 == 1", st.Assert(IS_ONE)),
]


@pytest.mark.parametrize(("text", "node"), FORMS, ids=[form[0] for form in FORMS])
def test_statement(text: str, node: sx.Statement):
    program = parse_text(f"{HEAD}host:\n    {text}\nexpect race-free\n")
    assert program.blocks[0].body[-1] == node
    assert parse_text(to_text(program)) == program


def test_every_statement_word_of_the_language_is_among_the_forms():
    used = {word for text, _ in FORMS for word in text.replace(":", " ").split()}
    assert not set(STATEMENTS) - used


def questions(text: str) -> tuple[sx.Question, ...]:
    return parse_text(f"{HEAD}dev0:\n    r0 = x[0]; r1 = x[1]\n{text}\n").questions


A, B, D = (f"dev0.r0 == {value}" for value in (1, 2, 3))


def test_and_binds_tighter_than_or_and_not_tightest():
    condition = questions(f"ask {A} or not {B} and ({A} or {D})\nexpect allowed")[0].condition
    one, two, three = (sx.Compare("==", sx.FinalRegister(DEV0, R0), const(value)) for value in (1, 2, 3))
    assert condition == sx.Or((one, sx.And((sx.Not(two), sx.Or((one, three))))))
    assert questions(f"ask ({A} and {B}) and {D}\nexpect allowed")[0].condition == sx.And((one, two, three))


@pytest.mark.parametrize("operator", ["==", "!=", "<", "<=", ">", ">="])
def test_comparisons(operator: str):
    condition = questions(f"ask dev0.r0 + 1 {operator} x[3]\nexpect forbidden")[0].condition
    left = sx.Arith("+", sx.FinalRegister(DEV0, R0), const(1))
    assert condition == sx.Compare(operator, left, sx.FinalWord(X, 3))


def test_several_questions_and_answers():
    asked = questions(
        f"expect race\nask {A}  # first\nexpect allowed\nexpect no-deadlock\n"
        f"ask not({B})   expect forbidden\nexpect no-fault"
    )
    assert [(q.kind, q.expect, q.text) for q in asked] == [
        ("race", "race", "race"),
        ("outcome", "allowed", "dev0.r0 == 1"),
        ("deadlock", "no-deadlock", "deadlock"),
        ("outcome", "forbidden", "not(dev0.r0 == 2)"),
        ("fault", "no-fault", "fault"),
    ]


@pytest.mark.parametrize(
    "word", ["race", "race-free", "deadlock", "no-deadlock", "fault", "no-fault"], ids=lambda word: word
)
def test_answers_about_the_whole_program(word: str):
    assert [question.expect for question in questions(f"expect {word}")] == [word]


# ---------------------------------------------------------------- the head


def head(lines: str) -> sx.Program:
    return parse_text(f"{HEAD}{lines}\nhost:\n    fence\nexpect race-free\n")


def test_platforms():
    assert head("").platform == sx.Platform() == head("platform weakest").platform
    options = "write_back=masked, slots=counting, cached={host dev0}, invalidate=discard, multicast=yes"
    assert head(f"platform pcie with {options}").platform == sx.Platform(
        "pcie", "masked", "discard", "counting", (HOST, DEV0), "yes"
    )
    assert head("platform soc with cached={}").platform.cached == ()
    assert head("platform soc with cached=none").platform.cached == ()
    assert head("platform coherent with cached=all").platform.cached == (HOST, DEV0, DEV1)


def test_declarations():
    program = head("pool 2 lines\nslot dev0 7 from host\nslot dev0 go from {host, dev1}\nmortal dev0\ninit x[3] = 7")
    assert program.pool == 2
    assert program.slots == (
        sx.SlotGrant(DEV0, SEVEN, (HOST,)),
        sx.SlotGrant(DEV0, SlotName("go"), (HOST, DEV1)),
    )
    assert program.mortal == (DEV0,)
    assert program.inits == (sx.Init(X, Whole(3), SEVEN),)
    assert program.teams == (sx.Team(G, (HOST, DEV0, DEV1)),)
    assert [(r.name, r.words, r.sharing) for r in program.regions] == [
        ("x", 8, "broadcast"),
        ("y", 4, "rights"),
    ]
    assert program.regions[1].rights == (sx.Right(HOST, "rw"), sx.Right(DEV0, "r"))


def test_singular_and_plural_are_alike():
    for size in ("1 line of 1 word", "1 lines of 1 words", "1 line of 1 words"):
        region = head(f"region z: {size}, exclusive host\npool 1 line").regions[2]
        assert (region.lines, region.words_per_line) == (1, 1)


def test_agents_of_the_head_are_agents():
    assert head("slot dev3 7 from dev4").agents == (HOST, DEV0, "dev3", "dev4", DEV1)


def test_what_the_machine_refuses_is_no_error_here():
    parse_text(
        "litmus t\nregion x: 1 line of 1 word, exclusive a\nteam g {a}\n"
        "a:\n    wait 9\nb:\n    arrive g; x[0] = 1; send a 3; free x; x[0] = 2\nexpect fault\n"
    )


def test_words_that_only_mean_something_elsewhere_are_names():
    text = "litmus race\nregion line: 1 line of 1 word, exclusive of\nof:\n    drop = line[0]\n    wait from\n"
    program = parse_text(f"{text}ask of.drop == 0 expect allowed\n")
    assert program.agents == ("of",)


def test_places_are_those_of_the_text():
    program = parse_text(f"{HEAD}host:\n    fence;  x[1] = 2\nexpect race-free\n")
    write = program.blocks[0].body[1]
    assert isinstance(write, st.Write)
    assert write.pos == (6, 13)
    assert (write.region.pos, write.index.pos, write.value.pos) == ((6, 13), (6, 15), (6, 20))
    assert program.regions[1].name.pos == (3, 8)


def test_the_model_is_imported_without_lark(root: Path):
    code = "import sys; sys.modules['lark'] = None; import shmem_model, shmem_model.litmus"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root / "model", timeout=60)
