"""Traffic by name, as in the dissertation's tables (Taffet 2021, section 3.4), and from CSV, in bytes between endpoints numbered from 0."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain import units
from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_domain.fabric import Find, number_finder
from flitwatch_domain.importers.packed import open_text
from flitwatch_domain.secret_file import local_path
from flitwatch_routing.bounds import weighted_bytes
from flitwatch_routing.matrices import is_matrix, read_matrix
from flitwatch_routing.traces.read import is_trace, read_trace
from flitwatch_routing.traces.read import trace_matrix as trace_matrix

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
Traffic = tuple[Ints, Ints, Floats]

#: Columns of traffic files; the last variant is the output of `flitwatch traffic reconstruct`, whose intervals are ignored.
_PLAIN, _COUNTED, _RECONSTRUCTED = (
    ["src", "dst", "bytes"],
    ["src", "dst", "bytes", "packets"],
    ["src", "dst", "bytes", "low", "high"],
)
#: Packet size for a trace's messages.
PACKET_BYTES = 4096
#: Limit of a pair, so that sums and their squares stay within the search's number range.
MOST_BYTES = 1e18

#: Faces, edges and corners of a 27-point exchange of 31^3 zones: three fields forward, six back (LULESH).
_LULESH = {1: 31 * 31 * 8 * 4.5, 2: 31 * 8 * 3.0, 3: 8 * 3.0}
_STEPS_7 = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]
_STEPS_27 = [(a, b, c) for a in (-1, 0, 1) for b in (-1, 0, 1) for c in (-1, 0, 1) if (a, b, c) != (0, 0, 0)]


def _build_traffic(src: NDArray, dst: NDArray, size: NDArray) -> Traffic:
    keep = src != dst
    return (
        src[keep].astype(np.int32),
        dst[keep].astype(np.int32),
        np.broadcast_to(np.asarray(size, float), src.shape)[keep].copy(),
    )


def _sum_pairs(src: NDArray, dst: NDArray, size: NDArray) -> Traffic:
    src, dst, size = _build_traffic(src, dst, size)
    pairs, inverse = np.unique(np.stack([src, dst]), axis=1, return_inverse=True)
    return pairs[0], pairs[1], np.bincount(inverse.reshape(-1), size).astype(np.float64)


def stencil_traffic(dims: tuple[int, int, int], steps: list[tuple[int, int, int]], sizes: list[float]) -> Traffic:
    """Return an exchange with neighbours on a non-periodic grid, x fastest."""
    x, y, z = np.meshgrid(*(np.arange(n) for n in dims), indexing="ij")
    x, y, z = (axis.transpose(2, 1, 0).reshape(-1) for axis in (x, y, z))
    parts = []
    for (a, b, c), size in zip(steps, sizes, strict=True):
        to = x + a, y + b, z + c
        inside = np.logical_and.reduce([(at >= 0) & (at < n) for at, n in zip(to, dims, strict=True)])
        src = np.flatnonzero(inside)
        dst = (to[0] + dims[0] * (to[1] + dims[1] * to[2]))[inside]
        parts.append((src, dst, np.full(len(src), size)))
    return _build_traffic(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _factor_grid(endpoints: int) -> tuple[int, int, int]:
    """Return the most even x >= y >= z with x y z = endpoints."""
    best = (endpoints, 1, 1)
    for z in range(1, round(endpoints ** (1 / 3)) + 1):
        for y in range(z, int((endpoints // z) ** 0.5) + 1) if endpoints % z == 0 else ():
            if endpoints // z % y == 0 and endpoints // z // y - z <= best[0] - best[2]:
                best = (endpoints // z // y, y, z)
    return best


def _stencil3d_traffic(n: int, rng: np.random.Generator) -> Traffic:
    return stencil_traffic(_factor_grid(n), _STEPS_7, [1.0] * 6)


def _bisection_traffic(n: int, rng: np.random.Generator) -> Traffic:
    at = np.arange(n - n % 2)
    return _build_traffic(at, (at + len(at) // 2) % len(at), np.ones(1))


def _shuffle_traffic(n: int, rng: np.random.Generator) -> Traffic:
    half = n // 2
    partner = half + rng.permutation(half)
    return _build_traffic(
        np.concatenate([np.arange(half), partner]), np.concatenate([partner, np.arange(half)]), np.ones(1)
    )


def _noisy_shuffle(n: int, rng: np.random.Generator) -> Traffic:
    src, dst, _ = _shuffle_traffic(n, rng)
    return src, dst, 1 + 0.05 * rng.uniform(-1, 1, len(src))


def _alltoall_traffic(n: int, rng: np.random.Generator) -> Traffic:
    src, dst = np.divmod(np.arange(n * n), n)
    return _build_traffic(src, dst, np.ones(1))


def _shift_traffic(n: int, rng: np.random.Generator) -> Traffic:
    at = np.arange(n)
    return _build_traffic(at, (at + n // 2) % n, np.ones(1))


def _lulesh_traffic(n: int, rng: np.random.Generator) -> Traffic:
    if n < 512:
        raise BadRequest(f"lulesh-512 needs 512 endpoints, the topology has {n}")
    return stencil_traffic((8, 8, 8), _STEPS_27, [_LULESH[abs(a) + abs(b) + abs(c)] for a, b, c in _STEPS_27])


def _partisn_traffic(n: int, rng: np.random.Generator) -> Traffic:
    """Return PARTISN: four neighbours on 14 x 12, and little traffic between every rank and rank 0, which sends twice as much as it receives.

    The published counts of non-zeros (table 4.1) require that sent and received amounts of rank 0 differ. The amounts themselves are not published.
    """
    if n < 168:
        raise BadRequest(f"partisn-168 needs 168 endpoints, the topology has {n}")
    src, dst, size = stencil_traffic((14, 12, 1), _STEPS_7[:4], [1.0] * 4)
    others, root = np.arange(1, 168), np.zeros(167, int)
    return _sum_pairs(
        np.concatenate([src, others, root]),
        np.concatenate([dst, root, others]),
        np.concatenate([size, np.full(167, 0.01), np.full(167, 0.02)]),
    )


def _amg_traffic(n: int, rng: np.random.Generator) -> Traffic:
    """Return AMG: six neighbours on 12 x 12 x 12, the finest level, and the denser coarse levels: all ranks within a distance of two.

    A rank's part of a few tens of points per side has two or three left after four coarsenings by two. Stencils then reach the rank after the next,
    and a face is 4^4 times smaller.
    """
    if n < 1728:
        raise BadRequest(f"amg-1728 needs 1,728 endpoints, the topology has {n}")
    reach = (-2, -1, 0, 1, 2)
    wide = [(a, b, c) for a in reach for b in reach for c in reach if (a, b, c) != (0, 0, 0)]
    sizes = [(1.0 if sum(map(abs, step)) == 1 else 0.0) + 4.0**-4 for step in wide]
    return stencil_traffic((12, 12, 12), wide, sizes)


def _boxlib_mg(n: int, rng: np.random.Generator) -> Traffic:
    """Return BoxLib's multigrid on 1,024 ranks: 26 neighbours on a lattice of 16 x 8 x 8 cells, dealt to the ranks along a Morton curve.

    The lattice has the published number of pairs (21,240); faces have 64 x 64 points, edges 64, corners one.
    """
    if n < 1024:
        raise BadRequest(f"boxlib-mg-1024 needs 1,024 endpoints, the topology has {n}")
    sizes = {1: 64.0 * 64.0, 2: 64.0, 3: 1.0}
    src, dst, size = stencil_traffic((16, 8, 8), _STEPS_27, [sizes[sum(map(abs, step))] for step in _STEPS_27])
    curve = morton_places((16, 8, 8))
    return curve[src], curve[dst], size


def _multigrid_traffic(n: int, rng: np.random.Generator) -> Traffic:
    """Return BoxLib's multigrid on 1,000 ranks: six neighbours on a periodic 10 x 10 x 10, dealt to the ranks along a Morton curve like the other run of this
    application. A face has 64 x 64 points, and a quarter after each coarsening. Five coarsenings leave boxes of two points a side; eight are then merged on the
    first's rank, three times. A merged box has faces of 4 x 4 points and gets eight points from each of the eight.

    An approximation: the finest level has the published significant non-zeros (table 4.1); how coarse boxes are merged is not described.
    """
    if n < 1000:
        raise BadRequest(f"multigrid-1000 needs 1,000 endpoints, the topology has {n}")
    at = np.array(np.unravel_index(np.arange(1000), (10, 10, 10), order="F"))
    parts = []
    for stride, points in ((1, sum(4.0**power for power in range(1, 7))), (2, 16.0), (4, 16.0)):
        here = np.flatnonzero((at % stride == 0).all(axis=0))
        side = -(-10 // stride)
        for step in _STEPS_7:
            to = (at[:, here] // stride + np.array(step)[:, None]) % side * stride
            parts.append((here, np.ravel_multi_index(tuple(to), (10, 10, 10), order="F"), points))
        above = np.ravel_multi_index(tuple(at[:, here] // (2 * stride) * 2 * stride), (10, 10, 10), order="F")
        parts += [(here, above, 8.0), (above, here, 8.0)]
    curve = morton_places((10, 10, 10))
    return _sum_pairs(
        curve[np.concatenate([src for src, _, _ in parts])],
        curve[np.concatenate([dst for _, dst, _ in parts])],
        np.concatenate([np.full(len(src), points) for src, _, points in parts]),
    )


def _nekbone_traffic(n: int, rng: np.random.Generator) -> Traffic:
    """Return Nekbone on 1,024 ranks of 16 x 8 x 8: a hundred exchanges with 26 neighbours (faces, edges and corners of elements with eight points a side), and
    the set-up of its gather-scatter library. This sends the number of each point to the rank that keeps it, by a crystal router, which is the described
    cross-diagonal communication.

    An approximation: the elements of a rank are not described.
    """
    if n < 1024:
        raise BadRequest(f"nekbone-1024 needs 1,024 endpoints, the topology has {n}")
    dims, points = np.array([16, 8, 8]), 8
    sizes = {1: 6400.0, 2: 800.0, 3: 100.0}
    src, dst, size = stencil_traffic((16, 8, 8), _STEPS_27, [sizes[sum(map(abs, step))] for step in _STEPS_27])
    ranks = np.arange(1024)
    first = np.array(np.unravel_index(ranks, dims, order="F")) * (points - 1)
    at = first[:, :, None] + np.indices((points,) * 3).reshape(3, 1, -1)
    keeper = np.ravel_multi_index(tuple(at), dims * (points - 1) + 1, order="F") % 1024
    routed = route_by_crystal(np.repeat(ranks, points**3), keeper.reshape(-1), 1024)
    senders, receivers = np.nonzero(routed)
    return _sum_pairs(
        np.concatenate([src, senders]),
        np.concatenate([dst, receivers]),
        np.concatenate([size, routed[senders, receivers]]),
    )


def route_by_crystal(at: NDArray[np.int64], dst: NDArray[np.int64], ranks: int) -> NDArray[np.int64]:
    """Return (ranks, ranks) numbers of hops, rows send, of messages between a power of two of ranks: what is for the other half goes to the mirrored rank, in
    ever smaller halves.
    """
    hops = np.zeros(ranks * ranks, np.int64)
    for width in 2 ** np.arange(ranks.bit_length() - 1, 0, -1):
        over = at // (width // 2) != dst // (width // 2)
        mirrored = at ^ (width - 1)
        hops += np.bincount(at[over] * ranks + mirrored[over], minlength=ranks * ranks)
        at = np.where(over, mirrored, at)
    return hops.reshape(ranks, ranks)


def _boxlib_cns(n: int, rng: np.random.Generator) -> Traffic:
    """Return BoxLib's compressible Navier-Stokes on 1,024 ranks: levels of refinement with about a cell per rank, each cell exchanging with 26 neighbours
    of its level and with the coarser cell around it.

    An approximation: refined boxes are at random places in the next coarser level, and each level is dealt to the ranks along its own Morton curve. So
    levels form the bands of slope 2 and 1/2 described in the dissertation (section 5.5), and the pattern is similar at multiple scales. The number of
    levels is not described: five give about as many partners per rank as published (table 4.1).
    """
    if n < 1024:
        raise BadRequest(f"boxlib-cns-1024 needs 1,024 endpoints, the topology has {n}")
    ranks, sides = 1024, np.array([16, 8, 8])
    weight = {1: 64.0 * 64.0, 2: 64.0, 3: 1.0}
    cells = np.array(np.unravel_index(np.arange(ranks), (16, 8, 8), order="F")).T
    owner = np.zeros(0, np.int64)
    parts: list[tuple[NDArray, NDArray, NDArray]] = []
    for level in range(5):
        coarser = owner
        if level:
            above = np.repeat(np.arange(len(cells)), 8)
            inside, sides = (2 * cells[:, None] + np.indices((2, 2, 2)).reshape(3, 8).T).reshape(-1, 3), 2 * sides
            refined = np.zeros(len(inside), bool)
            while refined.sum() < ranks:
                refined |= (abs(inside - 2 * cells[rng.integers(len(cells))]) < 4).all(axis=1)
            cells, above = inside[refined], above[refined]
        place = _interleave_bits(cells.T, tuple(sides.tolist()))
        along = np.argsort(place, kind="stable")
        owner = np.zeros(len(cells), np.int64)
        owner[along] = np.arange(len(cells)) * ranks // len(cells)
        for step in _STEPS_27:
            to = cells + step
            within = np.flatnonzero(((to >= 0) & (to < sides)).all(axis=1))
            sought = _interleave_bits(to[within].T, tuple(sides.tolist()))
            at = along[np.minimum(np.searchsorted(place[along], sought), len(cells) - 1)]
            there = place[at] == sought
            parts.append(
                (owner[within[there]], owner[at[there]], np.full(int(there.sum()), weight[sum(map(abs, step))]))
            )
        if level:
            both = coarser[above], owner, np.full(len(cells), 512.0)
            parts += [both, (both[1], both[0], both[2])]
    return _sum_pairs(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def morton_places(dims: tuple[int, int, int]) -> Ints:
    """Return the position of each cell of a lattice (x fastest) along its Morton curve."""
    place = _interleave_bits(np.array(np.unravel_index(np.arange(int(np.prod(dims))), dims, order="F")), dims)
    return np.argsort(np.argsort(place)).astype(np.int32)


def _interleave_bits(at: NDArray[np.int64], dims: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the Morton codes of places (axes, N)."""
    place, bit = np.zeros(at.shape[1], np.int64), 0
    for level in range(max(dims).bit_length()):
        for axis, side in enumerate(dims):
            if side - 1 >> level:
                place |= (at[axis] >> level & 1) << bit
                bit += 1
    return place


