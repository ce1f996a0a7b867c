"""The backtest in order of time: learn from the past, forecast the future, and choose the deployed forecaster from earlier errors.

Runs are divided into an early part and three later blocks. Every candidate learns from all runs before a block and forecasts the block. In a block, the
average of trees with nets (`WITH_NETS`) is deployed. If other candidates were better on earlier blocks beyond chance, they are deployed instead: the best
one with all that cannot be distinguished from it, or an average of baselines (`AVERAGED`). Forecasts are averaged in log and moved to the least percentage
error (`percentage_shift`). So the reported error does not influence the choice. The first block is only for choosing and calibrating. All candidates
forecast the same windows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from flitwatch_ml.folds import distinct_runs, too_few
from flitwatch_ml.forecast.backtest import ALONE, learned_forecasters, relative_gain
from flitwatch_ml.forecast.baselines import AVERAGED, NAIVE, with_averages
from flitwatch_ml.forecast.intervals import AdaptiveInterval, half_width
from flitwatch_ml.forecast.series import Standard, StepSeries, Windows

Floats = NDArray[np.float64]
#: Share of the first runs, used only for learning, and number of blocks after them.
EARLY, BLOCKS = 0.4, 3
#: Features are chosen on the part after this share of the early part.
CHOOSE_AFTER = 0.6
MIN_RUNS = 50
#: Other candidates replace the average with nets if they are better by more than this many standard errors: chance of 1 in 1,000 with 40 runs.
BEYOND = 3.3
#: The average of trees with nets: choosing among its parts by earlier blocks gained nothing.
WITH_NETS = ("lightgbm", ALONE, "attention")
#: A candidate is deployed with the best one unless it is worse by more than this many standard errors of the difference, paired by run.
APART = 1.64


@dataclass
class Chronological:
    """Forecasts of later runs by forecasters fitted to earlier ones.

    Attributes
    ----------
    mape : name -> % error over the scored windows, with equal weight per run
    errors : name -> % error of each scored run, in order of time
    served : % error of each scored run with the forecaster deployed at that time
    chosen : candidates deployed together in each scored block
    coverage90 : share of scored windows within the adaptive 90 % interval of the deployed forecasters; fixed_coverage90 within the interval
        calibrated once, on the first block
    serves : candidates to deploy next, chosen from all blocks
    half_width90 : half-width of their adaptive interval, in log
    shift : what is added to the log of their forecast (`percentage_shift`)
    runs, windows : numbers of scored runs and windows
    """

    mape: dict[str, float]
    errors: dict[str, Floats] = field(repr=False)
    served: Floats = field(repr=False)
    chosen: list[tuple[str, ...]]
    coverage90: float
    fixed_coverage90: float
    serves: tuple[str, ...]
    half_width90: float
    shift: float
    runs: int
    windows: int

    @property
    def served_mape(self) -> float:
        """% error of the deployed forecasters."""
        return float(self.served.mean())

    def gain(self) -> tuple[float, float, float]:
        """Return (mean, low, high): 1 - error of the deployed forecasters / error of the best candidate in hindsight, including averages; paired by run."""
        return relative_gain(self.served, self.errors[min(self.mape, key=self.mape.__getitem__)])


def backtest_in_order(
    series: StepSeries,
    start_s: ArrayLike,
    m: int,
    k: int,
    sets: tuple[str, ...] = (),
    learned: Mapping[str, Any] | None = None,
    stride: int = 1,
    serve: tuple[str, ...] = (),
) -> Chronological:
    """Forecast each block of `series` (runs with starts `start_s`) from the runs before it.

    With `serve`, these candidates are deployed regardless of their errors.
    """
    series = _in_order(series, start_s)
    edges = _block_edges(series)
    prototypes = learned_forecasters() if learned is None else learned
    blocks = [
        _forecast_block(series, range(int(begin)), range(int(begin), int(end)), m, k, sets, prototypes, stride)
        for begin, end in pairwise(edges)
    ]
    return _summarise_blocks(blocks, serve)


def choose_features(
    series: StepSeries, start_s: ArrayLike, m: int, k: int, sets: Sequence[tuple[str, ...]]
) -> tuple[str, ...]:
    """Choose the feature set for forecasting. The choice uses the later part of the runs that `backtest_in_order` only learns from, so that it does
    not influence any reported error.

    These runs are few, so the first of `sets` is kept unless another one has less error by more than `APART` standard errors, paired by run.
    Ridge and LightGBM choose for all forecasters, because an attention fit takes seconds.
    """
    series = _in_order(series, start_s)
    early = int(_block_edges(series)[0])
    cut = round(CHOOSE_AFTER * early)
    learned = {name: candidate for name, candidate in learned_forecasters().items() if name in ("ridge", "lightgbm")}
    errors = {
        candidate: _forecast_block(series, range(cut), range(cut, early), m, k, candidate, learned, 1).errors
        for candidate in dict.fromkeys(sets)
    }
    best = {candidate: min((of[name] for name in learned), key=np.mean) for candidate, of in errors.items()}
    chosen = sets[0]
    for candidate in sets[1:]:
        gain = best[chosen] - best[candidate]
        if gain.mean() > APART * gain.std() / np.sqrt(len(gain)):
            chosen = candidate
    return chosen


def _in_order(series: StepSeries, start_s: ArrayLike) -> StepSeries:
    """Return distinct runs in order of start."""
    labels = distinct_runs(series.times)
    first = np.unique(labels, return_index=True)[1]
    if len(first) < MIN_RUNS:
        raise too_few(f"a backtest in order of time needs {MIN_RUNS}", labels)
    return series.runs(first[np.argsort(np.asarray(start_s, float)[first], kind="stable")])


def _block_edges(series: StepSeries) -> NDArray[np.int64]:
    """Return the edges of the blocks, in runs."""
    return np.round(np.linspace(EARLY, 1.0, BLOCKS + 1) * len(series.times)).astype(np.int64)


@dataclass
class _Block:
    """Log residuals by candidate and run of a block, and % errors by run."""

    residuals: dict[str, list[Floats]]
    errors: dict[str, Floats]
    windows: int

    def averaged_residuals(self, names: tuple[str, ...]) -> list[Floats]:
        """Return log residuals of each run for the log average of the forecasts of `names`."""
        return [np.mean(parts, axis=0) for parts in zip(*(self.residuals[name] for name in names), strict=True)]


def _forecast_block(
    series: StepSeries,
    past: range,
    future: range,
    m: int,
    k: int,
    sets: tuple[str, ...],
    prototypes: Mapping[str, Any],
    stride: int,
) -> _Block:
    past_series, new = series.runs(list(past)), series.runs(list(future))
    standard = Standard.learn(past_series, sets)
    teach, ask = standard.training(past_series, m, k, stride), standard.windows(new, m, k, stride)
    ask = ask.chosen(np.isfinite(ask.future_s))
    forecasts: dict[str, Floats] = {name: forecast(ask, k) for name, forecast in NAIVE.items()}
    forecasts = with_averages(
        forecasts | {name: clone(item).fit(teach).predict(ask) for name, item in prototypes.items()}
    )
    return _Block(
        residuals={name: _of_runs(np.log(ask.future_s / forecast_s), ask) for name, forecast_s in forecasts.items()},
        errors={
            name: np.array([item.mean() for item in _of_runs(np.abs(forecast_s / ask.future_s - 1) * 100, ask)])
            for name, forecast_s in forecasts.items()
        },
        windows=len(ask.run),
    )


def _of_runs(values: Floats, windows: Windows) -> list[Floats]:
    return [values[windows.run == run] for run in np.unique(windows.run)]


def _summarise_blocks(blocks: list[_Block], serve: tuple[str, ...]) -> Chronological:
    names = list(blocks[0].errors)
    single = [name for name in names if tuple(name.split(" + ")) not in AVERAGED]
    chosen, served = [], []
    inside: list[float] = []
    inside_fixed: list[float] = []
    weight: list[int] = []
    for at in range(1, len(blocks)):
        serving = serve or _winner(blocks[:at], single)
        chosen.append(serving)
        shift = 0.0 if serve else _shift_of(blocks[:at], serving)
        first = [run - shift for run in blocks[0].averaged_residuals(serving)]
        fixed = half_width(
            np.concatenate(first), np.repeat(np.arange(len(first)), [len(residuals) for residuals in first])
        )
        adaptive = _calibrate_interval(blocks[:at], serving, shift)
        for run in (residuals - shift for residuals in blocks[at].averaged_residuals(serving)):
            served.append(float(np.abs(np.exp(-run) - 1).mean() * 100))
            inside.append(1 - (adaptive.update(run) or 0.0))
            inside_fixed.append(float((np.abs(run) <= fixed).mean()))
            weight.append(len(run))
    errors = {name: _block_errors(blocks[1:], name) for name in names}
    serves = serve or _winner(blocks, single)
    shift = 0.0 if serve else _shift_of(blocks, serves)
    return Chronological(
        mape={name: float(values.mean()) for name, values in errors.items()},
        errors=errors,
        served=np.array(served),
        chosen=chosen,
        coverage90=float(np.average(inside, weights=weight)),
        fixed_coverage90=float(np.average(inside_fixed, weights=weight)),
        serves=serves,
        half_width90=_calibrate_interval(blocks, serves, shift).half_width(),
        shift=shift,
        runs=len(inside),
        windows=sum(block.windows for block in blocks[1:]),
    )


def _winner(blocks: list[_Block], single: list[str]) -> tuple[str, ...]:
    """Return the average with nets, or other candidates with less error beyond chance."""

    def errors(names: tuple[str, ...]) -> Floats:
        runs = [run for block in blocks for run in block.averaged_residuals(names)]
        return np.array([np.abs(np.exp(-run) - 1).mean() for run in runs])

    together = best_together({name: _block_errors(blocks, name) for name in single})
    averages = [together, *(names for names in AVERAGED if set(names) <= set(single))]
    other = min(averages, key=lambda names: errors(names).mean())
    if not set(WITH_NETS) <= set(single):
        return other
    worse = errors(WITH_NETS) - errors(other)
    return other if worse.mean() > BEYOND * worse.std() / np.sqrt(len(worse)) else WITH_NETS


def best_together(errors: Mapping[str, Floats]) -> tuple[str, ...]:
    """Return the candidate with the least mean error over runs, followed by candidates that cannot be distinguished from it."""
    best = min(errors, key=lambda name: errors[name].mean())
    alike = [best]
    for name, values in errors.items():
        worse = values - errors[best]
        if name != best and worse.mean() <= APART * worse.std() / np.sqrt(len(worse)):
            alike.append(name)
    return tuple(alike)


def _block_errors(blocks: list[_Block], name: str) -> Floats:
    return np.concatenate([block.errors[name] for block in blocks])


def percentage_shift(log_residuals: ArrayLike) -> float:
    """Return the shift, in log, from the median to the least mean percentage error, whose optimum is the median weighted by 1 / observed.

    The difference of the two medians varies far less from set to set than either of them.
    """
    residuals = np.sort(np.asarray(log_residuals, float))
    reached = np.cumsum(np.exp(-residuals))
    return float(residuals[np.searchsorted(reached, reached[-1] / 2)] - np.median(residuals))


def _shift_of(blocks: list[_Block], names: tuple[str, ...]) -> float:
    return percentage_shift(np.concatenate([run for block in blocks for run in block.averaged_residuals(names)]))


def _calibrate_interval(blocks: list[_Block], names: tuple[str, ...], shift: float) -> AdaptiveInterval:
    """Return an interval updated with the runs of these blocks in order."""
    interval = AdaptiveInterval()
    for block in blocks:
        for run in block.averaged_residuals(names):
            interval.update(run - shift)
    return interval
