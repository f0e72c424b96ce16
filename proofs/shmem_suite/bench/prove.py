"""How many obligations per second Z3 settles, and cvc5, on one core."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from shmem_model.machine import MACHINE
from shmem_proofs.induction import Obligation, Prover, Verdict, obligations
from shmem_proofs.second_solver import SecondProver
from shmem_suite.bench.measure import Bench, Row, one_core, ratio, take_turns
from shmem_suite.errors import SuiteError

UNIT = "obligations/s"


def run(rounds: int, tell: Callable[[str], None], every: int = 1) -> Bench:
    """Settle every n-th obligation with each solver, in turn."""
    chosen = list(obligations(MACHINE))[::every]

    def z3() -> Mapping[str, float]:
        return {"z3": _rate(Prover(MACHINE).check, chosen)}

    def cvc5() -> Mapping[str, float]:
        return {"cvc5": _rate(SecondProver(MACHINE).check, chosen)}

    with one_core():
        values = take_turns([z3, cvc5], rounds, tell)
    rows = tuple(Row(name, found, UNIT) for name, found in values.items())
    compared = ratio(rows, "z3", "cvc5")
    ratios = {} if compared is None else {"z3_vs_cvc5": compared}
    return Bench("prove", rows, ratios, subject=f"{len(chosen)} obligations")


def _rate(check: Callable[[Obligation], Verdict], chosen: Sequence[Obligation]) -> float:
    begin = time.perf_counter()
    for each in chosen:
        verdict = check(each)
        if verdict.verdict != "holds":
            raise SuiteError(f"{each.name}: {verdict.verdict}; a speed without proof says nothing")
    return len(chosen) / (time.perf_counter() - begin)
