"""`shmem ls`, `show`, `top` and `doctor`: look at running systems."""

from __future__ import annotations

import argparse
import os
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from shmem import words
from shmem.commands import emit, subcommand
from shmem.driver.records import FLAG_NAMES
from shmem.errors import DriverLost, InvalidArgument, ShmemError
from shmem.link import SocketLink

Rows = list[dict[str, Any]]
PATIENCE = 5.0
"""Seconds after which a driver that does not answer is left out."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the commands."""
    table = (
        ("ls", "List the running systems, their agents and regions.", "shmem ls --json -", ls),
        ("show", "Show one region: owner, rights, mappings, addresses.", "shmem show 0", show),
        ("top", "Show pools, agents and waiters, again and again.", "shmem top --interval 1", top),
        (
            "doctor",
            "Look for orphans and broken invariants; exit code 1 if there are any.",
            "shmem doctor",
            doctor,
        ),
    )
    for name, what, example, command in table:
        parser = subcommand(commands, name, what, example, command)
        parser.add_argument("--socket", metavar="PATH", help="one driver; without it all that can be found")
        parser.add_argument("--json", metavar="FILE", help="write JSON; - for standard output")
        if name == "show":
            parser.add_argument("region", type=int, help="number of a region")
        if name == "top":
            parser.add_argument("--interval", type=_seconds, default=1.0, help="seconds (default 1)")
            parser.add_argument("--once", action="store_true", help="print once and end")


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 86400:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds between 0 and a day")
    return value


def addresses() -> list[str]:
    """Addresses of the drivers that listen on this machine: abstract ones, and paths that end in `.sock`."""
    found = []
    for line in Path("/proc/net/unix").read_text(encoding="utf-8").splitlines()[1:]:
        parts = line.split()
        listening = len(parts) == 8 and parts[3] == "00010000"
        if listening and (parts[7].startswith("@shmem-") or parts[7].endswith(".sock")):
            found.append(parts[7])
    return sorted(set(found))


def systems(chosen: argparse.Namespace) -> Rows:
    """What each driver tells of itself; those that answer something else, or nothing, are left out."""
    found: Rows = []
    for address in [chosen.socket] if chosen.socket else addresses():
        link = None
        try:
            link = SocketLink(address, PATIENCE)
            told, _ = link.call("describe")
            if not {"agents", "arenas", "pool"} <= set(told):
                raise InvalidArgument(f"a look at {address}", "what answers there is no driver", "name its socket")
            found.append(told | {"address": address})
        except (ShmemError, ValueError, TypeError, LookupError, OSError):
            if chosen.socket:
                raise
        finally:
            if link is not None:
                link.close()
    return found


def _nothing() -> str:
    """What to say where there is no system to look at: drivers of other users are there, but do not tell."""
    others = [address for address in addresses() if address.startswith("@shmem-")]
    if others:
        return f"no running system of yours; {len(others)} of other users do not tell, or do not answer"
    return "no running system"


def _size(n: int) -> str:
    for unit in ("B", "KiB", "MiB"):
        if n < 10240:
            return f"{n} {unit}"
        n //= 1024
    return f"{n} GiB"


def _flags(bits: int) -> str:
    return " ".join(name for bit, name in FLAG_NAMES.items() if bits & bit)


def ls(chosen: argparse.Namespace) -> int:
    """List."""
    found = systems(chosen)
    if chosen.json:
        emit(found, chosen.json)
        return 0
    if not found:
        print(_nothing())
    for system in found:
        print(f"{system['address']}: platform {system['platform']}, {system['memory']}, pid {system['pid']}, "
              f"{_size(system['reserved'])} of {_size(system['pool'])}")  # fmt: skip
        for agent in system["agents"]:
            state = "alive" if agent["alive"] else "dead"
            print(f"  agent {agent['name']:<8} {state:<6} pid {agent['pid']} uid {agent['uid']}")
        for arena in system["arenas"]:
            acl = " ".join(f"{name}:{rights}" for name, rights in arena["acl"].items())
            secure = "secure, " if arena["secure"] else ""
            print(f"  arena {arena['number']} ({secure}{acl}): {_size(arena['free'])} free of "
                  f"{_size(arena['size'])}, fragmentation {arena['fragmentation']:.2f}")  # fmt: skip
            for r in arena["regions"]:
                parts = (r["purpose"], _flags(r["flags"]), "; ".join(r["holders"]))
                head = f"    region {r['id']}.{r['generation']} {_size(r['size'])} of {r['owner']}"
                print(" ".join([head, *(part for part in parts if part)]))
    return 0


