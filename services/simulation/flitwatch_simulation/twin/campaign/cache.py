"""Finished campaigns on disk, so that a scenario is simulated once: observations and truth in files of their own."""

from __future__ import annotations

import hashlib
import os
import zipfile
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


def cache_folder() -> Path:
    """`$FLITWATCH_CACHE/twin`, else `.cache/twin` below the working directory."""
    return Path(os.environ.get("FLITWATCH_CACHE", ".cache")) / "twin"


def code_version() -> str:
    """A digest of the twin's source: another code makes another campaign."""
    root = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def save(path: Path, record: object) -> None:
    """Write a dataclass of arrays, texts and numbers; whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    values = {field.name: np.asarray(getattr(record, field.name)) for field in fields(record)}  # type: ignore[arg-type]
    part = path.with_suffix(f".{os.getpid()}.part")
    with part.open("wb") as handle:
        np.savez(handle, **values)  # type: ignore[arg-type]
    os.replace(part, path)


def load(path: Path, kind: type[T]) -> T | None:
    """Read what `save` wrote; None where there is nothing usable."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            return kind(**{field.name: _plain(stored[field.name]) for field in fields(kind)})  # type: ignore[arg-type]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _plain(array: np.ndarray) -> Any:
    """Texts and scalars come back as Python values, text lists as tuples."""
    if array.ndim == 0:
        return array.item()
    return tuple(array.tolist()) if array.dtype.kind == "U" else array
