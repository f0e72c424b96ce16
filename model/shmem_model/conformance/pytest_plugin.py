"""The pytest plugin: `pytest --shmem-adapter module:factory` adds one test for each world of the kit.

Without the option it does nothing, and imports nothing of the model.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from shmem_model.conformance.kit import Verdict


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin."""
    group = parser.getgroup("shmem", "conformance with the shared-memory machine")
    group.addoption("--shmem-adapter", metavar="MODULE:FACTORY", help="test this adapter in every world of the kit")
    group.addoption("--shmem-divergences", metavar="FILE", help="TOML or JSON list of known differences")
    group.addoption("--shmem-cases", metavar="DIR", default="shmem-cases", help="where failing cases are saved")
    group.addoption("--shmem-examples", metavar="N", type=int, default=100, help="runs in each world (default: 100)")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the tests, if an adapter was given."""
    name = config.getoption("--shmem-adapter")
    if not name:
        return
    from shmem_model.conformance.divergences import read
    from shmem_model.conformance.kit import WORLDS
    from shmem_model.conformance.loading import factory_named

    file = config.getoption("--shmem-divergences")
    try:
        factory, known = factory_named(name), read(Path(file)) if file else ()
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    for world in WORLDS:
        item = _World.from_parent(session, name=f"shmem[{world}]")
        item.prepare(factory, world, known, name)
        items.append(item)


class _World(pytest.Item):
    """One world of the kit."""

    def prepare(self, factory: Any, world: str, known: Any, adapter: str) -> None:
        """What is to be run."""
        self.factory, self.world, self.known, self.adapter = factory, world, known, adapter

    def runtest(self) -> None:
        """Run it."""
        from shmem_model.conformance.kit import NOT_RUN, check_world

        verdict = check_world(
            self.factory, self.world, examples=self.config.getoption("--shmem-examples"), divergences=self.known,
            save=Path(self.config.getoption("--shmem-cases")),
        )  # fmt: skip
        if verdict.verdict == NOT_RUN:
            pytest.skip(verdict.why)
        if verdict.verdict != "holds":
            raise _Failed(verdict, self.adapter)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The story instead of a traceback."""
        if isinstance(excinfo.value, (_Failed, ValueError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the test is said to be."""
        return self.path, 0, self.name


class _Failed(AssertionError):
    def __init__(self, verdict: Verdict, adapter: str) -> None:
        from shmem_model.conformance.kit import told

        super().__init__(told(verdict, adapter))
