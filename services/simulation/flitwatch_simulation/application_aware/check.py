"""Check of a placement before its recommendation: a past moment of the job simulated with the old and the new placement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_db.tasks import TaskContext
from flitwatch_domain.task_models.machines import AS_IT_WAS
from flitwatch_domain.task_models.routes import Check
from flitwatch_simulation.application_aware.advice import DRAWS, LEVEL
from flitwatch_simulation.whatif import simulate_whatif


@dataclass(frozen=True)
class CheckedPlacement:
    """Times in s by seed, for the old and the new placement; factor = mean before / mean after, with its interval at `LEVEL`."""

    before_s: NDArray[np.float64]
    after_s: NDArray[np.float64]
    factor: float
    low: float
    high: float
    pattern: str


def check_placement(placement: str, fabric: str, job: str, asked: Check, context: TaskContext) -> CheckedPlacement:
    """Simulate `job` on its own nodes and in a new placement, with the same seeds.

    Raises
    ------
    BadRequest, NotFound
        See `sim.whatif`.
    Cancelled
    """
    options = asked.model_dump(exclude={"routing"})
    variants = {"placements": [AS_IT_WAS, placement], "routings": [asked.routing]}
    result = simulate_whatif({**options, "fabric": fabric, "job": job, **variants}, context)
    before, after = (np.asarray(variant["time_s"], dtype=np.float64) for variant in result["variants"])
    return CheckedPlacement(before, after, *_mean_ratio(before, after), pattern=result["pattern"])


def _mean_ratio(before: NDArray[np.float64], after: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the ratio of the means with its bootstrap interval over paired seeds; equal runs have equal ends."""
    drawn = np.random.default_rng(1).integers(0, before.size, (DRAWS, before.size))
    low, high = np.quantile(before[drawn].mean(axis=1) / after[drawn].mean(axis=1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(before.mean() / after.mean()), float(low), float(high)
