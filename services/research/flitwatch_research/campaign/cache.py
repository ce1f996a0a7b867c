"""Finished campaigns on disk, so that a scenario is simulated once: observations and truth in files of their own."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import zipfile
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
#: What makes a campaign, whose imports are followed through these packages.
SIMULATES, OURS = (
    "flitwatch_research.campaign.simulate",
    ("flitwatch_research.campaign", "flitwatch_twin.", "flitwatch_simulation.", "flitwatch_domain."),
)
ERRORS = "flitwatch_domain.errors"
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def cache_folder() -> Path:
    """`$FLITWATCH_CACHE/twin`, else `.cache/twin` below the working directory."""
    return Path(os.environ.get("FLITWATCH_CACHE", ".cache")) / "twin"


def record_paths(scenario: str, seed: int, users: int) -> tuple[Path, Path]:
    """Return the paths of a scenario's observations and of its truth."""
    name = f"{scenario}-{seed}-{users}-{code_version()}.npz"
    return cache_folder() / "observed" / name, cache_folder() / "truth" / name


@lru_cache(maxsize=1)
def code_version() -> str:
    """Return a digest of the source that makes a campaign: another code makes another campaign.

    It takes in the modules of ours that `simulate` imports, and those that they import; comments, docstrings and layout play no part.
    """
    digest = hashlib.sha256()
    for module, tree in sorted(_parse_imports(SIMULATES).items()):
        digest.update(f"{module}\n{plain_code(tree)}\n".encode())
    return digest.hexdigest()[:12]


def plain_code(tree: ast.Module) -> str:
    """Return what code does, for a digest: without comments, docstrings and layout."""
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


def _parse_imports(first: str) -> dict[str, ast.Module]:
    """Return syntax trees of a module and of all of ours that it needs, by name; errors make no numbers and are left out."""
    trees: dict[str, ast.Module] = {}
    waiting = [first]
    while waiting:
        module = waiting.pop()
        source = None if module in trees or module == ERRORS else _find_source(module)
        if source is None:
            continue
        trees[module] = ast.parse(source.read_bytes())
        for node in ast.walk(trees[module]):
            if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(OURS):
                parts = [f"{node.module}.{alias.name}" for alias in node.names]
                waiting += [part if _find_source(part) else str(node.module) for part in parts]
    return trees


def _find_source(module: str) -> Path | None:
    """Return the file of a module, found without importing it; None if the name is no module."""
    top, *parts = module.split(".")
    package = importlib.util.find_spec(top)
    if package is None or package.origin is None:
        return None
    path = Path(package.origin).parent.joinpath(*parts)
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def save_record(path: Path, record: object) -> None:
    """Write a dataclass of arrays, texts and numbers; whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    values = {field.name: np.asarray(getattr(record, field.name)) for field in fields(record)}  # type: ignore[arg-type]
    part = path.with_suffix(f".{os.getpid()}.part")
    with part.open("wb") as handle:
        np.savez(handle, **values)  # type: ignore[arg-type]
    os.replace(part, path)


def load_record(path: Path, kind: type[T]) -> T | None:
    """Read what `save_record` wrote; None if there is nothing usable."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            return kind(**{field.name: _to_plain(stored[field.name]) for field in fields(kind)})  # type: ignore[arg-type]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _to_plain(array: np.ndarray) -> Any:
    """Return texts and scalars come back as Python values, text lists as tuples."""
    if array.ndim == 0:
        return array.item()
    return tuple(array.tolist()) if array.dtype.kind == "U" else array
