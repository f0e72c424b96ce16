"""A toy implementation for the tests of the kit: one word without caches, a sticky slot; mistakes can be asked for."""

from __future__ import annotations

from shmem_model.conformance.adapter import World, WouldBlock


class NotPermitted(Exception):
    """The agent has no right to it."""


class Toy:
    """The adapter.  `mistake`: "stale" reads 0 for ever, "early" waits for nobody, "lost" forgets a notification."""

    def __init__(self, world: World, mistake: str = "") -> None:
        if len(world.agents) != 3 or world.notify != "sticky":
            raise NotImplementedError("three agents and a sticky slot")
        self.world, self.mistake, self.pending = world, mistake, False

    def _must(self, right: bool) -> None:
        if not right:
            raise NotPermitted

    def send(self, agent: str, slot: str) -> None:
        """Notify."""
        self._must(agent in self.world.slots[slot].senders)
        self.pending = self.mistake != "lost"

    def wait(self, agent: str, slot: str) -> None:
        """Take a notification."""
        self._must(agent == self.world.slots[slot].receiver)
        if not self.pending and self.mistake != "early":
            raise WouldBlock
        self.pending = False

    def poll(self, agent: str, slot: str) -> bool:
        """Take a notification if there is one."""
        self._must(agent == self.world.slots[slot].receiver)
        if self.mistake == "crash":
            raise RuntimeError("out of order")
        got, self.pending = self.pending, False
        return got


def make(world: World) -> Toy:
    """The right one."""
    return Toy(world)


def early(world: World) -> Toy:
    """Its wait returns although nothing was sent."""
    return Toy(world, "early")


def lost(world: World) -> Toy:
    """It forgets what was sent."""
    return Toy(world, "lost")


def crash(world: World) -> Toy:
    """Its poll ends with an exception that is no refusal."""
    return Toy(world, "crash")
