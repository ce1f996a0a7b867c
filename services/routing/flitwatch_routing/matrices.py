"""Measured communication matrices: lines `a , b = bytes`, as written by graphStats."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadInput
from flitwatch_domain.importers.packed import open_plain
from flitwatch_domain.importers.text import read_utf8

#: Limits of one file; sums of bytes stay well within 64 bits.
MOST_BYTES = 2**60
_MATRIX_LINE = re.compile(
    r"\s*([0-9]{1,9})\s*,\s*([0-9]{1,9})\s*=\s*([0-9]{1,18}(?:\.[0-9]*)?(?:[eE][+]?[0-9]{1,2})?)\s*"
)
Pairs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def is_matrix(path: Path) -> bool:
    """Return whether a file begins like a measured matrix: with a line of dashes or with `a , b = bytes`."""
    first = first_line(path)
    return first.startswith("---") or _MATRIX_LINE.fullmatch(first) is not None


def read_beginning(path: Path) -> str:
    """Read the first 64 KiB of a text, which may be compressed."""
    with open_plain(path) as file:
        return file.read(1 << 16).decode("utf-8-sig", errors="replace")


def first_line(path: Path) -> str:
    """Return the first line that is neither empty nor a comment, stripped."""
    lines = (line.strip() for line in read_beginning(path).splitlines())
    return next((line for line in lines if line and not line.startswith("#")), "")


def read_matrix(path: Path) -> tuple[int, Pairs]:
    """Return the number of ranks and (src, dst, bytes) of a measured matrix with lines `a , b = bytes`. Half of each line counts for either
    direction. Raise BadInput if the file is invalid; the message contains file and line."""
    rows: list[tuple[int, int, float]] = []
    all_bytes = 0.0
    for number, line in enumerate(read_utf8(path).splitlines(), 1):
        if not line.strip() or line.startswith("---"):
            continue
        if fields := _MATRIX_LINE.fullmatch(line):
            all_bytes += float(fields[3])
            if all_bytes > MOST_BYTES:
                raise BadInput("the bytes up to here are more than 2^60", where=f"{path}:{number}")
            rows.append((int(fields[1]), int(fields[2]), float(fields[3])))
        elif "=" in line and "," in line.split("=")[0]:
            raise BadInput(f"{line.strip()!r} is not a line of the form `a , b = bytes`", where=f"{path}:{number}")
    if not rows:
        raise BadInput("no communication was found", where=str(path), advice="Expected lines `a , b = bytes`.")
    a, b, size = (np.array(column) for column in zip(*rows, strict=True))
    half = np.maximum(np.rint(size / 2), 1).astype(np.int64)
    ranks = int(max(a.max(), b.max())) + 1
    return ranks, (np.concatenate([a, b]), np.concatenate([b, a]), np.concatenate([half, half]))
