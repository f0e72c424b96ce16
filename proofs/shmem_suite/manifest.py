"""The manifest: which checks there are, as data in `manifest/*.json`, and the counts pinned in `pins.json`.

Each file but the last belongs to the provider of its name (a module in `shmem_suite.providers`), which turns
its entries into checks.  The files are written by hand and say what is expected; `pins.json` is written by
`shmem verify --update-pins` and says which counts came out.  An unknown field, an empty file or an entry
twice is an error: a manifest that is not read as meant would leave something silently unchecked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from shmem_suite.checks import KINDS, TIERS, VERDICTS, Kind, Tier, Verdict
from shmem_suite.errors import ManifestError, UsageError

PINS = "pins.json"


@dataclass(frozen=True)
class Entry:
    """One line of the manifest.  An id that ends in `*` stands for a family: a check per member.

    `options` is what the provider wants to know besides; `covers` what the check leaves not unchecked.
    """

    id: str
    kind: Kind
    subject: str
    expected: Verdict = "holds"
    tier: Tier = "quick"
    statement: str = ""
    scope: str = ""
    engine: str = ""
    weight: float = 1.0
    pinned: bool = False
    covers: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def check_id(self, member: str) -> str:
        """The id of the check of one member of a family."""
        return f"{self.id.removesuffix('*')}{member}" if self.id.endswith("*") else self.id


@dataclass(frozen=True)
class Manifest:
    """The entries of each provider, the pinned counts, and the folder that they came from."""

    entries: Mapping[str, tuple[Entry, ...]]
    pins: Mapping[str, Mapping[str, Any]]
    folder: Path

    def save_pins(self, new: Mapping[str, Mapping[str, Any]], known: Iterable[str]) -> int:
        """Write new counts into `pins.json`, keeping old ones of `known` checks only; how many changed."""
        kept = set(self.pins) & set(known)
        pins = {key: self.pins[key] for key in kept} | dict(new)
        changed = sum(pins.get(key) != self.pins.get(key) for key in {*pins, *self.pins})
        text = json.dumps(pins, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        try:
            (self.folder / PINS).write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write the pinned counts: {error.strerror}: {error.filename}") from error
        return changed


def load(folder: Path | None = None) -> Manifest:
    """The manifest in a folder (default: the one of this package)."""
    place = Path(str(files("shmem_suite") / "manifest")) if folder is None else folder
    entries: dict[str, tuple[Entry, ...]] = {}
    for file in sorted(place.glob("*.json")):
        if file.name != PINS:
            entries[file.stem] = _entries(file)
    if not entries:
        raise ManifestError(f"the manifest is empty: no file in {place}")
    twice = _twice(entry.id for group in entries.values() for entry in group if not entry.id.endswith("*"))
    if twice:
        raise ManifestError(f"the manifest has {', '.join(twice)} twice")
    pins = place / PINS
    return Manifest(entries, _json(pins) if pins.exists() else {}, place)


def _twice(ids: Iterable[str]) -> list[str]:
    seen: dict[str, int] = {}
    for one in ids:
        seen[one] = seen.get(one, 0) + 1
    return [one for one, number in seen.items() if number > 1]


def _json(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ManifestError(f"{file.name} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise ManifestError(f"{file.name} must hold an object")
    return found


def _entries(file: Path) -> tuple[Entry, ...]:
    table = _json(file)
    if set(table) != {"checks"} or not isinstance(table["checks"], list) or not table["checks"]:
        raise ManifestError(f'{file.name} must be {{"checks": [one or more entries]}}')
    return tuple(_entry(file.name, raw) for raw in table["checks"])


def _entry(file: str, raw: Any) -> Entry:
    known = {one.name: one for one in fields(Entry)}
    if not isinstance(raw, dict):
        raise ManifestError(f"{file}: an entry must be an object, got {raw!r}")
    name = raw.get("id", "an entry")
    needed = {n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING}
    for wrong, what in ((set(raw) - set(known), "has unknown"), (needed - set(raw), "lacks")):
        if wrong:
            raise ManifestError(f"{file}: {name} {what} fields: {', '.join(sorted(wrong))}")
    for key, values in (("kind", KINDS), ("expected", VERDICTS), ("tier", TIERS)):
        if key in raw and raw[key] not in values:
            raise ManifestError(f"{file}: {name}: {key} is {raw[key]!r}, not one of {', '.join(values)}")
    return Entry(**{**raw, "covers": tuple(raw.get("covers", ()))})
