"""The language of the driver's socket: one JSON object a packet, descriptors beside it.

`SOCK_SEQPACKET` keeps the borders of messages, so there is no framing to get wrong.  Nothing is ever
unpickled: a hostile client can at worst send JSON that makes no sense, and is told so.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from typing import Any

from shmem.errors import BY_NAME, InvalidArgument, ShmemError

LIMIT = 60_000
"""Bytes of one message."""
_MOST_FDS = 120
_SO_PEERPIDFD = 77  # asm-generic/socket.h, Linux 6.5


def encode(message: dict[str, Any]) -> bytes:
    """The bytes of one message."""
    return json.dumps(message, separators=(",", ":")).encode()


def decode(packet: bytes) -> dict[str, Any]:
    """The message in a packet, or InvalidArgument."""
    try:
        message = json.loads(packet)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(
            "a message to the driver", f"it is no JSON ({type(error).__name__})", "send one object"
        ) from error
    if not isinstance(message, dict):
        raise InvalidArgument("a message to the driver", "it is JSON but no object", "send one object")
    return message


def failure(error: ShmemError) -> dict[str, Any]:
    """An error as a message."""
    return {"error": type(error).__name__, "asked": error.asked, "found": error.found, "remedy": error.remedy}


def raise_failure(message: dict[str, Any]) -> None:
    """Raise the error that a message carries, if it carries one."""
    if "error" in message:
        kind = BY_NAME.get(message["error"], ShmemError)
        raise kind(str(message.get("asked")), str(message.get("found")), str(message.get("remedy")))


def send(sock: socket.socket, message: dict[str, Any], fds: list[int] | None = None) -> None:
    """Send a message; lists of descriptors that are too long for one packet follow in packets of their
    own."""
    fds = fds or []
    first, rest = fds[:_MOST_FDS], fds[_MOST_FDS:]
    if rest:
        message = message | {"more_fds": len(rest)}
    if first:
        socket.send_fds(sock, [encode(message)], first)
    else:
        sock.send(encode(message))
    while rest:
        socket.send_fds(sock, [b"+"], rest[:_MOST_FDS])
        rest = rest[_MOST_FDS:]


def receive(sock: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """The next message with its descriptors (the caller's to close); None at the end of the connection."""
    packet, fds, _, _ = socket.recv_fds(sock, LIMIT + 1, _MOST_FDS)
    if not packet:
        for fd in fds:
            os.close(fd)
        return None, []
    message = decode(packet)
    missing = message.get("more_fds", 0)
    while missing > 0:
        packet, more, _, _ = socket.recv_fds(sock, 16, _MOST_FDS)
        if not packet:
            break
        fds += more
        missing -= len(more)
    return message, fds


def peer(sock: socket.socket) -> tuple[int, int, int]:
    """(pid, uid, pidfd) of the process at the other end, from the kernel.

    `SO_PEERPIDFD` names the very process that connected, whatever became of its number since.  Before Linux
    6.5 the pidfd is opened by number: the process may have ended in between and the number been given to
    another one, in which case the connection is at its end already and the first read says so.
    """
    raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, uid, _ = struct.unpack("3i", raw)
    try:
        pidfd = sock.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD)
    except OSError:
        pidfd = os.pidfd_open(pid)
    return pid, uid, pidfd
