"""Toy machines for the tests of the provers: a lock and a row of lamps, right ones and wrong ones."""

from dataclasses import replace

from shmem_model.language import (
    BOOL,
    FALSE,
    TRUE,
    Function,
    Machine,
    Parameter,
    Returns,
    Sort,
    action,
    after,
    becomes,
    exists,
    forall,
    invariant,
    state,
    step,
    update,
    waits,
    without_condition,
)
from shmem_model.readers.scope import Scope

Agent = Sort("Agent")
Colour = Sort("Colour")
holds = Function("holds", (Agent,), BOOL, "software", "the agent holds the lock")
paint = Function("paint", (), Colour, "hardware", "the colour of the door")
barred = Function("barred", (Agent,), BOOL, "platform", "the agent may never take the lock")


@action("software", a=Agent)
def take(a):
    """The agent takes the lock when nobody holds it."""
    yield waits("free", forall(Agent, lambda c: ~holds(c)))
    yield waits("allowed", ~barred(a))
    yield becomes(holds, a, to=TRUE)


@action("software", a=Agent)
def give(a):
    """The agent gives the lock back."""
    yield waits("holds it", holds(a))
    yield becomes(holds, a, to=FALSE)


@action("software", a=Agent, v=Colour)
def colour(a, v):
    """The holder paints the door, and hears its old colour."""
    yield waits("holds it", holds(a))
    yield becomes(paint, to=v)
    yield Returns(paint())


@invariant(a=Agent, c=Agent)
def one_holder(a, c):
    """At most one agent holds the lock."""
    return (holds(a) & holds(c)).implies(a.same(c))


@invariant(a=Agent)
def barred_agents_stay_out(a):
    """Who is barred does not hold the lock."""
    return holds(a).implies(~barred(a))


@step("colour", a=Agent)
def painting_moves_no_lock(a):
    """Painting changes no holder."""
    return after(holds(a)).same(holds(a))


@step("colour")
def painting_answers_the_old_colour():
    """Painting answers what the colour was."""
    return Parameter("answer", Colour).same(paint())


@step()
def only_holders_change_the_door():
    """The door changes colour only by a step of a holder."""
    return holds(Parameter("actor", Agent)) | after(paint()).same(paint())


@state(a=Agent)
def somebody_holds(a):
    """Somebody holds the lock."""
    return holds(a)


CLAIMS = (
    one_holder,
    barred_agents_stay_out,
    painting_moves_no_lock,
    painting_answers_the_old_colour,
    only_holders_change_the_door,
)
LOCK = Machine(
    "lock",
    (Agent, Colour),
    (holds, paint, barred),
    {holds: FALSE},
    {a.name: a for a in (take, give, colour)},
    properties=CLAIMS,
)
NO_WAITING = replace(LOCK.changed(without_condition(take, "free")), name="lock that is taken while held")


def lock_scope(machine=LOCK, agents=3, colours=2, start=None):
    """The lock with so many agents; the last one is barred."""
    platform = {barred: lambda a: a == agents - 1}
    sizes = {Agent: agents, Colour: colours}
    return Scope(machine.name, machine, sizes, platform, {paint: 0} | (start or {}))


# The action's own parameter and the claim's variable have one name here, and mean different agents.
lit = Function("lit", (Agent,), BOOL, "software", "the agent's lamp is lit")


@action("software", a=Agent)
def light_the_others(a):
    """Every lamp but the agent's own goes on."""
    yield update(lit, lambda x: lit(x) | x.differs(a))


@invariant(a=Agent)
def all_lamps_are_dark(a):
    """No lamp is lit (wrong as soon as there are two agents)."""
    return ~lit(a)


@step("light_the_others", a=Agent)
def no_lamp_goes_on(a):
    """No lamp goes on (wrong as well)."""
    return after(lit(a)).implies(lit(a))


LAMPS = Machine(
    "lamps",
    (Agent,),
    (lit,),
    {lit: FALSE},
    {"light_the_others": light_the_others},
    properties=(all_lamps_are_dark, no_lamp_goes_on),
)


@action("software", a=Agent)
def never(a):
    """A step that waits for what cannot be."""
    yield waits("holds it", holds(a))
    yield waits("nobody holds it", ~exists(Agent, lambda c: holds(c)))
    yield becomes(holds, a, to=FALSE)


WITH_NEVER = LOCK.with_actions([*LOCK.actions.values(), never], "lock with a dead action")
