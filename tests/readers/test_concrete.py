"""The concrete reader: it says what the text says, and the quick form and the packed form say the same."""

import random
from dataclasses import replace

import pytest

from shmem_model.language import FALSE, TRUE, LanguageError, Parameter, Property, after, becomes
from shmem_model.language import terms as t
from shmem_model.language.actions import Update
from shmem_model.machine import MACHINE, PROFILES
from shmem_model.machine import vocabulary as m
from shmem_model.readers.concrete import Answer, Concrete
from shmem_model.readers.ground import ground
from shmem_model.readers.packed import Packed
from shmem_model.readers.quick import Quick
from shmem_model.readers.setting import Setting
from tests.readers.plain_search import Search
from tests.readers.small_scopes import SMALL, colour, marked, ready, toy

EVERYTHING = Setting(
    agents=3,
    engines=1,
    regions=2,
    blocks=2,
    frames=2,
    tokens=2,
    epochs=2,
    values=3,
    receivers=(1, 0),
)
WORLDS = {
    **{name: EVERYTHING.but(profile=profile) for name, profile in PROFILES.items()},
    "words": Setting(agents=2, blocks=2, frames=3, words=2, lines=(0, 0), tokens=2, translated=True),
}


def walk(scope, seed, length):
    """States of a random run, each with the calls that are enabled in it."""
    concrete, rng = Concrete(scope), random.Random(seed)
    state = concrete.initial()
    for _ in range(length):
        enabled = concrete.enabled(state)
        yield concrete, state, enabled
        if not enabled:
            return
        state = concrete.step(state, *rng.choice(enabled))


def disagreement(scope, seed=1, length=15):
    """The first call on which the three forms of a scope differ on a random run, None if there is none."""
    quick, packed = Quick(scope), Packed(ground(scope))
    by_call = {(a.source.action.name, a.source.arguments): a for a in packed.actions}
    first = Concrete(scope).initial()
    for concrete, state, enabled in walk(scope, seed, length):
        here = packed.pack(state)
        assert packed.unpack(here, first) == state
        quick.restore(state)
        mine = [call for call, action in by_call.items() if packed.holds(action.guard, here)]
        for other in (quick.enabled(), mine):
            if sorted(other) != sorted(enabled):
                return min(set(other) ^ set(enabled))
        for call in enabled:
            new = concrete.step(state, *call)
            quick.restore(state)
            returned = quick.step(*call)
            if returned != concrete.returns(state, *call) or quick.state != new:
                return call
            if packed.step(by_call[call], here) != packed.pack(new):
                return call
    return None


@pytest.mark.parametrize("name", WORLDS)
def test_concrete_and_quick_and_packed_agree_on_every_call_of_a_run(name):
    assert disagreement(WORLDS[name].scope(name)) is None


def test_the_agreement_covers_more_than_ten_thousand_pairs_of_state_and_call():
    pairs = 0
    for name, setting in WORLDS.items():
        concrete = Concrete(setting.scope(name))
        pairs += 15 * sum(1 for _ in concrete.calls())  # enabled or not: the sets of enabled calls are compared
    assert pairs > 10_000


def test_a_bug_that_is_planted_in_the_effects_is_found(monkeypatch):
    from shmem_model.readers import effects

    monkeypatch.setattr(effects, "change", lambda body, old: FALSE if isinstance(body, t.Or) else TRUE)
    assert disagreement(WORLDS["weakest"].scope("weakest")) is not None


def test_a_bug_that_is_planted_in_the_graph_of_bits_is_found(monkeypatch):
    from shmem_model.readers.bits import Bits

    monkeypatch.setattr(Bits, "_propagate", lambda self, found: self._make(found - {max(found)}))
    assert disagreement(WORLDS["weakest"].scope("weakest")) is not None


def test_a_bug_that_is_planted_in_the_quick_reader_is_found(monkeypatch):
    from shmem_model.readers.quick import _Runner

    genuine = _Runner.enabled
    monkeypatch.setattr(_Runner, "enabled", lambda self: genuine(self)[1:])
    assert disagreement(WORLDS["weakest"].scope("weakest")) is not None


def test_a_bug_that_is_planted_in_the_concrete_reader_is_found(monkeypatch):
    genuine = Concrete._table

    def forgetful(self, function, body, run):
        table = genuine(self, function, body, run)
        return (*table[:-1], run.state[function][-1]) if function in run.state else table

    monkeypatch.setattr(Concrete, "_table", forgetful)
    assert disagreement(WORLDS["words"].scope("words")) is not None


@pytest.mark.parametrize("name", [*SMALL, "toy"])
def test_a_second_concrete_reader_takes_the_same_steps(name):
    scope = SMALL[name]() if name in SMALL else toy()
    other = Search(scope)
    for concrete, state, enabled in walk(scope, 3, 12):
        flat = {(f, p): v for f, values in state.items() for p, v in zip(scope.places(f), values, strict=True)}
        steps = {(a, arguments): new for a, arguments, new in other.steps(flat)}
        assert sorted(steps) == sorted(enabled)
        for call, new in steps.items():
            mine = concrete.step(state, *call)
            assert {(f, p): mine[f][i] for f in mine for i, p in enumerate(scope.places(f))} == new


