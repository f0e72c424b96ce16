"""Whatever hidden hardware does, a right implementation is never told wrong; a call that does nothing is."""

from __future__ import annotations

import contextlib
from random import Random
from typing import Any

import pytest

from shmem_model.conformance import vectors
from shmem_model.conformance.adapter import FAULTS, REFUSALS, World, capabilities
from shmem_model.conformance.kit import check_world
from shmem_model.conformance.oracle import HIDDEN
from shmem_model.conformance.vector_scopes import SCOPES
from shmem_suite.differential.reference import make


class Restless:
    """The reference implementation without hardware methods, whose hardware does what it wants before each call."""

    def __init__(self, world: World, forgets: str = "") -> None:
        self._inner, self._random, self._forgets = make(world), Random(7), forgets
        self.capabilities = capabilities(self._inner) - set(HIDDEN)
        self._world = world

    def _stir(self) -> None:
        for _ in range(self._random.randrange(4)):
            action = self._random.choice(("fill", "evict", "drain", "translate", "shootdown"))
            agent, region = self._random.choice(self._world.agents), self._random.choice(list(self._world.regions))
            line = {"frame": 0} if action in ("evict", "drain") else {"region": region, "line": 0}
            try:
                getattr(self._inner, action)(agent=agent, **line)
            except Exception as error:
                assert type(error).__name__ in (*REFUSALS, *FAULTS), error  # noqa: PT017 - not now

    def __getattr__(self, name: str) -> Any:
        def call(**arguments: Any) -> Any:
            self._stir()
            return None if name == self._forgets else getattr(self._inner, name)(**arguments)

        return call

    def close(self) -> None:
        """End it."""
        with contextlib.suppress(OSError):
            self._inner.close()


@pytest.mark.parametrize("world", ["hand-over", "rights", "coherent-atomics", "cache-line", "neighbours", "masked"])
def test_restless_hardware_is_never_told_wrong(world: str) -> None:
    verdict = check_world(Restless, world, examples=30)
    assert verdict.verdict == "holds", verdict.case and verdict.case.story()


class Calm(Restless):
    """Its hardware does nothing by itself, so that nothing but the call brings the value."""

    def _stir(self) -> None:
        pass


@pytest.mark.parametrize("forgotten", ["invalidate", "fence", "flush"])
def test_a_call_that_does_nothing_is_found_by_kit_and_vectors(forgotten: str) -> None:
    def factory(world: World) -> Calm:
        return Calm(world, forgotten)

    assert check_world(factory, "hand-over", examples=1000).verdict == "fails"
    assert vectors.run(vectors.vector(SCOPES["hand-over"]), factory).failures
