"""Well-formedness: the machine passes, and every kind of mistake is named with its place."""

from dataclasses import replace

import pytest

from shmem_model.language import (
    BOOL,
    EACH,
    FALSE,
    TRUE,
    Element,
    Function,
    LanguageError,
    Machine,
    Parameter,
    Returns,
    Sort,
    action,
    after,
    axiom,
    becomes,
    exists,
    faults,
    invariant,
    refused,
    state,
    step,
    update,
    waits,
)
from shmem_model.language.wellformed import check, problems
from shmem_model.machine import MACHINE
from shmem_model.machine import vocabulary as m

Cat, Dog = Sort("Cat"), Sort("Dog")
fed = Function("fed", (Cat,), BOOL, "software", "has eaten")
wet = Function("wet", (Cat,), BOOL, "hardware", "is wet")
seen = Function("seen", (Cat,), BOOL, "ghost", "somebody has seen it eat")
black = Function("black", (Cat,), BOOL, "platform", "is black")
stranger = Function("stranger", (Cat,), BOOL, "software", "is no function of the machine")
c, d = Parameter("c", Cat), Parameter("d", Cat)


def act(*parts, group="software", name="feed", **sorts):
    """An action of these parts, with parameter c."""

    def body(*_):
        """Feed a cat."""
        yield from parts

    body.__name__ = name
    return action(group, **(sorts or {"c": Cat}))(body)


FEED = act(waits("dry", ~wet(c)), becomes(fed, c, to=TRUE), becomes(wet, c, to=TRUE), becomes(seen, c, to=fed(c)))


@invariant(c=Cat)
def fed_cats_are_seen(c):
    """Who has eaten was seen."""
    return (fed(c) & wet(c)).implies(seen(c) | black(c))


GOOD = Machine(
    "cats",
    (Cat,),
    (fed, wet, seen, black),
    {fed: FALSE, wet: FALSE, seen: FALSE},
    {"feed": FEED},
    properties=(fed_cats_are_seen,),
)


def with_action(*parts, **more):
    made = act(*parts, **more)
    rest = {} if made.name == "feed" else {"feed": FEED}
    return replace(GOOD, actions={**rest, made.name: made})


def with_claim(kind, body, *actions, variables=(c,)):
    made = replace(fed_cats_are_seen, name="claim", kind=kind, body=body, actions=actions, variables=variables)
    return replace(GOOD, properties=(fed_cats_are_seen, made))


def test_the_machine_is_well_formed():
    assert problems(MACHINE) == []
    check(MACHINE)


def test_a_good_toy_is_well_formed():
    assert problems(GOOD) == []


def test_check_lists_every_problem_at_once():
    bad = replace(with_action(becomes(fed, c, to=fed(d)), waits("seen", seen(c))), initial={})
    with pytest.raises(LanguageError) as caught:
        check(bad)
    lines = str(caught.value).splitlines()
    assert lines[0] == "machine cats is not well formed:"
    assert len(lines) > 5
    assert all(line.startswith("  ") for line in lines[1:])


KEEP = [becomes(fed, c, to=TRUE), becomes(wet, c, to=TRUE), becomes(seen, c, to=fed(c))]

