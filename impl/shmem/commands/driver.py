"""`shmem driver`: the control plane as a daemon."""

from __future__ import annotations

import argparse
import os
import pwd

from shmem.errors import InvalidArgument
from shmem.platforms import PLATFORMS


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    from shmem.commands import subcommand

    parser = subcommand(
        commands, "driver", "Serve memory to several host processes until SIGTERM.",
        "shmem driver --socket ./driver.sock --platform soc", command,
    )  # fmt: skip
    parser.add_argument("--socket", required=True, metavar="PATH", help="where to listen; @NAME is abstract")
    parser.add_argument("--platform", default="pcie", choices=list(PLATFORMS))
    parser.add_argument("--pool", type=_bytes, default=256 << 20, help="memory at most, e.g. 1G (default 256M)")
    parser.add_argument("--extent", type=_bytes, default=4 << 20, help="memory per step (default 4M)")
    parser.add_argument("--compaction", type=float, default=0.5, help="fragmentation that an idle driver mends")
    parser.add_argument(
        "--allow-uid", action="append", default=[], metavar="UID",
        help="another tenant, by number or name; may be repeated; 'any' for all",
    )  # fmt: skip


def _bytes(text: str) -> int:
    units = {"K": 10, "M": 20, "G": 30}
    return int(text[:-1]) << units[text[-1].upper()] if text[-1:].upper() in units else int(text)


def _uid(text: str) -> int:
    try:
        return int(text) if text.isdigit() else pwd.getpwnam(text).pw_uid
    except KeyError:
        raise InvalidArgument(f"--allow-uid {text}", "there is no such user", "name a user or a number") from None


def command(chosen: argparse.Namespace) -> int:
    """Run it."""
    from shmem.driver.daemon import serve
    from shmem.driver.service import Service

    uids = None if "any" in chosen.allow_uid else frozenset({os.getuid(), *map(_uid, chosen.allow_uid)})
    platform = PLATFORMS[chosen.platform]
    serve(chosen.socket, Service(platform, chosen.pool, chosen.extent, chosen.compaction), uids)
    return 0
