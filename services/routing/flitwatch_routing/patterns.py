"""Traffic by name, as in the dissertation's tables (Taffet 2021, section 3.4), and from CSV; bytes between endpoints numbered from 0."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_domain.fabric import Find, number_finder
from flitwatch_domain.importers.local import local_path
from flitwatch_domain.importers.packed import open_text
from flitwatch_routing.matrices import is_matrix, read_matrix
from flitwatch_routing.weighting import mixed

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
Traffic = tuple[Ints, Ints, Floats]

#: Columns of traffic files; the last is what `flitwatch traffic reconstruct` writes, whose intervals say nothing about routes.
_PLAIN, _COUNTED, _RECONSTRUCTED = (
    ["src", "dst", "bytes"],
    ["src", "dst", "bytes", "packets"],
    ["src", "dst", "bytes", "low", "high"],
)
#: Of a pair: beyond it sums and their squares leave the numbers that the search counts in.
MOST_BYTES = 1e18

#: Faces, edges and corners of a 27-point exchange of 31^3 zones: three fields forward, six back (LULESH).
_LULESH = {1: 31 * 31 * 8 * 4.5, 2: 31 * 8 * 3.0, 3: 8 * 3.0}
_STEPS_7 = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]
_STEPS_27 = [(a, b, c) for a in (-1, 0, 1) for b in (-1, 0, 1) for c in (-1, 0, 1) if (a, b, c) != (0, 0, 0)]


def _made(src: NDArray, dst: NDArray, size: NDArray) -> Traffic:
    keep = src != dst
    return (
        src[keep].astype(np.int32),
        dst[keep].astype(np.int32),
        np.broadcast_to(np.asarray(size, float), src.shape)[keep].copy(),
    )


def stencil(dims: tuple[int, int, int], steps: list[tuple[int, int, int]], sizes: list[float]) -> Traffic:
    """Exchange with neighbours on a non-periodic grid, x fastest."""
    x, y, z = np.meshgrid(*(np.arange(n) for n in dims), indexing="ij")
    x, y, z = (axis.transpose(2, 1, 0).reshape(-1) for axis in (x, y, z))
    parts = []
    for (a, b, c), size in zip(steps, sizes, strict=True):
        to = x + a, y + b, z + c
        inside = np.logical_and.reduce([(at >= 0) & (at < n) for at, n in zip(to, dims, strict=True)])
        src = np.flatnonzero(inside)
        dst = (to[0] + dims[0] * (to[1] + dims[1] * to[2]))[inside]
        parts.append((src, dst, np.full(len(src), size)))
    return _made(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _grid(endpoints: int) -> tuple[int, int, int]:
    """The most even x >= y >= z with x y z = endpoints."""
    best = (endpoints, 1, 1)
    for z in range(1, round(endpoints ** (1 / 3)) + 1):
        for y in range(z, int((endpoints // z) ** 0.5) + 1) if endpoints % z == 0 else ():
            if endpoints // z % y == 0 and endpoints // z // y - z <= best[0] - best[2]:
                best = (endpoints // z // y, y, z)
    return best


def _stencil3d(n: int, rng: np.random.Generator) -> Traffic:
    return stencil(_grid(n), _STEPS_7, [1.0] * 6)


def _bisection(n: int, rng: np.random.Generator) -> Traffic:
    at = np.arange(n - n % 2)
    return _made(at, (at + len(at) // 2) % len(at), np.ones(1))


def _shuffle(n: int, rng: np.random.Generator) -> Traffic:
    half = n // 2
    partner = half + rng.permutation(half)
    return _made(np.concatenate([np.arange(half), partner]), np.concatenate([partner, np.arange(half)]), np.ones(1))


def _noisy_shuffle(n: int, rng: np.random.Generator) -> Traffic:
    src, dst, _ = _shuffle(n, rng)
    return src, dst, 1 + 0.05 * rng.uniform(-1, 1, len(src))


def _alltoall(n: int, rng: np.random.Generator) -> Traffic:
    src, dst = np.divmod(np.arange(n * n), n)
    return _made(src, dst, np.ones(1))


def _shift(n: int, rng: np.random.Generator) -> Traffic:
    at = np.arange(n)
    return _made(at, (at + n // 2) % n, np.ones(1))


def _lulesh(n: int, rng: np.random.Generator) -> Traffic:
    if n < 512:
        raise BadRequest(f"lulesh-512 needs 512 endpoints, the topology has {n}")
    return stencil((8, 8, 8), _STEPS_27, [_LULESH[abs(a) + abs(b) + abs(c)] for a, b, c in _STEPS_27])


def _partisn(n: int, rng: np.random.Generator) -> Traffic:
    """Four neighbours on 14 x 12, and a hundredth of it between every rank and rank 0."""
    if n < 168:
        raise BadRequest(f"partisn-168 needs 168 endpoints, the topology has {n}")
    src, dst, size = stencil((14, 12, 1), _STEPS_7[:4], [1.0] * 4)
    others, root = np.arange(1, 168), np.zeros(167, int)
    return _made(
        np.concatenate([src, others, root]),
        np.concatenate([dst, root, others]),
        np.concatenate([size, np.full(334, 0.01)]),
    )


def _amg(n: int, rng: np.random.Generator) -> Traffic:
    """Six neighbours on 12 x 12 x 12: what AMG's finest level exchanges; its coarse levels are left out."""
    if n < 1728:
        raise BadRequest(f"amg-1728 needs 1,728 endpoints, the topology has {n}")
    return stencil((12, 12, 12), _STEPS_7, [1.0] * 6)


