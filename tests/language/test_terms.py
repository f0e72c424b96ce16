"""Terms: typed, immutable, interned; no truth value, no capture."""

import copy
import pickle

import pytest

from shmem_model.language import (
    BOOL,
    FALSE,
    TRUE,
    Element,
    Function,
    LanguageError,
    Parameter,
    Sort,
    after,
    conj,
    disj,
    exists,
    forall,
    ite,
    replace,
)
from shmem_model.language.terms import And, Apply, Bound, Exists, Forall, close, functions_of, walk
from shmem_model.language.text import show

Cat, Dog = Sort("Cat"), Sort("Dog")
likes = Function("likes", (Cat, Cat), BOOL, "software", "the first likes the second")
hungry = Function("hungry", (Cat,), BOOL, "software", "is hungry")
chased = Function("chased", (Dog,), Cat, "hardware", "whom the dog chases")
tom, kitty = Parameter("tom", Cat), Parameter("kitty", Cat)
rex = Parameter("rex", Dog)


# ------------------------------------------------------------------ no truth value, identity


@pytest.mark.parametrize(
    "use",
    [
        lambda x: bool(x),
        lambda x: not x,
        lambda x: x and TRUE,
        lambda x: x or TRUE,
        lambda x: 1 if x else 0,
        lambda x: [y for y in [1] if x],
        lambda x: any([x]),
        lambda x: hungry(tom) < hungry(kitty) < x,
    ],
)
def test_a_term_has_no_truth_value(use):
    with pytest.raises(TypeError):
        use(hungry(tom))


def test_a_term_has_no_truth_value_even_where_it_is_a_constant():
    for constant in (TRUE, FALSE):
        with pytest.raises(LanguageError, match="no truth value"):
            bool(constant)


def test_equality_is_identity_and_never_a_term():
    assert (tom == kitty) is False
    assert (tom == Parameter("tom", Cat)) is True
    assert isinstance(tom.same(kitty), type(kitty.same(tom)))
    assert tom.same(kitty) != kitty.same(tom)


def test_equal_terms_are_one_object():
    assert hungry(tom) is hungry(tom)
    assert (hungry(tom) & hungry(kitty)) is (hungry(tom) & hungry(kitty))
    assert forall(Cat, lambda c: hungry(c)) is forall(Cat, lambda c: hungry(c))
    assert Sort("Cat") is Cat
    assert Function("hungry", (Cat,), BOOL, "software", "is hungry") is hungry


def test_truth_and_numbers_do_not_intern_to_one():
    """`True == 1` in Python; fields that are equal but of another type must not make one term."""
    assert Element("x", Cat, 1) is not TRUE
    assert Element("1", Cat, 1) is not Element("1", Cat, 0)


@pytest.mark.parametrize("term", [tom, TRUE, hungry(tom), forall(Cat, Dog, lambda c, d: likes(c, chased(d)))])
def test_terms_survive_pickling_and_copying_as_the_same_object(term):
    assert pickle.loads(pickle.dumps(term)) is term
    assert copy.deepcopy(term) is term


def test_terms_take_no_new_attributes():
    with pytest.raises(AttributeError):
        tom.colour = "black"


# ------------------------------------------------------------------ sorts are checked


@pytest.mark.parametrize(
    "build",
    [
        lambda: hungry(rex),
        lambda: hungry(),
        lambda: hungry(tom, tom),
        lambda: hungry("tom"),
        lambda: tom & hungry(tom),
        lambda: hungry(tom) & tom,
        lambda: hungry(tom) | True,
        lambda: ~tom,
        lambda: tom.implies(hungry(tom)),
        lambda: hungry(tom).implies(kitty),
        lambda: tom.same(rex),
        lambda: tom.same("tom"),
        lambda: ite(tom, tom, kitty),
        lambda: ite(hungry(tom), tom, rex),
        lambda: forall(Cat, lambda c: c),
        lambda: Function("f", (), BOOL, "magic", "of no layer"),
    ],
)
def test_what_does_not_fit_together_is_refused_when_it_is_built(build):
    with pytest.raises(LanguageError):
        build()


def test_an_error_says_what_was_given():
    with pytest.raises(LanguageError, match=r"hungry takes \[Cat\], got \[Dog\]"):
        hungry(rex)


def test_a_quantifier_needs_as_many_sorts_as_names():
    with pytest.raises(ValueError):
        forall(Cat, lambda c, d: hungry(c))


# ------------------------------------------------------------------ folding


def test_constants_fold_away():
    x = hungry(tom)
    assert conj(x, TRUE) is x
    assert conj(x, FALSE) is FALSE
    assert disj(x, TRUE) is TRUE
    assert disj(x, FALSE) is x
    assert conj() is TRUE
    assert disj() is FALSE
    assert (TRUE & x) is x
    assert ~TRUE is FALSE
    assert x.implies(TRUE) is TRUE
    assert TRUE.implies(x) is x
    assert FALSE.implies(x) is TRUE
    assert tom.same(tom) is TRUE
    assert tom.differs(tom) is FALSE
    assert ite(TRUE, tom, kitty) is tom
    assert ite(x, tom, tom) is tom


def test_conjunctions_are_flat_and_lose_no_part():
    a, b, c, d = (hungry(Parameter(name, Cat)) for name in "abcd")
    whole = (a & b) & (c & d)
    assert isinstance(whole, And)
    assert whole.fields == (a, b, c, d)
    assert conj(a, a, b).fields == (a, b)
    assert ((a | b) | (c | d)).fields == (a, b, c, d)


# ------------------------------------------------------------------ binders


