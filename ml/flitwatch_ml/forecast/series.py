"""Step series of runs, and windows for training and forecasting.

A window ends before step t and contains m past steps. Its target is the log of (time of the next k steps / the mean curve's time of the same steps), so
that behaviour common to all runs is not learned again (Bhatele 2020, section IV-C; standardisation and target are ours).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flitwatch_domain.errors import BadInput, NotEnoughData

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Optional features in addition to the application's own counters, in the paper's order.
FEATURE_SETS = ("placement", "io", "sys")
#: A feature with a smaller spread counts as constant over runs and is not scaled.
CONSTANT = 1e-9
#: A window truncated by the end of its run is used for training if at least one in this many of its k steps exists.
SHORTEST_FUTURE = 5


@dataclass(frozen=True)
class StepSeries:
    """Runs of one application.

    Attributes
    ----------
    times : (runs, steps), seconds; NaN if a step is missing
    counters : (runs, steps, counters), counts per second of the step on the run's own routers
    placement : (runs, placement features) or None, for example NUM_ROUTERS and NUM_GROUPS
    io, sys : (runs, steps, counters) or None, counts per second on routers with I/O nodes, and on routers without a node of the run
    """

    times: Floats
    counters: Floats
    placement: Floats | None = None
    io: Floats | None = None
    sys: Floats | None = None

    def __post_init__(self) -> None:
        if self.times.ndim != 2 or self.counters.shape[:2] != self.times.shape:
            raise BadInput(
                f"times (runs, steps) and counters (runs, steps, counters) do not fit: {self.times.shape}, {self.counters.shape}"
            )
        if (self.times <= 0).any():
            run, step = np.argwhere(self.times <= 0)[0]
            raise BadInput(f"run {run}, step {step}: a step's time must be above zero")

    def runs(self, index: ArrayLike) -> StepSeries:
        """Return the runs of `index` only."""
        chosen = np.asarray(index)
        parts = {name: None if (part := getattr(self, name)) is None else part[chosen] for name in FEATURE_SETS}
        return replace(self, times=self.times[chosen], counters=self.counters[chosen], **parts)

    def features(self, sets: tuple[str, ...]) -> Floats:
        """Return log times and log1p rates, (runs, steps, features); the first feature is always the step's time."""
        layers = [np.log(self.times)[:, :, None], np.log1p(self.counters)]
        for name in ("io", "sys"):
            if name in sets:
                layer = getattr(self, name)
                if layer is None:
                    raise NotEnoughData(
                        f"the feature set '{name}' was asked for, but these runs carry no such counters"
                    )
                layers.append(np.log1p(layer))
        return np.concatenate(layers, axis=2)


