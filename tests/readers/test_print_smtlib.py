"""The SMT-LIB printer: both solvers settle the obligations from the text, red twins are satisfiable.

A small machine of boxes that agents hold; its texts contain every trap of substitution.
"""

import re
from dataclasses import replace

import pytest

from shmem_model.language import (
    BOOL,
    EACH,
    FALSE,
    TRUE,
    Function,
    LanguageError,
    Machine,
    Sort,
    action,
    after,
    becomes,
    exists,
    forall,
    invariant,
    ite,
    update,
    waits,
    without_condition,
    without_update,
)
from shmem_model.machine import MACHINE
from shmem_model.readers.print_smtlib import obligations

Agent, Box = Sort("Agent"), Sort("Box")
holds = Function("holds", (Agent, Box), BOOL, "software", "the agent holds the box")
last = Function("select", (Box,), Agent, "software", "who held it last (named like a word of SMT-LIB)")
busy = Function("busy", (Box,), BOOL, "software", "somebody holds the box")
seen = Function("seen", (Box,), BOOL, "software", "the box has been looked at")
first = Function("first", (), Agent, "platform", "who held everything last at the start")


@action("software", a=Agent, b=Box)
def take(a, b):
    """Take a box that nobody holds."""
    yield waits("nobody holds it", forall(Agent, lambda c: ~holds(c, b)))
    yield becomes(holds, a, b, to=TRUE)
    yield becomes(last, b, to=a)
    yield becomes(busy, b, to=TRUE)


@action("software", a=Agent, c=Agent, b=Box)
def hand(a, c, b):
    """Hand a box over; all updates read the old state."""
    yield waits("holds it", holds(a, b))
    yield update(holds, lambda x, y: ite(y.same(b), x.same(c), holds(x, y)))
    yield update(last, lambda y: ite(y.same(b) & holds(a, y), c, last(y)))


@action("software", a=Agent)
def drop(a):
    """Let all go."""
    yield becomes(holds, a, EACH, to=FALSE)


@action("software", b=Box, now=BOOL)
def look(b, now):
    """A new value with a quantifier over the names that parameters and invariants use."""
    yield update(busy, lambda y: ite(y.same(b) & now, exists(Agent, lambda a: holds(a, b)), busy(y)))
    yield update(seen, lambda y: seen(y) | exists(Agent, lambda a: exists(Box, lambda b: holds(a, y) & y.same(b))))


@invariant(a=Agent, c=Agent, b=Box)
def one_holder(a, c, b):
    """Nobody shares a box."""
    return (holds(a, b) & holds(c, b)).implies(a.same(c))


@invariant(a=Agent, b=Box)
def the_last_one_holds(a, b):
    """Who holds a box held it last."""
    return holds(a, b).implies(last(b).same(a))


@invariant(b=Box)
def held_boxes_are_busy(b):
    """A box that somebody holds is busy."""
    return exists(Agent, lambda a: holds(a, b)).implies(busy(b))


BOXES = Machine(
    "boxes",
    (Agent, Box),
    (holds, last, busy, seen, first),
    {holds: FALSE, last: first(), busy: FALSE, seen: FALSE},
    {x.name: x for x in (take, hand, drop, look)},
    properties=(one_holder, the_last_one_holds, held_boxes_are_busy),
)


def z3_says(text):
    z3 = pytest.importorskip("z3", reason="z3-solver is not installed")
    solver = z3.Solver()
    solver.set("rlimit", 10_000_000)
    solver.from_string(text.replace("(check-sat)", "").replace("(exit)", ""))
    return str(solver.check())


def cvc5_says(text):
    cvc5 = pytest.importorskip("cvc5", reason="cvc5 is not installed")
    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("finite-model-find", "true")
    solver.setOption("rlimit", "3000000")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "obligation")
    said = ""
    while not (command := parser.nextCommand()).isNull():
        said += command.invoke(solver, parser.getSymbolManager())
    return said.strip()


