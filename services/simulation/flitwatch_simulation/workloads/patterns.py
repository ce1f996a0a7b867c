"""Generators of the papers' patterns: name, ranks, bytes per rank and seed to messages in rounds.

Sources: Taffet 2021, sections 2.4, 3.4 and chapter 5 (bisection, stencils, bully, incast, miniGhost); Wang 2018, section II and the DOE
miniapps' own communication schemes (crystal router, fill boundary, AMG); De Sensi 2019, section V (ping-pong, all-to-all, halo3d, sweep3d).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from flitwatch_domain.errors import BadRequest
from flitwatch_simulation.workloads.messages import (
    Ints,
    Messages,
    expert_alltoall,
    hierarchical_allreduce,
    in_rounds,
    ring_allreduce,
    tree_allreduce,
)
from flitwatch_simulation.workloads.minighost import all_reduce, faces_of, minighost_messages

Maker = Callable[[int, int, np.random.Generator], Messages]


def make_pattern(name: str, ranks: int, bytes_per_rank: int, seed: int = 1) -> Messages:
    """Return the messages of a named pattern. Every rank sends `bytes_per_rank` on average, up to rounding to bytes.

    Only senders count in `pingpong_messages` (with an odd number, the last rank has no partner), `incast_messages`, `bisection-shuffle` and
    `bully_messages`. In `broadcast_messages` every rank except the first receives this amount. A message has at least one byte. Raise BadRequest if
    the name is unknown, or the pattern needs more ranks.
    """
    if name not in PATTERNS:
        raise BadRequest(f"unknown pattern {name!r}", advice=f"Use one of {', '.join(['uniform', *sorted(PATTERNS)])}.")
    if ranks < 2:
        raise BadRequest(f"pattern {name!r} needs at least 2 ranks, not {ranks}")
    if bytes_per_rank < 1:
        raise BadRequest(f"bytes per node is {bytes_per_rank}; expected at least 1")
    return PATTERNS[name](ranks, bytes_per_rank, np.random.default_rng(seed))


def grid_of(ranks: int, dims: int = 3) -> tuple[int, ...]:
    """Return the most cubic factorisation of `ranks`, largest factor first."""
    sizes: list[int] = []
    rest = ranks
    for dim in range(dims, 1, -1):
        root = round(rest ** (1 / dim))
        factor = max((f for f in range(1, root + 2) if rest % f == 0 and f**dim <= rest * (1 + 1e-9)), default=1)
        sizes.append(factor)
        rest //= factor
    return tuple(sorted([*sizes, rest], reverse=True))


def neighbour_pairs(shape: tuple[int, ...], offset: tuple[int, ...], periodic: bool) -> tuple[Ints, Ints]:
    """Return (rank, neighbour) pairs at an offset on a grid, with x (the first size) fastest; only pairs of different ranks."""
    ranks = np.arange(int(np.prod(shape)))
    place = np.array(np.unravel_index(ranks, shape, order="F"))
    there = place + np.array(offset)[:, None]
    sizes = np.array(shape)[:, None]
    inside = np.ones(ranks.size, bool) if periodic else np.all((there >= 0) & (there < sizes), axis=0)
    other = np.ravel_multi_index(there % sizes, shape, order="F")
    keep = inside & (other != ranks)
    return ranks[keep], other[keep]


def _face_offsets(dims: int) -> list[tuple[int, ...]]:
    return [tuple(sign * (axis == d) for d in range(dims)) for axis in range(dims) for sign in (1, -1)]


def _split_bytes(size: int, count: int) -> list[int]:
    """Split `size` bytes into at most `count` messages that differ by at most one byte."""
    count = min(size, count)
    return [size // count + (k < size % count) for k in range(count)]


def bisection_messages(ranks: int, size: int, _: np.random.Generator, chunks: int = 5) -> Messages:
    """Return an exchange of rank i with rank i + n/2: `chunks` messages, one after the other."""
    here = np.arange(ranks)
    return in_rounds(ranks, [(here, (here + ranks // 2) % ranks, part) for part in _split_bytes(size, chunks)])


def bisection_shuffle(ranks: int, size: int, rng: np.random.Generator, chunks: int = 5) -> Messages:
    """Return a random matching between the two halves, repeated for each chunk."""
    half = ranks // 2
    upper = half + rng.permutation(half)
    here = np.concatenate([np.arange(half), upper])
    there = np.concatenate([upper, np.arange(half)])
    return in_rounds(ranks, [(here, there, part) for part in _split_bytes(size, chunks)])


def stencil3d_messages(ranks: int, size: int, _: np.random.Generator) -> Messages:
    """Return exchanges of six faces of a non-periodic 3D grid, all at once."""
    pairs = [neighbour_pairs(grid_of(ranks), face, periodic=False) for face in _face_offsets(3)]
    src, dst = (np.concatenate(part) for part in zip(*pairs, strict=True))
    return in_rounds(ranks, [(src, dst, 1)]).per_rank(size)


def cyclic_stencil(ranks: int, size: int, _: np.random.Generator) -> Messages:
    """Return exchanges of six faces of a periodic 3D grid in the order +x -x +y -y +z -z, without waiting between them."""
    pairs = [neighbour_pairs(grid_of(ranks), face, periodic=True) for face in _face_offsets(3)]
    src, dst = (np.concatenate(part) for part in zip(*pairs, strict=True))
    return in_rounds(ranks, [(src, dst, 1)]).per_rank(size)


def stencil27_messages(
    ranks: int, size: int, _: np.random.Generator, strategy: str = "svaf", variables: int = 5
) -> Messages:
    """Return a time step of miniGhost's 27-point stencil without computation; `minighost.py` describes the strategies."""
    faces = faces_of(grid_of(ranks), np.arange(ranks))
    face_count = sum(int(face.count.sum()) for face in faces)
    return minighost_messages(faces, ranks, strategy, variables, size * ranks / (variables * face_count))