def _irregular_traffic(n: int, rng: np.random.Generator) -> Traffic:
    src = np.repeat(np.arange(n), 70)
    return _build_traffic(src, rng.integers(0, n, len(src)), rng.lognormal(0, 1.5, len(src)))


PATTERNS: dict[str, Callable[[int, np.random.Generator], Traffic]] = {
    "stencil3d": _stencil3d_traffic,
    "bisection": _bisection_traffic,
    "bisection-shuffle": _shuffle_traffic,
    "noisy-shuffle": _noisy_shuffle,
    "alltoall": _alltoall_traffic,
    "shift": _shift_traffic,
    "lulesh-512": _lulesh_traffic,
    "partisn-168": _partisn_traffic,
    "amg-1728": _amg_traffic,
    "boxlib-mg-1024": _boxlib_mg,
    "boxlib-cns-1024": _boxlib_cns,
    "multigrid-1000": _multigrid_traffic,
    "nekbone-1024": _nekbone_traffic,
    "irregular-70": _irregular_traffic,
}


def load_traffic(name: str, endpoints: int, seed: int, mtu: float | None = None, find: Find | None = None) -> Traffic:
    """Return (src int32, dst int32, bytes float64) from a pattern's name, a CSV file `src,dst,bytes[,packets]` or a measured matrix (lines `a , b = bytes`).

    With `mtu`, bytes are weighted: MTU/2 x packets + bytes/2 (`weighting.weighted_bytes`). `find` resolves endpoint names in a CSV file; without it
    they are numbers. Raise BadRequest or BadInput if the name is none of these, the file does not fit (with file and line), or with `mtu` the packets
    are unknown.
    """
    matrix, packets = load_counted_traffic(name, endpoints, seed, find)
    if mtu is None:
        return matrix
    if packets is None:
        raise BadRequest(
            f"mixed weighting needs packets, and {name} contains only bytes",
            advice="Give a CSV file src,dst,bytes,packets, or leave out --mtu",
        )
    return matrix[0], matrix[1], weighted_bytes(matrix[2], packets, mtu)


