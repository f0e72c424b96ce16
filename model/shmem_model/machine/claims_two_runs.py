"""Noninterference (T7): two runs that differ only in secrets look alike to an observer.

Both runs take the same steps with the same arguments; only the values that others write to words which the observer
may not read may differ.  `after(x)` stands here for the value of x in the *other* run.  Observed are the values that
the observer reads and the answers to its calls; time, placement and memory pressure are not (they are the same in
both runs by construction, and are covert channels that this theorem does not speak about).
"""

from __future__ import annotations

from shmem_model.language import BOOL, Function, Parameter, Property, Term, after, exists
from shmem_model.language.machines import pair
from shmem_model.machine import vocabulary as m
from shmem_model.machine.vocabulary import Agent, Block, Frame, Region, Word

ME = Parameter("me", Agent)


def readable(b: Term) -> Term:
    """The observer may read the region of the line."""
    return exists(Region, lambda r: m.part_of(b, r) & m.may_read(ME, r))


def low(f: Term) -> Term:
    """The observer may come to see what the frame holds: it may read the line there, or still has a translation."""
    lives = exists(Block, lambda b: m.at(b, f) & readable(b))
    return lives | exists(Block, lambda b: m.tlb(ME, b, f))


def alike(term: Term) -> Term:
    """The term has the same value in both runs."""
    return after(term).same(term)


def _same_relation(function: Function) -> Property:
    variables = tuple(Parameter(f"x{i}", sort) for i, sort in enumerate(function.arguments))
    sentence = f"Both runs agree on `{function.name}`: {function.sentence}."
    return Property(f"both_agree_on_{function.name}", sentence, variables, alike(function(*variables)), "pair")


@pair(f=Frame, w=Word)
def readable_memory_is_alike(f: Term, w: Term) -> Term:
    """Memory that the observer may come to see is the same in both runs."""
    return low(f).implies(alike(m.memory(f, w)))


@pair(f=Frame, w=Word)
def available_memory_is_alike(f: Term, w: Term) -> Term:
    """Memory that may be given out is the same in both runs: nothing of an old owner is left in it."""
    return m.available(f).implies(alike(m.memory(f, w)))


@pair(a=Agent, f=Frame, w=Word)
def readable_caches_are_alike(a: Term, f: Term, w: Term) -> Term:
    """What anybody caches of memory that the observer may come to see is the same in both runs."""
    return (low(f) & m.valid(a, f)).implies(alike(m.data(a, f, w)))


@pair(a=Agent, f=Frame, w=Word)
def readable_posted_words_are_alike(a: Term, f: Term, w: Term) -> Term:
    """What is on its way to memory that the observer may come to see is the same in both runs."""
    return (low(f) & m.posted(a, f, w)).implies(alike(m.posted_data(a, f, w)))


@pair(f=Frame, w=Word)
def own_cache_is_alike(f: Term, w: Term) -> Term:
    """The observer's own cache is the same in both runs."""
    return m.valid(ME, f).implies(alike(m.data(ME, f, w)))


@pair(f=Frame, w=Word)
def own_posted_words_are_alike(f: Term, w: Term) -> Term:
    """What the observer has on the way is the same in both runs."""
    return m.posted(ME, f, w).implies(alike(m.posted_data(ME, f, w)))


@pair(e=Agent, b=Block, w=Word, c=Block, p=Word)
def copies_declassify_nothing(e: Term, b: Term, w: Term, c: Term, p: Term) -> Term:
    """Nothing is copied from where the observer may not read to where it may (an assumption on what others do)."""
    return (m.copying(e, b, w, c, p) & readable(c)).implies(readable(b))


RELATION = (
    *(_same_relation(f) for f in m.FUNCTIONS if f.layer in ("hardware", "software") and f.result is BOOL),
    readable_memory_is_alike,
    available_memory_is_alike,
    readable_caches_are_alike,
    readable_posted_words_are_alike,
    own_cache_is_alike,
    own_posted_words_are_alike,
    copies_declassify_nothing,
)