def alltoall_messages(ranks: int, size: int, _: np.random.Generator) -> Messages:
    """Return a pairwise exchange: round k sends to rank + k."""
    here = np.arange(ranks)
    parts = _split_bytes(max(size, ranks - 1), ranks - 1)
    return in_rounds(ranks, [(here, (here + k) % ranks, part) for k, part in enumerate(parts, 1)])


def pingpong_messages(ranks: int, size: int, _: np.random.Generator) -> Messages:
    """Return ping-pong in pairs (0, 1), (2, 3), ...: one sends, the other answers."""
    first = np.arange(0, ranks - 1, 2)
    return in_rounds(ranks, [(first, first + 1, size), (first + 1, first, size)])


def allreduce_messages(ranks: int, size: int, _: np.random.Generator) -> Messages:
    """Return recursive doubling. Ranks beyond the largest power of two send their data first and get the result at the end."""
    return in_rounds(ranks, all_reduce(ranks, size)).per_rank(size)


def barrier_messages(ranks: int, size: int, _: np.random.Generator) -> Messages:
    """Return a dissemination barrier: round k signals rank + 2^k; repeated until each rank has sent about `size` bytes in 8-byte messages."""
    here = np.arange(ranks)
    steps = [(here, (here + (1 << k)) % ranks, 8) for k in range((ranks - 1).bit_length())]
    return in_rounds(ranks, steps * max(size // (8 * len(steps)), 1))


def grid_width(ranks: int) -> int:
    """Return the number of columns of a barrier's grid: the largest power of two whose square is at most `ranks` (32 for 2,048)."""
    return 1 << max((ranks.bit_length() - 1) // 2, 0)


def barriers_on_grid(ranks: int, repeats: int, host_ns: int = 0) -> Messages:
    """Return algorithm 8 of Taffet 2021: a barrier in each row of a grid, in each column, and of all ranks, `repeats` times.

    A barrier is a reduction of 8 bytes to the first rank over a binary tree, and a broadcast over the same tree. Ranks are numbered row by row on a grid
    with `grid_width(ranks)` columns. A rank's host takes `host_ns` before a round in which it sends.
    """
    width = grid_width(ranks)
    at = np.arange(ranks)
    place_in = (at % width, at // width, at)
    src, dst, send, recv = [], [], [], []
    for number in range(3 * repeats):
        place = place_in[number % 3]
        child = np.flatnonzero(place > 0)
        # Ranks of a row are consecutive; those of a column are one row apart.
        step = (1, width, 1)[number % 3]
        parent = child - (place[child] - (place[child] - 1) // 2) * step
        # A rank receives from its children, sends to its parent and waits for the answer, then sends to its children.
        src += [child, parent]
        dst += [parent, child]
        send += [np.full(child.size, 3 * number + 1), np.full(child.size, 3 * number + 2)]
        recv += [np.full(child.size, 3 * number), np.full(child.size, 3 * number + 1)]
    columns = [np.concatenate(column) for column in (src, dst, send, recv)]
    compute_ns = np.zeros((ranks, 9 * repeats), np.int64)
    compute_ns[columns[0], columns[2] - 1] = host_ns
    sizes = np.full(columns[0].size, 8)
    return Messages(ranks, columns[0], columns[1], sizes, columns[2], columns[3], 9 * repeats, compute_ns)


def broadcast_messages(ranks: int, size: int, _: np.random.Generator) -> Messages:
    """Return a binomial tree from rank 0; every rank receives `size` bytes."""
    rounds = []
    for k in range((ranks - 1).bit_length()):
        src = np.arange(min(1 << k, ranks - (1 << k)))
        rounds.append((src, src + (1 << k), size))
    return in_rounds(ranks, rounds)


def halo3d_messages(ranks: int, size: int, _: np.random.Generator, iterations: int = 5) -> Messages:
    """Return exchanges of six faces of a periodic grid, iteration after iteration."""
    pairs = [neighbour_pairs(grid_of(ranks), face, periodic=True) for face in _face_offsets(3)]
    src, dst = (np.concatenate(part) for part in zip(*pairs, strict=True))
    return in_rounds(ranks, [(src, dst, 1)] * iterations).per_rank(size)


def sweep3d_messages(ranks: int, size: int, _: np.random.Generator, blocks: int = 8) -> Messages:
    """Return a wavefront over a 2D grid: receive from west and north, send to east and south, block after block."""
    shape = grid_of(ranks, 2)
    parts = []
    for block in range(blocks):
        for offset in ((1, 0), (0, 1)):
            s, d = neighbour_pairs(shape, offset, periodic=False)
            parts.append((s, d, np.full(s.size, 2 * block + 1), np.full(s.size, 2 * block)))
    src, dst, send, recv = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Messages(ranks, src, dst, np.ones(src.size, np.int64), send, recv, 2 * blocks).per_rank(size)


def crystal_router(ranks: int, size: int, rng: np.random.Generator, iterations: int = 3) -> Messages:
    """Return Nek5000's crystal router: each stage halves the ranks and exchanges with the partner half; small neighbourhoods send the most.

    The load is steady over iterations; late stages (close ranks) send more than early ones.
    """
    stages: list[tuple[Ints, Ints, float]] = []
    lows, width = [(0, ranks)], ranks
    level = 0
    while width > 1:
        src, dst, next_lows = [], [], []
        for low, count in lows:
            if count < 2:
                continue
            left, right = (count + 1) // 2, count // 2
            a = low + np.arange(left)
            b = low + left + np.minimum(np.arange(left), right - 1)
            src += [a, low + left + np.arange(right)]
            dst += [b, low + np.arange(right)]
            next_lows += [(low, left), (low + left, right)]
        stages.append((np.concatenate(src), np.concatenate(dst), 1.0 + level))
        lows, width, level = next_lows, (width + 1) // 2, level + 1
    rounds = [(s, d, int(1000 * w)) for _ in range(iterations) for s, d, w in stages]
    return in_rounds(ranks, rounds).per_rank(size)


def fill_boundary(ranks: int, size: int, rng: np.random.Generator, iterations: int = 8) -> Messages:
    """Return BoxLib's fill boundary: 3D blocks with periodic boundaries plus many-to-many; a rank's load varies strongly (1 to 25)."""
    shape = grid_of(ranks)
    pairs = [neighbour_pairs(shape, offset, periodic=True) for offset in product((-1, 0, 1), repeat=3) if any(offset)]
    weights = [{1: 100, 2: 20, 3: 4}[sum(map(abs, o))] for o in product((-1, 0, 1), repeat=3) if any(o)]
    src, dst = (np.concatenate(part) for part in zip(*pairs, strict=True))
    weight = np.repeat(weights, [s.size for s, _ in pairs])
    few = max(2, min(8, ranks - 1))
    rounds = []
    for _ in range(iterations):
        load = np.exp(rng.uniform(0, np.log(25.6), ranks))
        many = np.repeat(np.arange(ranks), few)
        to = (many + 1 + rng.integers(0, ranks - 1, many.size)) % ranks
        s, d = np.concatenate([src, many]), np.concatenate([dst, to])
        rounds.append((s, d, np.rint(10 * np.concatenate([weight, np.full(many.size, 40)]) * load[s])))
    return in_rounds(ranks, rounds).per_rank(size)


def amg_messages(ranks: int, size: int, _: np.random.Generator, levels: int = 4) -> Messages:
    """Return algebraic multigrid: up to six neighbours, smaller messages on coarser levels, three surges (V-cycles)."""
    shape = grid_of(ranks)
    rounds = []
    for _cycle in range(3):
        for level in [*range(levels), *range(levels - 2, -1, -1)]:
            reach = 1 << level
            pairs = [
                neighbour_pairs(shape, tuple(reach * x for x in face), periodic=False) for face in _face_offsets(3)
            ]
            s, d = (np.concatenate(part) for part in zip(*pairs, strict=True))
            if s.size:
                rounds.append((s, d, max(4096 >> (2 * level), 8)))
    return in_rounds(ranks, rounds).per_rank(size)


def incast_messages(ranks: int, size: int, _: np.random.Generator, fan_in: int = 4) -> Messages:
    """Return groups of `fan_in` senders and one receiver, the last of each group."""
    here = np.arange(ranks)
    receiver = np.minimum((here // (fan_in + 1) + 1) * (fan_in + 1) - 1, ranks - 1)
    src = here[here != receiver]
    return in_rounds(ranks, [(src, receiver[src], size)])


def bully_messages(
    ranks: int, size: int, rng: np.random.Generator, message_bytes: int = 200_000, at_once: int = 1
) -> Messages:
    """Return random pairs that exchange 200 KB messages, `at_once` between waits (Taffet 2021, section 5.4: 100)."""
    order = rng.permutation(ranks - ranks % 2).reshape(-1, 2)
    src, dst = np.concatenate([order[:, 0], order[:, 1]]), np.concatenate([order[:, 1], order[:, 0]])
    rest = [size % message_bytes] if size % message_bytes else []
    parts = [message_bytes] * (size // message_bytes) + rest
    rounds = [parts[first : first + at_once] for first in range(0, len(parts), at_once)]
    return in_rounds(
        ranks, [(np.tile(src, len(batch)), np.tile(dst, len(batch)), np.repeat(batch, src.size)) for batch in rounds]
    )


def permutation_messages(ranks: int, size: int, rng: np.random.Generator) -> Messages:
    """Return a random cyclic permutation: every rank sends to one other rank and receives from one."""
    order = rng.permutation(ranks)
    return in_rounds(ranks, [(order, np.roll(order, -1), size)])


PATTERNS: dict[str, Maker] = {
    "bisection": bisection_messages,
    "bisection-shuffle": bisection_shuffle,
    "stencil3d": stencil3d_messages,
    "cyclic-stencil": cyclic_stencil,
    "stencil27-bspma": lambda n, b, rng: stencil27_messages(n, b, rng, "bspma"),
    "stencil27-svaf": lambda n, b, rng: stencil27_messages(n, b, rng, "svaf"),
    "stencil27-svafp": lambda n, b, rng: stencil27_messages(n, b, rng, "svafp"),
    "alltoall": alltoall_messages,
    "pingpong": pingpong_messages,
    "allreduce": allreduce_messages,
    "barrier": barrier_messages,
    "broadcast": broadcast_messages,
    "halo3d": halo3d_messages,
    "sweep3d": sweep3d_messages,
    "crystal-router": crystal_router,
    "fill-boundary": fill_boundary,
    "amg": amg_messages,
    "incast": incast_messages,
    "bully": bully_messages,
    "permutation": permutation_messages,
    "ring-allreduce": lambda n, b, _: ring_allreduce(n, b),
    "tree-allreduce": lambda n, b, _: tree_allreduce(n, b),
    "hierarchical-allreduce": lambda n, b, _: hierarchical_allreduce(n, b),
    "expert-alltoall": lambda n, b, _: expert_alltoall(n, b),
}