def test_the_first_condition_that_fails_is_the_answer():
    scope = Setting(rights={(1, 0): "r"}).scope("answers")
    concrete, quick = Concrete(scope), Quick(scope)
    state = concrete.initial()
    host, dev = 0, 1
    assert concrete.answer(state, "write", (dev, 0, 0, 0, 0, 1)) == Answer("faults", "ReadOnly")
    assert concrete.answer(state, "write", (host, 0, 0, 0, 0, 1)) == Answer("waits", "translated")
    assert concrete.answer(state, "free", (dev, 0, 0, 0)) == Answer("refused", "NotPermitted")
    assert concrete.answer(state, "free", (host, 0, 0, 0)) == Answer("refused", "RegionBusy")
    assert concrete.answer(state, "fence", (host,)).done
    for call in concrete.calls():
        assert quick.answer(*call) == concrete.answer(state, *call)


def test_a_step_that_is_not_enabled_is_an_error():
    scope = Setting().scope("refused")
    concrete = Concrete(scope)
    with pytest.raises(LanguageError, match=r"unfreeze\(0,\) cannot be taken here: waits frozen"):
        concrete.step(concrete.initial(), "unfreeze", (0,))
    with pytest.raises(LanguageError, match="cannot be taken here"):
        Quick(scope).step("unfreeze", (0,))


def test_unknown_actions_are_errors():
    scope = Setting(actions=("fence",)).scope("little")
    for ask in (Concrete(scope).answer, lambda state, *call: Quick(scope).answer(*call)):
        with pytest.raises(LanguageError, match="no action write"):
            ask(Concrete(scope).initial(), "write", ())


def test_updates_read_the_state_before_the_step():
    scope = toy(cells=2, colours=2, start={colour: {(0,): 1}, ready: 1})
    concrete = Concrete(scope)
    state = concrete.step(concrete.initial(), "swap", (0,))
    assert state[colour] == (0, 1)


def test_claims_of_steps_know_arguments_answers_and_what_was_before():
    scope = toy(cells=2, colours=2, start={ready: 1})
    concrete = Concrete(scope)
    before = concrete.initial()
    now = concrete.step(before, "rest", ())
    turned = Property("turned", "Readiness turns.", (), after(ready()).same(~ready()), "step", ("rest",))
    still = replace(turned, body=after(ready()).same(ready()))
    assert concrete.holds_step(turned, before, "rest", (), now)
    assert not concrete.holds_step(still, before, "rest", (), now)
    assert concrete.holds_step(still, before, "swap", (0,), now)  # says nothing about swap


def test_the_answer_of_a_read_is_known_to_claims_of_steps():
    scope = Setting(translated=True, cached=()).scope("reads")
    concrete = Concrete(scope)
    state = concrete.step(concrete.initial(), "write", (0, 0, 0, 0, 0, 1))
    answer, word, line = Parameter("answer", m.Value), Parameter("w", m.Word), Parameter("b", m.Block)
    latest = Property("latest", "Reads are latest.", (), answer.same(m.last(line, word)), "step", ("read",))
    for agent, fresh in ((0, True), (1, False)):
        call = ("read", (agent, 0, 0, 0, 0))
        assert concrete.returns(state, *call) == int(fresh)
        assert concrete.holds_step(latest, state, *call, concrete.step(state, *call)) is fresh


STEPS = [claim for claim in MACHINE.properties if claim.kind == "step"]
BROKEN = [replace(claim, body=~claim.body) for claim in STEPS]


@pytest.mark.parametrize("claim", [*STEPS, *BROKEN], ids=lambda claim: claim.name)
def test_claims_of_steps_mean_the_same_to_both_readers(claim):
    scope = WORLDS["weakest"].but(translated=True).scope("steps")
    packed = Packed(ground(scope))
    against = {(a.source.action.name, a.source.arguments): node for a, node in packed.steps_against(claim)}
    for concrete, state, enabled in walk(scope, 5, 8):
        here = packed.pack(state)
        for call in enabled:
            broken = packed.holds(against.get(call, 0), here)
            assert concrete.holds_step(claim, state, *call, concrete.step(state, *call)) is not broken, call


def test_culprits_name_the_elements_that_break_a_claim():
    scope = toy(cells=3)
    concrete = Concrete(scope)
    variable = Parameter("c", marked.arguments[0])
    claim = Property("all_marked", "All are marked.", (variable,), marked(variable))
    assert not concrete.holds(claim, concrete.initial())
    assert [found["c"] for found in concrete.culprits(claim, concrete.initial())] == ["Cell0", "Cell1", "Cell2"]


def test_unknown_nodes_are_errors():
    class Odd(t.Term):
        __slots__ = ()

    concrete = Concrete(toy())
    with pytest.raises(LanguageError, match="Odd"):
        concrete.value(concrete.initial(), Odd(ready()))
    with pytest.raises(LanguageError, match="after"):
        concrete.value(concrete.initial(), after(ready()))


def test_a_mutant_steps_otherwise():
    genuine = MACHINE.actions["fence"]
    told = becomes(m.dead, Parameter("a", m.Agent), to=TRUE)
    assert isinstance(told, Update)
    mutant = MACHINE.changed(replace(genuine, updates={**genuine.updates, m.dead: told}))
    concrete = Concrete(Setting().scope("mutant", mutant))
    assert concrete.step(concrete.initial(), "fence", (0,))[m.dead] == (1, 0)
