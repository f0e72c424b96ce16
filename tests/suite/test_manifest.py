"""The manifest is data, is read as meant or not at all, and nothing is silently unchecked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shmem_suite import assembly, manifest
from shmem_suite.errors import ManifestError, UsageError
from shmem_suite.selection import select
from tests.suite import fakes
from tests.suite.fakes import ENTRY, write_manifest
from tests.suite.provider import FakeProvider


def assembled(folder: Path, monkeypatch: pytest.MonkeyPatch, world: dict[str, Any] | None = None) -> Any:
    monkeypatch.setattr(assembly, "provider", lambda name: FakeProvider(world or {}))
    return assembly.assemble(manifest.load(folder))


def test_an_entry_becomes_a_check_with_its_pins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_manifest(tmp_path, [{**ENTRY, "pinned": True, "tier": "full"}], {"T1": {"states": 3}})
    _, check = assembled(tmp_path, monkeypatch)
    assert (check.id, check.tier, check.pins) == ("T1", "full", {"states": 3})


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({**ENTRY, "expect": "holds"}, "T1 has unknown fields: expect"),
        ({"id": "T1", "kind": "theorem"}, "T1 lacks fields: subject"),
        ({**ENTRY, "kind": "theory"}, "kind is 'theory', not one of theorem"),
        ({**ENTRY, "tier": "slow"}, "tier is 'slow', not one of quick"),
        ({**ENTRY, "expected": True}, "expected is True, not one of holds"),
        ("T1", "an entry must be an object"),
    ],
)
def test_an_entry_that_is_not_read_as_meant_is_refused(tmp_path: Path, entry: Any, said: str) -> None:
    with pytest.raises(ManifestError, match=said):
        manifest.load(write_manifest(tmp_path, [entry]))


@pytest.mark.parametrize("text", ["", "[]", '{"checks": []}', '{"checks": {}}', '{"check": [1]}', "{"])
def test_an_empty_or_broken_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "fake.json").write_text(text)
    with pytest.raises(ManifestError, match=r"fake\.json"):
        manifest.load(tmp_path)


def test_no_file_and_one_id_twice_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="is empty"):
        manifest.load(tmp_path)
    with pytest.raises(ManifestError, match="T1 twice"):
        manifest.load(write_manifest(tmp_path, [ENTRY, ENTRY]))


def test_a_file_without_provider_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"manifest/fake\.json has no module"):
        assembly.assemble(manifest.load(write_manifest(tmp_path, [ENTRY])))


WORLD = {"action": ["flush", "send"], "scope": ["tiny"]}
ALL = ["action:flush", "action:send", "scope:tiny"]


@pytest.mark.parametrize(
    ("covers", "world", "pins", "said"),
    [
        (ALL, WORLD, {}, None),
        (ALL[1:], WORLD, {}, "no check is about action flush"),
        ([*ALL, "scope:big"], WORLD, {}, "a check is about scope big, which does not exist"),
        ([*ALL, "litmus:mp"], WORLD, {}, "checks cover litmus, which nobody provides"),
        (ALL, {**WORLD, "litmus": []}, {}, "there is no litmus at all"),
        (ALL, WORLD, {"T9": {"states": 1}}, "counts are pinned for T9, which is no check"),
    ],
)
def test_whatever_no_check_is_about_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    covers: list[str],
    world: Any,
    pins: Any,
    said: str | None,
) -> None:
    checks = assembled(write_manifest(tmp_path, [{**ENTRY, "covers": covers}], pins), monkeypatch, world)
    gaps = checks[0]
    assert gaps.id == "suite/nothing-unchecked"
    outcome = gaps.tasks[0].function(*gaps.tasks[0].arguments)
    assert (outcome.verdict, outcome.detail) == (("fails", said) if said else ("holds", ""))


def test_new_pins_replace_old_ones_and_gone_ones_go(tmp_path: Path) -> None:
    folder = write_manifest(tmp_path, [ENTRY], {"T1": {"n": 1}, "T2": {"n": 2}, "T3": {"n": 3}})
    loaded = manifest.load(folder)
    assert loaded.save_pins({"T1": {"n": 7}}, known=["T1", "T2"]) == 2
    assert json.loads((folder / "pins.json").read_text()) == {"T1": {"n": 7}, "T2": {"n": 2}}


def test_pins_that_cannot_be_written_are_told(tmp_path: Path) -> None:
    loaded = manifest.load(write_manifest(tmp_path, [ENTRY]))
    (tmp_path / "pins.json").mkdir()
    with pytest.raises(UsageError, match="cannot write the pinned counts"):
        loaded.save_pins({}, [])


CHECKS = [
    fakes.check("T1", names=("visibility",)),
    fakes.check("T1/witness/hand-over", kind="witness"),
    fakes.check("T10"),
    fakes.check("explore/tiny", kind="exploration", tier="default"),
    fakes.check("mutant/1", kind="mutant", tier="full"),
]


@pytest.mark.parametrize(
    ("tier", "patterns", "chosen"),
    [
        ("quick", (), ["T1", "T1/witness/hand-over", "T10"]),
        ("full", (), [check.id for check in CHECKS]),
        ("quick", ("T1",), ["T1", "T1/witness/hand-over"]),
        ("quick", ("t1",), ["T1", "T1/witness/hand-over"]),
        ("quick", ("visibility",), ["T1"]),
        ("quick", ("T1*",), ["T1", "T1/witness/hand-over", "T10"]),
        ("default", ("exploration", "T10"), ["T10", "explore/tiny"]),
        ("full", ("mutant",), ["mutant/1"]),
    ],
)
def test_checks_are_chosen_by_tier_and_name(tier: Any, patterns: tuple[str, ...], chosen: list[str]) -> None:
    assert [check.id for check in select(CHECKS, tier, patterns)] == chosen


@pytest.mark.parametrize(
    ("tier", "patterns", "said"),
    [
        ("full", ("visiblity",), "no check 'visiblity'; did you mean visibility"),
        ("full", ("",), "no check ''"),
        ("quick", ("tiny*", "T1"), "no check 'tiny"),
        ("quick", ("explore/tiny",), "belong to the default suite"),
        ("default", ("mutant",), "belong to --full"),
    ],
)
def test_an_empty_selection_is_an_error(tier: Any, patterns: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("*", r"\*")):
        select(CHECKS, tier, patterns)
    with pytest.raises(UsageError):
        select([], "full")