def load_counted_traffic(
    name: str, endpoints: int, seed: int, find: Find | None = None
) -> tuple[Traffic, Floats | None]:
    """Return traffic in bytes, and its packets (rows,) if a file contains them. Raises the errors of `load_traffic`."""
    if name in PATTERNS:
        return PATTERNS[name](endpoints, np.random.default_rng(seed)), None
    path = local_path(name)
    if path is None or not path.exists():
        raise BadRequest(
            f"{name!r} is neither a pattern nor a file",
            advice=f"Patterns: {', '.join(PATTERNS)}; or a file: CSV src,dst,bytes or src,dst,bytes,packets, lines `a , b = bytes`, or a trace",
        )
    return read_file(path, endpoints, find)


def by_rank(name: str) -> bool:
    """Return whether traffic of this name is between ranks of one job (patterns, measured matrices and traces) or, in a CSV file, between endpoints."""
    path = local_path(name)
    return name in PATTERNS or (path is not None and path.exists() and (is_trace(path) or is_matrix(path)))


def read_file(path: Path, endpoints: int, find: Find | None = None) -> tuple[Traffic, Floats | None]:
    """Return traffic of a CSV file, a measured matrix or a trace, and its packets if known. Raises the errors of `load_traffic`.

    Rank i of a matrix or a trace is endpoint i. `traces.read.summarise_traces` lists the omitted parts of traces.
    """
    try:
        if is_trace(path):
            return _of_trace(path, endpoints)
        matrix = is_matrix(path)
    except OSError as failure:
        raise BadInput(f"cannot be read: {failure.strerror}", where=str(path)) from failure
    if not matrix:
        return read_csv(path, endpoints, find)
    ranks, (src, dst, size) = read_matrix(path)
    if ranks > endpoints:
        raise BadInput(f"{ranks} ranks; the topology has {endpoints} endpoints", where=str(path))
    return _build_traffic(src, dst, size), None


