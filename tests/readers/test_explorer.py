"""The explorer: three engines that count alike, shortest and repeatable counterexamples, honest verdicts."""

from dataclasses import replace

import pytest

from shmem_model import scopes
from shmem_model.language import LanguageError, Parameter, Property, after, exists, forall, invariant, state, step
from shmem_model.machine import MACHINE
from shmem_model.machine import vocabulary as m
from shmem_model.machine.vocabulary import Agent, Block, Frame, Word
from shmem_model.readers import explorer
from shmem_model.readers.concrete import Concrete
from shmem_model.readers.explorer import FAILS, HOLDS, REACHED, UNKNOWN, UNREACHABLE, explore
from shmem_model.readers.ground import ground
from shmem_model.readers.setting import Setting
from tests.readers.explorer_machines import Lamp, before, lamps, lit
from tests.readers.plain_search import Search
from tests.readers.small_scopes import BROKEN_TOY, SMALL, marked, neighbours_differ, ready, toy

ENGINES = ("python", "numpy", "compiled")
CACHES = scopes.SCOPES["caches"].scope
WIDE = "compaction-two-lines"


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    """Compiled code goes to a folder of its own, shared by the tests of this file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(params=ENGINES)
def engine(request):
    """Each engine in turn; the compiled one only where numba is installed."""
    if request.param == "compiled":
        pytest.importorskip("numba", reason="the compiled engine needs the extra `fast`")
    return request.param


@invariant(a=Agent, f=Frame, w=Word)
def never_dirty_and_posted(a, f, w):
    """A word is not dirty while it is posted (it can be)."""
    return ~(m.dirty(a, f, w) & m.posted(a, f, w))


@state()
def custody_broken():
    """Some rule of custody was broken."""
    return ~m.intact()


@step("read")
def reads_are_latest():
    """Every read returns the last write (not without care)."""
    return Parameter("answer", m.Value).same(m.last(Parameter("b", Block), Parameter("w", Word)))


def figures(found):
    """What all engines must agree on."""
    return found.states, found.transitions, found.depth, found.per_action


@pytest.mark.parametrize("which", ["python", "numpy"])
@pytest.mark.parametrize("name", [*SMALL, "toy"])
def test_engines_count_what_the_naive_search_counts(name, which):
    scope = SMALL[name]() if name in SMALL else toy()
    naive, found = Search(scope).run(), explore(scope, engine=which)
    assert (found.states, found.transitions) == (naive.states, naive.rules)
    assert {a: n for a, n in found.per_action.items() if n} == dict(naive.fired)
    assert found.complete


@pytest.mark.parametrize("name", ["caches", "copies-two-engines", WIDE])
def test_every_engine_counts_what_is_pinned(name, engine):
    assert scopes.counts(explore(scopes.named(name).scope(), engine=engine)) == scopes.pinned()[name]


def test_a_scope_wider_than_a_word_has_many_states():
    assert ground(scopes.named(WIDE).scope()).width > 64
    assert scopes.pinned()[WIDE]["states"] > 10_000


@pytest.mark.parametrize(
    ("which", "width"),
    [("python", 129), ("numpy", 63), ("numpy", 64), ("numpy", 129), ("compiled", 63), ("compiled", 64)],
)
def test_words_full_to_the_brim_count_alike(which, width):
    if which == "compiled":
        pytest.importorskip("numba", reason="the compiled engine needs the extra `fast`")
    found = explore(lamps(width, "light", "black_out"), engine=which)
    assert found.packed.width == width
    assert (found.states, found.transitions, found.depth) == (width + 1, width + 1, width)


@pytest.mark.parametrize("name", ["toy", "caches"])
def test_the_shortest_counterexample_is_the_same_in_every_engine_and_run(name, engine):
    marks = {marked: 1, ready: 1}
    scope, claim = {
        "toy": (toy(machine=BROKEN_TOY, start=marks), neighbours_differ),
        "caches": (CACHES(), never_dirty_and_posted),
    }[name]
    runs = [explore(scope, properties=[claim], engine=which) for which in (engine, engine, "python")]
    traces = [found.findings[claim.name].trace for found in runs]
    assert traces[0] == traces[1] == traces[2]
    assert len(traces[0]) > 0


def test_a_counterexample_replays_in_the_concrete_reader(engine):
    scope = CACHES()
    finding = explore(scope, properties=[never_dirty_and_posted], engine=engine).findings["never_dirty_and_posted"]
    concrete = Concrete(scope)
    here = concrete.initial()
    for i, taken in enumerate(finding.trace.steps):
        assert concrete.holds(never_dirty_and_posted, here), f"broken before step {i}"
        here = concrete.step(here, taken.action, tuple(taken.arguments.values()))
    assert not concrete.holds(never_dirty_and_posted, here)


def test_no_shorter_run_breaks_the_claim():
    scope = CACHES()
    finding = explore(scope, properties=[never_dirty_and_posted]).findings["never_dirty_and_posted"]
    concrete, level = Concrete(scope), [Concrete(scope).initial()]
    for _ in range(finding.depth):
        assert all(concrete.holds(never_dirty_and_posted, here) for here in level)
        new = {
            tuple(n.values()): n for here in level for c in concrete.enabled(here) for n in [concrete.step(here, *c)]
        }
        level = list(new.values())
    assert not all(concrete.holds(never_dirty_and_posted, here) for here in level)


def test_a_step_shows_its_arguments_its_answer_and_what_it_changed():
    found = explore(Setting(translated=True, cached=()).scope("direct"), properties=[reads_are_latest])
    trace = found.findings["reads_are_latest"].trace
    assert [taken.action for taken in trace.steps] == ["write", "read"]
    write, read = trace.steps
    assert write.shown == {"a": "host", "r": "Region0", "b": "Block0", "f": "Frame0", "w": "Word0", "v": "Value1"}
    assert write.changes["posted(host, Frame0, Word0)"] == ("no", "yes")
    assert (read.shown["a"], read.answer) == ("dev0", "Value0")
    assert str(read).startswith("read(a=dev0")
    assert trace.as_json()[0]["action"] == "write"


def test_a_claim_of_steps_fails_at_the_step(engine):
    scope = lamps(4)
    turned = Property("stays", "No lamp goes out.", (Parameter("z", Lamp),), stays(), "step", ())
    finding = explore(scope, properties=[turned], engine=engine).findings["stays"]
    assert (finding.verdict, finding.depth, len(finding.trace)) == (FAILS, 1, 2)
    assert finding.trace.steps[-1].action == "put_out"
    only = replace(turned, actions=("light",))
    assert explore(scope, properties=[only], engine=engine).findings["stays"].verdict == HOLDS


def stays():
    """A lamp that is lit is lit after the step."""
    lamp = Parameter("z", Lamp)
    return lit(lamp).implies(after(lit(lamp)))


def test_a_bad_start_without_successors_is_found(engine):
    scope = replace(lamps(3, "put_out"), start={})
    bad = Property("some_light", "Some lamp is on.", (), exists(Lamp, lambda x: lit(x)))
    finding = explore(scope, properties=[bad], engine=engine).findings["some_light"]
    assert (finding.verdict, finding.depth, len(finding.trace)) == (FAILS, 0, 0)


def test_states_without_successors_are_deadlocks(engine):
    found = explore(lamps(5, "light"), engine=engine, deadlocks=True)
    assert found.deadlocks == [0b11111]
    assert len(found.trace_to(found.deadlocks[0])) == 5
    assert explore(lamps(5), engine=engine, deadlocks=True).deadlocks == []


def test_a_limit_that_is_hit_is_unknown_and_no_pass(engine):
    dark = Property("dark", "All lamps are on.", (), forall(Lamp, lambda x: lit(x)), "state")
    true = Property("true", "Nothing is wrong.", (), forall(Lamp, lambda x: lit(x) | ~lit(x)))
    found = explore(lamps(20), properties=[true], goals=[dark], limit=5, engine=engine)
    assert not found.complete
    assert not found.holds
    assert found.findings["true"].verdict == UNKNOWN
    assert found.goals["dark"].verdict == UNKNOWN
    found = explore(lamps(20), properties=[true], goals=[dark], engine=engine)
    assert found.holds
    assert found.goals["dark"].verdict == REACHED
    assert len(found.goals["dark"].trace) == 20


def test_goals_out_of_reach_are_unreachable(engine):
    some = Property("gap", "A lamp is on behind one that is off.", (), exists(Lamp, Lamp, gap), "state")
    assert explore(lamps(6), goals=[some], engine=engine).goals["gap"].verdict == UNREACHABLE


def gap(x, y):
    """The second lamp is lit, the one before it is not."""
    return before(x, y) & lit(y) & ~lit(x)


def test_the_search_goes_on_after_a_violation_when_told_to(engine):
    found = explore(CACHES(), properties=[never_dirty_and_posted], stop_at_violation=False, engine=engine)
    assert found.complete
    assert not found.holds
    assert found.states == scopes.pinned()["caches"]["states"]


def test_custody_can_be_broken_and_the_witness_is_shortest():
    found = explore(CACHES(), goals=[custody_broken], observe=[])
    assert [taken.action for taken in found.goals["custody_broken"].trace.steps] == ["fill", "write", "invalidate"]


def test_auto_hands_over_to_larger_engines(monkeypatch):
    pytest.importorskip("numba", reason="the compiled engine needs the extra `fast`")
    expected = figures(explore(CACHES(), engine="python"))
    for small, middling, name in ((10**6, 10**7, "python"), (100, 10**6, "numpy"), (100, 1000, "compiled")):
        monkeypatch.setattr(explorer, "SMALL", small)
        monkeypatch.setattr(explorer, "MIDDLING", middling)
        found = explore(CACHES())
        assert (found.engine, figures(found)) == (name, expected)


def test_auto_does_without_numba(monkeypatch):
    monkeypatch.setattr(explorer, "find_spec", lambda name: None)
    monkeypatch.setattr(explorer, "SMALL", 100)
    monkeypatch.setattr(explorer, "MIDDLING", 1000)
    assert explore(CACHES()).engine == "numpy"
    with pytest.raises(LanguageError, match="install"):
        explore(CACHES(), engine="compiled")


def test_compiled_code_is_kept_in_the_users_cache_folder(tmp_path, monkeypatch):
    pytest.importorskip("numba", reason="the compiled engine needs the extra `fast`")
    from shmem_model.readers import generated

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    explore(lamps(7), engine="compiled")
    [kept] = (tmp_path / "shmem" / "explorer").glob("*.py")
    assert list(kept.parent.glob("__pycache__/*.nbc"))
    monkeypatch.setattr(generated, "KEPT", 1)
    explore(lamps(8), engine="compiled")
    [other] = (tmp_path / "shmem" / "explorer").glob("*.py")
    assert other != kept


def test_a_cache_folder_that_cannot_be_written_is_no_obstacle(tmp_path, monkeypatch):
    pytest.importorskip("numba", reason="the compiled engine needs the extra `fast`")
    (tmp_path / "shmem").write_text("a file where the folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert explore(lamps(9), engine="compiled").states == 10


def test_unknown_engines_and_kinds_are_errors():
    with pytest.raises(LanguageError, match="no engine 'turbo'"):
        explore(lamps(2), engine="turbo")
    with pytest.raises(LanguageError, match="give it as a goal"):
        explore(CACHES(), properties=[custody_broken])


@pytest.mark.parametrize("which", ["numpy", "compiled"])
def test_a_bug_that_is_planted_in_generated_code_is_found(which, monkeypatch):
    from shmem_model.readers.wordcode import WordCode

    if which == "compiled":
        pytest.importorskip("numba", reason="the compiled engine needs the extra `fast`")
    genuine = WordCode.successor

    def wrong(self, action):
        lines, words = genuine(self, action)
        return lines, [text.replace(">>", "<<") for text in words]

    monkeypatch.setattr(WordCode, "successor", wrong)
    assert figures(explore(CACHES(), engine=which)) != figures(explore(CACHES(), engine="python"))


def test_masks_of_numpy_are_boolean(monkeypatch):
    from shmem_model.readers import engine_numpy

    genuine = engine_numpy.compile_source

    def with_integers(source, name, names):
        return genuine(source.replace("  return (", "  return 1 * (") if name == "where" else source, name, names)

    monkeypatch.setattr(engine_numpy, "compile_source", with_integers)
    with pytest.raises(AssertionError, match="Boolean"):
        explore(CACHES(), properties=[never_dirty_and_posted], engine="numpy")


def test_a_weakened_machine_is_seen_in_the_counts():
    action = MACHINE.actions["fence"]
    weaker = MACHINE.changed(replace(action, conditions=action.conditions[:1]))
    found = explore(scopes.SCOPES["caches"].setting.scope("weaker", weaker))
    assert scopes.counts(found) != scopes.pinned()["caches"]
