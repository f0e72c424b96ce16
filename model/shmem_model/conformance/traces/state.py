"""The tables of a check in memory: made, and grown when the check asks for room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shmem_model.conformance.traces import tables as t
from shmem_model.conformance.traces.events import Event


class Memory:
    """All tables, as lists (ready at once) or as arrays (for the compiled check)."""

    def __init__(self, first: Event, arrays: bool) -> None:
        self.arrays = arrays
        names: Sequence[str] = first["agents"]
        platform = first["platform"]
        agents = len(names)
        self.agents, self.width = agents, 2 * agents
        # Behind the agents stand their copy engines, each with a place in every clock.
        self.row_stride, self.snap_stride = t.READERS + 2 * self.width, t.TIMES + self.width
        self.team_stride = t.BY_AGENT + agents * t.BY_AGENT_STRIDE
        agent_tables = [self._zeros(n) for n in (t.CTL, agents * t.AGENT_STRIDE, agents * self.width)]
        lists = [self._zeros(n) for n in (self.row_stride, self.snap_stride, t.REGION_STRIDE)]
        words = [self._zeros(0, kind) for kind in ("i4", "i4", "u1", "i4")]
        hashes = [self._zeros(8 * n) for n in (t.HANDLE_STRIDE, t.SPAN_STRIDE, t.SLOT_STRIDE)]
        self.state = t.State._make([*agent_tables, *lists, *words, *hashes, self._zeros(0)])
        ctl = self.state.ctl
        ctl[t.AGENTS], ctl[t.CLOCK], ctl[t.TEAM_STRIDE] = agents, self.width, self.team_stride
        ctl[t.ROW_STRIDE], ctl[t.SNAP_STRIDE] = self.row_stride, self.snap_stride
        ctl[t.WHOLE_LINES] = int(platform["write_back"] == "line")
        ctl[t.MAY_DISCARD] = int(platform["invalidate"] != "write_back")
        ctl[t.COUNTING] = int(platform.get("slots") == "counting")
        ctl[t.REGIONS], ctl[t.REGIONS_ROOM], ctl[t.HANDLED] = 1, 1, -1
        for number, name in enumerate(names):
            self.state.agent[number * t.AGENT_STRIDE + t.CACHED] = int(name in platform["cached"])
            self.state.agent[number * t.AGENT_STRIDE + t.HEAD] = -1
        self.more_rows(64)
        self.more_snaps(64)
        self.more_regions(64)

    def _zeros(self, count: int, kind: str = "i8") -> Any:
        if self.arrays:
            return np.zeros(count, kind)
        return bytearray(count) if kind == "u1" else [0] * count

    def _grown(self, old: Any, count: int) -> Any:
        """A table with room for so many numbers; what is new is zero."""
        more = count - len(old)
        if more <= 0:
            return old
        if not self.arrays:
            old.extend(bytes(more) if isinstance(old, bytearray) else [0] * more)
            return old
        new = np.zeros(count, old.dtype)
        new[: len(old)] = old
        return new

    def _grow(self, **counts: int) -> None:
        self.state = self.state._replace(**{k: self._grown(getattr(self.state, k), n) for k, n in counts.items()})

    def _link(self, table: Any, stride: int, field: int, low: int, high: int) -> None:
        """Chain the new entries into a list that ends with 0."""
        for number in range(low, high):
            table[number * stride + field] = number + 1 if number + 1 < high else 0

    def more_rows(self, need: int) -> None:
        """Room for at least so many more writes."""
        ctl = self.state.ctl
        have = len(self.state.row) // self.row_stride
        new = max(2 * have, have + 2 * need)
        self._grow(row=new * self.row_stride)
        self._link(self.state.row, self.row_stride, t.NEXT, have, new)
        self.state.row[(new - 1) * self.row_stride + t.NEXT] = int(ctl[t.ROW_FREE])
        ctl[t.ROW_FREE] = have
        ctl[t.ROWS_LEFT] += new - have

    def more_snaps(self, need: int) -> None:
        """Room for at least so many more clocks."""
        ctl = self.state.ctl
        have = len(self.state.snap) // self.snap_stride
        new = max(2 * have, have + need)
        self._grow(snap=new * self.snap_stride)
        self._link(self.state.snap, self.snap_stride, t.AFTER, have, new)
        self.state.snap[(new - 1) * self.snap_stride + t.AFTER] = int(ctl[t.SNAP_FREE])
        ctl[t.SNAP_FREE] = have
        ctl[t.SNAPS_LEFT] += new - have

    def more_regions(self, lines: int) -> None:
        """Room for one more region of so many lines, rounded up to a power of two."""
        ctl = self.state.ctl
        room = max(64, 2 * int(ctl[t.REGIONS]))
        wanted = max(2 * int(ctl[t.LINES]), int(ctl[t.LINES]) + (1 << max(0, lines - 1).bit_length()))
        self._grow(
            region=room * t.REGION_STRIDE, word=wanted * t.WORDS, said=wanted * t.WORDS, data=wanted * t.LINE,
            dropped=wanted * self.agents,
        )  # fmt: skip
        ctl[t.REGIONS_ROOM], ctl[t.LINES_ROOM] = room, wanted

    def more_keys(self) -> None:
        """Twice the room in each hash table that is half full."""
        ctl = self.state.ctl
        for name, stride, count in (
            ("handle", t.HANDLE_STRIDE, t.HANDLES), ("span", t.SPAN_STRIDE, t.SPANS), ("slot", t.SLOT_STRIDE, t.SLOTS),
        ):  # fmt: skip
            old = getattr(self.state, name)
            if 2 * stride * (int(ctl[count]) + 1) <= len(old):
                continue
            new = self._zeros(2 * len(old))
            for at in range(0, len(old), stride):
                if old[at + t.USED]:
                    to = t.put(new, stride, int(old[at]), int(old[at + 1]))
                    new[to : to + stride] = old[at : at + stride]
            self.state = self.state._replace(**{name: new})

    def teams(self, count: int) -> None:
        """Room for so many teams."""
        have = len(self.state.team) // self.team_stride
        if count > have:
            self._grow(team=max(8, 2 * count) * self.team_stride)

    def make_room(self, words: int, lines: int) -> None:
        """What the check asked for when it stopped."""
        ctl = self.state.ctl
        self.more_keys()
        if ctl[t.ROWS_LEFT] < words + 64:
            self.more_rows(words + 64)
        if ctl[t.SNAPS_LEFT] < 64:
            self.more_snaps(64)
        if lines:
            self.more_regions(lines)
