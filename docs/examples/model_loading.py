"""Weights are copied into shared memory once; then every device works in the same bytes.

A secure region keeps them out of swap and core dumps; the devices may read and not write.
"""

import numpy as np

import shmem

LOADED = 1


def device(agent: shmem.Agent, weights: shmem.SharedMemoryRegion, x: float) -> float:
    """The device's program."""
    agent.map(weights, "r")
    agent.wait(LOADED, timeout=30)
    agent.invalidate(weights)
    with agent.view(weights, None, "r", np.float32) as w:
        return float(w.mean()) * x


def main(size: int = 1 << 20) -> list[float]:
    """The host's program."""
    model = np.full(size // 4, 0.5, np.float32)  # as it would come from a file
    with shmem.System(platform="pcie", devices=3, extent=2 << 20) as s:
        names = [d.name for d in s.devices]
        weights = s.host.alloc_broadcast(size, names, "r", flags=shmem.SECURE)
        s.host.map(weights)
        tasks = [d.run(device, weights, float(i + 1)) for i, d in enumerate(s.devices)]
        s.host.copy_in(weights, model)  # the only copy
        s.host.broadcast(names, LOADED)
        return [task.result(30) for task in tasks]


if __name__ == "__main__":
    print(main())
