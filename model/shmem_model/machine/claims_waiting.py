"""Who waits, waits for somebody alive: what *everybody is told* means for a call that has to wait.

A refusal (`PeerLost`) is no step, so no claim about steps can speak of it.  The machine is therefore given steps that
stand for *being at a wait*: all earlier conditions of the call hold, that one does not, and nothing changes.  If such a
step can be taken although everybody who could end the wait is dead, then somebody is not told.
"""

from __future__ import annotations

from dataclasses import replace

from shmem_model.language import Action, Condition, LanguageError, Machine, Parameter, Term, exists, forall, step, waits
from shmem_model.machine import vocabulary as m
from shmem_model.machine.vocabulary import Agent, Block, Epoch, Region, Slot, Team, Token

WAITS = {
    "waiting_to_leave": ("leave", "all have arrived"),
    "waiting_for_a_notification": ("wait", "a notification"),
    "waiting_for_acknowledgements": ("gb_end", "every member has acknowledged"),
}
"""The step that stands for being at a wait: the call, and the condition that it waits for."""
_A = Parameter("a", Agent)


def with_waits(machine: Machine) -> Machine:
    """The machine with a step for every wait of `WAITS`, and the claims about them."""
    actions = dict(machine.actions)
    for name, (call, condition) in WAITS.items():
        actions[name] = _at_wait(machine.actions[call], name, condition)
    return replace(machine, actions=actions, properties=(*machine.properties, *CLAIMS))


def _at_wait(call: Action, name: str, condition: str) -> Action:
    earlier: list[Condition] = []
    for one in call.conditions:
        if one.name == condition:
            unmet = waits(f"not yet: {condition}", ~one.holds)
            return replace(call, name=name, conditions=(*earlier, unmet), updates={}, returns=None)
        earlier.append(one)
    raise LanguageError(f"{call.name} has no condition {condition!r}")


@step("waiting_to_leave")
def a_barrier_waits_for_somebody_alive() -> Term:
    """Who waits at a barrier waits for a member that is alive and has not arrived; else it is told."""
    g, e = Parameter("g", Team), Parameter("e", Epoch)
    return exists(Agent, lambda c: m.member(g, c) & ~m.arrived(g, e, c) & ~m.dead(c))


@step("waiting_for_a_notification")
def a_slot_waits_for_somebody_alive() -> Term:
    """Who waits at an empty slot waits for somebody alive who may send to it (if anybody could); else it is told."""
    s = Parameter("s", Slot)
    others = lambda c: m.may_send(c, s) & c.differs(_A)
    alive = exists(Agent, lambda c: others(c) & ~m.dead(c)) | forall(Agent, lambda c: ~others(c))
    return exists(Token, lambda t: m.pending(t, s)) | alive


@step("waiting_for_acknowledgements")
def a_writer_waits_for_somebody_alive() -> Term:
    """A writer waits for the acknowledgement of a member that is alive; else it is told."""
    g, r = Parameter("g", Team), Parameter("r", Region)
    missing = lambda c, b: m.member(g, c) & m.part_of(b, r) & ~m.gb_acked(_A, c, b)
    return exists(Agent, Block, lambda c, b: missing(c, b) & ~m.dead(c))


CLAIMS = (
    a_barrier_waits_for_somebody_alive,
    a_slot_waits_for_somebody_alive,
    a_writer_waits_for_somebody_alive,
)
