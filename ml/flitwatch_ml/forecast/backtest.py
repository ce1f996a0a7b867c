"""The backtest: all forecasters on the same held-out runs; the winner is deployed."""

from __future__ import annotations

import importlib.util
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from flitwatch_domain.errors import NotEnoughData
from flitwatch_ml.folds import distinct_runs, run_folds, too_few
from flitwatch_ml.forecast.baselines import NAIVE, with_averages
from flitwatch_ml.forecast.forecasters import (
    AttentionForecaster,
    CountersForecaster,
    LightGBMForecaster,
    RidgeForecaster,
)
from flitwatch_ml.forecast.intervals import MIN_RUNS as LEAST_RUNS_HELD
from flitwatch_ml.forecast.intervals import half_width, share_covered
from flitwatch_ml.forecast.series import Standard, StepSeries, Windows

Floats = NDArray[np.float64]
MIN_RUNS = 20
#: Attention without ridge and boosting, on counters and times of m steps.
ALONE = "attention alone"
#: The paper's forecaster: counters of m steps to the sum of the next k.
COUNTERS = "attention on counters"
BOOTSTRAPS = 2000


def learned_forecasters() -> dict[str, RidgeForecaster | LightGBMForecaster | AttentionForecaster]:
    """Return the learning forecasters as unfitted prototypes; attention is included only if PyTorch is installed."""
    learned: dict[str, RidgeForecaster | LightGBMForecaster | AttentionForecaster] = {
        "ridge": RidgeForecaster(),
        "lightgbm": LightGBMForecaster(),
    }
    if has_pytorch():
        learned[ALONE] = AttentionForecaster(on_ridge=False, with_boosting=False)
        learned["attention"] = AttentionForecaster()
    return learned


def paper_forecasters() -> dict[str, RidgeForecaster | LightGBMForecaster | AttentionForecaster]:
    """Return the learning forecasters and that of Bhatele 2020 (section IV-C) as unfitted prototypes."""
    return {**learned_forecasters(), COUNTERS: CountersForecaster(on_ridge=False, with_boosting=False)}


def has_pytorch() -> bool:
    """Return whether PyTorch is installed, without loading it."""
    return importlib.util.find_spec("torch") is not None


@dataclass
class Backtest:
    """Out-of-fold forecasts of every forecaster.

    Attributes
    ----------
    mape : name -> % error over held-out windows, with equal weight per run
    gain : (mean, low, high) of 1 - attention's error / the best other error, paired by run, 90 % bootstrap interval
    coverage90 : share of held-out windows within the 90 % interval of the serving forecaster, calibrated on the other folds; None for a single fold
    half_width90 : half-width of that interval, in log; NaN if too few runs were held out
    serves : name of the requested forecaster, else of the one with the least error; for an average, its members joined by " + "
    nested_mape : % error if each fold uses the choice of the other folds; None for a single fold. The error of `serves` is a minimum of several
    train_s, infer_ms : time of one fit of the attention forecaster; time of one forecast per job for 1,000 jobs
    """

    mape: dict[str, float]
    gain: tuple[float, float, float]
    coverage90: float | None
    half_width90: float
    serves: str
    nested_mape: float | None
    train_s: float
    infer_ms: float
    runs: int
    windows: int
    errors: dict[str, Floats] = field(repr=False)


@dataclass
class _Collected:
    """Forecasts of held-out windows, collected fold by fold."""

    forecasts: dict[str, list[Floats]]
    observed: list[Floats] = field(default_factory=list)
    owner: list[NDArray] = field(default_factory=list)
    fold: list[NDArray] = field(default_factory=list)
    train_s: float = 0.0
    infer_s: float = 0.0

    def add(
        self, prototypes: Mapping[str, Any], past: Windows, future: Windows, k: int, owner: NDArray, fold: int
    ) -> None:
        """Fit every forecaster to `past` and store its forecasts of `future`, whose runs are `owner`."""
        for name, forecast in NAIVE.items():
            self.forecasts[name].append(forecast(future, k))
        for name, prototype in prototypes.items():
            begun = time.process_time()
            model = clone(prototype).fit(past)
            fitted = time.process_time()
            self.forecasts[name].append(model.predict(future))
            if name == "attention":
                self.train_s = max(self.train_s, fitted - begun)
                self.infer_s = max(self.infer_s, (time.process_time() - fitted) * 1000 / len(future.run))
        self.observed.append(future.future_s)
        self.owner.append(owner)
        self.fold.append(np.full(len(future.run), fold))

    def summary(self, serve: str | None = None) -> Backtest:
        return _summarise_backtest(
            with_averages({name: np.concatenate(parts) for name, parts in self.forecasts.items()}),
            np.concatenate(self.observed),
            np.concatenate(self.owner),
            np.concatenate(self.fold),
            self.train_s,
            self.infer_s,
            serve,
        )