ACTIONS = {
    "condition 'x' mentions d of sort Cat, which is not bound here": [waits("x", fed(d))],
    "the new value of fed mentions d of sort Cat, which is not bound here": [update(fed, lambda x: fed(d))],
    "the answer mentions d of sort Cat, which is not bound here": [Returns(fed(d))],
    "condition 'x' mentions x0 of sort Cat, which is not bound here": [waits("x", fed(fed.formals[0]))],
    "condition 'x' mentions x of sort Cat, which is not bound here": [
        waits("x", fed(exists(Cat, lambda x: fed(x)).variable))
    ],
    "the new value of black: the platform never changes": [becomes(black, c, to=TRUE)],
    "the new value of stranger: the machine has no such function": [becomes(stranger, EACH, to=TRUE)],
    "condition 'x' mentions stranger, which is no function of the machine": [waits("x", stranger(c))],
    "condition 'x' reads the ghost function seen": [waits("x", seen(c))],
    "condition 'x' quantifies over Dog, which is none of the machine's sorts": [
        waits("x", exists(Dog, lambda d: fed(c)))
    ],
    "the new value of wet reads the ghost function seen": [becomes(wet, c, to=seen(c))],
    "the answer reads the ghost function seen": [Returns(seen(c))],
    "the new value of seen reads the hardware function wet": [becomes(seen, c, to=wet(c))],
    "the new value of fed is the old one": [update(fed, lambda x: fed(x))],
    "condition 'x' mentions the element tom; a machine knows no particular elements": [
        waits("x", fed(Element("tom", Cat, 0)))
    ],
    "condition 'x' mentions `after`, which is for properties of steps (and not twice)": [waits("x", after(fed(c)))],
    "condition 'Refused' is no refusal; there are StaleHandle, InvalidArgument": [refused("Refused", fed(c))],
    "condition 'Burnt' is no fault; there are NotMapped, ReadOnly, Frozen": [faults("Burnt", fed(c))],
    "2 conditions are called x": [waits("x", fed(c)), waits("x", black(c))],
    "StaleHandle must be asked before NotPermitted": [
        refused("NotPermitted", fed(c)),
        waits("x", black(c)),
        refused("StaleHandle", fed(c)),
    ],
    "OutOfMemory must be asked before NotMapped": [faults("NotMapped", fed(c)), refused("OutOfMemory", fed(c))],
}


@pytest.mark.parametrize("problem", ACTIONS)
def test_a_mistake_in_an_action_is_named(problem):
    parts = ACTIONS[problem]
    touched = {part.function for part in parts if hasattr(part, "function")}
    bad = with_action(*parts, *(part for part in KEEP if part.function not in touched))
    found = [text for text in problems(bad) if not text.startswith("function ")]
    assert [text.startswith(f"action feed: {problem}") for text in found] == [True]


def test_reclaim_alone_may_look_at_hardware_in_custody():
    parts = [becomes(seen, c, to=wet(c))]
    assert problems(with_action(*parts, name="reclaim")) == []
    assert problems(with_action(*parts, name="feed_again")) == [
        "action feed_again: the new value of seen reads the hardware function wet"
    ]
    assert problems(with_action(*parts, name="feed_again"), takes_over=["feed_again"]) == []


def test_hardware_steps_do_not_touch_custody():
    assert problems(with_action(becomes(seen, c, to=TRUE), group="hardware", name="rain")) == [
        "action rain: the new value of seen: custody is a matter of software, driver and faults, not of hardware"
    ]


def test_group_sentence_and_parameters_of_an_action_are_checked():
    odd = replace(act(*KEEP, c=Cat, d=Dog, actor=Cat, name="start"), group="magic", sentence="")
    texts = problems(replace(GOOD, actions={"feed": FEED, "start": odd}))
    assert texts == [
        "action start: group magic is none of software, hardware, driver, fault",
        "action start: no sentence says what it does",
        "action start: the name is taken by the start state",
        "action start: parameter d: sort Dog is none of the machine's",
        "action start: parameter actor: the name is reserved for properties of steps",
        "action start: parameter d is not used",
        "action start: parameter actor is not used",
    ]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda: {"initial": {wet: FALSE, seen: FALSE}}, "function fed: no initial value"),
        (
            lambda: {"initial": {**GOOD.initial, black: FALSE}},
            "function black: the initial value is given, but it is no state function of the machine",
        ),
        (
            lambda: {"initial": {**GOOD.initial, fed: fed(fed.formals[0])}},
            "function fed: the initial value reads the software function fed",
        ),
        (lambda: {"initial": {**GOOD.initial, fed: fed(c)}}, "function fed: the initial value mentions c"),
        (lambda: {"actions": {"food": FEED}}, "action feed is listed as food"),
        (lambda: {"sorts": (Cat, Cat)}, "2 sorts, functions or actions are called Cat"),
        (lambda: {"sorts": (Cat, BOOL)}, "Bool is a sort of every machine, and not to be listed"),
        (
            lambda: {"properties": (fed_cats_are_seen, fed_cats_are_seen)},
            "2 properties are called fed_cats_are_seen",
        ),
    ],
)
def test_a_mistake_in_the_whole_is_named(change, problem):
    assert [text for text in problems(replace(GOOD, **change())) if text.startswith(problem)]


