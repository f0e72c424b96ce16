"""Machine mutants: every place of every operator, and somebody who kills each of them or a proof that it is none."""

from collections import Counter
from dataclasses import replace

import pytest

from shmem_model.language import (
    BOOL,
    Function,
    Machine,
    Sort,
    action,
    becomes,
    refused,
    waits,
    without_condition,
    without_update,
)
from shmem_model.machine import MACHINE
from shmem_model.machine import vocabulary as m
from shmem_proofs import mutant_table
from shmem_proofs.equivalence import LEMMAS, Comparer, with_lemmas
from shmem_proofs.induction import Prover, obligations
from shmem_proofs.mutant_killers import DEAD, EQUIVALENT, INVARIANT, STEP, Fate, Judge
from shmem_proofs.mutant_table import Row, chosen, every_mutant, misnamed, read_table, summary, wrong
from shmem_proofs.mutants import OPERATORS, mutants, tenth

Thing = Sort("Thing")
here = Function("here", (Thing,), BOOL, "software", "the thing is here")
held = Function("held", (Thing, Thing), BOOL, "software", "the first thing holds the second")


@action("software", x=Thing, y=Thing)
def grasp(x, y):
    """A thing takes hold of another one."""
    yield waits("both here", here(x) & here(y))
    yield refused("InvalidArgument", x.differs(y))
    yield refused("InvalidArgument", ~held(y, x))
    yield becomes(held, x, y, to=here(y) | here(x))


TOY = Machine("toy", (Thing,), (here, held), {}, {"grasp": grasp})
SITES = """\
grasp/drop-condition/InvalidArgument: without the condition 'InvalidArgument'
grasp/drop-condition/InvalidArgument.2: without the condition 'InvalidArgument'
grasp/drop-condition/both-here: without the condition 'both here'
grasp/drop-conjunct/both-here/1: without `and here(x)`
grasp/drop-conjunct/both-here/2: without `and here(y)`
grasp/drop-part/held/1: without `and x0 = x`
grasp/drop-part/held/2: without `and x1 = y`
grasp/drop-part/held/3: without `or here(y)`
grasp/drop-part/held/4: without `or here(x)`
grasp/drop-update/held: held keeps its value
grasp/old-value/held/1: the old value for `here(y)`
grasp/old-value/held/2: the old value for `here(x)`
grasp/swap/InvalidArgument.2/x-y: x and y swapped
grasp/swap/InvalidArgument/x-y: x and y swapped
grasp/swap/both-here/x-y: x and y swapped
grasp/swap/held/x-y: x and y swapped"""


def test_mutants_of_a_toy_are_those_that_one_would_write_down():
    found = [f"{mutant.name}: {mutant.what}" for mutant in mutants(TOY)]
    assert "\n".join(found) == SITES


def test_every_operator_finds_many_places():
    counts = Counter(mutant.operator for mutant in every_mutant().values())
    assert set(counts) == set(OPERATORS)
    assert min(counts.values()) > 50
    assert sum(counts.values()) >= 250


def test_every_condition_and_every_update_has_its_mutant():
    names = set(every_mutant())
    for act in MACHINE.actions.values():
        assert sum(n.startswith(f"{act.name}/drop-condition/") for n in names) == len(act.conditions)
        assert {f"{act.name}/drop-update/{f.name}" for f in act.updates} <= names


def test_mutants_are_sorted_and_the_tenth_is_fixed():
    names = [mutant.name for mutant in mutants(MACHINE)]
    assert names == sorted(set(names))
    assert chosen() == [mutant.name for mutant in tenth(mutants(MACHINE))] == names[::10]


def test_no_mutant_is_the_original_or_another_mutant():
    shapes = [(a.conditions, frozenset((f, u.body) for f, u in a.updates.items())) for a in MACHINE.actions.values()]
    shapes += [
        (mu.action.conditions, frozenset((f, u.body) for f, u in mu.action.updates.items()))
        for mu in every_mutant().values()
    ]
    by_action = Counter((name, shape) for name, shape in zip([*MACHINE.actions, *_actions()], shapes, strict=True))
    assert max(by_action.values()) == 1


def _actions():
    return [mutant.original.name for mutant in every_mutant().values()]


# ---------------------------------------------------------------------- the table


def test_the_table_has_a_row_for_every_mutant():
    assert misnamed(read_table()) == []


