"""*Everybody is told*: whoever waits, waits for somebody alive.

Families with a member per wait: the proof, a witness (a call does come to wait), and the red twin, in which the call
does not answer `PeerLost` and waits for the dead; the proof must not get through that either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shmem_model.machine import MACHINE
from shmem_model.machine.claims_waiting import WAITS, with_waits
from shmem_proofs.waiting import PLACES, claim_about, prove, untold
from shmem_suite.checks import Check, Outcome, Task
from shmem_suite.errors import ManifestError
from shmem_suite.manifest import Entry
from shmem_suite.providers.proofs import worst
from shmem_suite.providers.theorems import size
from shmem_suite.stories import story

FAMILIES = ("proof", "witness", "twin", "unproved")


def checks(entries: Sequence[Entry], pins: Mapping[str, Mapping[str, Any]]) -> Iterator[Check]:
    """The checks that the entries stand for."""
    for entry in entries:
        family = entry.id.split("/")[1]
        if family not in FAMILIES:
            raise ManifestError(f"waiting.json: {entry.id} is none of {', '.join(FAMILIES)}")
        yield from (_check(entry, family, name) for name in WAITS)


def universe() -> dict[str, frozenset[str]]:
    """Every wait has all of them."""
    return {f"{family} of a wait": frozenset(WAITS) for family in FAMILIES}


def _check(entry: Entry, family: str, name: str) -> Check:
    call, place = WAITS[name][0], PLACES[name]
    words = {
        "proof": claim_about(name).sentence,
        "witness": f"A call of {call} does come to wait.",
        "twin": f"Where {call} does not answer PeerLost it waits for the dead.",
        "unproved": f"The proof finds that out, too: {call} without PeerLost.",
    }
    steps = {"witness": place.reached, "twin": place.untold}.get(family)
    id = entry.check_id(name)
    return Check(
        id=id,
        kind=entry.kind,
        subject=entry.subject,
        statement=words[family],
        expected=entry.expected,
        tasks=(Task(id, ask, (family, name), entry.weight),),
        tier=entry.tier,
        scope=entry.scope or size(place.setting.scope(name, with_waits(MACHINE))),
        engine=entry.engine,
        pinned=steps is not None,
        pins=None if steps is None else {"steps": steps},
        pinned_in="manifest" if steps is None else "code",
        covers=frozenset({f"{family} of a wait:{name}"}),
    )


def ask(family: str, name: str) -> Outcome:
    """Settle one member of a family."""
    if family in ("proof", "unproved"):
        found = prove(name, MACHINE if family == "proof" else untold(name))
        return Outcome(worst([found.verdict]), found.reason, counts={"obligations": 1})
    return look(name, wrong=family == "twin")


def look(name: str, wrong: bool) -> Outcome:
    """Search the wait, or (`wrong`) the wait for the dead."""
    machine = untold(name) if wrong else MACHINE
    finding = PLACES[name].of(machine, name)
    run = finding.trace
    if run is None:
        return Outcome(
            "unknown" if finding.verdict == "unknown" else "holds" if wrong else "fails", "never at the wait"
        )
    ending = f"broken: {claim_about(name).sentence}" if wrong else ""
    scope = PLACES[name].setting.scope(name, with_waits(machine))
    return Outcome(
        "fails" if wrong else "holds",
        f"{len(run)} steps",
        counts={"steps": len(run)},
        trace=story(run, scope, ending, wrong),
    )
