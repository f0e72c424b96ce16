"""Theorems, their witnesses and their red twins as checks.

Entries: one per theorem (`T1`), and families `T1/witness/*` and `T1/twin/*` with a member per witness and
red twin.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shmem_model.language import Property
from shmem_model.language import terms as t
from shmem_model.machine import MACHINE
from shmem_model.machine.claims_two_runs import RELATION
from shmem_model.readers.explorer import Exploration, Finding, explore
from shmem_model.readers.scope import Scope
from shmem_proofs.induction import Prover, obligations
from shmem_proofs.proving import changed_actions
from shmem_proofs.theorems import ALGORITHM, INDUCTION, LITMUS, ON_TERMS, THEOREMS, TWO_RUNS, RedTwin, Theorem, Witness
from shmem_proofs.two_runs import TwoRuns
from shmem_suite.checks import Check, Combine, Outcome, Task, weakest
from shmem_suite.errors import ManifestError, did_you_mean
from shmem_suite.manifest import Entry
from shmem_suite.providers import algorithms, placement, programs
from shmem_suite.providers.litmus import tasks_matching
from shmem_suite.providers.proofs import Rests, ask_obligations, proof_tasks, two_run_tasks
from shmem_suite.stories import story

ASKED_OF_EACH = ("theorem", "witnessed theorem", "theorem with a red twin")
"""What must be there for every theorem."""
LIMIT = 3_000_000
"""States after which a search for a witness or a red twin's failure is given up."""


def checks(entries: Sequence[Entry], pins: Mapping[str, Mapping[str, Any]]) -> Iterator[Check]:
    """The checks that the entries stand for."""
    for entry in entries:
        theorem = find(entry.subject)
        if theorem.method == LITMUS and entry.kind != "theorem":
            yield from programs.checks(entry, theorem)
            continue
        if theorem.method == ON_TERMS and entry.id != theorem.id:
            yield from placement.checks(entry, theorem)
            continue
        match entry.kind:
            case "theorem":
                yield theorem_check(entry, theorem)
            case "witness":
                yield from (_witness(entry, theorem, name, pins) for name in names(theorem.witnesses))
            case "red-twin":
                make = _twin if entry.expected == "fails" else _unproved
                yield from (make(entry, theorem, name) for name in names(theorem.red_twins))
            case other:
                raise ManifestError(f"theorems.json: {entry.id} is of kind {other}")


def universe() -> dict[str, frozenset[str]]:
    """Every theorem, claim, witness and red twin; and every action must have a part in some red twin."""
    return {
        **{category: frozenset(theorem.id for theorem in THEOREMS) for category in ASKED_OF_EACH},
        "claim": frozenset(claim.name for claim in (*MACHINE.properties, *RELATION)),
        "witness": frozenset(f"{th.id}/{name}" for th in THEOREMS for name in names(th.witnesses)),
        "action in a red twin": frozenset(MACHINE.actions),
        "red twin": frozenset(f"{th.id}/{name}" for th in THEOREMS for name in names(th.red_twins)),
    }


def find(word: str) -> Theorem:
    """The theorem of that id or name."""
    for theorem in THEOREMS:
        if theorem.called(word):
            return theorem
    known = [word for theorem in THEOREMS for word in (theorem.id, theorem.name)]
    raise ManifestError(did_you_mean(word, known, "theorem"))


def names(items: Sequence[Witness | RedTwin]) -> dict[str, int]:
    """A name for an id to the position of each item; the second of one name is `name-2`."""
    found: dict[str, int] = {}
    for position, item in enumerate(items):
        plain = re.sub(r"[^a-z0-9]+", "-", item.name.lower()).strip("-")
        name, number = plain, 1
        while name in found:
            number += 1
            name = f"{plain}-{number}"
        found[name] = position
    return found


def theorem_check(entry: Entry, theorem: Theorem) -> Check:
    """The check of a theorem itself."""
    tasks, combine, engine = _method(theorem)
    return Check(
        id=entry.id,
        kind="theorem",
        subject=theorem.id,
        statement=theorem.sentence,
        expected=entry.expected,
        tasks=tasks,
        tier=entry.tier,
        scope=entry.scope,
        engine=entry.engine or engine,
        names=(theorem.name,),
        covers=frozenset({f"theorem:{theorem.id}", *(f"claim:{claim.name}" for claim in theorem.claims)}),
        combine=combine,
    )


def _method(theorem: Theorem) -> tuple[tuple[Task, ...], Combine, str]:
    match theorem.method:
        case method if method == INDUCTION:
            return proof_tasks(), Rests(claim.name for claim in theorem.claims), "induction, Z3"
        case method if method == TWO_RUNS:
            return (*proof_tasks(), *two_run_tasks()), Rests(None), "two runs, Z3"
        case method if method == LITMUS:
            return tasks_matching(theorem.litmus), weakest, "explorer"
        case method if method == ON_TERMS:
            return placement.theorem_tasks(), weakest, "the code on terms, Z3"
        case method if method == ALGORITHM:
            return algorithms.world_tasks(theorem), weakest, "explorer"
    raise ManifestError(f"theorem {theorem.id} is to be settled by {theorem.method!r}, which nobody can")