def test_functions_are_checked():
    nameless = Function("feed", (Dog,), BOOL, "platform", "")
    clash = replace(GOOD, functions=(*GOOD.functions, nameless, Function("answer", (), BOOL, "platform", "x")))
    assert problems(clash) == [
        "2 sorts, functions or actions are called feed",
        "function feed: sort Dog is none of the machine's",
        "function feed: no sentence says what it is",
        "function answer: the name is reserved for properties of steps",
    ]


def test_a_function_that_nobody_changes_or_mentions_is_named():
    idle = Function("idle", (), BOOL, "software", "does nothing")
    assert problems(GOOD.with_functions({idle: FALSE})) == [
        "function idle: no action changes it",
        "function idle: no claim and no condition mentions it",
    ]


CLAIMS = {
    "the claim mentions d of sort Cat, which is not bound here": ("invariant", fed(d)),
    "the claim mentions `after`, which is for properties of steps (and not twice)": ("invariant", after(fed(c))),
    "the claim reads the software function fed": ("axiom", fed(c)),
    "the claim mentions stranger, which is no function of the machine": ("state", stranger(c)),
    "the kind is none of invariant, axiom, step, state, pair": ("wish", fed(c)),
    "there is no action starve": ("step", after(fed(c)), "feed", "starve"),
    "the claim, of feed, mentions d of sort Cat, which is not bound here": ("step", fed(d), "feed"),
    "the claim, of feed, mentions answer of sort Cat, which is not bound here": (
        "step",
        fed(Parameter("answer", Cat)),
    ),
    "the claim, of feed, mentions `after`, which is for properties of steps (and not twice)": (
        "step",
        after(after(fed(c))),
    ),
}


@pytest.mark.parametrize("problem", CLAIMS)
def test_a_mistake_in_a_claim_is_named(problem):
    kind, body, *actions = CLAIMS[problem]
    assert problems(with_claim(kind, body, *actions)) == [f"{kind} claim: {problem}"]


def test_a_step_property_of_no_action_is_named():
    assert problems(with_claim("step", after(fed(c)), "starve")) == [
        "step claim: the machine has none of the actions starve",
        "step claim: there is no action starve",
    ]


def test_a_step_property_may_name_what_its_actions_have():
    @step("feed", d=Cat)
    def fine(d):
        """Fine."""
        return (fed(c) & fed(Parameter("actor", Cat)) & after(fed(d))).implies(after(fed(c)))

    assert problems(replace(GOOD, properties=(fed_cats_are_seen, fine))) == []


def test_claims_need_a_sentence_and_proper_variables():
    @state(actor=Cat, x=Dog)
    def silent(actor, x):
        return fed(actor) & x.same(x)

    assert problems(replace(GOOD, properties=(fed_cats_are_seen, silent))) == [
        "state silent: no sentence says what is claimed",
        "state silent: variable actor: the name is reserved for properties of steps",
        "state silent: variable x: sort Dog is none of the machine's",
    ]


def test_axioms_speak_of_the_platform():
    @axiom(c=Cat)
    def all_black(c):
        """All cats are black."""
        return black(c)

    assert problems(replace(GOOD, axioms=(all_black,))) == []


# ------------------------------------------------------------------ planted in the real machine

A, B, F = Parameter("a", m.Agent), Parameter("b", m.Block), Parameter("f", m.Frame)


@pytest.mark.parametrize(
    ("name", "part", "problem"),
    [
        ("fill", waits("current", m.intact()), "condition 'current' reads the ghost function intact"),
        ("evict", becomes(m.intact, to=FALSE), "the new value of intact: custody is a matter of software"),
        ("read", becomes(m.counting, to=FALSE), "the new value of counting: the platform never changes"),
        ("fence", becomes(m.intact, to=m.tlb(A, B, F)), "the new value of intact mentions b of sort Block"),
        ("flush", becomes(m.intact, to=m.tlb(A, B, F)), "the new value of intact reads the hardware function tlb"),
        ("send", refused("StaleHandle", m.counting()), "StaleHandle must be asked before NotPermitted"),
    ],
)
def test_a_mistake_that_is_planted_in_the_machine_is_named(name, part, problem):
    bad = MACHINE.changed(MACHINE.actions[name].bind({}, extra=[part]))
    found = problems(bad)
    assert f"action {name}: {problem}" in [text[: len(f"action {name}: {problem}")] for text in found]
