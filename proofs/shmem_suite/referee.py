"""The referee: Debian's Murphi verifier `rumur`, which we did not write, explores the printed model of a scope.

It must find as many states and fire as many rules as our explorer.  It shares no code with our readers but the
printer; where the two disagree, the check fails.  Where rumur or a C compiler is missing the check says so and is
not run; it never passes then.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from shmem_model.language import Property
from shmem_model.readers.explorer import explore
from shmem_model.readers.print_murphi import murphi
from shmem_model.readers.scope import Scope
from shmem_suite.checks import Outcome, skipped
from shmem_suite.processes import run_tool

COMPILERS = ("gcc", "clang")
RUMUR_OPTIONS = (
    *("--symmetry-reduction", "off"),
    *("--deadlock-detection", "off"),
    *("--counterexample-trace", "off"),
    *("--color", "off"),
    *("--output-format", "machine-readable"),
)
COMPILER_OPTIONS = ("-std=c11", "-O3", "-march=native", "-w")
LIBRARIES = ("-lpthread", "-latomic")


class RefereeError(RuntimeError):
    """The referee could not finish: a tool failed, ran out of time, or said something unexpected."""


@dataclass(frozen=True)
class RefereeResult:
    """What rumur found.  `errors` are broken properties; rumur stops at the first one, so counts say nothing then.

    `seconds` is the time of the search alone, `compile_seconds` that of printing, rumur and the C compiler.
    """

    states: int
    rules: int
    seconds: float
    compile_seconds: float
    errors: int = 0
    message: str = ""


def missing() -> str:
    """Why the referee cannot be asked on this machine, or nothing."""
    if shutil.which("rumur") is None:
        return "rumur is not installed (Debian: apt-get install rumur)"
    if _compiler() is None:
        return f"rumur needs one of the C compilers {', '.join(COMPILERS)}"
    return ""


def _compiler() -> str | None:
    return next((path for name in COMPILERS if (path := shutil.which(name)) is not None), None)


def run(scope: Scope, timeout: float, threads: int = 1, properties: Iterable[Property] = ()) -> RefereeResult:
    """Let rumur explore the scope, in a temporary directory; RefereeError when it cannot or does not finish."""
    return run_text(murphi(scope, properties), timeout, threads)


def run_text(model: str, timeout: float, threads: int = 1) -> RefereeResult:
    """Let rumur explore a Murphi model."""
    reason = missing()
    if reason:
        raise RefereeError(reason)
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="shmem-referee-") as name:
        folder = Path(name)
        (folder / "model.m").write_text(model, encoding="utf-8")
        _call(["rumur", f"--threads={threads}", *RUMUR_OPTIONS, "--output=model.c", "model.m"], folder, timeout)
        compiler = [_compiler() or "", *COMPILER_OPTIONS, "model.c", "-o", "model", *LIBRARIES]
        _call(compiler, folder, timeout - (time.perf_counter() - begin))
        compiled = time.perf_counter()
        said = _call([str(folder / "model")], folder, timeout - (compiled - begin), may_fail=True)
        return _read(said, time.perf_counter() - compiled, compiled - begin)


def _call(command: Sequence[str], folder: Path, timeout: float, may_fail: bool = False) -> str:
    name = Path(command[0]).name
    try:
        done = run_tool(command, max(timeout, 0.01), cwd=folder, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise RefereeError(f"the referee ran out of time in {name}") from None
    except OSError as error:
        raise RefereeError(f"cannot start {name}: {error}") from error
    if done.returncode != 0 and not may_fail:
        raise RefereeError(f"{name} failed: {' '.join(done.stderr.split())[:300]}")
    return done.stdout


def _read(output: str, seconds: float, compile_seconds: float) -> RefereeResult:
    """The summary of the verifier's XML output."""
    try:
        root = ElementTree.fromstring(output)
    except ElementTree.ParseError as error:
        raise RefereeError(f"the verifier did not finish ({error}): {output[-200:]!r}") from error
    summary = root.find("summary")
    if summary is None:
        raise RefereeError(f"the verifier gave no summary: {output[-200:]!r}")
    states, rules, errors = (int(summary.attrib[name]) for name in ("states", "rules_fired", "errors"))
    message = " ".join("".join(node.itertext()) for node in root.iter("message"))
    return RefereeResult(states, rules, seconds, compile_seconds, errors, " ".join(message.split()))


def judge(scope: Scope, states: int, rules: int, timeout: float, properties: Iterable[Property] = ()) -> Outcome:
    """Does rumur count what our explorer counted, and find no broken property?"""
    reason = missing()
    if reason:
        return skipped(f"not run: {reason}")
    try:
        found = run(scope, timeout, properties=properties)
    except RefereeError as error:
        return Outcome("unknown", str(error))
    facts = {"seconds": found.seconds, "compile_seconds": found.compile_seconds}
    counts = {"states": found.states, "rules": found.rules}
    seconds = found.seconds + found.compile_seconds
    if found.errors:
        return Outcome("fails", f"rumur reports an error: {found.message}", seconds, {}, facts)
    if (found.states, found.rules) != (states, rules):
        ours = f"our explorer {states} states and {rules} transitions"
        return Outcome("fails", f"rumur finds {found.states} states and fires {found.rules} rules, {ours}", seconds)
    return Outcome("holds", "", seconds, counts, facts)


def check(scope: Scope, timeout: float, properties: Iterable[Property] = ()) -> Outcome:
    """Explore the scope ourselves, and let the referee judge the counts."""
    if missing():
        return skipped(f"not run: {missing()}")
    ours = explore(scope)
    if not ours.complete:
        return Outcome("unknown", "our own exploration is not complete")
    return judge(scope, ours.states, ours.transitions, timeout, properties)
