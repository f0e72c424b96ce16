"""One memory, three addresses: allocate with constraints, map on both sides, unmap, free, and what each error
says."""

import shmem


def device(agent: shmem.Agent, region: shmem.SharedMemoryRegion) -> str:
    """The device's program."""
    mapping = agent.map(region, "r")
    physical = agent.translate(region, mapping.device_address + 100)
    assert physical == mapping.physical_address + 100
    try:
        agent.write(region, 0, b"x")
    except shmem.ReadOnly as fault:
        return fault.remedy
    return "no fault"


def main() -> None:
    """The host's program."""
    with shmem.System(platform="a3", devices=1) as s:
        window = shmem.PLATFORMS["a3"].windows[1]
        region = s.host.alloc(8192, align=4096, window=window, flags=shmem.NO_COMPACT, acl={"host": "rw", "dev0": "r"})
        mapping = s.host.map(region, "rw")
        print(f"host {mapping.host_address:#x}  device {mapping.device_address:#x}")
        print(f"physical {mapping.physical_address:#x}, in {window[0]:#x}-{window[1]:#x}")
        print("the device's fault says:", s.devices[0].run(device, region).result(30))
        try:
            s.host.free(region)
        except shmem.RegionBusy as refusal:
            print("refused:", refusal.found)
        s.host.unmap(region, "dev0")
        mapping.unmap()
        s.host.free(region)
        try:
            s.host.map(region)
        except shmem.StaleHandle as refusal:
            print("stale:", refusal.found)


if __name__ == "__main__":
    main()
