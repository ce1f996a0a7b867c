"""Running jobs on a group's nodes, with their remaining run times estimated from similar jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.run_time import MOST_JOBS, whole_time

Floats = NDArray[np.float64]
#: Jobs on half to twice as many nodes are similar.
SIZE_FACTOR = 2.0


@dataclass(frozen=True)
class Resident:
    """A running job's nodes in one group; `left_s` is the median of its remaining run time, None if unknown."""

    user: str
    nodes: int
    left_s: float | None


@dataclass(eq=False)
class PastTimes:
    """Run times of completed jobs, selected by their similarity to a running one.

    Attributes
    ----------
    users, names : user and name of each job, in order of start; an empty name is unknown
    nodes, times_s : float64[jobs]
    """

    users: Sequence[str]
    names: Sequence[str]
    nodes: Floats
    times_s: Floats
    _held: dict[tuple[str, str, int], list[Floats]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._users, self._user = _number_values(self.users)
        self._names, self._name = _number_values(self.names)

    def left_s(self, user: str, name: str, nodes: int, elapsed_s: float) -> float | None:
        """Return the median remaining seconds of a job that has run for `elapsed_s`, from the most similar jobs if there are enough."""
        for times in self._find_similar_times(user, name, nodes):
            forecast = whole_time(times, elapsed_s)
            if forecast is not None:
                return max(forecast[0] - elapsed_s, 0.0)
        return None

    def _find_similar_times(self, user: str, name: str, nodes: int) -> list[Floats]:
        """Return ascending run times for each of `run_time.BASES`."""
        key = (user, name, nodes)
        times = self._held.get(key)
        if times is None:
            size = (self.nodes >= nodes / SIZE_FACTOR) & (self.nodes <= nodes * SIZE_FACTOR)
            own = size & (self._users == self._user.get(user, -1))
            named = size & (self._names == self._name.get(name, -1)) if name else np.zeros(len(size), bool)
            times = [np.sort(self.times_s[which][-MOST_JOBS:]) for which in (own & named, named, own)]
            self._held[key] = times
        return times


def _number_values(values: Sequence[str]) -> tuple[NDArray[np.int64], dict[str, int]]:
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int64), numbers


#: If the ends of less than this share of a group's busy nodes are known, the result is unknown.
LEAST_KNOWN = 0.5


def compute_stay_share(residents: Sequence[Resident], horizon_s: float) -> float | None:
    """Return the share of the busy nodes that the same jobs still use, averaged over the next `horizon_s`; None if most ends are unknown.

    A job with unknown end counts as staying.
    """
    total_nodes = sum(resident.nodes for resident in residents)
    known_nodes = sum(resident.nodes for resident in residents if resident.left_s is not None)
    if not total_nodes or known_nodes < LEAST_KNOWN * total_nodes or horizon_s <= 0:
        return None
    stay = sum(
        resident.nodes * (1.0 if resident.left_s is None else min(resident.left_s / horizon_s, 1.0))
        for resident in residents
    )
    return stay / total_nodes
