"""The same program on emulated memory, with and without its flush: the wrong one fails, and replays from its
seed."""

import shmem

READY, NEW = 7, b"new data"


def device(agent: shmem.Agent, region: shmem.SharedMemoryRegion) -> bytes:
    """The device's program."""
    agent.map(region, "r")
    agent.wait(READY)
    agent.invalidate(region)
    return agent.read(region, 0, 8)


def run(seed: int, flush: bool) -> bool:
    """One run; whether the device read what was written."""
    with shmem.System(platform="weakest", devices=1, memory="emulated", agents="threads", seed=seed) as s:
        region = s.host.alloc(64, acl={"host": "rw", "dev0": "r"})
        s.host.map(region)
        task = s.devices[0].run(device, region)
        s.host.write(region, 0, NEW)
        if flush:
            s.host.flush(region)
        s.host.fence()
        s.host.send("dev0", READY)
        return bool(task.result() == NEW)


def main() -> tuple[int, int]:
    """The first seed that fails without flush, and how many of 100 seeds fail with it."""
    failing = next(seed for seed in range(1000) if not run(seed, flush=False))
    assert not run(failing, flush=False), "it replays"
    return failing, sum(not run(seed, flush=True) for seed in range(100))


if __name__ == "__main__":
    print(main())
