"""Tool-made mutants of the reference implementation: cosmic-ray makes them, the lock-step test must kill them.

`python -m shmem_suite.bugs.mutation` needs the extra `mutation`.  Every mutant of the modules below is put into a copy
of the implementation and searched with the lock-step test for some seconds; what survives goes to the implementation's
own tests of these modules.  What survives them too must stand in `survivors.toml` with a reason, or the run fails.  It
takes half an hour and more, so it is no check of the suite.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path

from shmem_suite.bugs.finding import search_copy
from shmem_suite.bugs.planting import copy, source
from shmem_suite.errors import SuiteError

MODULES = (
    "emulated/hardware.py", "emulated/board.py", "emulated/notify.py", "emulated/machine.py", "emulated/agent.py",
    "emulated/lines.py", "driver/allocator.py", "driver/regions.py",
)  # fmt: skip
OPERATORS = (
    "AddNot", "ReplaceAndWithOr", "ReplaceOrWithAnd", "ReplaceUnaryOperator_Delete_Not", "ZeroIterationForLoop",
    "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "NumberReplacer", "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak", "ReplaceComparisonOperator_Eq_NotEq", "ReplaceComparisonOperator_NotEq_Eq",
    "ReplaceComparisonOperator_Lt_LtE", "ReplaceComparisonOperator_LtE_Lt", "ReplaceComparisonOperator_Gt_GtE",
    "ReplaceComparisonOperator_GtE_Gt", "ReplaceComparisonOperator_Is_IsNot", "ReplaceComparisonOperator_IsNot_Is",
    "ReplaceBinaryOperator_Add_Sub", "ReplaceBinaryOperator_Sub_Add", "ReplaceBinaryOperator_BitAnd_BitOr",
    "ReplaceBinaryOperator_BitOr_BitAnd", "ReplaceBinaryOperator_Mul_Add", "ReplaceBinaryOperator_FloorDiv_Mul",
    "ReplaceBinaryOperator_Mod_FloorDiv", "ReplaceBinaryOperator_RShift_LShift",
    "ReplaceBinaryOperator_LShift_RShift",
)  # fmt: skip
"""One replacement for each operator that stands in the code, and all of cosmic-ray's others."""
TESTS = tuple(
    f"tests/impl/test_{name}.py"
    for name in (
        "emulated",
        "emulated_driver",
        "emulated_parts",
        "both_memories",
        "placing",
        "allocator",
        "placement_parts",
        "regions",
        "tracing",
    )
)


@dataclass(frozen=True)
class Mutant:
    """A module with one change: the line, and what stands there instead."""

    module: str
    operator: str
    occurrence: int
    line: int
    before: str
    after: str
    code: str

    @property
    def key(self) -> str:
        """What it is known by: place-free, so that it survives lines that move."""
        return f"{self.module}: {self.before} -> {self.after}"


def mutants(modules: tuple[str, ...] = MODULES) -> Iterator[Mutant]:
    """All mutants, without those that change annotations or texts only.

    Raises `SuiteError` where cosmic-ray is missing.
    """
    try:
        from cosmic_ray.mutating import mutate_code
        from cosmic_ray.plugins import get_operator
    except ModuleNotFoundError as error:
        raise SuiteError("mutation needs cosmic-ray; install it with: pip install 'shmem[mutation]'") from error
    for module in modules:
        text = (source() / module).read_text(encoding="utf-8")
        plain = _meaning(text)
        for operator in OPERATORS:
            made = get_operator(f"core/{operator}")()
            for occurrence in range(100_000):
                code = mutate_code(text, made, occurrence)
                if code is None:
                    break
                if _meaning(code) != plain:
                    yield Mutant(module, operator, occurrence, *_change(text, code), code)


def _change(text: str, code: str) -> tuple[int, str, str]:
    old, new = text.splitlines(), code.splitlines()
    at = next(i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
    return at + 1, old[at].strip(), new[at].strip()


def _meaning(code: str) -> str:
    """The program without annotations and without the texts of errors."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for argument in [*node.args.args, *node.args.kwonlyargs]:
                argument.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            node.exc.args = []
    return ast.dump(tree)


def survivors() -> dict[str, str]:
    """Mutants that nothing can kill, with the reason."""
    text = files(__package__).joinpath("survivors.toml").read_text(encoding="utf-8")
    return {entry["mutant"]: entry["reason"] for entry in tomllib.loads(text).get("survivor", [])}


def killed_by(mutant: Mutant, seconds: float) -> str:
    """`lock-step`, `tests`, or nothing."""
    with tempfile.TemporaryDirectory(prefix="shmem-mutant-") as folder:
        package = copy(Path(folder))
        (package / mutant.module).write_text(mutant.code, encoding="utf-8")
        if search_copy(Path(folder), seconds).told:
            return "lock-step"
        return "tests" if _tests_fail(Path(folder)) else ""


def _tests_fail(folder: Path) -> bool:
    path = os.pathsep.join([str(folder), *(p for p in sys.path if p)])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow", "-p", "no:cacheprovider"]
    command += ["-o", f"pythonpath={folder} .", *TESTS]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, check=False, timeout=240)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode == 1


def main() -> int:
    """Kill all mutants; one line of JSON for each, and the sums on standard error."""
    parser = argparse.ArgumentParser(prog="python -m shmem_suite.bugs.mutation", description=main.__doc__)
    parser.add_argument("--seconds", type=float, default=15.0, help="how long each one is searched (default 15)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--module", action="append", choices=MODULES, help="only this module (may be repeated)")
    parser.add_argument("--count", action="store_true", help="only say how many there are")
    chosen = parser.parse_args()
    try:
        found = list(mutants(tuple(chosen.module or MODULES)))
    except SuiteError as error:
        print(f"mutation: {error}", file=sys.stderr)
        return 2
    if chosen.count:
        print(len(found))
        return 0
    known, ends, alive = survivors(), Counter[str](), []
    with ThreadPoolExecutor(chosen.jobs) as pool:
        for mutant, end in zip(found, pool.map(lambda one: killed_by(one, chosen.seconds), found), strict=True):
            explained = mutant.key in known
            ends[end or ("explained" if explained else "alive")] += 1
            alive += [mutant] if not end and not explained else []
            told = {key: value for key, value in asdict(mutant).items() if key != "code"}
            print(json.dumps({**told, "killed by": end, "reason": known.get(mutant.key, "")}), flush=True)
    print(f"{len(found)} mutants: " + ", ".join(f"{n} {end}" for end, n in ends.most_common()), file=sys.stderr)
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