def test_formulas_that_differ_in_names_of_variables_only_are_told_apart_by_name_alone():
    """The number of a bound variable says where it belongs; its name is for people."""
    one, other = forall(Cat, lambda c: hungry(c)), forall(Cat, lambda x: hungry(x))
    assert one.variable.fields[1:] == other.variable.fields[1:]
    assert one.variable.name == "c"


def test_nested_quantifiers_bind_their_own_variables():
    term = forall(Cat, lambda c: exists(Cat, lambda d: likes(c, d) & forall(Cat, lambda c: likes(d, c))))
    assert show(term) == "every c: some d: likes(c, d) and (every c: likes(d, c))"
    outer, inner = term.variable, term.body.variable
    assert outer is not inner
    applied = term.body.body.fields[0]
    assert applied.parts == (outer, inner)


def test_a_quantifier_of_one_name_inside_itself_does_not_capture():
    term = forall(Cat, lambda c: likes(c, c) & exists(Cat, lambda c: hungry(c)))
    assert term.body.fields[0].parts == (term.variable, term.variable)
    assert term.body.fields[1].variable is not term.variable


def test_replacing_does_not_capture():
    """The planted case: what is put in has a binder of the very number of the one that it comes under."""
    flag = Parameter("flag", BOOL)
    inner = exists(Cat, lambda d: likes(tom, d))
    outer = forall(Cat, lambda c: hungry(c) & flag)
    assert inner.variable.fields[2] == outer.variable.fields[2]
    made = replace(outer, {flag: inner})
    assert made is forall(Cat, lambda c: hungry(c) & exists(Cat, lambda d: likes(tom, d)))
    assert made.variable is not made.body.fields[1].variable
    again = replace(made, {tom: Parameter("c", Cat)})
    assert again.body.fields[1].body.parts[0] is Parameter("c", Cat)


def test_replacing_a_variable_by_a_free_bound_variable_does_not_capture():
    """Nobody does this today: whoever opens a binder puts a parameter in the place of its variable first."""
    body = exists(Cat, lambda d: likes(tom, d))
    assert replace(body, {tom: body.variable}) is not exists(Cat, lambda d: likes(d, d))


@pytest.mark.parametrize(
    "build", [lambda: ite(tom, kitty, kitty), lambda: exists(Cat, lambda c: True), lambda: tom.implies(TRUE)]
)
def test_what_folds_away_is_checked_as_well(build):
    with pytest.raises(LanguageError):
        build()


def test_replacing_puts_formulas_with_quantifiers_under_quantifiers():
    sees = Function("sees", (Cat, BOOL), BOOL, "software", "sees that it is so")
    holds = Parameter("holds", BOOL)
    text = forall(Cat, lambda c: sees(c, holds))
    inner = exists(Cat, lambda d: likes(d, tom))
    made = replace(text, {holds: inner})
    assert made is forall(Cat, lambda c: sees(c, exists(Cat, lambda d: likes(d, tom))))
    assert made.height == 2


def test_replacing_leaves_bound_variables_alone():
    body = exists(Cat, lambda d: hungry(d))
    assert replace(body, {tom: kitty}) is body


def test_replacing_is_simultaneous():
    assert replace(likes(tom, kitty), {tom: kitty, kitty: tom}) is likes(kitty, tom)


def test_closing_binds_all_variables_the_first_outermost():
    term = close(Forall, (tom, kitty), likes(tom, kitty))
    assert term is forall(Cat, Cat, lambda tom, kitty: likes(tom, kitty))
    assert close(Exists, (), hungry(tom)) is hungry(tom)
    assert not [node for node in walk(term) if isinstance(node, Parameter)]


def test_closing_a_body_with_quantifiers_does_not_capture():
    term = close(Forall, (tom,), exists(Cat, lambda d: likes(tom, d)))
    assert term is forall(Cat, lambda tom: exists(Cat, lambda d: likes(tom, d)))


def test_an_error_inside_a_quantifier_leaves_no_trace():
    def fail(c):
        raise RuntimeError("inside")

    before = forall(Cat, lambda c: hungry(c))
    with pytest.raises(RuntimeError):
        forall(Cat, fail)
    assert forall(Cat, lambda c: hungry(c)) is before


# ------------------------------------------------------------------ looking at terms


def test_walking_visits_every_subterm_once():
    term = hungry(tom) & likes(tom, chased(rex)) & hungry(tom).implies(hungry(chased(rex)))
    nodes = list(walk(term))
    assert len(nodes) == len(set(nodes))
    assert {tom, rex, chased(rex), hungry(tom)} <= set(nodes)
    assert nodes[0] is term
    assert functions_of(term) == {hungry, likes, chased}


def test_terms_know_their_sorts():
    assert hungry(tom).sort is BOOL
    assert chased(rex).sort is Cat
    assert ite(hungry(tom), tom, kitty).sort is Cat
    assert after(chased(rex)).sort is Cat
    assert isinstance(chased(rex), Apply)
    assert all(isinstance(v, Bound) for v in [forall(Cat, lambda c: hungry(c)).variable])


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (hungry(tom) & ~hungry(kitty), "hungry(tom) and not hungry(kitty)"),
        ((hungry(tom) | hungry(kitty)) & TRUE, "hungry(tom) or hungry(kitty)"),
        (~(hungry(tom) & hungry(kitty)), "not (hungry(tom) and hungry(kitty))"),
        (tom.differs(kitty), "tom != kitty"),
        (hungry(tom).implies(tom.same(kitty)), "hungry(tom) -> tom = kitty"),
        (ite(hungry(tom), tom, kitty).same(tom), "(if hungry(tom) then tom else kitty) = tom"),
        (after(hungry(tom)), "after(hungry(tom))"),
    ],
)
def test_terms_are_shown_as_text(term, text):
    assert show(term) == str(term) == text
