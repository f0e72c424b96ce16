"""The part of the builder for the head and the questions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lark import Token, Transformer, v_args

from . import syntax as sx
from . import words
from .builder_names import at, fail, name, number
from .errors import suggest
from .items import Ask, Expect, Mortal, Pool, Title
from .names import AgentName, Name, RegionName, SlotId, TeamName


def agents(tokens: list[Token]) -> tuple[AgentName, ...]:
    """A list of agents, each once."""
    seen: dict[str, AgentName] = {}
    for token in tokens:
        if token in seen:
            fail(at(token), f"agent '{token}' is named twice", "name it once")
        seen[str(token)] = name(token, AgentName)
    return tuple(seen.values())


@v_args(inline=True)
class HeadBuilder(Transformer[Token, Any]):
    """Declarations and questions."""

    def start(self, *items: Any) -> tuple[sx.Node, ...]:
        """The whole file, in its order."""
        return items

    def title(self, word: Token, title: Token) -> Title:
        """`litmus NAME`"""
        if len(title) > words.MAX_TITLE:
            fail(at(title), f"a name of {len(title)} characters", f"the limit is {words.MAX_TITLE}")
        return Title(Name(str(title), at(title)), pos=at(word))

    def platform(self, word: Token, profile: Token, options: dict[str, Any] | None) -> sx.Platform:
        """`platform pcie with …`"""
        if profile not in words.PROFILES:
            fail(at(profile), f"unknown platform '{profile}'", suggest(profile, words.PROFILES, "platform"))
        return sx.Platform(str(profile), **(options or {}), pos=at(word))

    def options(self, *pairs: tuple[Token, Any]) -> dict[str, Any]:
        """All deviations, each at most once."""
        found: dict[str, Any] = {}
        for key, choice in pairs:
            if key in found:
                fail(at(key), f"option '{key}' is given twice", "keep one of the two")
            found[str(key)] = choice
        return found

    def option(self, key: Token, choice: Token) -> tuple[Token, str]:
        """`write_back=masked`"""
        self._check_option(key)
        allowed = words.OPTIONS[key]
        if choice not in allowed:
            fail(at(choice), f"unknown value '{choice}' of option '{key}'", suggest(choice, allowed, "value"))
        return key, str(choice)

    def option_set(self, key: Token, members: list[Token] | None) -> tuple[Token, tuple[AgentName, ...]]:
        """`cached={host dev0}`; empty: nobody."""
        self._check_option(key)
        if key != "cached":
            fail(at(key), f"option '{key}' takes no set", f"write {key}={words.OPTIONS[key][0]}")
        return key, agents(members or [])

    def _check_option(self, key: Token) -> None:
        if key not in words.OPTIONS:
            fail(at(key), f"unknown option '{key}' of the platform", suggest(key, words.OPTIONS, "option"))

    def pool(self, word: Token, lines: Token) -> Pool:
        """`pool 2 lines`"""
        return Pool(number(lines, words.MAX_POOL, 1), pos=at(word))

    def grant(self, word: Token, receiver: Token, slot: SlotId, senders: list[Token]) -> sx.SlotGrant:
        """`slot dev0 7 from host`"""
        return sx.SlotGrant(name(receiver, AgentName), slot, agents(senders), pos=at(word))

    def mortal(self, word: Token, members: list[Token]) -> Mortal:
        """`mortal dev0`"""
        return Mortal(agents(members), pos=at(word))

    def region(self, word: Token, shape: sx.Region) -> sx.Region:
        """`region x: …`"""
        return replace(shape, pos=at(word))

    def shape(self, region: Token, lines: Token, per_line: Token, sharing: tuple[str, Any]) -> sx.Region:
        """What follows `region` and `alloc`."""
        kind, rights = sharing
        return sx.Region(
            name(region, RegionName),
            number(lines, words.MAX_LINES_OF_REGION, 1),
            number(per_line, words.MAX_WORDS_OF_LINE, 1),
            kind,
            rights,
            pos=at(region),
        )

    def broadcast_to(self, members: list[Token]) -> tuple[str, tuple[sx.Right, ...]]:
        """All named agents may read and write."""
        return "broadcast", tuple(sx.Right(agent, "rw", pos=agent.pos) for agent in agents(members))

    def exclusive_to(self, owner: Token) -> tuple[str, tuple[sx.Right, ...]]:
        """One agent may read and write."""
        return "exclusive", (sx.Right(name(owner, AgentName), "rw", pos=at(owner)),)

    def rights_of(self, *rights: sx.Right) -> tuple[str, tuple[sx.Right, ...]]:
        """Each agent with a right of its own."""
        for i, right in enumerate(rights):
            if any(right.agent == other.agent for other in rights[:i]):
                fail(right.pos, f"agent '{right.agent}' is named twice", "name it once")
        return "rights", rights

    def right(self, agent: Token, right: Token) -> sx.Right:
        """`dev0 r`"""
        if right not in words.RIGHTS:
            fail(at(right), f"unknown right '{right}'", "a right is r or rw; leave out who has none")
        return sx.Right(name(agent, AgentName), str(right), pos=at(agent))

    def init(self, word: Token, region: Token, index: Token, value: Token) -> sx.Init:
        """`init x[3] = 7`"""
        return sx.Init(name(region, RegionName), number(index), number(value), pos=at(word))

    def team(self, word: Token, team: Token, members: list[Token]) -> sx.Team:
        """`team g {host dev0}`"""
        return sx.Team(name(team, TeamName), agents(members), pos=at(word))

    def names(self, *tokens: Token) -> list[Token]:
        """A list of names."""
        return list(tokens)

    def braces(self, tokens: list[Token]) -> list[Token]:
        """A list in braces."""
        return tokens

    def ask(self, word: Token, condition: sx.Condition, *rest: Token) -> Ask:
        """`ask c`, perhaps with its `expect` behind it."""
        return Ask(condition, self.expect(*rest) if rest else None, pos=at(word))

    def expect(self, word: Token, answer: Token) -> Expect:
        """`expect allowed`"""
        if answer not in words.ANSWERS:
            fail(at(answer), f"unknown answer '{answer}'", suggest(answer, words.ANSWERS, "answer"))
        return Expect(str(answer), pos=at(word))
