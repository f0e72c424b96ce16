"""*Everybody is told*: no call can be made to wait for the dead alone (the rest of T3 and T10).

The claims and the steps that stand for being at a wait are in `claims_waiting`.  Here they are proved for any size, it
is shown that a call does come to wait, and that without its `PeerLost` it waits for the dead.
"""

from __future__ import annotations

from dataclasses import dataclass

from shmem_model.language import FALSE, Machine, Property
from shmem_model.machine import MACHINE
from shmem_model.machine.claims_waiting import CLAIMS, WAITS, with_waits
from shmem_model.readers.explorer import Finding, explore
from shmem_model.readers.setting import Setting
from shmem_proofs.induction import Obligation, Prover, Verdict
from shmem_proofs.theorems.weaken import no_condition

LIMIT = 2_000_000
"""States after which a search gives up."""


@dataclass(frozen=True)
class Wait:
    """A wait: where to look for it, the shortest run to it, and the shortest one to waiting for the dead."""

    setting: Setting
    reached: int
    untold: int

    def of(self, machine: Machine, name: str) -> Finding:
        """The first step at this wait in a machine that breaks its claim (or, of `MACHINE`, the first at all)."""
        claim = claim_about(name)
        if machine is MACHINE:
            claim = Property(f"never_{name}", f"never at {name}", (), FALSE, "step", (name,))
        found = explore(self.setting.scope(name, with_waits(machine)), properties=[claim], limit=LIMIT)
        return found.findings[claim.name]


_TEAM = Setting(agents=3, teams=((0, 1, 2),), epochs=2, lines=(), mapped=False)
_SLOT = Setting(agents=2, receivers=(1,), lines=(), mapped=False)
_WRITER = Setting(agents=3, teams=((1, 2),), translated=True)
PLACES = {
    "waiting_to_leave": Wait(_TEAM.but(actions=("arrive", "leave", "die", "waiting_to_leave")), 2, 4),
    "waiting_for_a_notification": Wait(_SLOT.but(actions=("send", "wait", "die", "waiting_for_a_notification")), 1, 2),
    "waiting_for_acknowledgements": Wait(
        _WRITER.but(actions=("gb_begin", "gb_ack", "gb_end", "die", "waiting_for_acknowledgements")), 2, 4
    ),
}


def claim_about(name: str) -> Property:
    """The claim about a wait."""
    return next(claim for claim in CLAIMS if claim.actions == (name,))


def prove(name: str, machine: Machine = MACHINE) -> Verdict:
    """Whoever is at this wait waits for somebody alive: for any number of everything."""
    return Prover(with_waits(machine)).check(Obligation(name, claim_about(name).name))


def untold(name: str) -> Machine:
    """The machine in which the call does not answer `PeerLost`."""
    return no_condition(WAITS[name][0], "PeerLost")(MACHINE)
