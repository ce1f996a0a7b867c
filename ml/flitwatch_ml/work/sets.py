"""The runs of one application, in the form that estimators need."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_db.estimates import inputs as estimates
from flitwatch_db.estimates.store import Estimate
from flitwatch_domain.errors import NotEnoughData

Floats = NDArray[np.float64]
#: Minimum share of the steps in which a feature must be counted.
LEAST_COUNTED = 0.5


def complete_runs(runs: estimates.Runs) -> estimates.Runs:
    """Return runs with the usual number of steps and none missing, because partial runs have partial times."""
    if len(runs.run_id) == 0:
        raise NotEnoughData("there are no runs of this application with a start and steps")
    counts = np.isfinite(runs.step_time_s).sum(1)
    usual = Counter(counts.tolist()).most_common(1)[0][0]
    whole = (counts == usual) & np.isfinite(runs.step_time_s[:, :usual]).all(1)
    return replace(
        runs, run_id=runs.run_id[whole], start_s=runs.start_s[whole], step_time_s=runs.step_time_s[whole, :usual]
    )


def select_runs(runs: estimates.Runs, chosen: Any) -> estimates.Runs:
    """Return the chosen runs."""
    return replace(runs, run_id=runs.run_id[chosen], start_s=runs.start_s[chosen], step_time_s=runs.step_time_s[chosen])


def result_of(
    kind: str,
    exe: str,
    nodes: int,
    runs: estimates.Runs,
    parameters: dict[str, Any],
    score: dict[str, Any],
    result: dict[str, Any],
) -> Estimate:
    """Return an estimate of these runs by this version of the code."""
    data = {
        "runs": len(runs.run_id),
        "steps": runs.step_time_s.shape[1],
        "first_s": float(runs.start_s.min()),
        "last_s": float(runs.start_s.max()),
    }
    return Estimate(kind, exe, nodes, version("flitwatch"), parameters, data, score, result, runs.simulated)


def none_if_nan(value: float) -> float | None:
    """Return the number, or None for NaN."""
    return None if np.isnan(value) else float(value)
