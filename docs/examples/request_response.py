"""An inference service: requests and responses over a channel, weights shared.

`shmem demo` measures this with and without copies.
"""

import numpy as np

import shmem

SIZE = 1024


def serve(agent: shmem.Agent, region: shmem.SharedMemoryRegion, count: int) -> None:
    """The device's program."""
    agent.map(region, "rw")
    channel = shmem.Channel(agent, region, "host", "server", depth=4, size=SIZE)
    for _ in range(count):
        x = np.frombuffer(channel.receive(30), np.float32)
        channel.reply(np.tanh(x).tobytes(), 30)


def main(count: int = 20) -> float:
    """The host's program."""
    with shmem.System(platform="pcie", devices=1) as s:
        region = s.host.alloc_broadcast(shmem.Channel.space(4, SIZE), ["dev0"])
        s.host.map(region)
        task = s.devices[0].run(serve, region, count)
        client = shmem.Channel(s.host, region, "dev0", "client", depth=4, size=SIZE)
        worst = 0.0
        for k in range(count):
            x = np.linspace(-k, k, SIZE // 4, dtype=np.float32)
            y = np.frombuffer(client.call(x.tobytes(), 30), np.float32)
            worst = max(worst, float(np.abs(y - np.tanh(x)).max()))
        task.result(30)
        return worst


if __name__ == "__main__":
    print(main())
