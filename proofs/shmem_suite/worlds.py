"""The small and large worlds in which readers are compared and the machine is run at random."""

from __future__ import annotations

from collections.abc import Mapping

from shmem_model.machine import PROFILES, Profile
from shmem_model.readers.setting import Setting

COMPARED: Mapping[str, Setting] = {
    "small": Setting(),
    "counting": Setting(tokens=2, epochs=2, profile=PROFILES["pcie"], cached=(0,)),
    "masked": Setting(values=3, receivers=(1, 0), profile=PROFILES["soc"], rights={(1, 0): "r"}),
    "engine": Setting(agents=3, engines=1, teams=((0, 1), (1,))),
    "lines": Setting(words=2, regions=2, blocks=2, frames=2),
}
"""Where all readers are asked about any states; together these worlds let every action be taken."""

LARGE = Setting(
    agents=6,
    engines=1,
    regions=4,
    blocks=4,
    frames=5,
    words=4,
    values=3,
    tokens=3,
    epochs=2,
    lines=(0, 1, 1),
    translated=True,
    rights={(1, 0): "r", (2, 1): "", (3, 2): "r"},
    receivers=(0, 1, 2),
    teams=((0, 1, 2), (0, 3)),
)
"""Five agents and a copy engine, four lines of four words: far too large to explore."""

PLATFORMS: Mapping[str, Profile] = {
    **PROFILES,
    "masked": Profile("masked", write_back="masked", slots="counting"),
    "writes-back": Profile("writes-back", invalidate="write_back", multicast=True),
}
"""The named platforms, and two that combine the other choices."""
