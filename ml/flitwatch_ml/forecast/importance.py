"""Importance of a forecast's inputs: increase of its error on later runs if one input is taken from another run (Bhatele 2020, figure 11).

The forecasters learn from the earlier runs with the production code, and forecast unseen later ones. Then one input of each later run is replaced by
that of another later run at the same steps. Its values stay plausible, but lose the information about this run. Correlated counters of one meaning
are replaced together, as each can substitute for the others. A forecast that relies on noise gains as much as it loses by this, so an interval over runs
that contains zero means "cannot tell".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student

from flitwatch_domain.counters import Feature, feature_of
from flitwatch_domain.counters.features import PLACED
from flitwatch_domain.estimates import AttentionWeights, ForecastBasis, ForecastInput, Verdict
from flitwatch_ml.folds import distinct_runs, too_few
from flitwatch_ml.forecast.forecasters import AttentionForecaster
from flitwatch_ml.forecast.series import Standard, StepSeries, Windows
from flitwatch_ml.forecast.serving import Choice, Serving, fit_serving

Floats = NDArray[np.float64]
#: Share of the runs, in order of start, used for learning; the rest is forecast.
EARLY = 0.6
MIN_RUNS = 30
#: Counters of one meaning with at least this correlation are replaced together.
TOGETHER = 0.7
#: Number of other runs that replace each input in turn.
DONORS = 8
LEVEL = 0.95
#: Inputs that are not counters.
TIME, PLACEMENT = "time of the past steps", "placement"


@dataclass(frozen=True)
class Input:
    """Inputs replaced together: `columns` of the past, with the related placement or times."""

    name: str
    meaning: str
    features: tuple[str, ...]
    columns: tuple[int, ...]


def measure_importances(
    series: StepSeries,
    start_s: ArrayLike,
    counters: Sequence[str],
    m: int,
    k: int,
    sets: tuple[str, ...],
    members: tuple[str, ...],
    shift: float = 0.0,
) -> ForecastBasis:
    """Measure the importance of inputs for the forecasters `members`, averaged and with the logarithm shifted as deployed.

    Parameters
    ----------
    start_s : (runs,)    start of each run
    counters : names of `series.features(sets)` after the time: the run's own counters, then the counters of each set

    Raises
    ------
    NotEnoughData
        There are fewer than `MIN_RUNS` distinct runs.
    """
    labels = distinct_runs(series.times)
    first = np.unique(labels, return_index=True)[1]
    if len(first) < MIN_RUNS:
        raise too_few(f"importances need {MIN_RUNS}", labels)
    order = first[np.argsort(np.asarray(start_s, float)[first], kind="stable")]
    early = round(EARLY * len(order))
    early_runs, later = series.runs(order[:early]), series.runs(order[early:])
    serving = fit_serving(early_runs, m, k, sets, Choice(members, 0.0, 0.0, shift=shift))
    windows = serving.standard.windows(later, m, k)
    windows = windows.chosen(np.isfinite(windows.future_s))
    usual = _run_errors(serving, windows)
    inputs = _list_inputs(counters, sets, early_runs, serving.standard)
    level = 1 - (1 - LEVEL) / len(inputs)
    rows = [_measure_input(item, serving, windows, usual, level) for item in inputs]
    return {
        "forecaster": serving.name,
        "mape": float(usual.mean()),
        "learned": early,
        "runs": len(usual),
        "inputs": sorted(rows, key=lambda item: -item["increase"]),
        "weights": [
            _attention_weights(item.name, item.model, windows)
            for item in (serving.members or (serving,))
            if isinstance(item.model, AttentionForecaster)
        ],
    }


def _run_errors(serving: Serving, windows: Windows) -> Floats:
    """Return the % error of each run."""
    return _by_run(np.abs(serving.predict(windows) / windows.future_s - 1) * 100, windows)


def _by_run(values: Floats, windows: Windows) -> Floats:
    """Return means over the windows of each run, (runs, ...)."""
    return np.array([values[windows.run == run].mean(0) for run in np.unique(windows.run)])


def _measure_input(one: Input, serving: Serving, windows: Windows, usual: Floats, level: float) -> ForecastInput:
    baseline_s = serving.predict(windows)
    rng = np.random.default_rng(0)
    added = np.zeros(len(usual))
    used = False
    for _ in range(DONORS):
        other = _replace_input(windows, one, _draw_donors(windows, rng))
        used = used or not np.array_equal(serving.predict(other), baseline_s)
        added += (_run_errors(serving, other) - usual) / DONORS
    mean, low, high = _student_interval(added, level)
    verdict: Verdict = "not used" if not used else "carries" if low > 0 else "cannot tell"
    return {
        "name": one.name,
        "meaning": one.meaning,
        "features": list(one.features),
        "increase": mean,
        "low": low,
        "high": high,
        "verdict": verdict,
    }


def _student_interval(values: Floats, level: float) -> tuple[float, float, float]:
    """Return the mean over runs with Student's interval."""
    half = student.ppf((1 + level) / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean()), float(values.mean() - half), float(values.mean() + half)