def _irregular(n: int, rng: np.random.Generator) -> Traffic:
    src = np.repeat(np.arange(n), 70)
    return _made(src, rng.integers(0, n, len(src)), rng.lognormal(0, 1.5, len(src)))


PATTERNS: dict[str, Callable[[int, np.random.Generator], Traffic]] = {
    "stencil3d": _stencil3d,
    "bisection": _bisection,
    "bisection-shuffle": _shuffle,
    "noisy-shuffle": _noisy_shuffle,
    "alltoall": _alltoall,
    "shift": _shift,
    "lulesh-512": _lulesh,
    "partisn-168": _partisn,
    "amg-1728": _amg,
    "irregular-70": _irregular,
}


def traffic(name: str, endpoints: int, seed: int, mtu: float | None = None, find: Find | None = None) -> Traffic:
    """(src int32, dst int32, bytes float64) of a pattern's name, a CSV file `src,dst,bytes[,packets]` or a measured matrix (lines `a , b = bytes`).

    With `mtu`, bytes are weighted: MTU/2 x packets + bytes/2 (`weighting.mixed`). `find` lets a CSV file name endpoints; without it they are numbers.

    Raises
    ------
    BadRequest, BadInput
        For a name that is neither, or a file that does not fit: with file and line. With `mtu` also for traffic whose packets are not known.
    """
    found, packets = counted(name, endpoints, seed, find)
    if mtu is None:
        return found
    if packets is None:
        raise BadRequest(
            f"mixed weighting needs packets, and {name} holds bytes alone",
            advice="Give a CSV file src,dst,bytes,packets, or leave out --mtu",
        )
    return found[0], found[1], mixed(found[2], packets, mtu)


def counted(name: str, endpoints: int, seed: int, find: Find | None = None) -> tuple[Traffic, Floats | None]:
    """Traffic in bytes, and its packets (rows,) where a file tells them; raises as `traffic`."""
    if name in PATTERNS:
        return PATTERNS[name](endpoints, np.random.default_rng(seed)), None
    path = local_path(name)
    if path is None or not path.is_file():
        raise BadRequest(
            f"{name!r} is no pattern and no file",
            advice=f"Patterns: {', '.join(PATTERNS)}; or a file: CSV src,dst,bytes or src,dst,bytes,packets, or lines `a , b = bytes`",
        )
    return read_file(path, endpoints, find)