def run_backtest(
    series: StepSeries,
    m: int,
    k: int,
    sets: tuple[str, ...] = (),
    folds: int = 5,
    seed: int = 0,
    learned: Mapping[str, Any] | None = None,
    rounds: int | None = None,
    stride: int = 1,
    serve: str | None = None,
) -> Backtest:
    """Hold out each fold of runs once (or only the first `rounds` folds) and forecast it with forecasters fitted to the others.

    Windows start every `stride` steps; long runs are cut into segments, with `stride` = k. With `serve`, this forecaster is deployed regardless of
    its error.
    """
    labels = distinct_runs(series.times)
    if len(np.unique(labels)) < MIN_RUNS:
        raise too_few(f"a backtest needs {MIN_RUNS}", labels)
    canonical = np.argsort(labels, kind="stable")  # nets that sample rows must not depend on the runs' order
    series, labels = series.runs(canonical), labels[canonical]
    prototypes = learned_forecasters() if learned is None else learned
    collected = _Collected({name: [] for name in (*NAIVE, *prototypes)})
    for fold, (train, test) in enumerate(islice(run_folds(labels, folds, seed), rounds)):
        standard = Standard.learn(series.runs(train), sets)
        past = standard.training(series.runs(train), m, k, stride)
        future = _known_windows(standard.windows(series.runs(test), m, k, stride))
        if not past.whole.any():
            raise NotEnoughData(f"not enough data: no training run has {m + k} steps without a gap")
        if len(future.run):
            collected.add(prototypes, past, future, k, test[future.run], fold)
    if not collected.observed:
        raise NotEnoughData(f"not enough data: no held-out run has {m + k} steps without a gap")
    return collected.summary(serve)


def backtest_unseen(
    known: StepSeries,
    new: StepSeries,
    m: int,
    k: int,
    sets: tuple[str, ...] = (),
    learned: Mapping[str, Any] | None = None,
    stride: int = 1,
) -> Backtest:
    """Learn from `known` runs and forecast `new` runs of another kind, for example longer ones (Bhatele 2020, section V-C)."""
    prototypes = learned_forecasters() if learned is None else learned
    standard = Standard.learn(known, sets)
    past, future = standard.training(known, m, k), _known_windows(standard.windows(new, m, k, stride))
    collected = _Collected({name: [] for name in (*NAIVE, *prototypes)})
    collected.add(prototypes, past, future, k, future.run, 0)
    return collected.summary()


def _known_windows(windows: Windows) -> Windows:
    return windows.chosen(np.isfinite(windows.future_s))


def _summarise_backtest(
    forecasts: dict[str, Floats],
    observed: Floats,
    owner: NDArray,
    fold_of: NDArray,
    train_s: float,
    infer_s: float,
    serve: str | None,
) -> Backtest:
    errors = {
        name: _by_run(np.abs(forecast - observed) / observed * 100, owner) for name, forecast in forecasts.items()
    }
    mape = {name: float(values.mean()) for name, values in errors.items()}
    serves = serve or min(mape, key=mape.__getitem__)
    residual = np.log(observed / forecasts[serves])
    folds = np.unique(fold_of)
    coverage = [
        share_covered(
            observed[fold_of == fold],
            forecasts[serves][fold_of == fold],
            half_width(residual[fold_of != fold], owner[fold_of != fold]),
        )
        for fold in folds
        if len(folds) > 1
    ]
    return Backtest(
        mape=mape,
        gain=attention_gain(errors) if "attention" in errors else (math.nan, math.nan, math.nan),
        coverage90=float(np.average(coverage, weights=np.bincount(fold_of))) if coverage else None,
        half_width90=half_width(residual, owner) if len(np.unique(owner)) >= LEAST_RUNS_HELD else math.nan,
        serves=serves,
        nested_mape=_nested_mape(errors, owner, fold_of),
        train_s=train_s,
        infer_ms=infer_s * 1000,
        runs=len(np.unique(owner)),
        windows=len(observed),
        errors=errors,
    )


def _nested_mape(errors: dict[str, Floats], owner: NDArray, fold_of: NDArray) -> float | None:
    fold = fold_of[np.unique(owner, return_index=True)[1]]
    if len(np.unique(fold)) < 2:
        return None
    run_errors = np.empty(len(fold))
    for number in np.unique(fold):
        chosen = min(errors, key=lambda name: errors[name][fold != number].mean())
        run_errors[fold == number] = errors[chosen][fold == number]
    return float(run_errors.mean())


def _by_run(values: Floats, owner: NDArray) -> Floats:
    _, index = np.unique(owner, return_inverse=True)
    return np.bincount(index, values) / np.bincount(index)


def attention_gain(errors: dict[str, Floats]) -> tuple[float, float, float]:
    """Return the `relative_gain` of attention over the best other forecaster."""
    best = min((name for name in errors if name != "attention"), key=lambda name: errors[name].mean())
    return relative_gain(errors["attention"], errors[best])


def relative_gain(ours: Floats, theirs: Floats) -> tuple[float, float, float]:
    """Return (mean, low, high): 1 - mean(ours) / mean(theirs) of errors paired by run, with a 90 % bootstrap interval over runs; NaN if theirs is 0."""
    if not theirs.any():
        return math.nan, math.nan, math.nan
    draws = np.random.default_rng(0).integers(0, len(ours), (BOOTSTRAPS, len(ours)))
    drawn_ours, drawn_theirs = ours[draws].mean(1), theirs[draws].mean(1)
    some = drawn_theirs > 0
    low, high = np.quantile(1 - drawn_ours[some] / drawn_theirs[some], [0.05, 0.95])
    return float(1 - ours.mean() / theirs.mean()), float(low), float(high)
