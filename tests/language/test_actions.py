"""Actions: ordered conditions, total updates, derived actions, and errors that say what is wrong."""

import pickle

import pytest

from shmem_model.language import (
    BOOL,
    EACH,
    FALSE,
    TRUE,
    Element,
    Function,
    LanguageError,
    Parameter,
    Returns,
    Sort,
    Update,
    action,
    becomes,
    conj,
    exists,
    faults,
    forall,
    ite,
    refused,
    update,
    waits,
    without_condition,
    without_update,
)
from shmem_model.language.machines import with_condition
from shmem_model.machine import MACHINE

Cat, Food = Sort("Cat"), Sort("Food")
fed = Function("fed", (Cat,), BOOL, "software", "has eaten")
bowl = Function("bowl", (Cat,), Food, "hardware", "what is in the cat's bowl")
knows = Function("knows", (Cat, Cat), BOOL, "software", "the first knows the second")
tom, kitty = Parameter("tom", Cat), Parameter("kitty", Cat)
fish = Parameter("fish", Food)
x0, x1 = knows.formals


@action("software", c=Cat, f=Food)
def feed(c, f):
    """Feed a cat,
    once."""
    yield refused("NotPermitted", ~fed(c))
    yield waits("company", exists(Cat, lambda d: knows(c, d)))
    yield waits("trivial", TRUE)
    yield becomes(fed, c, to=TRUE)
    yield becomes(bowl, c, to=f)
    yield Returns(bowl(c))


c, f = feed.parameters


# ------------------------------------------------------------------ what an action is


def test_an_action_has_the_name_and_sentence_of_its_function():
    assert feed.name == "feed"
    assert feed.group == "software"
    assert feed.sentence == "Feed a cat, once."
    assert [(p.name, p.sort) for p in feed.parameters] == [("c", Cat), ("f", Food)]
    assert feed.source.endswith("feed")


def test_a_trailing_underscore_frees_a_name_that_python_has_taken():
    assert MACHINE.actions["map"].name == "map"


def test_conditions_keep_their_order_and_trivial_ones_fall_away():
    assert [(k.kind, k.name) for k in feed.conditions] == [("refused", "NotPermitted"), ("waits", "company")]
    assert feed.guard is conj(~fed(c), exists(Cat, lambda d: knows(c, d)))


def test_an_action_without_conditions_can_always_be_taken():
    @action("software")
    def idle():
        """Nothing."""
        yield becomes(fed, EACH, to=FALSE)

    assert idle.guard is TRUE
    assert idle.parameters == ()
    assert idle.actor(Cat) is None


def test_the_actor_is_the_first_parameter_of_the_sort_of_actors():
    assert feed.actor(Cat) is c
    assert feed.actor(Food) is None


def test_two_updates_of_one_function_are_refused():
    with pytest.raises(LanguageError, match="twice updates fed twice"):

        @action("software", c=Cat)
        def twice(c):
            """Twice."""
            yield becomes(fed, c, to=TRUE)
            yield becomes(fed, EACH, to=FALSE)


@pytest.mark.parametrize("part", [None, "fed", fed(c), TRUE, fed])
def test_what_is_no_part_of_an_action_is_refused(part):
    with pytest.raises(LanguageError, match="no condition, update or answer"):

        @action("software", c=Cat)
        def odd(c):
            """Odd."""
            yield part


def test_actions_survive_pickling():
    again = pickle.loads(pickle.dumps(feed))
    assert again == feed
    assert again.guard is feed.guard


# ------------------------------------------------------------------ updates


def test_an_update_gives_the_whole_new_function():
    made = update(knows, lambda a, b: knows(b, a))
    assert made.function is knows
    assert made.at(tom, kitty) is knows(kitty, tom)


def test_becoming_true_or_false_is_a_disjunction_or_conjunction():
    y = fed.formals[0]
    assert becomes(fed, c, to=TRUE).body is (y.same(c) | fed(y))
    assert becomes(fed, c, to=FALSE).body is (~y.same(c) & fed(y))


def test_becoming_a_value_keeps_what_is_elsewhere():
    y = bowl.formals[0]
    assert becomes(bowl, c, to=f).body is ite(y.same(c), f, bowl(y))
    assert becomes(bowl, EACH, to=f).body is f
    assert becomes(bowl, EACH, to=f, where=lambda z: fed(z)).body is ite(fed(y), f, bowl(y))


def test_places_where_and_each_combine():
    made = becomes(knows, c, EACH, to=TRUE, where=lambda a, b: fed(b))
    assert made.body is ((x0.same(c) & fed(x1)) | knows(x0, x1))
    assert made.at(tom, kitty) is ((tom.same(c) & fed(kitty)) | knows(tom, kitty))


def test_a_new_value_may_depend_on_the_place():
    made = becomes(knows, c, EACH, to=lambda a, b: fed(b))
    assert made.at(tom, kitty) is ite(tom.same(c), fed(kitty), knows(tom, kitty))


def test_a_function_without_arguments_becomes_something():
    lonely = Function("lonely", (), BOOL, "software", "nobody is here")
    assert becomes(lonely, to=fed(tom)).body is fed(tom)
    assert becomes(lonely, to=TRUE).body is TRUE


