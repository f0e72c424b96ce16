"""The readers agree: any state, any step, any claim; and a bug that is planted in one of them is caught."""

import random
from dataclasses import replace

import pytest

from shmem_model.language import conj, terms, without_condition
from shmem_model.machine import MACHINE, PROFILES
from shmem_model.readers.bits import Bits
from shmem_model.readers.concrete import Concrete
from shmem_model.readers.effects import Effect
from shmem_model.readers.explorer import explore
from shmem_model.readers.setting import Setting
from shmem_proofs.agreement import READERS, Explored, Quickly, compare, open_scope, random_state
from shmem_proofs.agreement_solvers import Expanded, Finite
from shmem_proofs.bounded import Run, first_violation
from shmem_proofs.finite_reader import FiniteReader
from shmem_proofs.induction import Prover
from shmem_proofs.symbolic import Universe
from tests.proofs import toys
from tests.readers.small_scopes import toy

WORLDS = {
    "small": Setting(),
    "counting": Setting(tokens=2, epochs=2, profile=PROFILES["pcie"], cached=(0,)),
    "masked": Setting(values=3, receivers=(1, 0), profile=PROFILES["soc"], rights={(1, 0): "r"}),
    "engine": Setting(agents=3, engines=1, words=2, teams=((0, 1), (1,))),
    "lines": Setting(words=2, regions=2, blocks=2, frames=2),
}


@pytest.mark.parametrize("name", WORLDS)
def test_all_readers_agree_on_states_steps_and_claims(name):
    found = compare(WORLDS[name].scope(name), 80)
    assert found.differences == [], str(found)
    assert found.pairs == 80
    assert sum(found.taken.values()) > 25
    assert min(found.claims.values()) > 25


@pytest.mark.slow
def test_all_readers_agree_on_ten_thousand_pairs():
    """The figure that a release of the machine is measured by; every action is taken."""
    found = [compare(world.scope(name), 2020, seed=7) for name, world in WORLDS.items()]
    for seed in range(8, 20):  # rare steps (free, scrub) may need some more states
        if not _untaken(found):
            break
        found += [compare(world.scope(name), 500, seed=seed) for name, world in WORLDS.items()]
    assert [str(each) for each in found if each.differences] == []
    assert sum(each.pairs for each in found) >= 10_000
    assert _untaken(found) == set()


def _untaken(found):
    return set(MACHINE.actions) - {name for each in found for name in each.taken}


def test_all_readers_agree_on_the_toys():
    """Sorts of three elements, updates that swap, places that depend on the state."""
    for scope in (toy(), toys.lock_scope(), toys.lock_scope(toys.NO_WAITING, colours=3)):
        found = compare(scope, 100)
        assert found.differences == [], str(found)


def test_random_states_reach_what_the_machine_does_not():
    """Whoever reads only reachable states is not asked about the others."""
    scope, rng = WORLDS["small"].scope("small"), random.Random(1)
    concrete = Concrete(scope)
    states = [random_state(scope, rng) for _ in range(20)]
    assert len({tuple(state.values()) for state in states}) == 20
    assert [s for s in states if not all(concrete.holds(claim, s) for claim in MACHINE.invariants)]


def test_nothing_is_constant_in_an_open_scope():
    made = Explored(WORLDS["small"].scope("small"))
    cells = sum(len(values) for values in Concrete(WORLDS["small"].scope("small")).initial().values())
    assert made.packed.width == cells
    assert set(open_scope(WORLDS["small"].scope("small")).machine.actions) > set(MACHINE.actions)


# ------------------------------------------------------------------ planted bugs, one reader each


def caught(readers=READERS, pairs=300):
    """Who differs from the oracle."""
    return {each.reader for each in compare(WORLDS["small"].scope("small"), pairs, readers=readers).differences}


def test_nobody_is_caught_without_a_planted_bug():
    assert caught() == set()


def test_a_concrete_reader_that_takes_every_for_some_is_caught(monkeypatch):
    """The oracle itself: everybody else differs from it."""
    honest = Concrete._make_quantifier
    monkeypatch.setattr(Concrete, "_make_quantifier", lambda self, term: honest(self, terms.Exists(*term.fields)))
    assert caught() == {"quick", "explorer", "symbolic", "bounded"}


def test_an_explorer_that_mixes_up_branches_is_caught(monkeypatch):
    honest = Bits.ite
    monkeypatch.setattr(Bits, "ite", lambda self, c, then, otherwise: honest(self, c, otherwise, then))
    assert caught((Explored,), 100) == {"explorer"}


def test_an_explorer_that_forgets_a_place_where_an_update_acts_is_caught(monkeypatch):
    """It looks at fewer cells than the update can change; the quick reader looks through the same eyes."""
    honest = Effect.values
    monkeypatch.setattr(Effect, "values", lambda self: list(honest(self))[:1])
    assert caught() == {"quick", "explorer"}


