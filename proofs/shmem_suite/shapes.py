"""The JSON that other tools rely on.  Field names and meanings are fixed; further fields may be added at
the end.
"""

from __future__ import annotations

from typing import Any

from shmem_suite.environment import environment
from shmem_suite.results import Report, Result


def verify(report: Report) -> dict[str, Any]:
    """The answer of `shmem verify --json`."""
    return {
        "summary": report.summary,
        "checks": [_check(result) for result in report.asked],
        "skipped": [{"id": result.check.id, "reason": result.skipped} for result in report.skipped],
        "environment": environment(),
    }


def _check(result: Result) -> dict[str, Any]:
    check, outcome = result.check, result.outcome
    shown: dict[str, Any] = {
        "id": check.id,
        "kind": check.kind,
        "statement": check.statement,
        "verdict": result.verdict,
        "expected": check.expected,
        "ok": result.ok,
        "seconds": round(outcome.seconds, 3),
        "scope": check.scope,
        "engine": check.engine,
    }
    if result.detail:
        shown["detail"] = result.detail
    if outcome.counts:
        shown["counts"] = dict(outcome.counts)
    if outcome.facts:
        shown["facts"] = dict(outcome.facts)
    if outcome.trace:
        shown["trace"] = outcome.trace.as_json()
    return shown


def prove(report: Report, actions: int, invariants: int, obligations: int) -> dict[str, Any]:
    """The answer of `shmem prove --json`."""
    return {
        "actions": actions,
        "invariants": invariants,
        "obligations": obligations,
        "seconds": round(report.seconds, 3),
        "theorems": [_theorem(result) for result in report.asked],
    }


def _theorem(result: Result) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "id": result.check.id,
        "statement": result.check.statement,
        "verdict": result.verdict,
        "seconds": round(result.outcome.seconds, 3),
    }
    return {**shown, "detail": result.detail} if result.detail else shown