def by_rank(name: str) -> bool:
    """Whether traffic of that name counts ranks of one job, as patterns and measured matrices do; a CSV file names endpoints."""
    path = local_path(name)
    return name in PATTERNS or (path is not None and path.is_file() and is_matrix(path))


def read_file(path: Path, endpoints: int, find: Find | None = None) -> tuple[Traffic, Floats | None]:
    """Traffic of a CSV file or a measured matrix, whichever it holds, and its packets where it tells them; raises as `traffic`."""
    try:
        matrix = is_matrix(path)
    except OSError as failure:
        raise BadInput(f"cannot be read: {failure.strerror}", where=str(path)) from failure
    if not matrix:
        return read_csv(path, endpoints, find)
    ranks, (src, dst, size) = read_matrix(path)
    if ranks > endpoints:
        raise BadInput(f"{ranks} ranks; the topology has {endpoints} endpoints", where=str(path))
    return _made(src, dst, size), None


def read_csv(path: Path, endpoints: int, find: Find | None = None) -> tuple[Traffic, Floats | None]:
    """Read `src,dst,bytes`, `src,dst,bytes,packets` or a reconstruction's `src,dst,bytes,low,high`, after comments (#); repeated pairs add up later.

    BadInput names file and line; traffic that nobody sends to another is none.
    """
    src, dst, size, packets = [], [], [], []
    header: list[str] = []
    find = find or number_finder(endpoints)
    try:
        with open_text(path) as file:
            reader = csv.reader(file)
            for row in reader:
                if not header and not (row and row[0].startswith("#")):
                    header = [name.strip() for name in row]
                    if header not in (_PLAIN, _COUNTED, _RECONSTRUCTED):
                        raise BadInput(
                            "the header must be src,dst,bytes or src,dst,bytes,packets",
                            where=f"{path}:{reader.line_num}",
                        )
                elif header and row:
                    a, b, amount, sent = _row(row, header, find, f"{path}:{reader.line_num}")
                    src.append(a)
                    dst.append(b)
                    size.append(amount)
                    packets.append(sent)
    except csv.Error as failure:
        raise BadInput(f"is not CSV text: {failure}", where=str(path)) from failure
    if not header:
        raise BadInput("is empty; the header must be src,dst,bytes or src,dst,bytes,packets", where=f"{path}:1")
    found = np.array(src, np.int32), np.array(dst, np.int32), np.array(size, float)
    if not ((found[2] > 0) & (found[0] != found[1])).any():
        nothing = "no rows" if not src else "no bytes from one endpoint to another"
        raise BadInput(f"holds no traffic: {nothing}, so there is nothing to route", where=str(path))
    return found, np.array(packets, float) if header == _COUNTED else None


def _row(row: list[str], header: list[str], find: Find, where: str) -> tuple[int, int, float, float]:
    """Source, destination, bytes and packets, which are 0 where the header has none."""
    if len(row) != len(header):
        raise BadInput(f"{len(row)} fields instead of {','.join(header)}", where=where)
    row = row[:3] if header == _RECONSTRUCTED else row
    a, b = find(row[0], where), find(row[1], where)
    try:
        amount, packets = float(row[2]), float(row[3]) if row[3:] else 0.0
    except ValueError:
        numbers = "a number" if len(row) == 3 else "two numbers"
        raise BadInput(f"not two endpoints and {numbers}: {','.join(row)[:60]!r}", where=where) from None
    for name, text, value in zip(header[2:4], row[2:], (amount, packets), strict=False):
        if not 0 <= value < float("inf"):
            raise BadInput(f"{name} must be a finite number from 0, not {text!r}", where=where)
        if value > MOST_BYTES:
            raise BadInput(f"{text} {name} are more than any pair can send (at most {MOST_BYTES:g})", where=where)
    if row[3:] and amount > 0 and packets == 0:
        raise BadInput(f"{row[2]} bytes in no packet", where=where)
    return a, b, amount, packets