def _draw_donors(windows: Windows, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return, for each window, a window of another run at the same step; the window itself only if no other run has that step."""
    names = np.unique(windows.run)
    circle = rng.permutation(names)
    place = np.empty(names.max() + 1, np.int64)
    place[circle] = np.arange(len(circle))
    donor = np.arange(len(windows.run))
    for step in np.unique(windows.step):
        there = np.flatnonzero(windows.step == step)
        there = there[np.argsort(place[windows.run[there]])]
        donor[there] = np.roll(there, -1)
    return donor


def _replace_input(windows: Windows, one: Input, donor: NDArray[np.int64]) -> Windows:
    if one.name == PLACEMENT:
        return replace(windows, placement=windows.placement[donor])
    past = windows.past.copy()
    past[:, :, list(one.columns)] = windows.past[donor][:, :, list(one.columns)]
    if one.name == TIME:
        return replace(windows, past=past, ratio=windows.ratio[donor], last_s=windows.last_s[donor])
    return replace(windows, past=past)


def _list_inputs(counters: Sequence[str], sets: tuple[str, ...], known: StepSeries, standard: Standard) -> list[Input]:
    """Return the inputs: time, placement, and counters grouped with counters of the same meaning that correlate in the training runs."""
    inputs = [Input(TIME, "time", (TIME,), (0,))]
    if "placement" in sets:
        inputs.append(Input(PLACEMENT, "placement", PLACED, ()))
    features = [feature_of(name) for name in counters]
    values = (known.features(sets)[:, : len(standard.centre), 1:] - standard.centre[:, 1:]) / standard.scale[1:]
    rows = np.nan_to_num(values.reshape(-1, values.shape[2]), nan=0.0)
    return inputs + [
        Input(
            ", ".join(counters[at] for at in alike),
            features[alike[0]].group,
            tuple(counters[at] for at in alike),
            tuple(at + 1 for at in alike),
        )
        for alike in correlated_groups(rows, features)
    ]


def correlated_groups(rows: Floats, features: Sequence[Feature]) -> list[list[int]]:
    """Return groups of indices of features with the same meaning and a direct or transitive correlation of at least `TOGETHER`; `rows` is (rows, features)."""
    spread = rows.std(0)
    standard = (rows - rows.mean(0)) / np.where(spread > 0, spread, 1.0)
    alike = np.abs(standard.T @ standard) / max(len(rows), 1) >= TOGETHER
    groups: list[list[int]] = []
    for at, feature in enumerate(features):
        near = [g for g in groups if any(alike[at, member] and features[member].group == feature.group for member in g)]
        groups = [g for g in groups if g not in near] + [sorted([at, *(member for g in near for member in g)])]
    return sorted(groups)


def _attention_weights(name: str, model: AttentionForecaster, windows: Windows) -> AttentionWeights:
    by_run = _by_run(model.attention(windows), windows)
    half = student.ppf((1 + LEVEL) / 2, len(by_run) - 1) * by_run.std(0, ddof=1) / np.sqrt(len(by_run))
    mean = by_run.mean(0)
    return {
        "forecaster": name,
        "mean": mean.tolist(),
        "low": np.maximum(mean - half, 0.0).tolist(),
        "high": np.minimum(mean + half, 1.0).tolist(),
    }
