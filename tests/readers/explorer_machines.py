"""Machines for the tests of the explorer: lamps in a row (any number of bits), and two readers of one switch."""

from shmem_model.language import (
    BOOL,
    EACH,
    FALSE,
    TRUE,
    Function,
    Machine,
    Sort,
    action,
    becomes,
    exists,
    forall,
    waits,
)
from shmem_model.readers.scope import Scope

Lamp = Sort("Lamp")
lit = Function("lit", (Lamp,), BOOL, "software", "the lamp is on")
before = Function("before", (Lamp, Lamp), BOOL, "platform", "the first lamp comes just before the second")


@action("software", x=Lamp)
def light(x):
    """A lamp goes on when those before it are on."""
    yield waits("dark", ~lit(x))
    yield waits("next", forall(Lamp, lambda y: before(y, x).implies(lit(y))))
    yield becomes(lit, x, to=TRUE)


@action("software", x=Lamp)
def put_out(x):
    """The last lamp that is on goes out."""
    yield waits("lit", lit(x))
    yield waits("last", forall(Lamp, lambda y: before(x, y).implies(~lit(y))))
    yield becomes(lit, x, to=FALSE)


@action("software")
def black_out():
    """All lamps go out, once all are on."""
    yield waits("all on", forall(Lamp, lambda x: lit(x)))
    yield becomes(lit, EACH, to=FALSE)


@action("software")
def look():
    """Nothing changes, but some lamp is on."""
    yield waits("light", exists(Lamp, lambda x: lit(x)))


LAMPS = Machine("lamps", (Lamp,), (lit, before), {lit: FALSE}, {a.name: a for a in (light, put_out, black_out, look)})


def lamps(count, *actions):
    """So many lamps in a row, and some of the actions (none named: all)."""
    kept = [LAMPS.actions[name] for name in actions or LAMPS.actions]
    return Scope("lamps", LAMPS.with_actions(kept), {Lamp: count}, {before: lambda x, y: x + 1 == y})