SOLVERS = [z3_says, cvc5_says]
RED = {
    "nobody holds it": (without_condition(take, "nobody holds it"), {"take/one_holder", "take/the_last_one_holds"}),
    "holds it": (without_condition(hand, "holds it"), {"hand/the_last_one_holds", "hand/held_boxes_are_busy"}),
    "last is forgotten": (without_update(take, last), {"take/the_last_one_holds"}),
    "busy is forgotten": (without_update(take, busy), {"take/held_boxes_are_busy"}),
    "every for some": (
        replace(
            look,
            updates={
                busy: update(
                    busy, lambda y: ite(y.same(look.parameters[0]), forall(Agent, lambda a: holds(a, y)), busy(y))
                )
            },
        ),
        {"look/held_boxes_are_busy"},
    ),
}


@pytest.mark.parametrize("says", SOLVERS)
def test_both_solvers_settle_a_right_machine(says):
    answers = {name: says(text) for name, text in obligations(BOXES)}
    assert len(answers) == 5 * 3
    assert set(answers.values()) == {"unsat"}


@pytest.mark.parametrize("says", SOLVERS)
@pytest.mark.parametrize("twin", RED)
def test_both_solvers_refute_a_red_twin(says, twin):
    changed, guilty = RED[twin]
    answers = {name: says(text) for name, text in obligations(BOXES.changed(changed))}
    assert {name for name, answer in answers.items() if answer == "sat"} == guilty
    assert {answer for name, answer in answers.items() if name not in guilty} == {"unsat"}


@pytest.mark.parametrize("says", SOLVERS)
def test_a_bad_start_is_found(says):
    bad = replace(BOXES, initial={**BOXES.initial, holds: TRUE})
    answers = {name: says(text) for name, text in obligations(bad) if name.startswith("init/")}
    assert answers["init/held_boxes_are_busy"] == "sat"


@pytest.mark.parametrize("says", SOLVERS)
def test_the_fence_of_the_machine_keeps_every_invariant(says):
    machine = MACHINE.with_actions([MACHINE.actions["fence"]])
    answers = {name: says(text) for name, text in obligations(machine)}
    assert len(answers) == 2 * len(machine.invariants)
    assert set(answers.values()) == {"unsat"}


def test_a_fence_that_does_not_wait_is_refuted():
    early = without_condition(MACHINE.actions["fence"], "own posted words have drained")
    answers = {name: z3_says(text) for name, text in obligations(MACHINE.with_actions([early]))}
    assert "sat" in answers.values()


def test_every_obligation_is_printed_once():
    names = [name for name, _ in obligations(BOXES)]
    assert len(set(names)) == len(names)
    actions = {name.split("/")[0] for name in names}
    assert actions == {"init", *BOXES.actions}
    assert {name.split("/")[1] for name in names} == {claim.name for claim in BOXES.properties}


def test_no_variable_is_bound_twice_or_named_like_a_constant():
    for _, text in obligations(BOXES):
        for command in re.findall(r"^\(assert .*$", text, re.M):
            bound = re.findall(r"\((?:forall|exists) \(\((\S+) ", command)
            constants = re.findall(r"^\(declare-(?:const|fun) (\S+)", text, re.M)
            assert len(set(bound)) == len(bound)
            assert not set(bound) & set(constants)


def test_words_of_the_standard_are_renamed():
    text = dict(obligations(BOXES))["take/one_holder"]
    assert "(declare-fun select_ (Box) Agent)" in text


def test_parentheses_balance_and_the_text_is_the_same_every_time():
    for (_, text), (_, again) in zip(obligations(BOXES), obligations(BOXES), strict=True):
        code = re.sub(r";.*", "", text)
        assert code.count("(") == code.count(")")
        assert text == again


def test_an_invariant_about_the_next_state_is_an_error():
    wrong = replace(one_holder, body=after(one_holder.body))
    with pytest.raises(LanguageError, match="does not know After"):
        list(obligations(replace(BOXES, properties=(wrong,))))


def test_a_machine_that_claims_nothing_is_an_error():
    with pytest.raises(LanguageError, match="nothing would be proved"):
        next(obligations(replace(BOXES, properties=())))
