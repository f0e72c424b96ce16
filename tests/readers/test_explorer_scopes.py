"""The named scopes: every one is pinned, every action happens in some, and the small ones count as pinned."""

import pytest

from shmem_model import scopes
from shmem_model.language import LanguageError
from shmem_model.machine import MACHINE
from shmem_model.readers.explorer import explore


def named_of(size):
    """The names of the scopes of this size."""
    return [name for name, one in scopes.SCOPES.items() if one.size == size]


def test_every_scope_is_pinned_and_nothing_else_is():
    assert list(scopes.pinned()) == list(scopes.SCOPES)


def test_sizes_are_what_they_say():
    bounds = {"small": 10**5, "medium": 10**6, "large": 10**7, "huge": 10**9}
    assert tuple(bounds) == scopes.SIZES
    for name, one in scopes.SCOPES.items():
        assert scopes.pinned()[name]["states"] <= bounds[one.size], name
    assert max(counts["states"] for counts in scopes.pinned().values()) > 10**7


def test_every_action_of_the_machine_happens_in_some_scope():
    happened = {a for counts in scopes.pinned().values() for a, n in counts["per_action"].items() if n}
    assert happened == set(MACHINE.actions)


def test_every_action_of_a_scope_happens_in_it_unless_the_platform_forbids_it():
    for name, counts in scopes.pinned().items():
        idle = {action for action, n in counts["per_action"].items() if not n}
        assert not idle, f"{name}: {idle}"


def test_the_refereed_scopes_exist_and_one_is_large():
    counts = [scopes.pinned()[name]["states"] for name in scopes.REFEREED]
    assert len(counts) >= 4
    assert max(counts) >= 10**6
    assert scopes.MEASURED in scopes.REFEREED


@pytest.mark.parametrize("name", named_of("small"))
def test_small_scopes_count_as_pinned(name):
    assert scopes.counts(explore(scopes.named(name).scope())) == scopes.pinned()[name]


def test_pinning_writes_what_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(scopes, "PINNED", tmp_path / "pinned.json")
    scopes.pin(["lines-reused"])
    written = scopes.pinned()
    monkeypatch.undo()
    assert written == {"lines-reused": scopes.pinned()["lines-reused"]}


def test_unknown_scopes_are_named_with_what_there_is():
    with pytest.raises(LanguageError, match="no scope 'cachse'; there are: caches"):
        scopes.named("cachse")
