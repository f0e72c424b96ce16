"""What answers look like, and what each kind of statement does, on programs of a few lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from shmem_model.litmus.answers import answer_file, answer_text

HEAD = """litmus p
platform {platform}
pool 1 line
region x: 2 lines of 2 words, broadcast host dev0
region y: 1 line of 1 word, rights host rw dev0 r
"""


def ask(body: str, *questions: str, platform: str = "weakest", limit: int = 50_000) -> list[str]:
    """The answers of a program; a question is a condition or a word to expect."""
    lines = []
    for question in questions:
        lines += [f"expect {question}"] if question in WORDS else [f"ask {question}", "expect allowed"]
    answer = answer_text(HEAD.format(platform=platform) + body + "\n".join(lines) + "\n", limit=limit)
    assert answer.error is None, answer.error
    return [question.answer for question in answer.questions]


WORDS = ("race-free", "no-deadlock", "no-fault")


HAND_OVER = """host:
    x[0] = 5
    flush x
    fence
    send dev0 n
dev0:
    wait n
    invalidate x
    r0 = x[0]
"""


def test_json_has_the_documented_form(tmp_path: Path) -> None:
    file = tmp_path / "p.litmus"
    file.write_text(HEAD.format(platform="weakest") + HAND_OVER + "ask dev0.r0 == 0\nexpect forbidden\nexpect race\n")
    found = answer_file(file).as_json()
    assert list(found) == ["file", "name", "questions", "states", "seconds"]
    assert found["questions"] == [
        {"question": "dev0.r0 == 0", "expect": "forbidden", "answer": "forbidden", "ok": True},
        {"question": "race", "expect": "race", "answer": "race-free", "ok": False},
    ]
    assert found["file"] == str(file)
    assert found["states"] > 0


def test_malformed_text_gives_file_and_error() -> None:
    found = answer_text("litmus\n", "bad.litmus").as_json()
    assert list(found) == ["file", "error"]
    assert found["error"].startswith("bad.litmus:1:")


def test_outcomes_are_complete() -> None:
    text = HEAD.format(platform="weakest") + HAND_OVER.replace("    fence\n", "")
    answer = answer_text(text + "ask dev0.r0 == 0\nexpect allowed\n")
    assert answer.outcomes == [{"dev0.r0": 0}, {"dev0.r0": 5}]
    assert answer.ok


def test_the_shortest_run_is_told_in_the_words_of_the_file() -> None:
    text = HEAD.format(platform="weakest") + HAND_OVER.replace("    invalidate x\n", "")
    race = answer_text(text + "expect race\n").questions[0]
    assert race.run == [
        "host:7: x[0] = 5",
        "host:8: flush x (x.0)",
        "host:8: flush x (x.1)",
        "host:9: fence",
        "host:10: send dev0 n",
        "dev0:12: wait n",
        "dev0:13: r0 = x[0]",
    ]
    assert "dev0 was told, but has not invalidated the line since" in race.why
    assert "last written by host:7" in race.why


@pytest.mark.parametrize(
    ("dropped", "missing"),
    [
        ("    flush x\n", "host has not flushed it"),
        ("    fence\n", "host has not fenced after it"),
        ("    wait n\n", "host has not flushed it"),
        ("    invalidate x\n", "has not invalidated"),
    ],
)
def test_a_race_names_the_missing_step(dropped: str, missing: str) -> None:
    text = HEAD.format(platform="weakest") + HAND_OVER.replace(dropped, "") + "expect race\n"
    assert missing in answer_text(text).questions[0].why


def test_a_write_over_an_unfinished_read_names_the_reader() -> None:
    body = "host:\n    invalidate x\n    r0 = x[0]\ndev0:\n    x[0] = 1\n"
    question = answer_text(HEAD.format(platform="weakest") + body + "expect race-free\n").questions[0]
    assert question.answer == "race"
    assert "while host may still read it" in question.why or "last written by dev0" in question.why


def test_a_limit_that_was_hit_is_unknown_and_never_a_pass() -> None:
    answers = ask(HAND_OVER, "dev0.r0 == 7", *WORDS, limit=3)
    assert answers == ["unknown"] * 4


def test_a_run_that_was_found_decides_in_spite_of_the_limit() -> None:
    assert ask("host:\n    r0 = 1\n    repeat 9: x[0] = 1\n", "host.r0 == 1", limit=100_000) == ["allowed"]
    assert ask("host:\n    wait n\ndev0:\n    x[0] = 1\n    unmap x host\n", "no-fault") == ["no-fault"]


def test_numbers_out_of_range_are_unknown() -> None:
    body = "host:\n    until r0 == 500: r0 = r0 + 1\n    r1 = 1\n"
    assert ask(body, "host.r1 == 1", "no-deadlock") == ["unknown", "unknown"]
    assert ask("host:\n    until r0 == 5: r0 = r0 + 1\n", "host.r0 == 5", "host.r0 == 6") == ["allowed", "forbidden"]


def test_a_loop_that_fills_a_slot_is_unknown() -> None:
    body = "host:\n    until r0 == 1:\n        send dev0 n\n        r0 = x[0]\ndev0:\n    wait n\n"
    assert ask(body, "host.r0 == 1", platform="pcie") == ["unknown"]
    assert ask(body, "host.r0 == 1", platform="weakest") == ["forbidden"]


def test_registers_wrap_and_start_at_zero() -> None:
    assert ask("host:\n    r0 = r1 - 1\n", "host.r0 == 65535", "host.r0 == 0") == ["allowed", "forbidden"]


def test_an_index_register_chooses_the_word() -> None:
    body = "host:\n    i = 2\n    x[i] = 7\n    r0 = x[2]\n    i = 9\n    x[i] = 1\n"
    assert ask(body, "host.r0 == 7", "host.r0 == 0", "no-fault") == ["allowed", "forbidden", "fault"]


def test_control_flow() -> None:
    body = """host:
    repeat 3: r0 = r0 + 1
    if r0 == 3: r1 = 1
    else: r1 = 2
    if r0 != 3: send dev0 n
    assert r1 == 1
    r2 = 4
    assert r2 == 5
    r2 = 6
