"""The loads of all live patterns side by side, so that a second's sum is one pass over memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_simulation.twin.flows import Pattern
from flitwatch_simulation.twin.paths import Loads

_FIRST_ROOM = 1 << 12


class KeptLoads:
    """Columns of a sparse matrix links x patterns. A released column stays empty-handed until as much is dead as alive; then all move up.

    Columns keep the order in which patterns were first seen, so sums do not depend on what was released meanwhile.
    """

    def __init__(self, links: int) -> None:
        self._links = links
        self._link = np.empty(_FIRST_ROOM, np.int64)
        self._of = np.empty(_FIRST_ROOM, np.int64)  # column
        self._share = np.empty(_FIRST_ROOM, np.float64)
        self._weight = np.empty(_FIRST_ROOM, np.float64)
        self._counts: list[int] = []
        self._column: dict[Pattern, int] = {}
        self._used = self._dead = 0

    def __contains__(self, pattern: Pattern) -> bool:
        return pattern in self._column

    def __len__(self) -> int:
        return len(self._column)

    def add(self, pattern: Pattern, loads: Loads) -> None:
        """Keep a pattern's links and bytes per unit rate."""
        link, share = loads
        self._room_for(len(link))
        end = self._used + len(link)
        self._link[self._used : end], self._share[self._used : end] = link, share
        self._of[self._used : end] = len(self._counts)
        self._used = end
        self._column[pattern] = len(self._counts)
        self._counts.append(len(link))

    def release(self, pattern: Pattern) -> None:
        """Forget a pattern; one that is not kept is no error."""
        column = self._column.pop(pattern, None)
        if column is not None:
            self._dead += self._counts[column]
            if 2 * self._dead > self._used:
                self._move_up()

    def columns(self, patterns: tuple[Pattern, ...]) -> NDArray[np.int64]:
        """Where each pattern stands: int64[P], valid until the next release."""
        return np.fromiter((self._column[pattern] for pattern in patterns), np.int64, len(patterns))

    def sum(self, columns: NDArray[np.int64], rate: NDArray[np.float64]) -> NDArray[np.float64]:
        """Load of every link: float64[L], where the pattern of columns[k] runs at rate[k]."""
        by_column = np.bincount(columns, rate, len(self._counts)).astype(np.float64, copy=False)
        weight = self._weight[: self._used]
        np.take(by_column, self._of[: self._used], out=weight, mode="clip")
        weight *= self._share[: self._used]
        return np.bincount(self._link[: self._used], weight, self._links).astype(np.float64, copy=False)

    def fullest(self, columns: NDArray[np.int64], utilisation: NDArray[np.float64]) -> NDArray[np.float64]:
        """The highest utilisation among the links of each pattern: float64[P], 0 for a pattern without links."""
        counts = np.array(self._counts, np.int64)
        begin = np.cumsum(counts) - counts
        most = np.zeros(len(counts))
        some = counts > 0
        if some.any():
            most[some] = np.maximum.reduceat(utilisation[self._link[: self._used]], begin[some])
        return most[columns]

    def _room_for(self, more: int) -> None:
        need, have = self._used + more, len(self._link)
        if need > have:
            size = max(need, 2 * have)
            self._link, self._of = np.resize(self._link, size), np.resize(self._of, size)
            self._share, self._weight = np.resize(self._share, size), np.empty(size)

    def _move_up(self) -> None:
        alive = np.zeros(len(self._counts), bool)
        alive[list(self._column.values())] = True
        kept = np.repeat(alive, np.array(self._counts, np.int64))
        self._used = int(kept.sum())
        self._link[: self._used] = self._link[: len(kept)][kept]
        self._share[: self._used] = self._share[: len(kept)][kept]
        place = np.cumsum(alive) - 1
        self._counts = [count for count, stays in zip(self._counts, alive, strict=True) if stays]
        self._of[: self._used] = np.repeat(np.arange(len(self._counts)), np.array(self._counts, np.int64))
        self._column = {pattern: int(place[column]) for pattern, column in self._column.items()}
        self._dead = 0
