"""Small worlds in which mutants are told apart from the machine, each explored to a stated depth.

What the claims do not settle (an action that does less, an answer with another name, knowledge that is thrown away)
shows in the steps themselves.  The figures of each world are pinned in `mutant_scopes.json`: states by depth, fired
steps and answers by action, and a digest of all steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from shmem_model.language import Function, Machine
from shmem_model.machine import MACHINE, Profile
from shmem_model.machine import vocabulary as m
from shmem_model.readers.scope import Scope, Table
from shmem_model.readers.setting import Setting

EITHER = Profile("weakest")
MASKED = Profile("masked", write_back="masked")
COUNTING = Profile("counting", slots="counting")
KEPT = Profile("kept", invalidate="write_back")


@dataclass(frozen=True)
class World:
    """A setting, what of the machine runs in it, how far it is explored (None: completely), and why it is here."""

    name: str
    why: str
    setting: Setting
    depth: int | None = None
    platform: Mapping[Function, Table] = field(default_factory=dict)

    def scope(self, machine: Machine = MACHINE) -> Scope:
        """The machine in this world."""
        scope = self.setting.scope(self.name, machine)
        return replace(scope, platform={**scope.platform, **self.platform})


def _world(
    name: str,
    why: str,
    actions: str,
    depth: int | None = None,
    platform: Mapping[Function, Table] | None = None,
    **setting: object,
) -> World:
    basis = Setting(translated=True, receivers=(), teams=(), profile=EITHER)
    return World(name, why, basis.but(actions=tuple(actions.split()), **setting), depth, platform or {})


CACHE = "fill evict drain read write flush invalidate fence"
TALK = "write atomic_add atomic_swap compare_swap read fill"
COPY = "copy_start copy_step copy_wait"
DEATH = "die lose reclaim fill write flush drain shootdown"
DISPUTE = "write atomic_swap drain die shootdown reclaim"
ROUNDS = "write drain fence read arrive leave"
FAREWELL = "fill read write unmap send wait arrive leave atomic_swap free"

Choice = dict[str, Any]
PAIR: Choice = {"agents": 2, "receivers": (1,), "teams": ((0, 1),)}
TWO_LINES: Choice = {"blocks": 2, "frames": 2, "lines": (0, 0)}
THREE_LINES: Choice = {"blocks": 3, "frames": 3, "lines": (0, 0, 0)}
TWO_REGIONS: Choice = {"regions": 2, "blocks": 2, "frames": 2, "lines": (0, 1)}
GRID: Choice = {**TWO_LINES, "words": 2, "cached": (0,)}
TENANTS: Choice = {**TWO_REGIONS, "rights": {(1, 0): "r", (0, 1): ""}, "mapped": False}
FREE: Choice = {"agents": 1, "blocks": 2, "frames": 2, "mapped": False}
REGIONS: Choice = {**TWO_REGIONS, "agents": 3, "teams": ((0, 1), (1, 2)), "rights": {(2, 1): ""}}
COPYING: Choice = {"agents": 2, "engines": 1, "teams": ((0,),), "receivers": (0,), "cached": ()}
BEQUEST: Choice = {**TWO_LINES, "agents": 3, "engines": 1, "words": 2, "translated": False}
ECHO: Choice = {"words": 2, "cached": (0,), "receivers": (0,)}
RUMOURS: Choice = {"cached": (), "tokens": 2, "receivers": (1, 1), "rights": {(1, 0): "r"}}
TEAMS: Choice = {"agents": 3, "cached": (), "teams": ((0, 1), (1, 2)), "rights": {(1, 0): "r", (2, 0): "r"}}
LEAVING: Choice = {**PAIR, **TWO_REGIONS, "rights": {(1, 0): "", (1, 1): ""}, "cached": (0,)}
EVERYTHING: Choice = {
    **PAIR,
    **TWO_REGIONS,
    "agents": 3,
    "engines": 1,
    "frames": 3,
    "rights": {(1, 0): "r"},
    "cached": (0,),
}
SMALL_TALK: Choice = {**PAIR, "words": 2, "cached": (0,), "profile": MASKED}

WORLDS = (
    _world("caches", "two caches and one word", CACHE, 8),
    _world("words", "one cache and a line of two words", CACHE, words=2, agents=1),
    _world("masked", "the same, written back by dirty words", CACHE, words=2, agents=1, profile=MASKED),
    _world("kept", "invalidate always writes back", CACHE, 6, agents=1, profile=KEPT),
    _world("frames", "one cache and two lines", CACHE, 6, agents=1, blocks=2, frames=2, lines=(0, 0)),
    _world("buffers", "two agents without caches", CACHE, agents=2, cached=()),
    _world(
        "translation",
        "two regions with different rights, mapped and unmapped",
        "map unmap translate shootdown read write die",
        **TENANTS,
    ),
    _world(
        "allocation",
        "lines given out, freed, scrubbed and given out again; one region fits one frame only, one fits none",
        "alloc free scrub map translate shootdown fill evict",
        platform={m.fits: lambda r, f: r == 1 or (r == 0 and f == 0)},
        **{**FREE, "regions": 3},
    ),
    _world(
        "compaction",
        "a line moves among three frames, one of which fits another region only",
        "freeze migrate unfreeze scrub map shootdown translate fill evict alloc read",
        8,
        platform={m.fits: lambda r, f: (f == 1) == (r == 1)},
        **{**FREE, "regions": 2, "frames": 3},
    ),
    _world(
        "slots",
        "three agents and two slots that count",
        "send wait poll die",
        agents=3,
        tokens=2,
        receivers=(1, 2),
        profile=COUNTING,
    ),
    _world("lonely", "a slot to which only its receiver may send", "send wait die", receivers=(1,), senders=((1,),)),
    _world(
        "barrier",
        "two teams that share a member",
        "arrive leave die",
        agents=3,
        epochs=2,
        teams=((0, 1), (1, 2)),
    ),
    _world(
        "multicast",
        "a global barrier whose message reaches everybody",
        "gb_begin gb_ack gb_end fill die",
        5,
        agents=3,
        teams=((0, 1), (1, 2)),
        rights={(2, 0): ""},
        profile=Profile("multicast", multicast=True),
    ),
    _world("regions", "global barriers over two regions", "gb_begin gb_ack gb_end fill write die", 4, **REGIONS),
    _world("death", "an agent dies and its line is reclaimed", DEATH, 7),
    _world("graves", "the same with two lines, one agent without a cache", DEATH, 4, **TWO_LINES, cached=(0,)),
    _world("disputes", "a word that is nobody's when an agent dies", DISPUTE, 5, cached=()),
    _world("copies", "an engine and three lines", f"{COPY} arrive send atomic_swap", 4, **COPYING, **THREE_LINES),
    _world("columns", "an engine and a line of three words", f"{COPY} arrive send atomic_swap", 4, **COPYING, words=3),
    _world("bequest", "an agent dies that an engine works for", f"{COPY} die reclaim", 4, **BEQUEST),
    _world("engines", "two engines that copy the same words", COPY, agents=4, engines=2, words=2),
    _world("rumours", "what a slot says while another one is empty", "write drain fence read send poll", 6, **RUMOURS),
    _world("rounds", "a barrier whose epoch another team takes up again", ROUNDS, 9, **TEAMS),
    _world("farewell", "a region is freed of which messages and monitors still speak", FAREWELL, 5, **LEAVING),
    _world(
        "everything",
        "all actions, an engine, two regions with different rights, three frames",
        " ".join(MACHINE.actions),
        3,
        **EVERYTHING,
    ),
    _world("notices", "what notifications say of words", f"{TALK} send wait", 3, **PAIR, **GRID),
    _world("meetings", "what barriers say of words", f"{TALK} arrive leave", 3, **PAIR, **GRID),
    _world("echoes", "finished reads of a neighbour word", "fill read send wait write", 4, **ECHO),
    _world("gossip", "the same where only dirty words are written back", f"{TALK} send arrive", 4, **SMALL_TALK),
)
"""Cheap ones first: a mutant is killed in the first world that tells it apart."""
