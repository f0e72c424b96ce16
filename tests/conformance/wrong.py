"""The reference implementation with one mistake each: what the kit must find with its default number of examples."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from shmem_model.conformance.adapter import World, capabilities
from shmem_model.conformance.oracle import HIDDEN
from shmem_suite.differential.reference import make

Call = Callable[..., Any]
Mistake = Callable[["Wrong", Call, dict[str, Any]], Any]


class Wrong:
    """Whatever is called goes through `mistakes`; hardware cannot be commanded."""

    def __init__(self, world: World, mistakes: Mapping[str, Mistake]) -> None:
        self.world, self.inner, self.mistakes = world, make(world), mistakes
        self.capabilities = capabilities(self.inner) - set(HIDDEN)
        self.seen: dict[Any, Any] = {}
        """What a mistake remembers."""

    def __getattr__(self, name: str) -> Any:
        right, wrong = getattr(self.inner, name), self.mistakes.get(name)
        return right if wrong is None else lambda **kw: wrong(self, right, kw)

    def close(self) -> None:
        """End it."""
        with contextlib.suppress(OSError):
            self.inner.close()


def nothing(wrong: Wrong, right: Call, kw: dict[str, Any]) -> None:
    """The call does nothing, though it is refused as it should be."""


def first_line(wrong: Wrong, right: Call, kw: dict[str, Any]) -> Any:
    """The first line instead of the one that is named."""
    return right(**{**kw, "line": 0})


def first_word(wrong: Wrong, right: Call, kw: dict[str, Any]) -> Any:
    """The first word instead of the one that is named."""
    return right(**{**kw, "word": 0})


def lost_when_one_is_there(wrong: Wrong, right: Call, kw: dict[str, Any]) -> None:
    """A second notification is lost."""
    if not wrong.seen.get(kw["slot"]):
        right(**kw)
    wrong.seen[kw["slot"]] = True


def taken(wrong: Wrong, right: Call, kw: dict[str, Any]) -> Any:
    """A notification was taken."""
    wrong.seen[kw["slot"]] = False
    return right(**kw)


def early(wrong: Wrong, right: Call, kw: dict[str, Any]) -> None:
    """It does not wait."""
    with contextlib.suppress(Exception):
        right(**kw)


def kept(wrong: Wrong, right: Call, kw: dict[str, Any]) -> Any:
    """An `unmap` by another agent is answered, and not done."""
    return right(**kw) if kw["of"] == kw["agent"] else None


def read_only_too(wrong: Wrong, right: Call, kw: dict[str, Any]) -> Any:
    """A mapping for reading alone lets its agent write."""
    return right(**{**kw, "writable": True}) if not kw["writable"] else right(**kw)


def swapped_always(wrong: Wrong, right: Call, kw: dict[str, Any]) -> Any:
    """`compare_swap` swaps whatever it finds."""
    return wrong.inner.atomic_swap(**{k: v for k, v in kw.items() if k not in ("old", "new")}, value=kw["new"])


def added_twice(wrong: Wrong, right: Call, kw: dict[str, Any]) -> Any:
    """`atomic_add` adds twice when the word is 1."""
    before = right(**kw)
    if before == 1:
        right(**kw)
    return before


def stored_at_once(wrong: Wrong, right: Call, kw: dict[str, Any]) -> Any:
    """It finds what was there and returns what it left."""
    right(**kw)
    return kw["value"]


def with_neighbour(wrong: Wrong, right: Call, kw: dict[str, Any]) -> None:
    """A write takes the neighbouring word along."""
    right(**kw)
    if kw["word"] + 1 < wrong.world.words:
        right(**{**kw, "word": kw["word"] + 1})


MISTAKES: Mapping[str, tuple[Mapping[str, Mistake], tuple[str, ...]]] = {
    "invalidate drops nothing": ({"invalidate": nothing}, ("hand-over", "two-lines", "workshop")),
    "flush writes nothing back": ({"flush": nothing}, ("hand-over", "two-lines")),
    "fence waits for nothing": ({"fence": nothing}, ("hand-over", "two-lines")),
    "flush takes the first line": ({"flush": first_line}, ("two-lines",)),
    "invalidate takes the first line": ({"invalidate": first_line}, ("two-lines",)),
    "write takes the first line": ({"write": first_line}, ("two-lines",)),
    "read takes the first word": ({"read": first_word}, ("two-lines",)),
    "write takes the neighbour along": ({"write": with_neighbour}, ("two-lines",)),
    "a second notification is lost": (
        {"send": lost_when_one_is_there, "wait": taken, "poll": taken}, ("notify-counting",),
    ),
    "wait does not wait": ({"wait": early}, ("notify", "hand-over")),
    "leave does not wait": ({"leave": early}, ("rendezvous",)),
    "a mapping survives its end": ({"unmap": kept}, ("rights",)),
    "reading lets write": ({"map": read_only_too}, ("rights",)),
    "compare_swap swaps always": ({"compare_swap": swapped_always}, ("coherent-atomics",)),
    "atomic_add adds twice": ({"atomic_add": added_twice}, ("coherent-atomics",)),
    "atomic_swap returns what it left": ({"atomic_swap": stored_at_once}, ("coherent-atomics",)),
}  # fmt: skip
"""A mistake, and the worlds in which it must be found."""


def factory(name: str) -> Callable[[World], Wrong]:
    """Makes the implementation with that mistake."""
    return lambda world: Wrong(world, MISTAKES[name][0])
