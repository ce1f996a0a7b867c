"""Ground truth of a day, by counterfactual: the same day with a user muted. It is used only for scoring."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from flitwatch_research.incidents.draws import DAY_S, Draw
from flitwatch_twin.cluster import Cluster

#: Minimum number of steps, and their minimum slowdown factor, for counting a run as slowed.
FELT_STEPS, FELT = 3, 1.15
#: Minimum factor by which a cause lengthens the slow steps.
A_CAUSE = 1.05


@dataclass(frozen=True)
class StepTimes:
    """The instrumented run in one simulation of a day: seconds of each step, and the second of the day at its end."""

    taken_s: NDArray[np.float64]
    ended_s: NDArray[np.float64]


def planted_users(cluster: Cluster) -> list[str]:
    """Return the names of the planted users, in the spec's order."""
    return list(cluster.users.names[cluster.spec.users.count :])


class Truth:
    """A day of a machine, with and without its users."""

    def __init__(self, draw: Draw, seed: int) -> None:
        self._draw, self._seed = draw, seed
        self._lives: dict[tuple[frozenset[str], float | None], StepTimes] = {}

    def lived(self, muted: frozenset[str] = frozenset(), demand: float | None = None) -> StepTimes:
        """Return the run's steps with some users muted."""
        key = (muted, demand)
        if key not in self._lives:
            self._lives[key] = _simulate_steps(self._draw.cluster(self._seed, muted, demand))
        return self._lives[key]

    @cached_property
    def planted(self) -> frozenset[str]:
        """Names of the planted users."""
        return frozenset(planted_users(self._draw.cluster(self._seed)))

    @cached_property
    def alone(self) -> StepTimes:
        """The counterfactual run: without the planted users, with its usual demand."""
        return self.lived(self.planted, 1.0)

    @cached_property
    def slow(self) -> NDArray[np.int64]:
        """Steps that took at least `FELT` times their counterfactual duration."""
        baseline = self.lived()
        size = min(len(baseline.taken_s), len(self.alone.taken_s))
        return np.flatnonzero(baseline.taken_s[:size] >= FELT * self.alone.taken_s[:size])

    @cached_property
    def judged(self) -> NDArray[np.int64]:
        """Steps by which causes are judged: the slow ones, or else those of `A_CAUSE` times their counterfactual duration, or else all."""
        if len(self.slow):
            return self.slow
        baseline = self.lived()
        size = min(len(baseline.taken_s), len(self.alone.taken_s))
        longer = np.flatnonzero(baseline.taken_s[:size] >= A_CAUSE * self.alone.taken_s[:size])
        return longer if len(longer) else np.arange(size, dtype=np.int64)

    @property
    def felt_s(self) -> float | None:
        """Second of the day at which `FELT_STEPS` steps had been slow; None if there were fewer."""
        return float(self.lived().ended_s[self.slow[FELT_STEPS - 1]]) if len(self.slow) >= FELT_STEPS else None

    @property
    def lost_s(self) -> float:
        """Seconds that the run lost."""
        baseline = self.lived()
        size = min(len(baseline.taken_s), len(self.alone.taken_s))
        return float(baseline.taken_s[:size].sum() - self.alone.taken_s[:size].sum())

    @cached_property
    def by_itself(self) -> bool:
        """Whether the slow steps take equally long with the planted users muted, so that the run's own demand is the cause."""
        return bool(len(self.slow)) and self._effect_ratio(self.planted, frozenset()) < A_CAUSE

    def causes(self, user: str) -> bool:
        """Return whether a user caused the duration of the judged steps."""
        return self._effect_ratio(frozenset({user}), frozenset()) >= A_CAUSE or (
            user in self.planted and self._effect_ratio(self.planted, self.planted - {user}) >= A_CAUSE
        )

    @cached_property
    def causes_planted(self) -> frozenset[str]:
        """Names of the planted users that are causes."""
        return frozenset(user for user in self.planted if self.causes(user))

    def _effect_ratio(self, without: frozenset[str], with_: frozenset[str]) -> float:
        """Return the ratio of the judged steps' time with `with_` muted to that with `without` muted."""
        muted, freed = self.lived(with_), self.lived(without)
        size = min(len(muted.taken_s), len(freed.taken_s))
        judged = self.judged[self.judged < size]
        return float(muted.taken_s[judged].sum() / max(freed.taken_s[judged].sum(), 1e-9)) if len(judged) else 1.0


def _simulate_steps(cluster: Cluster) -> StepTimes:
    step_s: list[float] = []
    ended: list[float] = []
    while cluster.time_s < DAY_S:
        second = cluster.advance()
        step_s += [float(step.time_ns.max()) / 1e9 for _, step in second.steps]
        ended += [float(second.time_s)] * len(second.steps)
        if second.finished:
            break
    return StepTimes(np.array(step_s), np.array(ended))
