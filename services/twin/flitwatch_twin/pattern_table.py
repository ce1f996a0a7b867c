"""Loads of all live patterns, and their sum at the current rates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_core.fluid import PatternLoads
from flitwatch_twin.flows import Pattern
from flitwatch_twin.paths import Loads


class PatternTable:
    """Sparse matrix of links x patterns, stored in the core.

    Columns are summed in the order in which patterns were first added, so releases of other patterns do not change a sum.
    """

    def __init__(self, links: int) -> None:
        self._loads = PatternLoads(links)
        self._column: dict[Pattern, int] = {}

    def __contains__(self, pattern: Pattern) -> bool:
        return pattern in self._column

    def __len__(self) -> int:
        return len(self._column)

    def add(self, pattern: Pattern, loads: Loads) -> None:
        """Add a pattern's links and bytes per unit rate."""
        self.release(pattern)
        self._column[pattern] = self._loads.add(*loads)

    def release(self, pattern: Pattern) -> None:
        """Drop a pattern; do nothing if it is unknown."""
        column = self._column.pop(pattern, None)
        if column is not None:
            self._loads.release(column)

    def keep_only(self, patterns: tuple[Pattern, ...]) -> None:
        """Drop all other patterns."""
        for gone in self._column.keys() - set(patterns):
            self.release(gone)

    def columns(self, patterns: tuple[Pattern, ...]) -> NDArray[np.int64]:
        """Return the column of each pattern: int64[P], valid until its release. Raise KeyError for an unknown pattern."""
        return np.array([self._column[pattern] for pattern in patterns], np.int64)

    def sum(self, columns: NDArray[np.int64], rate: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the load of every link (float64[L]) with the pattern of columns[k] at rate[k]."""
        return self._loads.sum(columns, rate)

    def highest_utilisation(self, columns: NDArray[np.int64], utilisation: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the highest utilisation among the links of each pattern: float64[P], 0 for a pattern without links."""
        return self._loads.fullest(columns, utilisation)