def _witness(entry: Entry, theorem: Theorem, name: str, pins: Mapping[str, Mapping[str, Any]]) -> Check:
    number = names(theorem.witnesses)[name]
    witness, id = theorem.witnesses[number], entry.check_id(name)
    return Check(
        id=id,
        kind="witness",
        subject=theorem.id,
        statement=witness.sentence,
        expected=entry.expected,
        tasks=(Task(id, find_witness, (theorem.id, number), entry.weight),),
        tier=entry.tier,
        scope=entry.scope or size(witness.setting.scope(name)),
        engine=entry.engine,
        names=(theorem.name,),
        pinned=entry.pinned,
        pins=pins.get(id),
        covers=frozenset({f"witness:{theorem.id}/{name}", f"witnessed theorem:{theorem.id}"}),
    )


def _twin(entry: Entry, theorem: Theorem, name: str) -> Check:
    """A run of the weakened machine breaks the claim, and the shortest one is as long as the theorem says."""
    number = names(theorem.red_twins)[name]
    twin, task = theorem.red_twins[number], Task(entry.check_id(name), break_twin, (theorem.id, number))
    check = _about_twin(entry, theorem, name, twin, replace(task, weight=entry.weight))
    scope = entry.scope or size(twin.setting.scope(name))
    actions = twin.setting.actions or tuple(MACHINE.actions)
    covers = check.covers | {f"action in a red twin:{action}" for action in actions}
    return replace(check, scope=scope, covers=covers, pinned=True, pins={"steps": twin.steps}, pinned_in="code")


def _unproved(entry: Entry, theorem: Theorem, name: str) -> Check:
    """The proof does not get through in the weakened machine."""
    number = names(theorem.red_twins)[name]
    task = Task(entry.check_id(name), fail_to_prove, (theorem.id, number), entry.weight)
    check = _about_twin(entry, theorem, name, theorem.red_twins[number], task)
    return replace(check, statement=f"The proof finds that out, too: {check.statement}")


def _about_twin(entry: Entry, theorem: Theorem, name: str, twin: RedTwin, task: Task) -> Check:
    return Check(
        id=entry.check_id(name),
        kind="red-twin",
        subject=theorem.id,
        statement=twin.sentence,
        expected=entry.expected,
        tasks=(task,),
        tier=entry.tier,
        scope=entry.scope,
        engine=entry.engine,
        names=(theorem.name,),
        covers=frozenset({f"red twin:{theorem.id}/{name}", f"theorem with a red twin:{theorem.id}"}),
    )


def size(scope: Scope) -> str:
    """The sizes of a scope in words."""
    shown = ("Agent", "Region", "Block", "Frame", "Word", "Slot")
    parts = [
        f"{scope.sizes[sort]} {sort.name.lower()}{'s' if scope.sizes[sort] > 1 else ''}"
        for sort in scope.machine.sorts
        if sort.name in shown
    ]
    return ", ".join(parts)


def find_witness(id: str, number: int) -> Outcome:
    """Look for the shortest run into the witness's states."""
    witness = find(id).witnesses[number]
    never = Property(f"never_{witness.name}", witness.sentence, (), t.negation(witness.state.closed))
    scope = witness.setting.scope(witness.name)
    done = explore(scope, properties=(never,), limit=LIMIT)
    finding = done.findings[never.name]
    if finding.verdict == "fails":
        return _shown("holds", done, finding, "", guilty=False)
    if finding.verdict == "holds":
        return Outcome("fails", f"cannot be reached in {done.states} states", facts={"states": done.states})
    return given_up(done)


def break_twin(id: str, number: int) -> Outcome:
    """Look for the shortest run of the weakened machine that breaks the claim."""
    twin = find(id).red_twins[number]
    machine = twin.weaken(MACHINE)
    claim = twin.claim or machine.property(twin.breaks)
    done = explore(twin.setting.scope(twin.name, machine), properties=(claim,), limit=LIMIT)
    finding = done.findings[claim.name]
    if finding.verdict == "fails":
        return _shown("fails", done, finding, f"broken: {claim.sentence}", guilty=True)
    return Outcome("holds", facts={"states": done.states}) if finding.verdict == "holds" else given_up(done)


def fail_to_prove(id: str, number: int) -> Outcome:
    """Try to prove the weakened machine: only the obligations of the changed actions can have become
    false.
    """
    twin = find(id).red_twins[number]
    machine = twin.weaken(MACHINE)
    changed = set(changed_actions(MACHINE, machine))
    prover = Prover(machine) if twin.claim is None else TwoRuns(machine)
    every = obligations(machine) if isinstance(prover, Prover) else prover.obligations()
    return ask_obligations([each for each in every if each.action in changed], prover.check)


def given_up(done: Exploration) -> Outcome:
    """The outcome of a search that hit its limit."""
    return Outcome("unknown", f"given up after {done.states} states", facts={"states": done.states})


def _shown(verdict: Any, done: Exploration, finding: Finding, ending: str, guilty: bool) -> Outcome:
    run = finding.trace
    assert run is not None
    return Outcome(
        verdict,
        f"{len(run)} steps",
        counts={"steps": len(run)},
        facts={"states": done.states, "engine": done.engine},
        trace=story(run, done.scope, ending, guilty),
    )
