"""Two threads that an agent's process may have: its engine, and its notification thread.

The *engine* stands for the hardware that drops clean lines for a global barrier and acknowledges; it sleeps
on a word of its own (with multicast: on one word of the whole tenant), so notifications do not wake it.

The *notification thread* is the interrupt form of slots: callbacks, and descriptors for `select` and asyncio.
It starts with the first of them.  Registering looks at the slot once, so a notification that was there before
fires too.
"""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING

from shmem import layout
from shmem.errors import ShmemError
from shmem.words import fence

if TYPE_CHECKING:
    from shmem.agent import Agent


class Engine:
    """Answers global barriers."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.stopping = False
        self.thread = threading.Thread(target=self._run, name=f"shmem-engine-{agent.name}", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        page = self.agent.engine_page
        while not self.stopping:
            seen = page.load32(layout.ENGINE)  # step: serve_read
            self.serve()
            if not self.stopping:
                page.wait(layout.ENGINE, seen, -1, 0)  # step: serve_sleep

    def serve(self) -> None:
        """Acknowledge every request that has not been acknowledged."""
        agent = self.agent
        with agent._pages:
            agent._refresh()
            known = dict(agent._known)
        for writer, (_, page) in known.items():
            asked = page.load(layout.PAIR_GB)  # step: serve_look
            at = layout.OWN_GB_ACKED + 8 * writer
            if asked == agent.own.load(at):
                continue
            fence()  # coherent memory has no lines to drop  # step: serve_drop
            agent.own.store(at, asked)  # step: serve_ack
            try:
                bell = agent.peer(agent._names[writer]).bell
            except ShmemError:
                continue  # the writer has died meanwhile
            bell.add32(layout.BELL, 1)  # step: serve_ring
            bell.wake(layout.BELL)  # step: serve_wake

    def stop(self) -> None:
        """End the thread."""
        self.stopping = True
        self.agent.engine_page.add32(layout.ENGINE, 1)
        self.agent.engine_page.wake(layout.ENGINE)
        self.thread.join(1.0)


class Notifier:
    """Runs callbacks and feeds descriptors."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.callbacks: dict[int, Callable[[str], None]] = {}
        self.files: dict[int, int] = {}
        self._told: set[int] = set()
        self._lock = threading.Lock()
        self._stopping = False
        self.thread = threading.Thread(target=self._run, name=f"shmem-notify-{agent.name}", daemon=True)
        self.thread.start()

    def on(self, slot: int, callback: Callable[[str], None] | None) -> None:
        """Call `callback(sender)` for each notification of the slot; None ends it."""
        with self._lock:
            if callback is None:
                self.callbacks.pop(slot, None)
            else:
                self.callbacks[slot] = callback
        self.agent.wake()

    def file(self, slot: int) -> int:
        """A descriptor that is readable while the slot holds something."""
        with self._lock:
            if slot not in self.files:
                self.files[slot] = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.agent.wake()
        return self.files[slot]

    def taken(self, slot: int) -> None:
        """A notification of the slot was taken; its descriptor is readable no more if that was the last."""
        with self._lock:
            if slot in self.files and not self.agent.inbox.pending(slot) and slot in self._told:
                os.eventfd_read(self.files[slot])
                self._told.discard(slot)
                self.agent.wake()  # one may have come in between: let the thread look

    def _feed(self) -> None:
        with self._lock:
            for slot, fd in self.files.items():
                if slot not in self._told and self.agent.inbox.pending(slot):
                    self._told.add(slot)
                    os.eventfd_write(fd, 1)

    def _run(self) -> None:
        agent = self.agent
        while not self._stopping:
            seen = agent.bell.load32(layout.BELL)
            agent._refresh()
            self._feed()
            if self._take() or self._stopping:
                continue
            # Looked at once more after this thread counts as waiting: any send from then on ends the sleep at
            # once. The sleep itself takes nothing, since a callback may be gone before it ends.
            agent.own.add32(layout.OWN_WAITING, 1)
            self._feed()
            if not any(map(agent.inbox.pending, list(self.callbacks))):
                agent.inbox.sleep((), agent.sticky, seen, -1)
            agent.own.add32(layout.OWN_WAITING, -1 & 0xFFFFFFFF)

    def _take(self) -> bool:
        """Take one notification for a callback that is registered now, and run it; whether there was one."""
        agent = self.agent
        with self._lock:
            slots = tuple(self.callbacks)
            got = agent.inbox.spin(slots, agent.sticky, 0) if slots else -1
            if got < 0:
                return False
            slot = slots[got // layout.MAX_AGENTS]
            callback = self.callbacks[slot]
        self._call(slot, callback, agent._names.get(got % layout.MAX_AGENTS, "?"))
        return True

    def _call(self, slot: int, callback: Callable[[str], None], sender: str) -> None:
        try:
            callback(sender)
        except Exception as error:
            self.agent.latch(f"callback of slot {slot}", error, traceback.format_exc())

    def stop(self) -> None:
        """End the thread and close the descriptors."""
        self._stopping = True
        self.agent.wake()
        if threading.current_thread() is not self.thread:
            self.thread.join(1.0)
        for fd in self.files.values():
            os.close(fd)
        self.files.clear()