@pytest.mark.parametrize("place", [(), (c,), (c, c, c)])
def test_an_update_names_as_many_places_as_there_are(place):
    with pytest.raises(LanguageError, match=f"knows has 2 arguments, the update names {len(place)}"):
        becomes(knows, *place, to=TRUE)


def test_a_place_of_the_wrong_sort_is_refused():
    with pytest.raises(LanguageError):
        becomes(fed, f, to=TRUE)


def test_a_value_of_the_wrong_sort_is_refused_where_something_keeps_its_value():
    with pytest.raises(LanguageError, match="differ in sort"):
        becomes(bowl, c, to=c)


def test_every_update_reads_the_state_before_the_step():
    swap = [update(knows, lambda a, b: knows(b, a)), becomes(fed, EACH, to=lambda a: knows(a, a))]
    assert swap[1].at(tom) is ite(TRUE, knows(tom, tom), fed(tom))


def test_the_value_after_the_step_is_the_update_or_the_old_value():
    assert feed.new(fed, tom) is (tom.same(c) | fed(tom))
    assert feed.new(bowl, tom) is ite(tom.same(c), f, bowl(tom))
    assert feed.new(knows, tom, kitty) is knows(tom, kitty)


def test_arguments_that_are_called_like_formals_are_not_mixed_up():
    """The new value at (x1, x0): the arguments are put in at once, not one after the other."""
    assert update(knows, lambda a, b: knows(a, b) & fed(a)).at(x1, x0) is (knows(x1, x0) & fed(x1))


def test_an_update_with_a_quantifier_captures_no_argument():
    made = update(fed, lambda y: exists(Cat, lambda d: knows(y, d)))
    argument = ite(forall(Cat, lambda e: fed(e)), tom, kitty)
    assert made.at(argument) is exists(Cat, lambda d: knows(argument, d))


def test_an_argument_with_a_quantifier_of_the_same_name_is_not_captured():
    """`every d: fed(d)`, put under `some d`, must not become `every d: fed(the other d)`."""
    made = update(fed, lambda y: exists(Cat, lambda d: knows(y, d)))
    argument = ite(forall(Cat, lambda d: fed(d)), tom, kitty)
    assert made.at(argument) is exists(Cat, lambda d: knows(argument, d))


# ------------------------------------------------------------------ derived actions


def test_binding_fixes_parameters_and_keeps_the_others():
    her = Element("her", Cat, 0)
    made = feed.bind({"c": her}, suffix="3")
    assert made.name == "feed@3"
    assert made.base == "feed"
    assert made.parameters == (f,)
    assert made.guard is conj(~fed(her), exists(Cat, lambda d: knows(her, d)))
    assert made.new(bowl, tom) is ite(tom.same(her), f, bowl(tom))
    assert made.returns is bowl(her)


def test_binding_adds_conditions_and_updates():
    extra = [waits("a friend", fed(kitty)), becomes(knows, EACH, EACH, to=TRUE)]
    made = feed.bind({}, extra=extra)
    assert made.name == "feed"
    assert [k.name for k in made.conditions] == ["NotPermitted", "company", "a friend"]
    assert made.new(knows, tom, kitty) is TRUE
    assert set(feed.updates) == {fed, bowl}


def test_binding_an_unknown_parameter_is_refused():
    with pytest.raises(LanguageError, match=r"feed has no parameter \['dog'\]"):
        feed.bind({"dog": tom})


def test_binding_to_a_value_of_another_sort_is_refused():
    with pytest.raises(LanguageError):
        feed.bind({"c": fish})


def test_binding_to_another_parameter_is_simultaneous():
    @action("software", a=Cat, b=Cat)
    def meet(a, b):
        """They meet."""
        yield becomes(knows, a, b, to=TRUE)

    a, b = meet.parameters
    assert meet.bind({"a": b, "b": a}).new(knows, tom, kitty) is (conj(tom.same(b), kitty.same(a)) | knows(tom, kitty))


# ------------------------------------------------------------------ weakened actions


def test_dropping_a_condition_drops_all_of_that_name():
    assert [k.name for k in without_condition(feed, "NotPermitted").conditions] == ["company"]
    assert len(feed.conditions) == 2


def test_dropping_an_update_keeps_the_old_value():
    assert without_update(feed, fed).new(fed, tom) is fed(tom)


def test_replacing_a_condition_keeps_its_place():
    made = with_condition(feed, "NotPermitted", faults("ReadOnly", fed(c)))
    assert [k.name for k in made.conditions] == ["ReadOnly", "company"]


@pytest.mark.parametrize(
    "weaken",
    [
        lambda: without_condition(feed, "trivial"),
        lambda: without_update(feed, knows),
        lambda: with_condition(feed, "no such", waits("x", TRUE)),
    ],
)
def test_weakening_what_is_not_there_is_an_error(weaken):
    with pytest.raises(LanguageError):
        weaken()


def test_an_update_of_the_wrong_number_of_arguments_is_an_error():
    with pytest.raises(ValueError):
        Update(knows, TRUE).at(tom)