def _of_trace(path: Path, endpoints: int) -> tuple[Traffic, Floats]:
    dag = read_trace(path)
    if dag.ranks > endpoints:
        raise BadInput(f"{dag.ranks} ranks; the topology has {endpoints} endpoints", where=str(path))
    src, dst, size, packets = trace_matrix(dag, PACKET_BYTES, str(path))
    return (src.astype(np.int32), dst.astype(np.int32), size.astype(float)), packets.astype(float)


def read_csv(path: Path, endpoints: int, find: Find | None = None) -> tuple[Traffic, Floats | None]:
    """Read `src,dst,bytes`, `src,dst,bytes,packets` or a reconstruction's `src,dst,bytes,low,high`, after comments (#). Repeated pairs are summed later.

    Raise BadInput with file and line, also if there is no traffic between different endpoints.
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
                    a, b, amount, packet_count = _parse_row(row, header, find, f"{path}:{reader.line_num}")
                    src.append(a)
                    dst.append(b)
                    size.append(amount)
                    packets.append(packet_count)
    except csv.Error as failure:
        raise BadInput(f"is not CSV text: {failure}", where=str(path)) from failure
    if not header:
        raise BadInput("is empty; the header must be src,dst,bytes or src,dst,bytes,packets", where=f"{path}:1")
    matrix = np.array(src, np.int32), np.array(dst, np.int32), np.array(size, float)
    if not ((matrix[2] > 0) & (matrix[0] != matrix[1])).any():
        nothing = "no rows" if not src else "no bytes from one endpoint to another"
        raise BadInput(f"contains no traffic: {nothing}, so there is nothing to route", where=str(path))
    return matrix, np.array(packets, float) if header == _COUNTED else None


def _parse_amount(text: str) -> float | None:
    # Non-finite values are rejected with their names.
    return float("inf") if units.is_infinite_or_nan(text) else units.parse_real(text.strip())


def _parse_row(row: list[str], header: list[str], find: Find, where: str) -> tuple[int, int, float, float]:
    """Return source, destination, bytes and packets; packets are 0 if the header lacks them."""
    if len(row) != len(header):
        raise BadInput(f"{len(row)} fields instead of {','.join(header)}", where=where)
    row = row[:3] if header == _RECONSTRUCTED else row
    a, b = find(row[0], where), find(row[1], where)
    amount, packets = _parse_amount(row[2]), _parse_amount(row[3]) if row[3:] else 0.0
    if amount is None or packets is None:
        numbers = "a number" if len(row) == 3 else "two numbers"
        raise BadInput(f"not two endpoints and {numbers}: {','.join(row)[:60]!r}", where=where)
    for name, text, value in zip(header[2:4], row[2:], (amount, packets), strict=False):
        if not 0 <= value < float("inf"):
            raise BadInput(f"{name} must be a finite number of at least 0, not {text!r}", where=where)
        if value > MOST_BYTES:
            raise BadInput(f"{text} {name} are more than any pair can send (at most {MOST_BYTES:g})", where=where)
    if row[3:] and amount > 0 and packets == 0:
        raise BadInput(f"{row[2]} bytes in no packet", where=where)
    return a, b, amount, packets
