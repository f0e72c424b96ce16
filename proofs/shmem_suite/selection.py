"""Which checks run: by tier and by pattern.  An empty selection is an error, never a success."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from shmem_suite.checks import TIERS, Check, Tier
from shmem_suite.errors import UsageError, did_you_mean


def in_tier(checks: Iterable[Check], tier: Tier) -> list[Check]:
    """The checks of a tier; each tier includes the ones before it."""
    return [check for check in checks if TIERS.index(check.tier) <= TIERS.index(tier)]


def words(check: Check) -> set[str]:
    """The names by which a check can be asked for: id, its leading parts, subject, kind, further names."""
    parts = check.id.split("/")
    leading = {"/".join(parts[:n]) for n in range(1, len(parts) + 1)}
    return {word.lower() for word in (*leading, check.subject, check.kind, *check.names)}


def select(checks: Sequence[Check], tier: Tier, patterns: Sequence[str] = ()) -> list[Check]:
    """The checks of a tier that match one of the patterns (none given: all)."""
    if not patterns:
        return _some(in_tier(checks, tier), "there is no check")
    wanted: dict[str, Check] = {}
    for pattern in patterns:
        folded = pattern.lower()
        hits = [check for check in checks if any(fnmatchcase(word, folded) for word in words(check))]
        if not hits:
            raise UsageError(did_you_mean(pattern, (word for check in checks for word in words(check)), "check"))
        here = in_tier(hits, tier)
        if not here:
            need = min((check.tier for check in hits), key=TIERS.index)
            option = "the default suite" if need == "default" else f"--{need}"
            raise UsageError(f"the checks {pattern!r} belong to {option}; leave out --quick or add --full")
        wanted |= {check.id: check for check in here}
    return [check for check in checks if check.id in wanted]


def _some(checks: list[Check], otherwise: str) -> list[Check]:
    if not checks:
        raise UsageError(otherwise)
    return checks
