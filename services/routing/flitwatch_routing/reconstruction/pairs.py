"""The unknowns: pairs of source and destination inside jobs (Taffet 2021, section 4.5), as places in the jobs' matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadInput

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Pairs:
    """Pairs in ascending order of `key`, the place in the block-diagonal matrix of all jobs.

    Attributes
    ----------
    sizes : (jobs,) ranks of each job
    key : (pairs,)  base[job] + source rank * size + destination rank
    src, dst : (pairs,) endpoints
    sl : (pairs,) service level
    """

    sizes: Ints
    key: Ints
    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    sl: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.key)

    def kept(self, keep: NDArray[np.bool_]) -> Pairs:
        """Return the pairs selected by a mask."""
        return replace(self, key=self.key[keep], src=self.src[keep], dst=self.dst[keep], sl=self.sl[keep])


def unite_pairs(parts: Sequence[Pairs]) -> Pairs:
    """Return the union of several selections of the same jobs' pairs."""
    key, first = np.unique(np.concatenate([part.key for part in parts]), return_index=True)
    src, dst, sl = (np.concatenate([getattr(part, name) for part in parts])[first] for name in ("src", "dst", "sl"))
    return Pairs(parts[0].sizes, key, src, dst, sl)


@dataclass(frozen=True)
class Places:
    """Coordinates of matrix places: job size, and base, row (source rank) and column (destination rank)."""

    base: Ints
    size: Ints
    row: Ints
    column: Ints

    def key(self, row: Ints, column: Ints) -> Ints:
        """Return keys of other places of the same jobs; -1 outside the matrix or on its diagonal."""
        inside = (row >= 0) & (column >= 0) & (row < self.size) & (column < self.size) & (row != column)
        return np.where(inside, self.base + row * self.size + column, -1)


def locate_keys(sizes: Ints, key: Ints) -> Places:
    """Return coordinates of ascending keys."""
    ends = np.cumsum(sizes**2)
    base = np.empty_like(key)
    size, row = np.empty_like(key), np.empty_like(key)
    borders = np.searchsorted(key, ends)
    for end, n, begin, stop in zip(
        ends.tolist(), sizes.tolist(), [0, *borders[:-1].tolist()], borders.tolist(), strict=True
    ):
        base[begin:stop], size[begin:stop] = end - n * n, n
        row[begin:stop] = (key[begin:stop] - (end - n * n)) // n
    return Places(base, size, row, key - base - row * size)


def pairs_of(jobs: Sequence[NDArray[np.integer]], sl_of: NDArray[np.int8]) -> Pairs:
    """Return all pairs inside the jobs with a service level.

    Parameters
    ----------
    jobs : endpoints of each job, in rank order; each endpoint is in at most one job
    sl_of : int8 (endpoints, endpoints), -1 if a pair cannot communicate
    """
    endpoints = len(sl_of)
    everyone = np.concatenate([np.asarray(job, np.int64) for job in jobs]) if jobs else np.empty(0, np.int64)
    if not len(everyone):
        raise BadInput("no job has endpoints")
    if everyone.min() < 0 or everyone.max() >= endpoints:
        raise BadInput(f"a job names endpoints outside 0 to {endpoints - 1}")
    used, times = np.unique(everyone, return_counts=True)
    if (times > 1).any():
        twice = int(used[np.argmax(times > 1)])
        raise BadInput(
            f"endpoint {twice} has several ranks in the jobs", advice="Reconstruct jobs that share nodes as one"
        )
    sizes = np.array([len(job) for job in jobs], np.int64)
    base, keys, sources, targets, levels = 0, [], [], [], []
    for job in jobs:
        nodes = np.asarray(job, np.int64)
        local = sl_of[np.ix_(nodes, nodes)].copy()
        np.fill_diagonal(local, -1)
        at = np.flatnonzero(local.reshape(-1) >= 0)
        row, column = np.divmod(at, len(nodes))
        keys.append(base + at)
        sources.append(nodes[row].astype(np.int32))
        targets.append(nodes[column].astype(np.int32))
        levels.append(local.reshape(-1)[at].astype(np.uint8))
        base += len(nodes) ** 2
    return Pairs(sizes, np.concatenate(keys), np.concatenate(sources), np.concatenate(targets), np.concatenate(levels))
