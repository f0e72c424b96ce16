"""The divergence list: where a project's implementation knowingly differs from the machine, and until when.

The tested project owns it.  A TOML file of `[[divergence]]` tables (or JSON: `{"divergence": [...]}`), each with `id`
(world/action/property, as a failure prints it), `reason`, and `expires` (a date).  An entry that has expired, or that
no run shows any more, makes the run fail: the list can only describe what is so.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Divergence:
    """A known difference."""

    id: str
    reason: str
    expires: date

    @property
    def world(self) -> str:
        """The world in which it is seen."""
        return self.id.partition("/")[0]


def read(file: Path) -> tuple[Divergence, ...]:
    """The entries of a list.  ValueError (one line) where something is missing or nobody can ever see the entry."""
    from shmem_model.conformance.vector_scopes import SCOPES

    try:
        text = file.read_text(encoding="utf-8")
        data = json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise ValueError(f"{file}: {' '.join(str(error).split())}") from None
    entries = tuple(_entry(file, i, one) for i, one in enumerate(data.get("divergence", []), 1))
    for one in entries:
        if one.world not in SCOPES:
            raise ValueError(f"{file}: {one.id} names no world; a failure prints the id that belongs here")
    return entries


def _entry(file: Path, number: int, data: Any) -> Divergence:
    missing = [key for key in ("id", "reason", "expires") if not (isinstance(data, dict) and data.get(key))]
    if missing:
        raise ValueError(f"{file}: entry {number} has no {', '.join(missing)}")
    expires = data["expires"]
    try:
        expires = expires if isinstance(expires, date) else date.fromisoformat(expires)
    except (TypeError, ValueError):
        raise ValueError(f"{file}: entry {number} expires on {expires!r}, which is no date like 2030-01-31") from None
    return Divergence(data["id"], data["reason"], expires)


def judge(entries: Sequence[Divergence], seen: Iterable[str], today: date | None = None) -> list[str]:
    """What is wrong with the list after a run in which these known failures were seen."""
    today, seen = today or date.today(), set(seen)
    expired = [f"divergence {one.id} expired on {one.expires}: {one.reason}" for one in entries if one.expires < today]
    gone = [f"divergence {one.id} no longer fails: remove it from the list" for one in entries if one.id not in seen]
    return expired + gone
