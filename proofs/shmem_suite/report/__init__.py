"""The report: one self-contained HTML page about a run, for somebody who was not there.

It needs no script and no other file: style and pictures are inside.  Texts come from the checks themselves,
so the page says what was asked in the same words as the machine, the theorems and the litmus files.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from shmem_suite.checks import KINDS, Kind
from shmem_suite.environment import environment
from shmem_suite.errors import UsageError
from shmem_suite.report.pictures import picture
from shmem_suite.results import Report, Result, slowest

BESIDE: tuple[Kind, ...] = ("theorem", "witness", "red-twin")


@dataclass(frozen=True)
class Subject:
    """A theorem with what stands beside it."""

    name: str
    theorem: Result | None
    witnesses: tuple[Result, ...]
    twins: tuple[Result, ...]

    @property
    def ok(self) -> bool:
        """Everything about it is as expected."""
        parts = [*self.witnesses, *self.twins, *([self.theorem] if self.theorem else [])]
        return all(part.ok or part.skipped for part in parts)


def subjects(results: Sequence[Result]) -> list[Subject]:
    """The theorems of a run, each with its witnesses and red twins."""
    beside = [result for result in results if result.check.kind in BESIDE]
    found = []
    for name in dict.fromkeys(result.check.subject for result in beside):
        group = [result for result in beside if result.check.subject == name]
        of = {kind: tuple(r for r in group if r.check.kind == kind) for kind in BESIDE}
        found.append(Subject(name, next(iter(of["theorem"]), None), of["witness"], of["red-twin"]))
    return found


def render(report: Report, when: datetime.datetime | None = None) -> str:
    """The page about a run."""
    pages = Environment(
        loader=PackageLoader("shmem_suite.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters |= {"picture": picture, "seconds": seconds, "thousands": thousands}
    loader = pages.loader
    assert loader is not None
    style = loader.get_source(pages, "style.css.j2")[0]
    by_kind = {kind: [r for r in report.results if r.check.kind == kind] for kind in KINDS}
    return pages.get_template("report.html.j2").render(
        report=report,
        style=Markup(style),
        subjects=subjects(report.results),
        by_kind=by_kind,
        families=families(by_kind["litmus"]),
        unexpected=[r for r in report.asked if not r.ok],
        slowest=slowest(report.asked, 5),
        environment=environment(),
        when=(when or datetime.datetime.now().astimezone()).strftime("%Y-%m-%d %H:%M %Z"),
    )


def families(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Litmus files by the folder that they lie in."""
    found: dict[str, list[Result]] = {}
    for result in results:
        folder = result.check.subject.rpartition("/")[0] or "others"
        found.setdefault(folder, []).append(result)
    return found


def prepare(directory: str) -> Path:
    """Make the folder of a report; what the system refuses is a usage error."""
    place = Path(directory)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write a report to {directory}: {error.strerror}") from error
    return place


def write(report: Report, directory: str) -> Path:
    """Write the page into a folder and return its name."""
    page = prepare(directory) / "index.html"
    text = render(report)
    try:
        page.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {page}: {error.strerror}") from error
    return page


def seconds(value: float) -> str:
    """A time for human readers."""
    return f"{value:.0f} s" if value >= 100 else f"{value:.1f} s" if value >= 1 else f"{value * 1000:.0f} ms"


def thousands(value: Any) -> str:
    """A number with narrow spaces between thousands; anything else as it is."""
    return f"{value:,}".replace(",", "\u202f") if isinstance(value, int) else str(value)