dev0:
    wait n
"""
    assert ask(body, "host.r1 == 1 and host.r2 == 4", "no-deadlock", "no-fault") == ["forbidden", "deadlock", "fault"]
    assert ask(body.replace("wait n", "fence"), "host.r1 == 1 and host.r2 == 4") == ["allowed"]


def test_poll_clear_and_wait_any() -> None:
    body = """host:
    send dev0 3
    send dev0 4
dev0:
    poll p 3
    wait_any r0 3 4
    clear 4
    poll r1 4
"""
    answers = ask(body, "dev0.p == 1 and dev0.r0 == 4", "dev0.p == 1 and dev0.r0 == 3", "dev0.p == 0 and dev0.r0 == 3")
    assert answers == ["allowed", "forbidden", "allowed"]


def test_a_sticky_slot_coalesces_and_a_counting_one_does_not() -> None:
    body = "host:\n    send dev0 n\n    send dev0 n\ndev0:\n    wait n\n    wait n\n"
    assert ask(body, "no-deadlock", platform="weakest") == ["deadlock"]
    assert ask(body, "no-deadlock", platform="pcie") == ["no-deadlock"]


def test_refusals_and_faults_end_the_agent() -> None:
    assert ask("dev0:\n    y[0] = 1\n    r0 = 1\n", "no-fault", "dev0.r0 == 0") == ["fault", "allowed"]
    assert ask("dev0:\n    r0 = y[0]\n    r0 = 1\n", "no-fault", "dev0.r0 == 0") == ["no-fault", "forbidden"]
    assert ask("host:\n    unmap x\n    r0 = x[0]\n", "no-fault") == ["fault"]
    assert ask("host:\n    free x\n    r0 = 1\n", "no-fault", "host.r0 == 0") == ["fault", "allowed"]


def test_unmap_leaves_an_old_translation_that_may_go_at_any_moment() -> None:
    used = "host:\n    wait n\n    unmap x dev0\n    send dev0 m\n"
    late = "dev0:\n    r0 = x[0]\n    send host n\n    wait m\n    r0 = x[0]\n    r1 = 1\n"
    assert ask(used + late, "no-fault") == ["fault"]
    assert ask(used + late, "no-deadlock") == ["no-deadlock"]


def test_unmap_rescues_nobody_who_polls_through_the_old_translation() -> None:
    polls = "dev0:\n    r0 = x[0]\n    send host n\n    until r0 == 1:\n        r0 = x[0]\n"
    assert ask("host:\n    wait n\n    unmap x dev0\n" + polls, "no-deadlock") == ["deadlock"]
    assert ask("host:\n    wait n\n    unmap x dev0\n    shootdown x dev0\n" + polls, "no-deadlock") == ["no-deadlock"]


def test_the_name_of_a_fault_is_shown() -> None:
    text = HEAD.format(platform="weakest") + "dev0:\n    y[0] = 1\nexpect no-fault\n"
    assert answer_text(text).questions[0].run == ["dev0:7: y[0] = 1  -> ReadOnly, dev0 ends"]


def test_a_wait_is_told_that_its_only_sender_is_dead() -> None:
    head = "slot dev0 n from host\n"
    body = head + "host:\n    die\ndev0:\n    wait n\n    r0 = 1\n"
    assert ask(body, "no-deadlock", "no-fault", "dev0.r0 == 1") == ["no-deadlock", "fault", "forbidden"]


def test_allocated_memory_is_zero_and_reused() -> None:
    body = """host:
    repeat 2:
        alloc z: 1 line of 1 word, exclusive host
        map z
        r0 = z[0]
        z[0] = 3
        unmap z
        free z
    ok = 1
