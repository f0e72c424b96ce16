"""Small scopes of the real machine, and a toy machine, for the tests of the printers."""

from shmem_model.language import (
    BOOL,
    FALSE,
    Element,
    Function,
    Machine,
    Sort,
    action,
    becomes,
    exists,
    forall,
    invariant,
    ite,
    refused,
    update,
    waits,
)
from shmem_model.machine import MACHINE
from shmem_model.machine import vocabulary as m
from shmem_model.readers.scope import Scope

# What a scope of the real machine says where the test does not care.
PLATFORM = {
    m.cached: True,
    m.line_write_back: True,
    m.may_discard: True,
    m.may_write_back: True,
    m.counting: False,
    m.multicast: False,
    m.may_read: True,
    m.may_write: True,
    m.fits: True,
    m.receiver: lambda s: s,
    m.may_send: lambda a, s: a != s,
    m.member: True,
    m.engine: False,
    m.serves: False,
    m.zero: 0,
    m.total: lambda x, y: max(x, y),
}
MAPPED = {
    m.part_of: True,
    m.at: True,
    m.available: False,
    m.mapped: True,
    m.mapped_writable: True,
    m.tlb: True,
    m.tlb_writable: True,
    m.cur: True,
    m.pub: True,
}


def scope(name, actions, sizes=None, platform=None, start=None):
    """A scope of the real machine with some of its actions."""
    machine = MACHINE.with_actions(MACHINE.actions[a] for a in actions.split())
    every = dict.fromkeys(m.SORTS, 1) | {m.Agent: 2, m.Value: 2} | (sizes or {})
    return Scope(name, machine, every, PLATFORM | (platform or {}), MAPPED | (start or {}))


CACHES = "fill evict drain read write flush invalidate fence"


def caches(name="caches", **more):
    """Everything that caches and their users do."""
    return scope(name, CACHES, **more)


def whole():
    """Every action of the machine, in a world of one agent."""
    sizes = {m.Agent: 1, m.Value: 1}
    return scope("whole", " ".join(MACHINE.actions), sizes, {m.receiver: 0, m.may_send: True})


SMALL = {
    "sent": lambda: scope("sent", "send wait poll", {m.Slot: 2, m.Token: 2}),
    "counted": lambda: scope("counted", "send wait", {m.Slot: 2, m.Token: 2}, {m.counting: True}),
    "barrier": lambda: scope("barrier", "arrive leave die", {m.Epoch: 2, m.Agent: 2}),
    "lines": lambda: scope(
        "lines",
        "alloc free scrub map unmap translate shootdown",
        {m.Region: 2, m.Agent: 1},
        {m.fits: lambda r, f: True},
        dict.fromkeys(MAPPED, False) | {m.available: True},
    ),
    "moved": lambda: scope(
        "moved",
        "freeze migrate unfreeze translate shootdown scrub",
        {m.Frame: 2, m.Agent: 1},
        start={
            m.at: {(0, 0): True},
            m.available: {(1,): True},
            m.tlb: {(0, 0, 0): True},
            m.tlb_writable: {(0, 0, 0): True},
        },
    ),
    "copied": lambda: scope(
        "copied",
        "copy_start copy_step copy_wait",
        {m.Word: 2},
        {
            m.engine: {(1,): True},
            m.serves: {(1, 0): True},
            m.cached: {(0,): True},
            m.may_send: False,
        },
        {
            m.memory: {(0, 1): 1},
            m.last: {(0, 1): 1},
            m.mapped: {(0, 0): True},
            m.mapped_writable: {(0, 0): True},
            m.tlb: {(0, 0, 0): True},
            m.tlb_writable: {(0, 0, 0): True},
        },
    ),
    "global": lambda: scope("global", "gb_begin gb_ack gb_end fill die lose"),
}

# A toy: a swap through other cells, an update that only works on old values, every kind of term.
Cell, Colour = Sort("Cell"), Sort("Colour")
colour = Function("to", (Cell,), Colour, "hardware", "the colour of the cell (named like a keyword)")
marked = Function("marked", (Cell,), BOOL, "software", "the cell is marked")
ready = Function("ready", (), BOOL, "software", "the toy may move")
fixed = Function("fixed", (Cell,), BOOL, "software", "never changed by any action")
beside = Function("beside", (Cell,), Cell, "platform", "the neighbour")
first = Function("first", (), Colour, "platform", "the colour at the start")


@action("software", b=Cell)
def swap(b):
    """Swap the colours of a cell and its neighbour, and the marks go round."""
    yield waits("ready", ready())
    yield update(colour, lambda c: ite(c.same(b), colour(beside(b)), ite(c.same(beside(b)), colour(b), colour(c))))
    yield update(marked, lambda c: marked(beside(c)))


@action("software", b=Cell, end=Colour, rule=BOOL)
def paint(b, end, rule):
    """Paint a cell in a colour that is nowhere; its mark and readiness say what was so before."""
    yield refused("InvalidArgument", forall(Cell, lambda b: colour(b).differs(end)) & ~fixed(b))
    yield waits("not marked twice", rule.implies(~marked(b) | marked(beside(b))))
    yield becomes(colour, b, to=end)
    yield becomes(marked, b, to=~marked(b), where=lambda c: rule)
    yield becomes(ready, to=ite(rule, exists(Cell, lambda c: marked(c)), ready()))


@action("software")
def rest(*_):
    """Nothing but readiness changes."""
    yield becomes(ready, to=~ready())


@invariant(c=Cell)
def marks_are_honest(c):
    """The cell is marked or it is not."""
    return marked(c) | ~marked(c)


@invariant(c=Cell, d=Cell)
def neighbours_differ(c, d):
    """Two unmarked cells differ in colour (they need not)."""
    return (~marked(c) & ~marked(d) & c.differs(d)).implies(colour(c).differs(colour(d)))


TOY = Machine(
    "toy",
    (Cell, Colour),
    (colour, marked, ready, fixed, beside, first),
    {colour: first(), marked: FALSE, ready: FALSE, fixed: FALSE},
    {a.name: a for a in (swap, paint, rest)},
    properties=(marks_are_honest,),
)


def toy(cells=3, colours=3, machine=TOY, **more):
    """The toy with so many cells in a ring."""
    platform = {beside: lambda c: (c + 1) % cells, first: 1}
    return Scope("toy", machine, {Cell: cells, Colour: colours}, platform, **more)


BROKEN_TOY = Machine(**{**vars(TOY), "properties": (marks_are_honest, neighbours_differ)})
ELEMENT = Element("red", Colour, 0)
