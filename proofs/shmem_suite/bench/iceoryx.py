"""iceoryx2 as a peer, where it is installed (`pip install shmem[bench]`): publish-subscribe, polled.

All that it creates carries a prefix of its own, so that it meets no other program's services and can be looked
for afterwards.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from shmem_suite.bench.ends import MESSAGE, SIZE

PAGE = 4096


def missing() -> str:
    """Why it cannot be measured; empty where it can."""
    found = importlib.util.find_spec("iceoryx2") is not None
    return "" if found else "iceoryx2 is not installed (pip install 'shmem[bench]')"


class Node:
    """A node with a configuration of its own, and its services."""

    def __init__(self, folder: str, prefix: str) -> None:
        import iceoryx2

        self.library: Any = iceoryx2
        iceoryx2.set_log_level(iceoryx2.LogLevel.Fatal)
        config = iceoryx2.config.default()
        config.global_cfg.root_path = iceoryx2.Path.new(folder)
        config.global_cfg.prefix = iceoryx2.FileName.new(prefix)
        self.node: Any = iceoryx2.NodeBuilder.new().config(config).create(iceoryx2.ServiceType.Ipc)

    def service(self, name: str) -> Any:
        """A service that carries bytes."""
        builder = self.node.service_builder(self.library.ServiceName.new(name))
        return builder.publish_subscribe(self.library.Slice[ctypes.c_uint8]).open_or_create()

    def publisher(self, name: str, size: int) -> Any:
        """A port that loans up to `size` bytes."""
        return self.service(name).publisher_builder().initial_max_slice_len(size).create()

    def subscriber(self, name: str) -> Any:
        """A port that receives."""
        return self.service(name).subscriber_builder().create()


class Iceoryx:
    """One end: round trips of 64 bytes, and hand-overs of as much as `size`."""

    def __init__(self, folder: str, prefix: str, asks: bool, size: int = SIZE) -> None:
        self.node: Node | None = Node(folder, prefix)
        there, back = ("there", "back") if asks else ("back", "there")
        self.out: Any = self.node.publisher(there, size if asks else SIZE)
        self.into: Any = self.node.subscriber(back)

    def _send(self) -> None:
        sample = self.out.loan_slice_uninit(SIZE)
        ctypes.memmove(sample.payload_ptr, MESSAGE, SIZE)
        sample.assume_init().send()

    def _receive(self) -> None:
        receive = self.into.receive
        while (sample := receive()) is None:
            pass
        ctypes.string_at(sample.payload_ptr, SIZE)

    def ask(self, rounds: int) -> float:
        """Send first."""
        begin = time.perf_counter()
        for _ in range(rounds):
            self._send()
            self._receive()
        return time.perf_counter() - begin

    def serve(self, rounds: int) -> None:
        """Receive first."""
        for _ in range(rounds):
            self._receive()
            self._send()

    def hand_over(self, rounds: int, size: int) -> float:
        """Loan `size` bytes, mark them, send them, and wait for the answer; seconds."""
        begin = time.perf_counter()
        for turn in range(rounds):
            sample = self.out.loan_slice_uninit(size)
            ctypes.memset(sample.payload_ptr, turn & 255, 8)
            sample.assume_init().send()
            self._receive()
        return time.perf_counter() - begin

    def take_over(self, rounds: int, size: int, touch: bool) -> int:
        """Receive `size` bytes as an array (and read a byte of each page); answers a sum of what was read."""
        total = 0
        receive = self.into.receive
        for _ in range(rounds):
            while (sample := receive()) is None:
                pass
            array = np.frombuffer(memoryview((ctypes.c_uint8 * size).from_address(sample.payload_ptr)), np.uint8)
            total += int(array[::PAGE].sum()) if touch else int(array[0])
            del array
            sample.delete()
            self._send()
        return total

    def close(self) -> None:
        """Drop the ports before the node."""
        self.out = self.into = None
        self.node = None


class Place:
    """A folder and a prefix for the run; `close` removes the folder and whatever still carries the prefix."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="shmem-bench-")
        self.folder = self._folder.name
        self.prefix = Path(self.folder).name.replace("-", "_") + "_"

    def close(self) -> None:
        """Leave nothing behind."""
        for left in Path("/dev/shm").glob(f"{self.prefix}*"):
            with contextlib.suppress(FileNotFoundError):
                left.unlink()
        self._folder.cleanup()
