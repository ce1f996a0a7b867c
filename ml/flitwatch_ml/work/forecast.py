"""Forecasts: backtests of one application by m, k and features. The best one in order of time is fitted to all runs and deployed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypedDict

import numpy as np

from flitwatch_db.estimates import inputs as estimates
from flitwatch_db.estimates.store import Estimate
from flitwatch_domain.counters import LDMS_FOUR
from flitwatch_domain.errors import MissingDependency, NotEnoughData
from flitwatch_domain.estimates import AttentionGain, BacktestRow, ForecastBasis
from flitwatch_domain.neighbourhood import OURS, PAPER
from flitwatch_ml.folds import distinct_runs
from flitwatch_ml.forecast import FEATURE_SETS, Chronological, StepSeries, backtest_in_order, run_backtest
from flitwatch_ml.forecast.backtest import (
    ALONE,
    COUNTERS,
    Backtest,
    attention_gain,
    has_pytorch,
    learned_forecasters,
    paper_forecasters,
)
from flitwatch_ml.forecast.chronological import BEYOND, choose_features
from flitwatch_ml.forecast.chronological import MIN_RUNS as RUNS_IN_ORDER
from flitwatch_ml.forecast.importance import measure_importances
from flitwatch_ml.forecast.serving import Choice, dump_serving, fit_serving
from flitwatch_ml.work.drift import inner_deciles
from flitwatch_ml.work.sets import LEAST_COUNTED, Floats, result_of, select_runs

NDArrayBool = np.ndarray[Any, np.dtype[np.bool_]]

FOLDS = 5
#: From this many steps on, the paper's m and k for MILC are used: an eighth and a quarter of the run, a quarter and a half of it.
LONG_RUN_STEPS = 40
#: Above this number of steps, the paper's long-run mode is used: segments of 40 from the previous 30.
SEGMENT_STEPS, SEGMENT_M, SEGMENT_K = 200, 30, 40
#: Reason for deploying the paper's forecaster.
PAPERS = "the paper's forecaster was asked for"
WITHOUT_PYTORCH = (
    "Forecasters with attention were not tested, because PyTorch is not installed (pip install 'flitwatch[ml]')"
)
#: Share of the runs that must have a complete additional feature set.
LEAST_WHOLE = 0.9


class SeriesData(TypedDict):
    """Runs as a series, the names of its counters, and the omitted data."""

    runs: estimates.Runs
    series: StepSeries
    names: list[str]
    notes: list[str]


def choose_grid(steps: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return (short m, long m), (short k, long k) for runs of this many steps; for 20 and 80 steps they are the paper's (section V-C)."""
    if steps < 4:
        raise NotEnoughData(f"not enough data: a forecast needs runs of 4 steps, these have {steps}")
    if steps >= SEGMENT_STEPS:
        return (SEGMENT_M // 3, SEGMENT_M), (SEGMENT_K // 2, SEGMENT_K)
    if steps >= LONG_RUN_STEPS:
        return (steps // 8, steps // 4), (steps // 4, steps // 2)
    return (max(1, round(0.15 * steps)), max(2, round(0.4 * steps))), (max(1, steps // 4), max(1, steps // 2))


def feature_sets(series: StepSeries) -> list[tuple[str, ...]]:
    """Return app, then each additional feature set of these runs, in the paper's order."""
    sets: list[tuple[str, ...]] = [()]
    for name in FEATURE_SETS:
        if getattr(series, name) is not None:
            sets.append((*sets[-1], name))
    return sets


def estimate_forecast(
    data: SeriesData,
    exe: str,
    nodes: int,
    tell: Callable[[int, int, str], None],
    definition: str = OURS.name,
) -> tuple[Estimate, dict[int, bytes]]:
    """Return the backtests, and the fitted forecasters by m."""
    if definition == PAPER.name and not has_pytorch():
        raise MissingDependency(
            "the paper's forecaster needs PyTorch, which is not installed", advice="pip install 'flitwatch[ml]'"
        )
    runs, series, counters = data["runs"], data["series"], data["names"]
    (short_m, long_m), (short_k, long_k) = choose_grid(series.times.shape[1])
    sets = feature_sets(series)
    combinations = [
        (m, k, chosen)
        for m in dict.fromkeys((short_m, long_m))
        for k in dict.fromkeys((short_k, long_k))
        for chosen in sets
    ]
    total = len(combinations) + 3
    rows: dict[tuple[int, int, tuple[str, ...]], Backtest | Chronological] = {}
    train_s = 0.0
    for done, (m, k, chosen) in enumerate(combinations):
        tell(done, total, f"backtest m {m}, k {k}, {_join_features(chosen)}")
        # An attention fit takes seconds: its features are ablated only at the headline's m and k, those of the others everywhere.
        learned = learned_forecasters()
        if (m, k) != (long_m, long_k):
            learned = {name: one for name, one in learned.items() if name not in ("attention", ALONE)}
        rows[m, k, chosen] = row = run_backtest(series, m, k, chosen, folds=FOLDS, rounds=1, learned=learned)
        train_s = max(train_s, row.train_s)
    best_sets = features_of(series, runs.start_s, long_m, long_k)
    models: dict[int, bytes] = {}
    for at, m in enumerate(dict.fromkeys((short_m, long_m))):
        tell(len(combinations) + at, total, f"in order of time, m {m}, k {long_k}, {_join_features(best_sets)}")
        rows[m, long_k, best_sets], choice = _choose_forecasters(series, runs.start_s, m, long_k, best_sets, definition)
        models[m] = dump_serving(fit_serving(series, m, long_k, best_sets, choice))
    chosen_row = rows[long_m, long_k, best_sets]
    serves = {
        "forecaster": choice.name,
        "m": long_m,
        "k": long_k,
        "features": _join_features(best_sets),
        "mape": choice.mape,
        "coverage90": chosen_row.coverage90,
        "why": choice.why,
    }
    tell(len(combinations) + 2, total, "what the forecasts rest on")
    rests, rests_on_lacks = rests_on(
        series, runs.start_s, counters, long_m, long_k, best_sets, choice.members, choice.shift
    )
    curve = np.nanmean(series.times, axis=0)
    result = {
        "counters": counters,
        "reference": {"time": inner_deciles(np.log(series.times / curve))},
        "serves": serves,
        "backtests": [_backtest_row(m, k, chosen, row) for (m, k, chosen), row in rows.items()],
        "curve_s": curve.tolist(),
        "rests_on": rests,
        "rests_on_lacks": rests_on_lacks,
        "notes": data["notes"]
        + list(_list_surprises(rows, short_m, long_m, long_k, best_sets))
        + ([] if has_pytorch() else [WITHOUT_PYTORCH]),
    }
    score = {
        "mape": chosen_row.mape,
        "serves": choice.name,
        "served_mape": choice.mape,
        "gain": _gain_of_attention(chosen_row),
        "coverage90": chosen_row.coverage90,
        "train_s": train_s,
    }
    parameters = {
        "m": [short_m, long_m],
        "k": [short_k, long_k],
        "features": _join_features(best_sets),
        "folds": FOLDS,
        "definition": definition,
    }
    return result_of("forecast", exe, nodes, runs, parameters, score, result), models


def features_of(series: StepSeries, start_s: Floats, m: int, k: int) -> tuple[str, ...]:
    """Choose the forecast's features: placement if known, and more if the earliest runs show that they help."""
    sets = feature_sets(series)
    usual = ("placement",) if ("placement",) in sets else ()
    if len(np.unique(distinct_runs(series.times))) >= RUNS_IN_ORDER:
        return choose_features(
            series, start_s, m, k, [usual, *(candidate for candidate in sets if len(candidate) > len(usual))]
        )
    return usual


def in_order(
    series: StepSeries, start_s: Floats, m: int, k: int, sets: tuple[str, ...], definition: str = OURS.name
) -> Chronological:
    """Return the backtest in order of time as in the scorecard: our candidates, or the paper's attention on counters deployed."""
    if definition == PAPER.name:
        return backtest_in_order(series, start_s, m, k, sets, learned=paper_forecasters(), serve=(COUNTERS,))
    return backtest_in_order(series, start_s, m, k, sets)


def _choose_forecasters(
    series: StepSeries, start_s: Floats, m: int, k: int, sets: tuple[str, ...], definition: str
) -> tuple[Backtest | Chronological, Choice]:
    """Choose with a backtest in order of time; with too few runs for that, choose the least error over held-out runs."""
    paper = definition == PAPER.name
    if len(np.unique(distinct_runs(series.times))) < RUNS_IN_ORDER:
        learned, serve = (paper_forecasters(), COUNTERS) if paper else (None, None)
        row = run_backtest(series, m, k, sets, folds=FOLDS, learned=learned, serve=serve)
        if paper:
            return row, Choice((COUNTERS,), row.mape[COUNTERS], row.half_width90, PAPERS)
        mape = row.mape[row.serves] if row.nested_mape is None else row.nested_mape
        return row, Choice(tuple(row.serves.split(" + ")), mape, row.half_width90, _choice_reason(row))
    outcome = in_order(series, start_s, m, k, sets, definition)
    if paper:
        return outcome, Choice(outcome.serves, outcome.served_mape, outcome.half_width90, PAPERS)
    together = "the average of " if len(outcome.serves) > 1 else ""
    why = (
        f"on {outcome.runs} later runs, no forecaster is better by {BEYOND} standard errors than {together}{', '.join(outcome.serves)}; "
        "the error is that of earlier choices made in the same way"
    )
    return outcome, Choice(outcome.serves, outcome.served_mape, outcome.half_width90, why, outcome.shift)


def rests_on(
    series: StepSeries,
    start_s: Floats,
    counters: list[str],
    m: int,
    k: int,
    sets: tuple[str, ...],
    members: tuple[str, ...],
    shift: float = 0.0,
) -> tuple[list[ForecastBasis], str | None]:
    """Return the importance of inputs for the deployed and the paper's forecaster, or the missing data."""
    names = [*counters, *(f"{name}.{item}" for name in ("io", "sys") if name in sets for item in LDMS_FOUR)]
    try:
        shifts = {members: shift}
        if has_pytorch():
            shifts.setdefault((COUNTERS,), 0.0)
        return [
            measure_importances(series, start_s, names, m, k, sets, averaged, shift_of)
            for averaged, shift_of in shifts.items()
        ], None
    except NotEnoughData as lacking:
        return [], str(lacking)


def _join_features(sets: tuple[str, ...]) -> str:
    return "+".join(("app", *sets))


def _gain_of_attention(row: Backtest | Chronological) -> AttentionGain | None:
    """Return the gain of attention over the best other candidate."""
    if "attention" not in row.mape or math.isnan((gain := attention_gain(row.errors))[0]):
        return None
    mean, low, high = gain
    return {"mean": mean, "low": low, "high": high}


def _backtest_row(m: int, k: int, sets: tuple[str, ...], row: Backtest | Chronological) -> BacktestRow:
    return {
        "m": m,
        "k": k,
        "features": _join_features(sets),
        "mape": row.mape,
        "gain": _gain_of_attention(row),
        "coverage90": row.coverage90,
        "best": min(row.mape, key=row.mape.__getitem__),
        "runs": row.runs,
        "windows": row.windows,
    }


def _choice_reason(row: Backtest) -> str:
    mean, low, high = row.gain
    text = f"least error over {row.runs} held-out runs; the error is that of what the other folds choose"
    if "attention" not in row.mape:
        return text
    if math.isnan(mean):
        return f"{text}: none"
    if row.serves != "attention":
        # The choice weighs windows equally, and the gain weighs runs equally.
        if mean > 0:
            return f"{text}; as a mean of runs, attention's error is {mean:.1%} smaller (90 %: {low:.1%} to {high:.1%})"
        return f"{text}; attention's error is {-mean:.1%} larger (90 %: {-high:.1%} to {-low:.1%})"
    if low <= 0:
        return f"{text}; its gain of {mean:.1%} is within chance (90 %: {low:.1%} to {high:.1%})"
    return f"{text}; {mean:.1%} below the next (90 %: {low:.1%} to {high:.1%})"


def _list_surprises(
    rows: dict[Any, Backtest | Chronological], short_m: int, long_m: int, k: int, sets: tuple[str, ...]
) -> Iterator[str]:
    """Yield results that differ from expectations."""
    short, long = (min(rows[m, k, sets].mape.values()) for m in (short_m, long_m))
    if long > short:
        yield f"the least error is not lower with more past: {long:.1f} % with m = {long_m}, {short:.1f} % with m = {short_m}"
    alone, together = (min(rows[long_m, k, features].mape.values()) for features in ((), sets))
    if sets and together >= alone:
        yield f"the least error is not lower with features beyond app: {together:.1f} %, {alone:.1f} % without"


def series_data(
    runs: estimates.Runs, counts: Floats, names: Sequence[str], placement: Floats, io: Floats, rest: Floats
) -> SeriesData:
    """Select the data for a forecast, as the task and the scorecard do: features counted in most steps, runs with readings, and each further set of
    `FEATURE_SETS` that is complete for nearly all of them.

    `counts` (runs, steps, features) are increments within a step. `io` and `rest` (runs, steps, counters) are per second. Missing readings stay NaN.

    Raises
    ------
    NotEnoughData
        No feature was counted in most of the steps.
    """
    there: NDArrayBool = np.isfinite(counts)
    feature_mask = there.mean((0, 1)) >= LEAST_COUNTED
    if not feature_mask.any():
        raise NotEnoughData(
            "no counters were stored for these runs, neither for the runs nor for their routers or network cards"
        )
    read: NDArrayBool = np.logical_or.reduce(there[:, :, feature_mask], axis=(1, 2))
    notes: list[str] = []
    run_mask, parts = read.copy(), {}
    for name, values in (("placement", placement), ("io", io), ("sys", rest)):
        whole: NDArrayBool = np.logical_and.reduce(np.isfinite(values.reshape(len(values), -1)), axis=1)
        if whole[read].mean() >= LEAST_WHOLE:
            parts[name], run_mask = values, run_mask & whole
        else:
            notes.append(f"without {name}: known of {int(whole[read].sum())} of {int(read.sum())} runs")
    rates = counts[:, :, feature_mask] / runs.step_time_s[:, :, None]
    series = StepSeries(
        runs.step_time_s[run_mask], rates[run_mask], **{name: values[run_mask] for name, values in parts.items()}
    )
    listed = [name for name, included in zip(names, feature_mask.tolist(), strict=True) if included]
    return {"runs": select_runs(runs, run_mask), "series": series, "names": listed, "notes": notes}