def test_a_quick_reader_that_reads_what_it_has_just_written_is_caught(monkeypatch):
    """Updates must all read the state before the step."""

    def step(self, call):
        if not self.quick.answer(*call).done:
            return None
        runner = self.quick._runner(call[0])
        runner._put(call[1])
        for effect in runner.effects:
            for index, value in list(effect.values()):
                self.quick._partial.cells[effect.function][index] = value
        after = self.quick.state
        self.quick.restore(self.state)
        return after

    monkeypatch.setattr(Quickly, "step", step)
    assert caught((Quickly,)) == {"quick"}


def test_a_symbolic_reader_that_drops_a_conjunct_is_caught(monkeypatch):
    """What `and` between solver terms does, silently."""
    honest = Universe.term

    def broken(self, term, env, now, then=None):
        if isinstance(term, terms.And):
            term = conj(*term.fields[:-1])
        return honest(self, term, env, now, then)

    monkeypatch.setattr(Universe, "term", broken)
    assert caught((Expanded,)) == {"symbolic"}


def test_a_symbolic_reader_that_reads_after_as_before_is_caught(monkeypatch):
    honest = Universe.term

    def broken(self, term, env, now, then=None):
        return honest(self, term, env, now, now if then is not None else None)

    monkeypatch.setattr(Universe, "term", broken)
    assert caught((Expanded,)) == {"symbolic"}


def test_a_symbolic_reader_that_mixes_up_claim_and_action_is_caught(monkeypatch):
    """One environment for both: a claim about any agent is read of the acting one."""
    honest = Prover._goal
    monkeypatch.setattr(
        Prover, "_goal", lambda self, claim, env, action, step: honest(self, claim, {**env, **step}, action, step)
    )
    lamps = toys.Scope("lamps", toys.LAMPS, {toys.Agent: 3}, {})
    assert {each.reader for each in compare(lamps, 50).differences} == {"symbolic"}


def test_a_bounded_reader_that_forgets_a_guard_is_caught(monkeypatch):
    honest = FiniteReader.conj
    monkeypatch.setattr(FiniteReader, "conj", lambda self, values: honest(self, list(values)[:-1]))
    assert caught((Finite,)) == {"bounded"}


def test_a_bounded_reader_that_captures_a_variable_is_caught(monkeypatch):
    """Inner quantifiers of one number would see the outer one's element."""
    honest = FiniteReader._instances

    def broken(self, term, env, now, then):
        variable, body = term.fields
        outer = next((v for v in env if isinstance(v, terms.Bound) and v.sort is variable.sort), None)
        if outer is not None:
            return [self.value(body, {**env, variable: env[outer]}, now, then)]
        return honest(self, term, env, now, then)

    monkeypatch.setattr(FiniteReader, "_instances", broken)
    found = compare(WORLDS["engine"].scope("engine"), 200, readers=(Finite,))
    assert {each.reader for each in found.differences} == {"bounded"}


# ------------------------------------------------------------------ the first violation

SENDING = Setting(receivers=(1, 0), teams=((0,),))
TRANSLATED = Setting(translated=True)
WEAKENED = {  # which condition is dropped, where, and at which step the first invariant breaks
    ("fill", "translated"): (SENDING, 5),
    ("fill", "not cached yet"): (TRANSLATED, 3),
    ("fill", "own posted words have drained"): (TRANSLATED, 4),
    ("evict", "in order"): (TRANSLATED, 5),
    ("write", "line is present"): (SENDING, 2),
    ("fence", "own posted words have drained"): (SENDING, 5),
    ("map", "StaleHandle"): (SENDING, 4),
    ("send", "a new token, or the sticky one"): (SENDING, 2),
    ("wait", "a notification"): (SENDING, 2),
    ("poll", "the answer is true"): (SENDING, 2),
    ("arrive", "NotPermitted"): (SENDING, 1),
    ("leave", "all have arrived"): (TRANSLATED, 2),
    ("copy_wait", "own engine"): (TRANSLATED, 3),
    ("free", "RegionBusy"): (TRANSLATED, 1),
    ("scrub", "in quarantine"): (TRANSLATED, 3),
    ("scrub", "quiet"): (TRANSLATED, 4),
    ("freeze", "a live line"): (SENDING, 4),
    ("lose", "dead"): (TRANSLATED, 3),
    ("reclaim", "nothing is left"): (TRANSLATED, 4),
}


def every_invariant(machine):
    """All invariants as one claim."""
    body = conj(*(claim.closed for claim in machine.invariants))
    return replace(machine.invariants[0], name="every_invariant", variables=(), body=body)


@pytest.mark.parametrize(("name", "condition"), WEAKENED)
def test_explorer_and_bounded_search_first_break_a_weakened_machine_at_one_step(name, condition):
    setting, steps = WEAKENED[name, condition]
    weak = MACHINE.changed(without_condition(MACHINE.actions[name], condition))
    scope, claim = setting.scope(f"weak {name}", weak), every_invariant(weak)
    explored = explore(scope, properties=[claim]).findings[claim.name]
    run = first_violation(scope, claim, steps)
    assert isinstance(run, Run)
    assert len(run) == explored.depth == len(explored.trace) == steps


@pytest.mark.parametrize("setting", [SENDING, TRANSLATED])
def test_explorer_and_bounded_search_find_nothing_in_the_machine_itself(setting):
    claim = every_invariant(MACHINE)
    assert first_violation(setting.scope("whole"), claim, 4) is None