@dataclass(frozen=True)
class Windows:
    """Windows over runs.

    Attributes
    ----------
    past : (windows, m, features), standardised;  placement : (windows, features), standardised, possibly of width 0
    run, step : (windows,)   run index and the first step of the future
    share : (windows,)       step / steps of the curve
    ratio : (windows,)       log of (time of the last m steps / the curve's time of them)
    curve_s : (windows,)     the mean curve's time of the next k steps
    future_s : (windows,)    the observed time of the next k steps; NaN if unknown
    last_s : (windows,)      mean time of the last m steps
    whole : (windows,)       whether the future has all k steps; a window for training may have fewer (`Standard.training`)
    """

    past: Floats
    placement: Floats
    run: Ints
    step: Ints
    share: Floats
    ratio: Floats
    curve_s: Floats
    future_s: Floats
    last_s: Floats
    whole: NDArray[np.bool_]

    @property
    def target(self) -> Floats:
        """log(future / curve), (windows,)."""
        return np.log(self.future_s / self.curve_s)

    def chosen(self, mask: ArrayLike) -> Windows:
        """Return the windows of `mask` only."""
        return Windows(*(getattr(self, name)[np.asarray(mask)] for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class Standard:
    """Mean curve and scales, learned from training runs only."""

    curve_s: Floats
    centre: Floats
    scale: Floats
    placement_centre: Floats
    placement_scale: Floats
    sets: tuple[str, ...]

    @classmethod
    def learn(cls, series: StepSeries, sets: tuple[str, ...]) -> Standard:
        """Return the standard of `series` (training runs): means per step and scales over all steps."""
        unknown = set(sets) - set(FEATURE_SETS)
        if unknown:
            raise BadInput(f"unknown feature set {sorted(unknown)[0]!r}; there are {', '.join(FEATURE_SETS)}")
        features = series.features(sets)
        there: NDArray[np.bool_] = np.logical_or.reduce(np.isfinite(series.times), axis=0)
        steps = int(np.flatnonzero(there)[-1]) + 1 if there.any() else 0  # the curve ends with the longest training run
        if not there[:steps].all() or not steps:
            raise NotEnoughData(f"no training run has step {int(np.argmin(there))}")
        features = features[:, :steps]
        curve, centre = np.nanmean(series.times[:, :steps], axis=0), _mean_known(features)
        scale = np.sqrt(_mean_known(((features - centre) ** 2).reshape(-1, features.shape[2])))
        place = _log_placement(series, sets)
        return cls(
            curve, centre, np.where(scale > CONSTANT, scale, 1.0), place.mean(0), _nonzero_scale(place.std(0)), sets
        )

    def windows(self, series: StepSeries, m: int, k: int, stride: int = 1, least: int | None = None) -> Windows:
        """Return every window of m past steps with known times. Beyond its end, the curve continues with the mean of its last quarter.

        Missing readings are replaced by the counter's mean.

        With `least`, windows are included whose future is truncated to at least `least` steps by the end of the run.
        """
        steps = series.times.shape[1]
        if steps < m + k:
            raise NotEnoughData(f"not enough data: m = {m} and k = {k} need {m + k} steps, runs have {steps}")
        curve, centre = _extend_curve(self.curve_s, steps), _extend_curve(self.centre, steps)
        standard = (series.features(self.sets) - centre) / self.scale
        place = (_log_placement(series, self.sets) - self.placement_centre) / self.placement_scale
        ends = range(m, steps - (k if least is None else least) + 1, stride)
        parts = [self._ending_at(t, series.times, standard, curve, m, k) for t in ends]
        joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        valid = np.isfinite(joined["past"][:, :, 0]).all(1) & np.isfinite(joined["last_s"])
        joined["past"] = np.nan_to_num(joined["past"], nan=0.0)  # as in production
        joined = {name: values[valid] for name, values in joined.items()}
        return Windows(placement=place[joined["run"]], **joined)

    def training(self, series: StepSeries, m: int, k: int, stride: int = 1) -> Windows:
        """Return the training windows, with known future, including those truncated by the end of the run.

        Runs are few and short, and most windows have fewer than k future steps: in 20 steps with m = 8 and k = 10, only three windows have all.
        """
        windows = self.windows(series, m, k, stride, least=max(1, k // SHORTEST_FUTURE))
        return windows.chosen(np.isfinite(windows.future_s))

    def at_end(self, series: StepSeries, m: int, k: int) -> Windows:
        """Return the window that ends with the last step of each run. Its future is unknown; unknown features are replaced by their mean."""
        steps = series.times.shape[1]
        if steps < m:
            raise NotEnoughData(f"not enough data: a forecast needs {m} steps, the run has {steps}")
        curve, centre = _extend_curve(self.curve_s, steps + k), _extend_curve(self.centre, steps)
        times = np.concatenate([series.times, np.full((len(series.times), k), np.nan)], axis=1)
        standard = np.nan_to_num((series.features(self.sets) - centre) / self.scale, nan=0.0)
        place = np.nan_to_num(
            (_log_placement(series, self.sets) - self.placement_centre) / self.placement_scale, nan=0.0
        )
        return Windows(placement=place, **self._ending_at(steps, times, standard, curve, m, k))

    def usual_s(self, after: int, ahead: int) -> Floats:
        """Return the mean curve's time of each of `ahead` steps from step `after` on."""
        return _extend_curve(self.curve_s, after + ahead)[after:]

    def _ending_at(self, t: int, times: Floats, standard: Floats, curve: Floats, m: int, k: int) -> dict[str, NDArray]:
        runs = len(times)
        past_s = times[:, t - m : t]
        return {
            "past": standard[:, t - m : t],
            "run": np.arange(runs),
            "step": np.full(runs, t),
            "share": np.full(runs, min(t / len(self.curve_s), 1.0)),
            "ratio": np.log(past_s.sum(1) / curve[t - m : t].sum()),
            "curve_s": np.full(runs, curve[t : t + k].sum()),
            "future_s": times[:, t : t + k].sum(1),
            "last_s": past_s.mean(1),
            "whole": np.full(runs, t + k <= times.shape[1]),
        }


def _log_placement(series: StepSeries, sets: tuple[str, ...]) -> Floats:
    if "placement" not in sets:
        return np.zeros((len(series.times), 0))
    if series.placement is None:
        raise NotEnoughData("the feature set 'placement' was requested, but these runs have no placement")
    return np.log(series.placement)


def _mean_known(values: Floats) -> Floats:
    """Return the mean of known values over the first axis; 0 if none is known."""
    mask = np.isfinite(values)
    sums, counts = np.where(mask, values, 0.0).sum(0), mask.sum(0)
    return np.divide(sums, counts, out=np.zeros(sums.shape), where=counts > 0)


def _nonzero_scale(scale: Floats) -> Floats:
    return np.where(scale > CONSTANT, scale, 1.0)


def _extend_curve(curve: Floats, steps: int) -> Floats:
    if len(curve) >= steps:
        return curve[:steps]
    tail = curve[-max(1, len(curve) // 4) :].mean(0)
    return np.concatenate([curve, np.broadcast_to(tail, (steps - len(curve), *curve.shape[1:]))])
