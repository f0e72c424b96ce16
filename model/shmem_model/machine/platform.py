"""What is assumed of every platform, and the named profiles (choices among the hazards)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shmem_model.language import Term, axiom
from shmem_model.machine import vocabulary as m
from shmem_model.machine.vocabulary import Agent, Region, Slot


@axiom(a=Agent, r=Region)
def writers_may_read(a: Term, r: Term) -> Term:
    """Who may write a region may read it."""
    return m.may_write(a, r).implies(m.may_read(a, r))


@axiom()
def invalidate_does_something() -> Term:
    """An invalidate discards a dirty line or writes it back; a platform may do either."""
    return m.may_discard() | m.may_write_back()


@axiom(e=Agent, a=Agent)
def only_engines_serve(e: Term, a: Term) -> Term:
    """A copy engine has no cache, and serves agents that are no engines."""
    return m.serves(e, a).implies(m.engine(e) & ~m.engine(a) & ~m.cached(e))


@axiom(e=Agent, a=Agent, c=Agent)
def engines_serve_one(e: Term, a: Term, c: Term) -> Term:
    """A copy engine serves one agent."""
    return (m.serves(e, a) & m.serves(e, c)).implies(a.same(c))


@axiom(e=Agent)
def engines_have_no_cache(e: Term) -> Term:
    """A copy engine goes to memory directly."""
    return m.engine(e).implies(~m.cached(e))


@axiom(e=Agent, s=Slot)
def engines_send_nothing(e: Term, s: Term) -> Term:
    """A copy engine sends no notification."""
    return m.engine(e).implies(~m.may_send(e, s))


AXIOMS = (
    writers_may_read,
    invalidate_does_something,
    only_engines_serve,
    engines_serve_one,
    engines_have_no_cache,
    engines_send_nothing,
)


@dataclass(frozen=True)
class Profile:
    """One choice of hardware: `write_back` line|masked, `invalidate` discard|write_back|either, `slots`
    sticky|counting, `cached` all|none, `multicast`."""

    name: str
    write_back: str = "line"
    invalidate: str = "either"
    slots: str = "sticky"
    cached: str = "all"
    multicast: bool = False


PROFILES: Mapping[str, Profile] = {
    p.name: p
    for p in (
        Profile("weakest"),
        Profile("pcie", invalidate="discard", slots="counting"),
        Profile("soc", write_back="masked", invalidate="discard", multicast=True),
        Profile("coherent", slots="counting", cached="none", multicast=True),
    )
}
