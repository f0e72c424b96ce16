"""A host updates parameters that three devices read: AllocBroadcast, GlobalBarrier, Notify.Broadcast.

The barrier makes sure that no device's cache holds an old clean line; the devices wait and invalidate all the
same.
"""

import numpy as np

import shmem

UPDATED, READ = 1, 10


def device(agent: shmem.Agent, region: shmem.SharedMemoryRegion, number: int, rounds: int) -> list[float]:
    """The device's program."""
    agent.map(region, "r")
    seen = []
    for _ in range(rounds):
        agent.wait(UPDATED, timeout=30)
        agent.invalidate(region)
        with agent.view(region, None, "r", np.float64) as p:
            seen.append(float(p.sum()))
        agent.send("host", READ + number)
    return seen


def main(platform: str = "soc", memory: str = "coherent", rounds: int = 3) -> list[list[float]]:
    """The host's program."""
    with shmem.System(platform=platform, devices=3, memory=memory, seed=2) as s:
        names = [d.name for d in s.devices]
        region = s.host.alloc_broadcast(8000, names, "r")
        s.host.map(region)
        tasks = [d.run(device, region, i, rounds) for i, d in enumerate(s.devices)]
        for k in range(1, rounds + 1):
            with s.host.view(region, None, "w", np.float64) as p:
                p[:] = k
            s.host.global_barrier(region, names, timeout=30)
            s.host.broadcast(names, UPDATED)
            s.host.wait_all([READ + i for i in range(3)], timeout=30)
        return [task.result(30) for task in tasks]


if __name__ == "__main__":
    print(main())
