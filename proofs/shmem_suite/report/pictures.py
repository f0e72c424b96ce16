"""The picture of a run: a lane per agent and one for memory, time running down, the guilty step in colour.

A step is a box in the lane of the agent that takes it.  Under it, and in the lanes of others whose state it
changes, stand the cells that it changed.  Arrows lead from a message to the step that takes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from markupsafe import Markup

from shmem_suite.story import Change, Step, Trace

LANE, GUTTER, HEAD = 182, 30, 34
BOX, LINE, GAP = 24, 16, 12
LETTERS = 25
MOST = 6
MEMORY, DRIVER = "memory and driver", ""
TAKES = {"send": ("wait", "poll"), "arrive": ("leave",)}


def picture(trace: Trace) -> Markup:
    """The run as SVG, for an HTML page whose style sheet gives the colours."""
    lanes = [*trace.lanes, DRIVER]
    rows = [_Row(step, lanes) for step in trace.steps]
    tops = []
    height = HEAD + GAP
    for row in rows:
        tops.append(height)
        height += row.height + GAP
    width = GUTTER + LANE * len(lanes)
    parts = [*_lanes(lanes, height), *_arrows(trace, lanes, tops)]
    for number, (row, top) in enumerate(zip(rows, tops, strict=True), 1):
        parts += row.draw(number, top)
    if trace.loop is not None and tops:
        parts.append(_loop(tops[min(trace.loop, len(tops) - 1)], tops[-1]))
    label = escape(f"A run of {len(rows)} steps. {trace.ending}", quote=True)
    head = f'<svg class="run" viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="{label}">'
    return Markup(head + "".join(parts) + "</svg>")


class _Row:
    """One step with what it changes, lane by lane."""

    def __init__(self, step: Step, lanes: list[str]) -> None:
        self.step = step
        self.lanes = lanes
        self.changes: dict[str, list[Change]] = {lane: [] for lane in lanes}
        for change in sorted(step.changes, key=lambda change: change.ghost):
            owner = change.place[0] if change.place and change.place[0] in lanes else DRIVER
            self.changes[owner].append(change)

    @property
    def height(self) -> int:
        longest = max(min(len(group), MOST + 1) for group in self.changes.values())
        return BOX + LINE * longest + (4 if longest else 0)

    def draw(self, number: int, top: int) -> Iterator[str]:
        step = self.step
        left = _left(self.lanes, step.agent) + 6
        mark = " guilty" if step.guilty else ""
        if step.guilty:
            yield f'<rect class="band" x="0" y="{top - 6}" width="100%" height="{self.height + 10}"/>'
        yield f'<text class="n" x="{GUTTER - 8}" y="{top + 16}" text-anchor="end">{number}</text>'
        yield f'<rect class="step{mark}" x="{left}" y="{top}" width="{LANE - 12}" height="{BOX}" rx="5"/>'
        yield _text(f"call{mark}", left + 8, top + 16, step.call, LETTERS - 3)
        for lane, group in self.changes.items():
            yield from self._cells(_left(self.lanes, lane) + 14, top + BOX + LINE - 1, lane, group)

    def _cells(self, x: int, y: int, lane: str, group: list[Change]) -> Iterator[str]:
        for n, change in enumerate(group[:MOST]):
            place = change.place[1:] if change.place and change.place[0] == lane else change.place
            where = f" {','.join(place)}" if place else ""
            yield _text("cell", x, y + n * LINE, f"{change.cell}{where}: {change.before}→{change.after}", LETTERS)
        if len(group) > MOST:
            rest = "; ".join(map(str, group[MOST:]))
            yield _text("cell", x, y + MOST * LINE, f"and {len(group) - MOST} more", LETTERS, rest)


def _left(lanes: list[str], agent: str) -> int:
    return GUTTER + LANE * (lanes.index(agent) if agent in lanes else len(lanes) - 1)


def _text(kind: str, x: int, y: int, text: str, most: int, full: str = "") -> str:
    shown = text if len(text) <= most else text[: most - 1] + "…"
    title = f"<title>{escape(full or text)}</title>" if full or shown != text else ""
    return f'<text class="{kind}" x="{x}" y="{y}">{escape(shown)}{title}</text>'


def _lanes(lanes: list[str], height: int) -> Iterator[str]:
    for number, lane in enumerate(lanes):
        left = GUTTER + LANE * number
        middle = left + LANE // 2
        yield f'<line class="lane" x1="{middle}" y1="{HEAD}" x2="{middle}" y2="{height - 4}"/>'
        name = escape(lane or MEMORY)
        yield f'<text class="name" x="{middle}" y="{HEAD - 12}" text-anchor="middle">{name}</text>'


def _arrows(trace: Trace, lanes: list[str], tops: list[int]) -> Iterator[str]:
    """From each message to the first later step that takes it: of the same token or epoch, where that is told."""
    for start, step in enumerate(trace.steps):
        takers = TAKES.get(step.action.split("@")[0], ())
        marks = {pair for pair in step.arguments if pair[0] in ("t", "e", "s")}
        for end in range(start + 1, len(trace.steps)):
            other = trace.steps[end]
            shared = not marks or marks & set(other.arguments)
            if other.action.split("@")[0] in takers and other.agent != step.agent and shared:
                yield _arrow(_left(lanes, step.agent), tops[start], _left(lanes, other.agent), tops[end])
                break


def _arrow(x1: int, y1: int, x2: int, y2: int) -> str:
    right = x2 > x1
    a, b = (x1 + LANE - 6, x2 + 6) if right else (x1 + 6, x2 + LANE - 6)
    s, e = y1 + BOX // 2, y2 + BOX // 2
    tip = -7 if right else 7
    bend = (b - a) // 2
    path = f"M{a},{s} C{a + bend},{s} {b - bend},{e} {b},{e}"
    return f'<path class="edge" d="{path}"/><path class="tip" d="M{b},{e} l{tip},-4 l0,8 z"/>'


def _loop(top: int, bottom: int) -> str:
    path = f"M{GUTTER - 4},{bottom + BOX // 2} C2,{bottom} 2,{top + BOX} {GUTTER - 4},{top + BOX // 2}"
    return f'<path class="edge" d="{path}"/><path class="tip" d="M{GUTTER - 2},{top + BOX // 2} l-8,-3 l2,8 z"/>'
