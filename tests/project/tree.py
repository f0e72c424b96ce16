"""The source tree as the project tests see it: its files, and what its Python modules import."""

import ast
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = {".py", ".c", ".h", ".md", ".toml", ".lark", ".litmus", ".json", ".jinja", ".j2", ".html", ".yml", ""}
NOT_OURS = {".git", ".venv", "build", "dist", "__pycache__", ".hypothesis"}


def files() -> list[Path]:
    """Every file of the project: what git knows or would add; where git cannot tell, everything."""
    found = _told_by_git()
    if found is None:
        found = [path for path in ROOT.rglob("*") if not _is_product(path.relative_to(ROOT))]
    return sorted(path for path in found if path.is_file())


def _told_by_git() -> list[Path] | None:
    """The files by git, or None: no git on this machine, an unpacked archive, somebody else's checkout."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        return None
    command = [git, "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    return [ROOT / name for name in done.stdout.split("\0") if name]


def _is_product(name: Path) -> bool:
    """Whether a tool made this file: environments, caches, builds."""
    return any(part in NOT_OURS or part.endswith(("_cache", ".egg-info")) for part in name.parts)


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
