"""A counterexample as a story: the steps in order, what each one changed, and which one is to blame.

Whatever engine finds a trace, it is shown through this one shape: the text on the terminal, the picture in
the report and the JSON all come from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Change:
    """One cell of the state before and after a step: `valid(dev0, line1)` from `no` to `yes`.

    A ghost cell is bookkeeping of the custody monitor, which no hardware has.
    """

    cell: str
    place: tuple[str, ...]
    before: str
    after: str
    ghost: bool = False

    def __str__(self) -> str:
        where = f"({', '.join(self.place)})" if self.place else ""
        return f"{self.cell}{where}: {self.before} → {self.after}"


@dataclass(frozen=True)
class Step:
    """One step: who (empty: no agent, the driver or a fault), what, with which arguments, and what it
    changed.
    """

    agent: str
    action: str
    arguments: tuple[tuple[str, str], ...] = ()
    changes: tuple[Change, ...] = ()
    guilty: bool = False

    @property
    def call(self) -> str:
        """The action with the values of its arguments, without the acting agent."""
        inside = ", ".join(f"{name}={value}" for name, value in self.arguments if value != self.agent)
        return f"{self.action}({inside})" if inside else self.action


@dataclass(frozen=True)
class Trace:
    """A run: its steps, and in a sentence what is wrong at its end.

    `loop` is the index of the step to which the run returns, for a run that goes on for ever.
    """

    steps: tuple[Step, ...]
    ending: str = ""
    agents: tuple[str, ...] = ()
    loop: int | None = None

    @property
    def lanes(self) -> tuple[str, ...]:
        """The agents, in the order given and then of their first step."""
        seen = dict.fromkeys(self.agents)
        seen |= dict.fromkeys(step.agent for step in self.steps if step.agent)
        return tuple(seen)

    def lines(self) -> Iterable[str]:
        """The run as text, a line a step."""
        width = max((len(step.agent) for step in self.steps), default=0)
        for number, step in enumerate(self.steps, 1):
            mark = "►" if step.guilty else " "
            yield f"{mark}{number:3}  {step.agent or '·':{width}}  {step.call}"
        if self.ending:
            yield f"      {self.ending}"

    def as_json(self) -> dict[str, Any]:
        """The run as JSON values."""
        return asdict(self)
