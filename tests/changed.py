"""Test files affected by a change, one per line: changed ones, and those that import a changed module.

Changes are relative to `make check BASE=...` (default: the newest ancestor on main), including uncommitted ones.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Folders whose children are packages.
PACKAGES = ("db", "ingest", "ml", *(f"services/{path.name}" for path in sorted((ROOT / "services").iterdir())), "tests")


def changed(base: str) -> list[str]:
    """Files that differ from where this branch left `base`, the new ones among them."""

    def git(*words: str) -> list[str]:
        return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()

    (left,) = git("merge-base", base, "HEAD")
    return [*git("diff", "--name-only", "--diff-filter=d", left), *git("ls-files", "--others", "--exclude-standard")]


def module(path: str) -> str | None:
    """The dotted name of a Python file; None if it has none."""
    for package in PACKAGES:
        if path.endswith(".py") and path.startswith(f"{package}/"):
            return path.removeprefix(f"{package}/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return None


def imported(path: Path) -> set[str]:
    """Modules that a file imports; of `from a import b` both a and a.b."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.update((node.module, *(f"{node.module}.{alias.name}" for alias in node.names)))
    return names


def concerned(files: list[str]) -> list[str]:
    """Test files among `files`, and those that import a module among them."""
    modules = {name for file in files if (name := module(file))}
    tests = sorted((ROOT / "tests").glob("*/test_*.py"))
    return [name for path in tests if (name := str(path.relative_to(ROOT))) in files or modules & imported(path)]


if __name__ == "__main__":
    print(*concerned(changed(sys.argv[1] if len(sys.argv) > 1 else "main")), sep="\n")
