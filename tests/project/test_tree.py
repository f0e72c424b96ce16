"""The tree keeps its own limits: sizes a reader can take in, docstrings, and nothing of one machine."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.project.tree import ROOT, files, modules, texts

CODE = ("impl", "model", "proofs", "tests")
# First match wins: prefix of the file name, most lines of a file, most lines of a function.
LIMITS = (
    ("model/shmem_model/machine/", 300, 20),
    ("model/shmem_model/readers/", 300, 60),
    ("tests/", 350, 60),
    ("", 600, 60),
)
# Written in pieces so that this file does not find itself.
ONE_MACHINE = re.compile(r"(?<![\w.])/" + "(?:home|root|work|farm|Users)" + r"/\w")
HOSTS = ("py" + "pi.org", "python" + "hosted", "mirrors" + ".", "proxy." + "golang")
UNFINISHED = re.compile(r"\b(?:TO" + "DO|FIX" + "ME|XX" + "X|HA" + "CK)\\b")


def limits(name: str) -> tuple[int, int]:
    """The limits of lines for this file and for its functions."""
    return next((most, function) for prefix, most, function in LIMITS if name.startswith(prefix))


def python() -> Iterator[tuple[str, ast.Module]]:
    """Every Python file with its syntax tree."""
    for folder in CODE:
        yield from modules(folder)


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function of a file, methods and inner ones included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_files_are_short() -> None:
    sized = [(name, text.count("\n")) for name, text in texts() if name.endswith((".py", ".c", ".md", ".lark"))]
    assert sized
    assert [f"{name}: {n} lines of {limits(name)[0]}" for name, n in sized if n > limits(name)[0]] == []


def test_functions_are_short() -> None:
    long = []
    for name, tree in python():
        for node in functions(tree):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > limits(name)[1]:
                long.append(f"{name}:{node.lineno} {node.name}: {lines} lines of {limits(name)[1]}")
    assert long == []


def test_public_names_have_docstrings() -> None:
    silent = []
    for name, tree in python():
        if name.startswith("tests/"):
            continue
        for node in tree.body:
            public = isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
            if public and not ast.get_docstring(node):
                silent.append(f"{name}:{node.lineno} {node.name}")
    assert silent == []


def test_no_error_is_swallowed() -> None:
    swallowed = []
    for name, tree in python():
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler):
                broad = node.type is None or ast.unparse(node.type) in {"Exception", "BaseException"}
                if broad and all(isinstance(line, ast.Pass | ast.Continue) for line in node.body):
                    swallowed.append(f"{name}:{node.lineno}")
    assert swallowed == []


def test_nothing_names_one_machine_or_a_registry_host() -> None:
    found = []
    for name, text in texts():
        for number, line in enumerate(text.splitlines(), 1):
            if ONE_MACHINE.search(line) or any(host in line for host in HOSTS):
                found.append(f"{name}:{number}: {line.strip()[:80]}")
    assert found == []


def test_nothing_is_marked_unfinished() -> None:
    found = []
    for name, text in texts():
        for number, line in enumerate(text.splitlines(), 1):
            if name.endswith((".py", ".c")) and UNFINISHED.search(line):
                found.append(f"{name}:{number}: {line.strip()[:80]}")
    assert found == []


@pytest.mark.parametrize("package", ["impl/shmem", "model/shmem_model", "proofs/shmem_proofs", "proofs/shmem_suite"])
def test_public_packages_are_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file(), f"{package}/py.typed is missing, so clients see no types"


@pytest.mark.parametrize("name", ["README.md", "README.zh.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_the_front_pages_are_there(name: str) -> None:
    assert (ROOT / name) in files()
