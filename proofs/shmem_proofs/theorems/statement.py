"""What a theorem is: an id, a sentence, the claims that make it up, witnesses, and red twins.

A *witness* shows that the theorem does not hold for want of anything to happen: a state in which the interesting
thing has happened can be reached.  A *red twin* is the machine with one thing left out; the theorem must fail in it,
and the shortest run that shows so is pinned by its length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from shmem_model.language import Machine, Property
from shmem_model.readers.setting import Setting
from shmem_proofs.algorithm_checks import World

INDUCTION, TWO_RUNS, LITMUS = "induction", "two runs", "litmus"
ALGORITHM = "exploration of atomic steps"
ON_TERMS = "the implementation's own code, run on terms"


@dataclass(frozen=True)
class Witness:
    """A state that must be reachable in a setting."""

    state: Property
    setting: Setting

    @property
    def name(self) -> str:
        """The name of the state."""
        return self.state.name

    @property
    def sentence(self) -> str:
        """What has happened in the state."""
        return self.state.sentence


@dataclass(frozen=True)
class RedTwin:
    """A weakened machine in which `breaks` must fail; `steps` is the length of the shortest run that shows it.

    `breaks` may be a claim of the machine or of a property given in `claim` (observations for theorems about two
    runs are stated on one run: what the observer may never see).
    """

    name: str
    sentence: str
    weaken: Callable[[Machine], Machine]
    breaks: str
    setting: Setting
    steps: int
    claim: Property | None = None


@dataclass(frozen=True)
class Case:
    """A witness or a red twin of a theorem that is not about the machine; the suite knows by `name` how to show it.

    `breaks` says what of the theorem fails in a red twin; a witness breaks nothing.
    """

    name: str
    sentence: str
    breaks: str = ""

    @property
    def is_red_twin(self) -> bool:
        """It must fail."""
        return bool(self.breaks)


@dataclass(frozen=True)
class Theorem:
    """A promise of the machine, or (with `worlds`) of an algorithm of the implementation."""

    id: str
    name: str
    sentence: str
    method: str
    claims: tuple[Property, ...] = ()
    witnesses: tuple[Witness, ...] = ()
    red_twins: tuple[RedTwin, ...] = ()
    litmus: tuple[str, ...] = field(default=())
    worlds: tuple[World, ...] = field(default=())
    cases: tuple[Case, ...] = field(default=())

    def called(self, word: str) -> bool:
        """The word names this theorem (`T1` or `visibility`)."""
        return word.lower() in (self.id.lower(), self.name.lower())
