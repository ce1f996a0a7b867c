"""Drift check: comparison of new runs with the forecaster's training runs, using the coverage of its intervals and the shift of its inputs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import psycopg
from numpy.typing import ArrayLike, NDArray

from flitwatch_db.estimates import inputs as estimates
from flitwatch_db.estimates import store
from flitwatch_domain.estimates import ForecastDrift

Floats = NDArray[np.float64]

#: A population stability index above this means a shift (usual convention: 0.1 slight, 0.25 large).
SHIFT = 0.25
#: Coverage below this means that a 90 % interval does not hold; with 30 outcomes, chance reaches it once in fifty.
LEAST_COVERAGE, LEAST_OUTCOMES = 0.78, 30
#: With fewer values, a population stability index reflects their number rather than a shift.
LEAST_VALUES = 100
BINS = 10


def inner_deciles(values: ArrayLike) -> list[float]:
    """Return the inner deciles of the training values."""
    numbers = np.asarray(values, float)
    return np.quantile(numbers[np.isfinite(numbers)], np.arange(1, BINS) / BINS).tolist()


def stability_index(reference_edges: ArrayLike, values: ArrayLike) -> float:
    """Return the population stability index of `values` relative to the reference's deciles: sum (p - q) ln(p / q) with q = 1 / 10; 0 for equal distributions."""
    numbers = np.asarray(values, float)
    numbers = numbers[np.isfinite(numbers)]
    share = np.bincount(np.searchsorted(np.asarray(reference_edges, float), numbers), minlength=BINS) + 0.5
    p = share / share.sum()
    return float(((p - 1 / BINS) * np.log(p * BINS)).sum())


def measure_drift(conn: psycopg.Connection[Any], exe: str, nodes: int, estimate_id: int) -> ForecastDrift | None:
    """Return coverage, error and shift since an estimate; None without newer data."""
    stored = store.data_and_result_of(conn, estimate_id)
    if stored is None:
        return None
    data, result = stored
    outcomes = store.outcomes_of(conn, estimate_id)
    psi = _measure_shift(conn, exe, nodes, data["last_s"], result)
    if not outcomes and psi is None:
        return None
    coverage = mape = None
    if outcomes:
        expected, low, high, observed = np.array(outcomes, float).T
        coverage = float(((low <= observed) & (observed <= high)).mean())
        mape = float((np.abs(expected - observed) / observed).mean() * 100)
    why = _drift_reason(coverage, len(outcomes), psi or {})
    return {
        "checked": datetime.now(UTC).isoformat(),
        "forecasts": len(outcomes),
        "coverage90": coverage,
        "mape": mape,
        "psi": psi or {},
        "drifting": why is not None,
        "why": why,
    }


def _measure_shift(
    conn: psycopg.Connection[Any], exe: str, nodes: int, since_s: float, result: dict[str, Any]
) -> dict[str, float] | None:
    reference, curve = result.get("reference", {}), np.array(result["curve_s"])
    runs = estimates.runs_of(conn, exe, nodes)
    new = runs.start_s > since_s
    times = runs.step_time_s[new][:, : len(curve)]
    if np.isfinite(times).sum() < LEAST_VALUES or "time" not in reference:
        return None
    return {"time": stability_index(reference["time"], np.log(times / curve[: times.shape[1]]))}


def _drift_reason(coverage: float | None, outcomes: int, psi: dict[str, float]) -> str | None:
    if coverage is not None and outcomes >= LEAST_OUTCOMES and coverage < LEAST_COVERAGE:
        return f"90 % intervals held {coverage:.0%} of {outcomes} outcomes"
    shifted = [name for name, value in psi.items() if value > SHIFT]
    return f"{', '.join(shifted)}: no longer distributed as in the runs learned from" if shifted else None
