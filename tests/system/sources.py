"""Dependencies of a test file's result: its own text, and that of its imports."""

from __future__ import annotations

import hashlib
import subprocess
from functools import cache
from pathlib import Path

from changed import imported, module

#: A test that starts processes depends on all of these, whatever it imports.
_PRODUCT = ("db", "ingest", "ml", "services", "web", "k8s", "docker-compose.yml", "Makefile")
_CORE = ("services/noise_core",)
_ALWAYS = ("uv.lock", "pyproject.toml", "tests/conftest.py")


class Sources:
    """Digests of test files with what they import.

    Parameters
    ----------
    root : the checkout; only files that git tracks or would track count
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root,
            check=True,
            capture_output=True,
            text=True,
        )
        self.files = sorted(set(listed.stdout.split("\0")) - {""})
        self.modules = {name: file for file in self.files if (name := module(file))}
        self.digest = cache(self._digest)
        self._text = cache(self._text_of)

    def _text_of(self, file: str) -> bytes:
        path = self.root / file
        return path.read_bytes() if path.is_file() else b""

    def _closure(self, file: str) -> tuple[set[str], set[str]]:
        """Files that a Python file imports, directly or not, and the names of all modules that they and it import."""
        files, names, left = {file}, set(), [file]
        while left:
            for name in imported(self.root / left.pop()):
                names.add(name)
                more = self.modules.get(name)
                if more is not None and more not in files:
                    files.add(more)
                    left.append(more)
        return files, names

    def _digest(self, test: str) -> str:
        file = test.partition("::")[0]
        files, names = self._closure(file)
        own = {name for each in files if each.startswith("tests/") for name in imported(self.root / each)}
        under: tuple[str, ...] = ()
        if "subprocess" in own:
            under = _PRODUCT
        elif any(name.split(".")[0] == "flitwatch_core" for name in names):
            under = _CORE
        folder = file.rpartition("/")[0]
        files |= {
            each for each in self.files if each.startswith(tuple(f"{place}/" for place in under)) or each in under
        }
        files |= {each for each in (*_ALWAYS, f"{folder}/conftest.py") if each in set(self.files)}
        total = hashlib.sha256()
        for each in sorted(files):
            total.update(each.encode() + b"\0" + self._text(each) + b"\0")
        return total.hexdigest()[:16]
