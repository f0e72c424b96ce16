"""What `numbers` takes for granted of masks, proved for bit-vectors: every fact, for every power of two at once.

`lower(x)` is `x & -align`, the multiple of the alignment below x, as a processor computes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3

from shmem.layout import LINE

BITS = 72
"""More than a machine word, so that nothing wraps."""
EFFORT = 200_000_000
"""Z3 resource units for one fact."""


def _lower(x: Any, align: Any) -> Any:
    return x & -align


FACTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "it is not above": lambda x, y, a: z3.ULE(_lower(x, a), x),
    "it is less than an alignment below": lambda x, y, a: z3.ULT(x, _lower(x, a) + a),
    "what lies above it is the rest": lambda x, y, a: x & (a - 1) == x - _lower(x, a),
    "two of them are an alignment apart": lambda x, y, a: z3.Implies(
        z3.ULT(_lower(x, a), _lower(y, a)), z3.ULE(_lower(x, a) + a, _lower(y, a))
    ),
    "whole lines are multiples of smaller alignments": lambda x, y, a: z3.Implies(
        z3.And(z3.ULE(a, LINE), z3.URem(x, LINE) == 0), _lower(x, a) == x
    ),
    "multiples of larger alignments are whole lines": lambda x, y, a: z3.Implies(
        z3.UGE(a, LINE), z3.URem(_lower(x, a), LINE) == 0
    ),
}


def proved(fact: Callable[[Any, Any, Any], Any], any_alignment: bool = False) -> str:
    """`holds`, `fails` or `unknown` of a fact, for all numbers of 64 bits and all powers of two.

    With `any_alignment` for alignments that are no powers of two, too (then facts must fail).
    """
    x, y, align = z3.BitVecs("x y align", BITS)
    solver = z3.SolverFor("QF_BV")
    solver.set("rlimit", EFFORT)
    below = z3.BitVecVal(1 << 64, BITS)
    solver.add(z3.ULT(x, below), z3.ULT(y, below), z3.ULT(align, below), align != 0)
    if not any_alignment:
        solver.add(align & (align - 1) == 0)
    solver.add(z3.Not(fact(x, y, align)))
    answer = solver.check()
    return "holds" if answer == z3.unsat else "fails" if answer == z3.sat else "unknown"
