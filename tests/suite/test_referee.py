"""The referee: it fails on disagreement, says when it was not run, and leaves nothing behind."""

import tempfile
from pathlib import Path

import pytest

from shmem_suite import referee
from tests.readers.small_scopes import BROKEN_TOY, toy


@pytest.fixture
def rumur(need_tool):
    """Skip with a reason where the verifier is missing."""
    need_tool("rumur")
    need_tool("gcc")


def test_it_agrees_with_the_explorer(rumur):
    outcome = referee.check(toy(), 300)
    assert outcome.verdict == "holds"
    assert outcome.counts == {"states": 194, "rules": 1013}


@pytest.mark.parametrize("counts", [(193, 1013), (194, 1014)])
def test_it_fails_on_other_counts(counts, rumur):
    outcome = referee.judge(toy(), *counts, 300)
    assert outcome.verdict == "fails"
    assert "rumur finds 194 states and fires 1013 rules" in outcome.detail


def test_it_fails_on_a_broken_invariant_whatever_the_counts(rumur):
    scope = toy(machine=BROKEN_TOY)
    outcome = referee.check(scope, 300, scope.machine.invariants)
    assert outcome.verdict == "fails"
    assert "neighbours_differ" in outcome.detail


def test_out_of_time_is_unknown(rumur):
    outcome = referee.judge(toy(), 194, 1013, 0.0)
    assert outcome.verdict == "unknown"
    assert "out of time" in outcome.detail


def test_a_model_that_rumur_refuses_is_an_error(rumur):
    with pytest.raises(referee.RefereeError, match="rumur failed"):
        referee.run_text("var to: boolean;", 60)


def test_a_verifier_that_says_nothing_is_an_error():
    for said in ("", "<rumur_run>", "<rumur_run></rumur_run>"):
        with pytest.raises(referee.RefereeError):
            referee._read(said, 0.0, 0.0)


def test_it_leaves_no_files(rumur, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    referee.run(toy(), 300)
    assert list(Path(tmp_path).iterdir()) == []


def test_without_rumur_it_is_not_run_and_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    for outcome in (referee.check(toy(), 300), referee.judge(toy(), 194, 1013, 300)):
        assert outcome.skipped.startswith("not run: rumur is not installed")
        assert outcome.verdict == "unknown"
    with pytest.raises(referee.RefereeError, match="not installed"):
        referee.run(toy(), 300)
