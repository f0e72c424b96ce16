"""The kit is strong enough: usual mistakes are found with its default number of examples, and told in few calls."""

from __future__ import annotations

import pytest

from shmem_model.conformance.kit import WORLDS, check_world
from shmem_model.conformance.pieces import KINDS, Pieces
from shmem_model.conformance.vector_scopes import LARGER, SCOPES
from tests.conformance.wrong import MISTAKES, Wrong, factory


def slow_in_the_largest(world: str, *more: str) -> object:
    return pytest.param(*more, world, marks=pytest.mark.slow if world == "workshop" else ())


@pytest.mark.parametrize(
    ("name", "world"), [slow_in_the_largest(world, name) for name, (_, worlds) in MISTAKES.items() for world in worlds]
)
def test_a_mistake_is_found(name: str, world: str) -> None:
    verdict = check_world(factory(name), world)
    assert verdict.verdict == "fails", verdict.why
    assert verdict.case is not None
    assert len(verdict.case.steps) <= 8, verdict.case.story()


@pytest.mark.parametrize("world", [slow_in_the_largest(world) for world in LARGER])
def test_the_right_one_holds_in_larger_worlds(world: str) -> None:
    verdict = check_world(lambda of: Wrong(of, {}), world)
    assert verdict.verdict == "holds", verdict.case and verdict.case.story()
    assert verdict.calls > 500


def test_every_kind_of_piece_is_drawn_somewhere() -> None:
    used = set()
    for scope in {**SCOPES, **LARGER}.values():
        from shmem_model.conformance.expand import alphabet

        pieces = Pieces(WORLDS[scope.name], alphabet(scope.world, scope.actions))
        used |= set(pieces.kinds)
        assert all(step in pieces.alphabet for choice in range(300) for step in pieces.of(choice))
    assert used == set(KINDS)
