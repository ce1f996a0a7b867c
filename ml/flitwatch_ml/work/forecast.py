"""What next: backtests of one application by m, k and features; the forecasters with the least error are fitted on all runs and serve."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from flitwatch_db import estimates
from flitwatch_db.estimate_store import Estimate
from flitwatch_domain.errors import NotEnoughData
from flitwatch_ml.forecast import FEATURE_SETS, StepSeries, backtest
from flitwatch_ml.forecast.backtest import Backtest, learned_forecasters
from flitwatch_ml.forecast.series import Standard
from flitwatch_ml.forecast.serving import Serving, dump
from flitwatch_ml.work.drift import edges
from flitwatch_ml.work.sets import Floats, result_of

NDArrayBool = np.ndarray[Any, np.dtype[np.bool_]]

FOLDS = 5
#: From so many steps on, the paper's m and k for MILC: an eighth and a quarter of the run, a quarter and a half of it.
LONG_RUN_STEPS = 40
#: Past this the paper's long-run mode begins: segments of 40 from the previous 30.
SEGMENT_STEPS, SEGMENT_M, SEGMENT_K = 200, 30, 40


def grid(steps: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """(short m, long m), (short k, long k) for runs of so many steps; of 20 and 80 steps the paper's (section V-C)."""
    if steps < 4:
        raise NotEnoughData(f"not enough data: a forecast needs runs of 4 steps, these have {steps}")
    if steps >= SEGMENT_STEPS:
        return (SEGMENT_M // 3, SEGMENT_M), (SEGMENT_K // 2, SEGMENT_K)
    if steps >= LONG_RUN_STEPS:
        return (steps // 8, steps // 4), (steps // 4, steps // 2)
    return (max(1, round(0.15 * steps)), max(2, round(0.4 * steps))), (max(1, steps // 4), max(1, steps // 2))


def feature_sets(series: StepSeries) -> list[tuple[str, ...]]:
    """app, then each further set that these runs carry, in the paper's order."""
    sets: list[tuple[str, ...]] = [()]
    for name in FEATURE_SETS:
        if getattr(series, name) is not None:
            sets.append((*sets[-1], name))
    return sets


def estimate(
    runs: estimates.Runs, exe: str, nodes: int, series: StepSeries, counters: list[str], tell: Callable[[int, int, str], None], notes: list[str]
) -> tuple[Estimate, dict[int, bytes]]:  # fmt: skip
    """The backtests, and the fitted forecasters by m."""
    (short_m, long_m), (short_k, long_k) = grid(series.times.shape[1])
    sets = feature_sets(series)
    combinations = [
        (m, k, chosen)
        for m in dict.fromkeys((short_m, long_m))
        for k in dict.fromkeys((short_k, long_k))
        for chosen in sets
    ]
    total = len(combinations) + 2
    rows: dict[tuple[int, int, tuple[str, ...]], Backtest] = {}
    for done, (m, k, chosen) in enumerate(combinations):
        tell(done, total, f"backtest m {m}, k {k}, {_features(chosen)}")
        # Attention takes seconds a fit: it is ablated over features at the headline's m and k, the others over everything.
        learned = learned_forecasters()
        if (m, k) != (long_m, long_k):
            del learned["attention"]
        rows[m, k, chosen] = backtest(series, m, k, chosen, folds=FOLDS, rounds=1, learned=learned)
    best_sets = min(sets, key=lambda chosen: min(rows[long_m, long_k, chosen].mape.values()))
    models: dict[int, bytes] = {}
    for at, m in enumerate(dict.fromkeys((short_m, long_m))):
        tell(len(combinations) + at, total, f"every run held out once, m {m}, k {long_k}, {_features(best_sets)}")
        rows[m, long_k, best_sets] = found = backtest(series, m, long_k, best_sets, folds=FOLDS)
        models[m] = dump(fit(series, m, long_k, best_sets, found))
    chosen_row = rows[long_m, long_k, best_sets]
    serves = {
        "forecaster": chosen_row.serves, "m": long_m, "k": long_k, "features": _features(best_sets), "mape": chosen_row.mape[chosen_row.serves],
        "coverage90": chosen_row.coverage90, "why": _why(chosen_row),
    }  # fmt: skip
    curve = np.nanmean(series.times, axis=0)
    result = {
        "counters": counters, "reference": {"time": edges(np.log(series.times / curve))}, "serves": serves, "backtests": [_row(m, k, chosen, row) for (m, k, chosen), row in rows.items()],
        "curve_s": curve.tolist(), "notes": notes + list(_shapes(rows, short_m, long_m, long_k, best_sets)),
    }  # fmt: skip
    score = {
        "mape": chosen_row.mape,
        "serves": chosen_row.serves,
        "gain": _gain(chosen_row),
        "coverage90": chosen_row.coverage90,
        "train_s": chosen_row.train_s,
    }
    parameters = {"m": [short_m, long_m], "k": [short_k, long_k], "features": _features(best_sets), "folds": FOLDS}
    return result_of("forecast", exe, nodes, runs, parameters, score, result), models


def fit(series: StepSeries, m: int, k: int, sets: tuple[str, ...], found: Backtest) -> Serving:
    """The forecaster that won, fitted on all runs."""
    standard = Standard.learn(series, sets)
    prototype = learned_forecasters().get(found.serves)
    model = None
    if prototype is not None:
        model = clone(prototype).fit(standard.training(series, m, k))
    return Serving(found.serves, standard, model, m, k, found.half_width90, found.mape[found.serves])


def _features(sets: tuple[str, ...]) -> str:
    return "+".join(("app", *sets))


def _gain(row: Backtest) -> dict[str, float] | None:
    if "attention" not in row.mape or math.isnan(row.gain[0]):
        return None
    mean, low, high = row.gain
    return {"mean": mean, "low": low, "high": high}


def _row(m: int, k: int, sets: tuple[str, ...], row: Backtest) -> dict[str, Any]:
    return {
        "m": m, "k": k, "features": _features(sets), "mape": row.mape, "gain": _gain(row), "coverage90": row.coverage90, "best": row.serves,
        "runs": row.runs, "windows": row.windows,
    }  # fmt: skip


def _why(row: Backtest) -> str:
    mean, low, high = row.gain
    text = f"least error over {row.runs} held-out runs"
    if math.isnan(mean):
        return f"{text}: none"
    if row.serves != "attention":
        return f"{text}; attention loses by {-mean:.1%}"
    if low <= 0:
        return f"{text}; its gain of {mean:.1%} is within chance ({low:.1%} to {high:.1%})"
    return f"{text}; {mean:.1%} below the next ({low:.1%} to {high:.1%})"


def _shapes(rows: dict[Any, Backtest], short_m: int, long_m: int, k: int, sets: tuple[str, ...]) -> Iterator[str]:
    """What does not hold of what one expects."""
    short, long = (min(rows[m, k, sets].mape.values()) for m in (short_m, long_m))
    if long > short:
        yield f"more past does not help: {long:.1f} % with m = {long_m}, {short:.1f} % with m = {short_m}"
    alone, together = (min(rows[long_m, k, one].mape.values()) for one in ((), sets))
    if sets and together >= alone:
        yield f"features beyond app do not help: {together:.1f} % against {alone:.1f} %"


def series_of(
    runs: estimates.Runs, counts: Floats, placement: Floats, io: Floats, rest: Floats
) -> tuple[StepSeries, list[str], NDArrayBool]:
    """Runs as a series with every feature set that nearly all of them carry; what is left out is said; and which runs remain."""
    notes: list[str] = []
    kept = np.ones(len(runs.run_id), bool)
    parts: dict[str, Floats] = {}
    for name, values in (("placement", placement), ("io", io), ("sys", rest)):
        there: NDArrayBool = np.logical_and.reduce(np.isfinite(values.reshape(len(values), -1)), axis=1)
        if there.mean() >= 0.9:
            parts[name], kept = values, kept & there
        else:
            notes.append(f"without {name}: known of {int(there.sum())} of {len(there)} runs")
    series = StepSeries(
        runs.step_time_s[kept],
        (counts / runs.step_time_s[:, :, None])[kept],
        **{name: v[kept] for name, v in parts.items()},
    )
    return series, notes, kept
