"""Cache of finished campaigns on disk, with separate files for observations and truth."""

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
#: The module that computes a campaign, and the packages through which its imports are followed.
SIMULATES, OURS = (
    "flitwatch_research.campaign.simulate",
    ("flitwatch_research.campaign", "flitwatch_twin.", "flitwatch_simulation.", "flitwatch_domain."),
)
ERRORS = "flitwatch_domain.errors"
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def cache_folder() -> Path:
    """Return `$FLITWATCH_CACHE/twin`, else `.cache/twin` below the working directory."""
    return Path(os.environ.get("FLITWATCH_CACHE", ".cache")) / "twin"


def record_paths(scenario: str, seed: int, users: int) -> tuple[Path, Path]:
    """Return the paths of a scenario's observations and of its truth."""
    name = f"{scenario}-{seed}-{users}-{code_version()}.npz"
    return cache_folder() / "observed" / name, cache_folder() / "truth" / name


@lru_cache(maxsize=1)
def code_version() -> str:
    """Return a digest of the source code that computes a campaign: changed code gives a new campaign.

    It covers all our modules imported directly or indirectly by `simulate`, without comments, docstrings and layout.
    """
    digest = hashlib.sha256()
    for module, tree in sorted(_parse_imports(SIMULATES).items()):
        digest.update(f"{module}\n{plain_code(tree)}\n".encode())
    return digest.hexdigest()[:12]


def plain_code(tree: ast.Module) -> str:
    """Return the code for a digest, without comments, docstrings and layout."""
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


def _parse_imports(first: str) -> dict[str, ast.Module]:
    """Return syntax trees of a module and all our modules that it needs, by name; the module of errors is omitted, as it does not affect numbers."""
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
    """Return the file of a module without importing it; None if the name is not a module."""
    top, *parts = module.split(".")
    package = importlib.util.find_spec(top)
    if package is None or package.origin is None:
        return None
    path = Path(package.origin).parent.joinpath(*parts)
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def save_record(path: Path, record: object) -> None:
    """Write a dataclass of arrays, texts and numbers atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    values = {field.name: np.asarray(getattr(record, field.name)) for field in fields(record)}  # type: ignore[arg-type]
    part = path.with_suffix(f".{os.getpid()}.part")
    with part.open("wb") as handle:
        np.savez(handle, **values)  # type: ignore[arg-type]
    os.replace(part, path)


def load_record(path: Path, kind: type[T]) -> T | None:
    """Load the output of `save_record`; return None if it is missing or unusable."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            return kind(**{field.name: _to_plain(stored[field.name]) for field in fields(kind)})  # type: ignore[arg-type]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _to_plain(array: np.ndarray) -> Any:
    """Convert an array to a Python value: texts and scalars to plain values, text lists to tuples."""
    if array.ndim == 0:
        return array.item()
    return tuple(array.tolist()) if array.dtype.kind == "U" else array