def test_every_mutant_is_killed_or_equivalent_for_a_stated_reason():
    for name, row in read_table().items():
        assert row.layer in ("invariant", "step", "dead", "world", "answer", "equivalent"), name
        assert row.by or row.layer in (DEAD, EQUIVALENT), name
        assert row.how or row.layer in (DEAD, INVARIANT, STEP), name


def test_equivalent_mutants_are_few():
    equivalent = [name for name, row in read_table().items() if row.layer == EQUIVALENT]
    assert len(equivalent) < len(read_table()) / 20


@pytest.mark.slow
def test_a_tenth_of_the_mutants_has_the_fate_that_the_table_says():
    assert list(wrong(chosen())) == []


@pytest.mark.slow
def test_worlds_of_mutants_are_as_they_were_pinned():
    assert list(mutant_table.wrong_figures()) == []


def test_a_machine_that_does_less_shows_in_the_figures():
    weaker = MACHINE.changed(without_update(MACHINE.actions["read"], m.readby))
    found = list(mutant_table.wrong_figures(["buffers"], weaker))
    pinned = mutant_table.read_figures()["buffers"]["states"]
    assert found == [f"world buffers: [1, 5, 21, 45, 77, 89] states by depth, pinned were {pinned}"]


def test_a_machine_that_answers_otherwise_shows_in_the_figures():
    other = MACHINE.changed(without_condition(MACHINE.actions["wait"], "PeerLost"))
    assert list(mutant_table.wrong_figures(["lonely"], other)) == ["world lonely: other steps or answers of wait"]


def test_a_wrong_row_is_reported():
    name, equivalent = "write/drop-update/last", "copy_start/swap/InvalidArgument/b-c"
    table = {
        name: Row("", "dead", "", ""),
        equivalent: Row("", "invariant", "mappings_are_permitted", ""),
    }
    found = list(wrong([name, equivalent, "fence/drop-update/pub"], table))
    assert [line.split(" was: ")[0] for line in found[:2]] == [name, equivalent]
    assert found[2] == "fence/drop-update/pub is killed by nobody and not equivalent"


def test_a_row_that_is_missing_or_too_many_is_reported():
    table = read_table()
    name = next(iter(table))
    assert misnamed({n: row for n, row in table.items() if n != name}) == [f"{name} is a mutant without a row"]
    assert misnamed({**table, "x": table[name]}) == ["x is in the table and no mutant any more"]
    other = {**table, name: replace(table[name], what="something else")}
    assert len(misnamed(other)) == 1


def test_the_summary_counts_every_row():
    counts = summary(read_table())
    assert set(counts) == set(OPERATORS)
    assert sum(sum(c.values()) for c in counts.values()) == len(read_table())


# ---------------------------------------------------------------------- who decides


def test_lemmas_are_inductive():
    machine = with_lemmas(MACHINE)
    prover, names = Prover(machine), {lemma.name for lemma in LEMMAS}
    asked = [o for o in obligations(machine) if o.claim in names]
    assert asked
    assert [o.name for o in asked if prover.check(o).verdict != "holds"] == []


@pytest.fixture(scope="module")
def judge():
    return Judge()


FATES = {
    "fence/drop-condition/own-posted-words-have-drained": INVARIANT,
    "gb_ack/drop-update/valid": STEP,
    "copy_start/swap/InvalidArgument/b-c": EQUIVALENT,
    "write/drop-update/pub": INVARIANT,
    "wait/drop-condition/PeerLost": "answer",
    "evict/drop-conjunct/in-order/1": "world",
}


@pytest.mark.parametrize("name", FATES)
def test_each_layer_kills_what_it_should(name, judge):
    fate = judge.fate(every_mutant()[name])
    assert fate.layer == FATES[name]
    assert judge.confirms(every_mutant()[name], fate)
    assert not judge.confirms(every_mutant()[name], Fate(DEAD))


def test_reasons_of_equivalence_are_as_short_as_possible(judge):
    comparer = Comparer(judge.prover)
    found = comparer.compare(every_mutant()["leave/drop-condition/NotPermitted"])
    assert found.holds
    assert found.because == ("only_members_arrive",)
    assert comparer.follows(every_mutant()["leave/drop-condition/NotPermitted"], found.because)
    assert not comparer.follows(every_mutant()["leave/drop-condition/NotPermitted"], ())
    assert not comparer.compare(every_mutant()["wait/drop-condition/PeerLost"]).holds
