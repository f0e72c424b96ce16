"""A host hands an input to a device: the article's steps, one call each.

AllocExclusive -> alloc, MapToHost / MapToDevice -> map, FlushCache -> flush, host barrier -> fence,
Notify.Send -> send, Notify.Wait -> wait, InvalidateCache -> invalidate.
"""

import numpy as np

import shmem

INPUT_READY, OUTPUT_READY = 1, 2


def device(agent: shmem.Agent, region: shmem.SharedMemoryRegion) -> None:
    """The device's program."""
    agent.map(region, "rw")  # MapToDevice
    agent.wait(INPUT_READY, timeout=30)  # first be notified,
    agent.invalidate(region)  # then drop old lines,
    with agent.view(region, None, "w", np.float32) as x:  # then read
        x *= 2
    agent.flush(region)  # write back,
    agent.fence()  # wait until it is in memory,
    agent.send("host", OUTPUT_READY)  # then notify


def main(memory: str = "coherent") -> list[float]:
    """The host's program."""
    with shmem.System(platform="pcie", devices=1, memory=memory, seed=1) as s:
        host = s.host
        region = host.alloc(4096, align=64, acl={"host": "rw", "dev0": "rw"})
        host.map(region, "rw")  # MapToHost
        task = s.devices[0].run(device, region)
        with host.view(region, None, "w", np.float32) as x:
            x[:] = np.arange(1024)
        host.flush(region)
        host.fence()
        host.send("dev0", INPUT_READY)
        host.wait(OUTPUT_READY, timeout=30)
        host.invalidate(region)
        with host.view(region, None, "r", np.float32) as x:
            answer = [float(x[0]), float(x[1]), float(x[1023])]
        task.result(30)
        return answer


if __name__ == "__main__":
    print(main())