"""
    answers = ask(body, "host.ok == 1 and host.r0 == 0", "host.r0 == 3", "no-fault")
    assert answers == ["allowed", "forbidden", "fault"]  # the driver may not have scrubbed the frame in time


def test_a_move_is_invisible() -> None:
    body = "host:\n    x[0] = 5\n    compact\n    invalidate y\n    r0 = x[0]\n    ok = 1\n"
    assert ask(body, "host.ok == 1 and host.r0 != 5", "host.ok == 1") == ["forbidden", "allowed"]


def test_polling_a_stale_copy_is_a_deadlock() -> None:
    body = "host:\n    x[0] = 1\n    flush x\ndev0:\n    until r0 == 1:\n        r0 = x[0]\n"
    assert ask(body, "no-deadlock") == ["deadlock"]
    text = HEAD.format(platform="weakest") + body + "expect deadlock\n"
    assert "dev0 stays at dev0:11 'r0 = x[0]'" in answer_text(text).questions[0].why
    fresh = body.replace("        r0", "        invalidate x\n        r0")
    assert ask(fresh, "no-deadlock") == ["no-deadlock"]


@pytest.mark.parametrize("fence", ["", "    fence\n"])
@pytest.mark.parametrize("invalidate", ["", "    invalidate x\n"])
def test_a_missing_flush_is_named_whatever_else_is_missing(fence: str, invalidate: str) -> None:
    """Smallest input of a bug: what the question did not need was left out, and read as if it had been done."""
    host = f"host:\n    x[0] = 1\n{fence}    send dev0 n\n"
    body = f"{host}dev0:\n    wait n\n{invalidate}    r0 = x[0]\n"
    race = answer_text(HEAD.format(platform="weakest") + body + "expect race\n").questions[0]
    assert "host has not flushed it" in race.why
