"""Every example in the documentation runs and answers what its page says."""

import doctest
import json
import re
import shlex
from pathlib import Path

import pytest

from tests.project.pages import FENCE, KINDS, Block, blocks, dialogue, pages, shmem
from tests.project.tree import ROOT

COMPARE = doctest.OutputChecker()
HOW = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def test_there_are_examples_of_each_kind() -> None:
    assert {block.kind for block in blocks()} == KINDS


def test_every_block_says_its_kind() -> None:
    assert [f"{block}: {block.kind or 'no kind'}" for block in blocks() if block.kind not in KINDS] == []


def test_every_fence_is_closed() -> None:
    odd = [page.name for page in pages() if page.read_text(encoding="utf-8").count("\n```") % 2]
    assert odd == []


@pytest.mark.parametrize("page", sorted({block.page for block in blocks("python")}))
def test_python_examples_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__example__"}
    for block in blocks("python"):
        if block.page == page:
            exec(compile("\n" * block.line + block.text, page, "exec"), names)
    assert len(names) > 1, f"{page}: the examples define nothing"


@pytest.mark.parametrize("block", blocks("litmus"), ids=str)
def test_litmus_examples_answer_as_the_page_says(block: Block, tmp_path: Path) -> None:
    file = tmp_path / f"{block.litmus_name}.litmus"
    file.write_text(block.text)
    done = shmem(["litmus", file.name, "--json", "-"], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (answer,) = json.loads(done.stdout)
    assert answer["name"] == block.litmus_name
    assert answer["questions"], f"{block} asks nothing"
    assert [question for question in answer["questions"] if not question["ok"]] == []


@pytest.mark.parametrize("block", blocks("console"), ids=str)
def test_console_examples_print_what_the_page_says(block: Block, tmp_path: Path) -> None:
    for other in blocks("litmus"):
        if other.page == block.page:
            (tmp_path / f"{other.litmus_name}.litmus").write_text(other.text)
    for other in blocks("jsonl"):
        if other.page == block.page:
            (tmp_path / "run.jsonl").write_text(other.text)
    for command, promised in dialogue(block):
        program, *arguments = shlex.split(command)
        assert program == "shmem", f"{block}: only `shmem` is run here; use a block `sh` for {program}"
        done = shmem(arguments, tmp_path)
        got = done.stdout + done.stderr
        assert not promised or COMPARE.check_output(promised, got, HOW), f"{command}\n{got}"
        assert promised or done.returncode == 0, got


def commands(word: str) -> set[str]:
    """What follows a program's name in the blocks `sh` and `console` and in code spans."""
    found = set()
    for page in pages():
        text = page.read_text(encoding="utf-8")
        code = [m.group(2) for m in FENCE.finditer(text) if m.group(1) in {"sh", "console"}]
        code += re.findall(r"`([^`\n]+)`", FENCE.sub("", text))
        for line in "\n".join(code).splitlines():
            found |= set(re.findall(rf"^(?:\$ )?(?:\.venv/bin/)?{word} ([a-z][a-z-]*)\b", line))
    return found


def test_every_make_target_in_the_docs_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    used = commands("make")
    assert {"verify", "test"} <= used
    assert used - targets == set()


@pytest.mark.parametrize("name", sorted(commands("shmem")))
def test_every_command_in_the_docs_exists(name: str, tmp_path: Path) -> None:
    done = shmem([name, "--help"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert name in done.stdout


def test_links_between_pages_lead_somewhere() -> None:
    dead = []
    for page in pages():
        text = FENCE.sub("", page.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            if "://" not in target and not (page.parent / target).exists():
                dead.append(f"{page.relative_to(ROOT)} -> {target}")
    assert dead == []


def test_every_page_is_linked_from_another() -> None:
    linked = {ROOT / "README.md"}
    for page in pages():
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
            linked.add((page.parent / target).resolve())
    assert [str(page.relative_to(ROOT)) for page in pages() if page.resolve() not in linked] == []


def test_both_readmes_show_the_same_examples() -> None:
    english = [(block.kind, block.text) for block in blocks() if block.page == "README.md"]
    chinese = [(block.kind, block.text) for block in blocks() if block.page == "README.zh.md"]
    assert english == chinese
