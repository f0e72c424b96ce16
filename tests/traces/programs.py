"""Programs of devices whose runs are recorded; at the top level of a module, since they travel by name."""

from __future__ import annotations

import shmem


def answer(agent: shmem.Agent, r: shmem.SharedMemoryRegion, rounds: int, forget: str = "") -> None:
    """Hand each word back, with or without one of the steps."""
    agent.map(r)
    for _ in range(rounds):
        agent.wait(1, 30)
        if forget != "invalidate":
            agent.invalidate(r)
        word = agent.read(r, 0, 8)
        agent.write(r, 64, word)
        agent.flush(r)
        if forget != "fence":
            agent.fence()
        agent.send("host", 2)


def meet(
    agent: shmem.Agent, members: list[str], r: shmem.SharedMemoryRegion, counter: shmem.SharedMemoryRegion
) -> None:
    """Barriers, atomics and batches."""
    agent.map(r)
    agent.map(counter)
    team = agent.team("all", members)
    mine = members.index(agent.name)
    for turn in range(20):
        agent.write(r, 64 * mine, turn.to_bytes(8, "little"))
        agent.barrier(team, r)
        agent.invalidate(r)
        for other in range(len(members)):
            assert agent.read(r, 64 * other, 8) == turn.to_bytes(8, "little")
        agent.barrier(team)
        agent.atomic_add(counter, 0, 1)
    agent.send_batch("host", [1, 2, 1, 3])
