"""The source tree as the project tests see it: its files, and what its Python modules import."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = {".py", ".c", ".h", ".md", ".toml", ".lark", ".litmus", ".json", ".jinja", ".j2", ".html", ".yml", ""}
NOT_OURS = {".git", ".venv", "build", "dist", "__pycache__"}


def files() -> list[Path]:
    """Every file of the project: what git knows or would add; in an unpacked archive, everything."""
    if (ROOT / ".git").exists():
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        found = [ROOT / name for name in listed.split("\0") if name]
    else:
        found = [p for p in ROOT.rglob("*") if not NOT_OURS & set(p.relative_to(ROOT).parts)]
    return sorted(path for path in found if path.is_file())


def texts() -> Iterator[tuple[str, str]]:
    """Name and content of every text file."""
    for path in files():
        if path.suffix in TEXT:
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8", errors="replace")


def modules(folder: str) -> Iterator[tuple[str, ast.Module]]:
    """Name and syntax tree of every Python file below a folder."""
    for path in files():
        name = path.relative_to(ROOT).as_posix()
        if path.suffix == ".py" and name.startswith(f"{folder}/"):
            yield name, ast.parse(path.read_text(encoding="utf-8"), filename=name)


def imported(name: str, tree: ast.Module) -> set[str]:
    """Full names of the modules that a file imports anywhere, relative imports resolved."""
    package = name.removesuffix(".py").split("/")[1:-1]
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = base + (node.module.split(".") if node.module else [])
            found |= {".".join([*base, alias.name]) for alias in node.names}
    return found
