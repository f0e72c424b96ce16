"""What the proof tests share: the machine's obligations are asked of Z3 once."""

import pytest

from shmem_model.machine import MACHINE
from shmem_proofs.induction import Obligation, Prover, Verdict, obligations


@pytest.fixture(scope="session")
def proved() -> dict[Obligation, Verdict]:
    """Z3's verdict on every obligation of the machine that is not settled by the frame alone."""
    prover = Prover(MACHINE)
    return {each: prover.check(each) for each in obligations(MACHINE) if not prover.settled_by_frame(each)}
