"""The kit: right adapters hold, wrong ones fail with a short replayable case, lists of divergences stay honest."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest

from shmem_model.conformance import check
from shmem_model.conformance.divergences import Divergence, judge, read
from shmem_model.conformance.kit import ConformanceError, Driver, check_world, oracle_for, replay, told
from shmem_model.conformance.oracle import Oracle, TooMany
from shmem_model.conformance.vector_scopes import SCOPES
from shmem_suite.cli import main
from shmem_suite.differential.reference import make as reference
from tests.conformance.toy import Toy, crash, early, lost, make
from tests.conftest import ROOT

EARLY = "notify/wait/no-early-wake-up"


def test_right_adapters_hold() -> None:
    assert [v.verdict for v in check(make, worlds=["notify", "notify-counting"])] == ["holds", "not run"]
    assert check_world(reference, "death", examples=10).verdict == "holds"


@pytest.mark.parametrize(("wrong", "steps"), [(early, 1), (lost, 2), (crash, 1)])
def test_wrong_adapters_fail_with_the_shortest_story_and_it_replays(wrong, steps, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    verdict = check_world(wrong, "notify", save=tmp_path)
    assert verdict.verdict == "fails"
    assert verdict.case is not None
    assert verdict.saved is not None
    assert len(verdict.case.steps) == steps
    again = replay(verdict.saved, wrong)
    assert again == verdict.case
    assert replay(verdict.saved, make) is None
    with pytest.raises(ConformanceError, match="allowed:"):
        check(wrong, worlds=["notify"])


def test_too_many_states_are_unknown_and_never_a_pass() -> None:
    scope = SCOPES["hand-over"]
    oracle = Oracle(scope.world, (), limit=1)
    with pytest.raises(TooMany):
        oracle.allowed(oracle.start, "write", {"agent": "host", "region": "data", "line": 0, "word": 0, "value": 1})


def test_hidden_hardware_allows_a_stale_read_and_nothing_that_nobody_wrote() -> None:
    oracle = oracle_for(SCOPES["hand-over"].world, ())
    at = {"region": "data", "line": 0, "word": 0}
    written = oracle.allowed(oracle.start, "write", {"agent": "host", **at, "value": 1})["done"]
    assert set(oracle.allowed(written, "read", {"agent": "dev0", **at})) == {"value 0", "value 1"}
    assert set(oracle.allowed(written, "read", {"agent": "host", **at})) == {"value 1"}
    assert isinstance(Driver(oracle, make, ()).possible(), list)


def test_a_known_divergence_is_no_failure_until_it_expires_or_is_gone(tmp_path: Path) -> None:
    later, before = date.today() + timedelta(days=9), date.today() - timedelta(days=1)
    known = [Divergence(EARLY, "driver 1.2 wakes everybody", later)]
    assert check_world(early, "notify", divergences=known).verdict == "holds"
    assert "no longer fails" in check_world(make, "notify", divergences=known).why
    assert "expired" in judge([Divergence(EARLY, "old", before)], [EARLY])[0]
    file = tmp_path / "known.toml"
    file.write_text(f'[[divergence]]\nid = "{EARLY}"\nreason = "x"\nexpires = {later}\n')
    assert read(file) == (Divergence(EARLY, "x", later),)
    for text in ("[[divergence]]\nid = 'a/b/c'\n", "[[divergence]]\nid='q/b'\nreason='x'\nexpires=2030-01-01\n", "["):
        file.write_text(text)
        with pytest.raises(ValueError, match=r"known\.toml"):
            read(file)


def plugin(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run pytest with the plugin in an empty folder."""
    entries = {point.name for point in importlib.metadata.entry_points(group="pytest11")}
    load = [] if "shmem" in entries else ["-p", "shmem_model.conformance.pytest_plugin"]
    paths = os.pathsep.join(str(ROOT / part) for part in (".", "impl", "model", "proofs"))
    line = [sys.executable, "-m", "pytest", *load, "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        line, cwd=folder, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_the_plugin_tests_an_adapter(workers: list[str], tmp_path: Path) -> None:
    good = plugin("--shmem-adapter", "tests.conformance.toy:make", *workers, folder=tmp_path)
    assert good.returncode == 0, good.stdout + good.stderr
    bad = plugin("--shmem-adapter", "tests.conformance.toy:early", *workers, folder=tmp_path)
    assert bad.returncode == 1
    assert "no early wake-up" in bad.stdout
    assert "shmem conform --adapter tests.conformance.toy:early --replay" in bad.stdout


def test_the_plugin_does_nothing_without_its_option(tmp_path: Path) -> None:
    assert plugin(folder=tmp_path).returncode == 5
    assert plugin("--shmem-adapter", "nothing:here", folder=tmp_path).returncode == 4


FACTORIES = {
    "raises": ("def make(world):\n    return {}[world.name]\n", "and raised KeyError: 'cache-line' at adapter.py:2"),
    "needs more": ("def make(world, speed):\n    return 1\n", "and raised TypeError: make() missing 1 required"),
    "gives nothing": ("def make(world):\n    pass\n", "the factory make returned None; return an adapter object"),
    "gives no methods": ("def make(world):\n    return object()\n", "returned object, which has no method of any"),
    "leaves": ("def make(world):\n    raise SystemExit('bye')\n", "and raised SystemExit: bye at adapter.py:2"),
    "leaves when imported": ("raise SystemExit\n", "importing it raised SystemExit at adapter.py:1"),
    "fails at the end": (
        "class A:\n    def poll(self, agent, slot): return False\n    def close(self): raise OSError('busy')\n"
        "def make(world):\n    return A()\n", "close() of the adapter for world cache-line raised OSError: busy",
    ),
    "gives a class": ("class A: pass\ndef make(world):\n    return A\n", "return an adapter object"),
    "unknown action": (
        "class A:\n    capabilities = {'fly'}\ndef make(world):\n    return A()\n", "capabilities name fly",
    ),
    "no function": ("x = 1\n", "has no callable make"),
    "fails when imported": ("raise OSError('no card')\n", "importing it raised OSError: no card at adapter.py:1"),
    "no Python": ("def\n", "importing it raised SyntaxError"),
}  # fmt: skip


@pytest.mark.parametrize("name", FACTORIES)
def test_a_factory_that_gives_no_adapter_is_told_in_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text, said = FACTORIES[name]
    (tmp_path / "adapter.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "adapter", raising=False)
    assert main(["conform", "--adapter", "adapter.py:make"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    sys.modules.pop("adapter", None)
    sys.path[:] = [place for place in sys.path if place != str(tmp_path)]


def test_a_method_with_the_wrong_signature_is_a_divergence(tmp_path: Path) -> None:
    class Odd:
        def poll(self, agent: str) -> bool:
            return False

    verdict = check_world(lambda world: Odd(), "notify")
    assert verdict.case is not None
    assert "interface: poll ends with" in verdict.case.story()
    assert "TypeError" in verdict.case.story()


def test_an_adapter_that_answers_differently_each_time_is_told_as_such() -> None:
    answers = iter([True])

    class Moody(Toy):
        def poll(self, agent: str, slot: str) -> bool:
            return super().poll(agent, slot) or next(answers, False)

    verdict = check_world(Moody, "notify")
    assert verdict.verdict == "fails"
    assert "did not happen again" in told(verdict)


def test_the_replay_command_that_is_printed_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "tests.conformance.toy:lost"
    assert main(["conform", "--adapter", name, "--world", "notify", "--cases", str(tmp_path)]) == 1
    command = capsys.readouterr().out.partition("again: shmem ")[2].split()
    assert main(command) == 1
    assert "allowed: done" in capsys.readouterr().out