def show(chosen: argparse.Namespace) -> int:
    """Show one region."""
    found = [
        {"address": system["address"], "acl": arena["acl"], "secure": arena["secure"]} | region
        for system in systems(chosen)
        for arena in system["arenas"]
        for region in arena["regions"]
        if region["id"] == chosen.region
    ]
    if not found:
        raise InvalidArgument(f"region {chosen.region}", "no running system has it", "look at shmem ls")
    if chosen.json:
        emit(found, chosen.json)
        return 0
    for region in found:
        for key, value in region.items():
            if key in ("physical", "device_address"):
                value = f"{value:#x}"
            if key == "flags":
                value = _flags(value) or "none"
            print(f"{key:>15}: {value}")
    return 0


def top(chosen: argparse.Namespace) -> int:
    """Show again and again."""
    while True:
        found = systems(chosen)
        if chosen.json:
            emit(found, chosen.json)
        else:
            if not chosen.once and sys.stdout.isatty():
                print("\033[H\033[J", end="")
            if not found:
                print(_nothing(), flush=True)
            for system in found:
                _print_top(system)
        if chosen.once or chosen.json:
            return 0
        time.sleep(chosen.interval)


def _print_top(system: dict[str, Any]) -> None:
    regions = sum(len(arena["regions"]) for arena in system["arenas"])
    free = sum(arena["free"] for arena in system["arenas"])
    print(f"{system['address']}: {regions} regions, {_size(system['reserved'] - free)} used, "
          f"{_size(system['reserved'])} reserved of {_size(system['pool'])}")  # fmt: skip
    for agent in system["agents"]:
        if agent["alive"]:
            pending = ", ".join(f"slot {k}: {n}" for k, n in agent["pending"].items()) or "nothing"
            print(f"  {agent['name']:<8} pending {pending}; {agent['waiting']} waiting")


def problems(system: dict[str, Any]) -> list[str]:
    """Broken invariants of one system, as sentences."""
    found = []
    for agent in system["agents"]:
        if agent["alive"] and not os.path.exists(f"/proc/{agent['pid']}"):
            found.append(f"agent {agent['name']} is alive for the driver, but there is no process {agent['pid']}")
    for arena in system["arenas"]:
        spans = sorted((r["physical"], r["physical"] + r["size"], r["id"]) for r in arena["regions"])
        for (_, end, a), (start, _, b) in pairwise(spans):
            if end > start:
                found.append(f"regions {a} and {b} overlap")
        used = sum(-(-r["size"] // 64) * 64 for r in arena["regions"])
        if not arena["quarantine"] and used + arena["free"] != arena["size"]:
            found.append(f"arena {arena['number']}: {used} used and {arena['free']} free are not {arena['size']}")
        if any(start % 64 for start, _, _ in spans):
            found.append(f"arena {arena['number']}: a region shares a line with its neighbour")
        alive = {a["name"] for a in system["agents"] if a["alive"]}
        for r in arena["regions"]:
            if r["owner"] not in alive:
                found.append(f"region {r['id']} is an orphan: its owner {r['owner']} is dead (others may use it)")
    return found


def doctor(chosen: argparse.Namespace) -> int:
    """Look for trouble."""
    found = {system["address"]: problems(system) for system in systems(chosen)}
    for address in addresses():
        if address.startswith("@shmem-") and address not in found and not chosen.socket:
            try:
                SocketLink(address, PATIENCE).close()
            except DriverLost:
                found[address] = ["its driver does not answer"]
    bad = {address: lines for address, lines in found.items() if lines}
    if chosen.json:
        emit(found, chosen.json)
    else:
        print(f"{len(found)} running systems, {len(bad)} with problems; {words.TOLD}")
        for address, lines in bad.items():
            for line in lines:
                print(f"  {address}: {line}")
    return 1 if bad else 0
