"""Small random programs for comparing searches: few statements, every platform, every kind of call."""

from __future__ import annotations

import random

PLATFORMS = (
    "weakest",
    "pcie",
    "soc",
    "coherent",
    "pcie with slots=sticky",
    "weakest with write_back=masked, invalidate=write_back",
    "pcie with cached={host}",
)
PLAIN = (
    "x[0] = 1",
    "x[0] = 2",
    "x[1] = 1",
    "y[0] = 1",
    "{r} = x[0]",
    "{r} = x[0]",
    "{r} = x[1]",
    "{r} = y[0]",
    "flush x",
    "flush x drop",
    "flush y",
    "invalidate x",
    "invalidate x",
    "invalidate y",
    "fence",
    "send {other} n",
    "send {other} m",
    "wait n",
    "wait n",
    "poll {r} n",
    "clear n",
    "wait_any {r} n m",
    "{r} = atomic_add y[0] 1",
    "{r} = atomic_swap x[1] 2",
    "{r} = compare_swap y[0] 0 1",
    "barrier g x",
    "arrive g",
    "leave g",
    "global_barrier x {{host dev0}}",
    "copy c x[0] y[0]",
    "copy_wait c",
    "if r0 == 1: fence",
    "until r0 != 0: r0 = y[0]",
    "assert r0 != 2",
    "r1 = r0 + 1",
)
MAPPING = ("unmap x", "unmap x {other}", "unmap x {other}", "map x", "shootdown x {other}")
LIVING = (
    "unmap x",
    "unmap x {other}",
    "map x",
    "shootdown x {other}",
    "die",
    "free x",
    "compact",
    "alloc z: 1 line of 1 word, broadcast host dev0",
    "map z",
    "z[0] = 1",
    "{r} = z[0]",
)


def small_program(seed: int, length: int = 4, living: bool = False, third: bool = False, mapping: bool = False) -> str:
    """A program of two or three agents as text; with `living` also mappings, allocation, moves and death.

    With `mapping` only mappings change, so nothing but a program or the hardware makes a translation go away.
    """
    words = PLAIN + LIVING if living else PLAIN + MAPPING * 3 if mapping else PLAIN
    pick = random.Random(seed)
    lines = [f"litmus small-{seed}", f"platform {pick.choice(PLATFORMS)}"]
    if living:
        lines.append("pool 1 line")
    everybody = "host dev0 dev1" if third else "host dev0"
    right = pick.choice(("rw", "rw", "rw", "r"))
    lines.append(f"region x: 1 line of 2 words, broadcast {everybody}")
    lines.append(f"region y: 1 line of 1 word, rights host rw dev0 {right}" + (" dev1 rw" if third else ""))
    lines.append(f"team g {{{everybody}}}")
    allocated = False
    for agent, other in (("host", "dev0"), ("dev0", "dev1" if third else "host"), ("dev1", "host"))[: 2 + third]:
        lines.append(f"{agent}:")
        copied = False
        for _ in range(pick.randint(1, length)):
            text = pick.choice(words)
            text = text.format(r=pick.choice(("r0", "r1")), other=other)
            if text.startswith("alloc"):
                if allocated:
                    continue
                allocated = True
            elif (" z" in text or text.startswith("z")) and not allocated:
                continue
            elif text.startswith("copy c"):
                if copied:
                    continue
                copied = True
            elif text == "copy_wait c" and not copied:
                continue
            lines.append(f"    {text}")
        if lines[-1].endswith(":"):
            lines.append("    fence")
    lines += [
        "ask x[0] == 9 and x[1] == 9 and y[0] == 9",
        "expect forbidden",
        "expect race-free",
        "expect no-deadlock",
        "expect no-fault",
    ]
    return "\n".join(lines) + "\n"
