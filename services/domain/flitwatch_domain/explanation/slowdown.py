"""Detection of a slow run and its onset: one elevated stretch of its steps compared with those of earlier runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Basis = Literal["earlier runs", "own steps", "counters"]

#: Users do not report a job that is less than a tenth above usual.
LEAST_SLOWDOWN = 1.10
#: Standard errors by which the stretch's mean must exceed usual. Steps of quiet simulated runs with varying background reached 5.
LEAST_Z = 6.0
#: Lower limit of a step's noise: a smaller spread of a few recorded runs is chance.
LEAST_SIGMA = 0.02
#: Minimum number of steps of a stretch, and of a run that can be judged.
LEAST_STEPS = 3
#: If steps take this much longer, two of them are not chance: with long steps, waiting for a third would be too late.
TWO_STEPS = 1.5
#: Consecutive steps near the usual time after which a slow stretch is over while the run continues: an incident can include one or two.
OVER_STEPS = 3
#: If two steps take this many seconds together, they are enough: waiting for a third would be too late.
OVER_S = 120.0
#: Minimum number of earlier runs from which the usual time of a step is known.
LEAST_RUNS = 3
#: Limit of the log-likelihood below its maximum for onsets in the interval (95 %: half of chi-square with one degree of freedom).
INTERVAL_DROP = 1.92
#: Accuracy in seconds of an onset from counters.
REFINED_S = 10.0
#: Standard deviations on either side of a 95 % interval.
Z95 = 1.96
#: Student's quantiles for 95 %: for infinite degrees of freedom, and for 8 to 1. A library with them takes 28 MB.
STUDENT = (Z95, 2.306, 2.365, 2.447, 2.571, 2.776, 3.182, 4.303, 12.706)
#: A normal distribution's standard deviation from the median of deviations from its median, the efficiency of this estimator (Hampel 1974), and
#: the variance of a median over that of a mean.
TO_DEVIATION, EFFICIENCY, OF_MEDIAN = 1 / 0.6745, 0.37, math.pi / 2
#: Upper limit of the correlation of successive steps: more cannot be told from a trend.
MOST_LAG = 0.8
#: Standard errors from which a shift of the mean of counters is significant.
COUNTER_Z = 6.0


@dataclass(frozen=True)
class Steps:
    """A run's steps in order, and those of earlier runs.

    Attributes
    ----------
    step : int64 (n,)
    time_s : float64 (n,)
    start_s : float            epoch seconds at which the first step began
    earlier_s : float64 (runs, most)   step times of earlier runs of the same application and size by step number; NaN for missing steps
    ended : bool               whether the run has no further steps
    """

    step: NDArray[np.int64]
    time_s: Floats
    start_s: float
    earlier_s: Floats
    ended: bool = False


@dataclass(frozen=True)
class Slowdown:
    """A slow stretch.

    Attributes
    ----------
    basis : basis of comparison
    factor : time over usual time, of the stretch
    lost_s : seconds beyond the usual time so far
    low_s, onset_s, high_s : epoch seconds; 95 % interval of its start
    end_s : float or None       end of its last slow step; None while it continues (`is_over`)
    from_start : bool           whether the first step was already slow: the onset is the beginning of the run or earlier
    first_step, last_step : int or None
    runs : int                  earlier runs in the comparison
    left_s : float or None      usual seconds of the remaining steps
    within_s : float            half-width of the 95 % interval of `lost_s`, from the differences between earlier runs' times for the same steps
    saved_within_s : float      half-width of the 95 % prediction interval of `saved_s`, if the remaining steps are as slow as the stretch
    """

    basis: Basis
    factor: float
    lost_s: float
    low_s: float
    onset_s: float
    high_s: float
    end_s: float | None
    from_start: bool
    first_step: int | None = None
    last_step: int | None = None
    runs: int = 0
    left_s: float | None = None
    within_s: float = 0.0
    saved_within_s: float = 0.0

    @property
    def lost_interval_s(self) -> tuple[float, float]:
        """Return the 95 % interval of `lost_s`, limited to values from 0."""
        return max(0.0, self.lost_s - self.within_s), self.lost_s + self.within_s

    @property
    def saved_s(self) -> float | None:
        """Return the expected delay of the remaining steps at the stretch's pace, in seconds; None if they are unknown."""
        return None if self.left_s is None else self.left_s * (self.factor - 1)

    @property
    def saved_interval_s(self) -> tuple[float, float] | None:
        """Return the 95 % prediction interval of `saved_s`, limited to values from 0; None if unknown."""
        if self.saved_s is None:
            return None
        return max(0.0, self.saved_s - self.saved_within_s), self.saved_s + self.saved_within_s


@dataclass(frozen=True)
class Timeline:
    """Start and end of each step, epoch seconds (n,), and the estimated seconds of missing steps before each."""

    begin_s: Floats
    end_s: Floats
    guessed_s: Floats


def build_timeline(steps: Steps, usual_s: Floats) -> Timeline:
    """Lay the steps end to end; a missing step is assumed to take the usual time, or the mean step's time."""
    guessed = np.zeros(len(steps.step))
    mean = float(np.nanmean(steps.time_s))
    next_step = first = int(steps.step[0])
    for place, number in enumerate(steps.step.tolist()):
        for missing in range(next_step, number):
            usual = usual_s[missing] if missing < len(usual_s) else math.nan
            guessed[place] += usual if math.isfinite(usual) else mean
        next_step = number + 1
    guessed[0] += sum(value if math.isfinite(value) else mean for value in _pad_values(usual_s, first)[:first])
    ends = steps.start_s + np.cumsum(steps.time_s + guessed)
    return Timeline(ends - steps.time_s, ends, np.cumsum(guessed))


def _pad_values(values: Floats, size: int) -> Floats:
    return np.concatenate((values, np.full(max(0, size - len(values)), math.nan)))


def usual_steps(earlier_s: Floats) -> tuple[Floats, float]:
    """Return the median time of each step over earlier runs, float64 (most,), and a robust standard deviation of a log step about it.

    A run that was slow as a whole counts as one. The median stays correct until half of the runs are disturbed at the same step.
    """
    if len(earlier_s) < LEAST_RUNS:
        return np.full(earlier_s.shape[1], math.nan), LEAST_SIGMA
    enough = (~np.isnan(earlier_s)).sum(axis=0) >= LEAST_RUNS
    usual = np.full(earlier_s.shape[1], math.nan)
    usual[enough] = np.nanmedian(earlier_s[:, enough], axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        away = np.abs(np.log(earlier_s / usual))
    away = away[np.isfinite(away)]
    return usual, max(LEAST_SIGMA, float(np.median(away)) * TO_DEVIATION) if len(away) else LEAST_SIGMA


def within_s(taken_s: Floats) -> float:
    """Return the robust half-width in seconds, about the median of some times, of the 95 % interval for the next; 0 if fewer than two are known."""
    times_s = taken_s[np.isfinite(taken_s)]
    if len(times_s) < 2:
        return 0.0
    deviation = float(np.median(np.abs(times_s - np.median(times_s)))) * TO_DEVIATION
    return student_quantile(EFFICIENCY * (len(times_s) - 1)) * deviation * math.sqrt(1 + OF_MEDIAN / len(times_s))


def student_quantile(freedom: float) -> float:
    """Return Student's quantile for 95 %, linear in the inverse of the degrees of freedom; for less than 1 that for 1."""
    return float(np.interp(1 / freedom, [0.0, *(1 / known for known in range(len(STUDENT) - 1, 0, -1))], STUDENT))


def _usual_within_s(steps: Steps, chosen: NDArray[np.int64], due_s: Floats, sigma: float, compared: bool) -> float:
    """Return the half-width (95 %) of the usual total time of some steps, in seconds, allowing for noise of steps and of whole runs."""
    runs = max(1, len(steps.earlier_s)) if compared else len(steps.step)
    alone = Z95 * sigma * float(np.sqrt((due_s**2).sum())) * math.sqrt(1 + OF_MEDIAN / runs)
    if not compared:
        return alone
    earlier = steps.earlier_s[:, chosen]
    mask = np.isfinite(earlier)
    share = np.where(mask, due_s, 0.0).sum(axis=1) / due_s.sum()
    whole = np.nansum(earlier, axis=1) / np.maximum(share, 1e-9)
    return max(alone, within_s(whole[share > 0.5]))


def _slow_within_s(taken_s: Floats, due_s: Floats, to_come_s: Floats, sigma: float) -> float:
    """Return the half-width (95 %) of the total time of the remaining steps at a stretch's pace, in seconds, from the variation of its steps.

    It contains the error of the stretch's factor, a ratio of sums, and the variation of the remaining steps.
    """
    count, factor, squares = len(taken_s), float(taken_s.sum() / due_s.sum()), float((due_s**2).sum())
    away = taken_s - factor * due_s
    total = float((away**2).sum())
    lag = float((away[1:] * away[:-1]).sum()) / total if total > 0 else 0.0
    # An estimated correlation of successive steps is too small by this (Kendall 1954).
    lag = min(max(lag + (1 + 3 * lag) / count, 0.0), MOST_LAG)
    freedom = max(1, count - 1)
    variance = max(total / squares * count / freedom, (sigma * factor) ** 2) * (1 + lag) / (1 - lag)
    weight = squares * float(to_come_s.sum() / due_s.sum()) ** 2 + float((to_come_s**2).sum())
    return student_quantile(freedom) * math.sqrt(variance * weight)


def _steps_to_come(steps: Steps, usual_s: Floats) -> NDArray[np.int64] | None:
    """Return the remaining steps, up to the median last step of the earlier runs that came as far; None if too few runs show these steps."""
    known = np.isfinite(steps.earlier_s)
    known = known[known.any(axis=1)]
    last = known.shape[1] - 1 - np.argmax(known[:, ::-1], axis=1) if known.size else np.zeros(0, np.int64)
    last = last[last >= steps.step[-1]]
    if len(last) < LEAST_RUNS:
        return None
    to_come = np.arange(steps.step[-1] + 1, int(np.median(last)) + 1)
    return to_come if np.isfinite(usual_s[to_come]).all() else None


def find_elevated_stretch(log_ratio: Floats, sigma: float) -> tuple[int, int, float] | None:
    """Return the stretch [first, last] of the most elevated steps, and its standard score; None if no stretch is significant.

    It has the largest sum of `log_ratio` less half of its mean (Kadane's algorithm, repeated with the resulting mean). These are the boundaries
    of one elevated stretch by maximum likelihood for normal noise (Levin and Kline 1985, the epidemic alternative).
    """
    ratios = np.nan_to_num(log_ratio, nan=0.0)
    shift = math.log(LEAST_SLOWDOWN) / 2
    first, last = 0, -1
    for _ in range(4):
        first, last = _largest_sum(ratios - shift)
        if last - first + 1 < 2:
            return None
        shift = max(float(ratios[first : last + 1].mean()) / 2, math.log(LEAST_SLOWDOWN) / 2)
    mean = float(ratios[first : last + 1].mean())
    z = mean * math.sqrt(last - first + 1) / sigma
    least = LEAST_SLOWDOWN if last - first + 1 >= LEAST_STEPS else TWO_STEPS
    return (first, last, z) if mean >= math.log(least) and z >= LEAST_Z else None


def _largest_sum(values: Floats) -> tuple[int, int]:
    best, best_at, current, begin = 0.0, (0, -1), 0.0, 0
    for place, value in enumerate(values.tolist()):
        if current <= 0:
            current, begin = 0.0, place
        current += value
        if current > best:
            best, best_at = current, (begin, place)
    return best_at


def onset_steps(log_ratio: Floats, first: int, last: int, sigma: float) -> tuple[int, int]:
    """Return the earliest and latest step at which the stretch may have begun, by likelihood given its end and its mean."""
    ratios = np.nan_to_num(log_ratio, nan=0.0)
    mean = float(ratios[first : last + 1].mean())
    # Log-likelihood of beginning at i, up to a constant: the sum from i to the end of (x m - m^2 / 2) / sigma^2.
    gain = (ratios[: last + 1] * mean - mean * mean / 2) / sigma**2
    likelihood = np.cumsum(gain[::-1])[::-1]
    fits = np.flatnonzero(likelihood >= likelihood[first] - INTERVAL_DROP)
    # Only steps contiguous with the best one: an earlier stretch is a different one.
    low = high = first
    while low - 1 in fits:
        low -= 1
    while high + 1 in fits and high + 1 <= last:
        high += 1
    return low, high


def is_over(after: NDArray[np.bool_], after_s: Floats, ended: bool) -> bool:
    """Return whether a slow stretch is over, given the following steps (n,): whether each was near usual, and their times.

    Several consecutive steps must be near usual. A single one among slow steps does not end the stretch, and a single slow step after several does not
    restart it. For a run that has ended, one step is enough, because no later step can show that the stretch continued.
    """
    if ended:
        return len(after) > 0
    row, row_s = 0, 0.0
    for near, taken_s in zip(after.tolist(), after_s.tolist(), strict=True):
        row, row_s = (row + 1, row_s + taken_s) if near else (0, 0.0)
        if row >= OVER_STEPS or (row > 1 and row_s >= OVER_S):
            return True
    return False


def of_steps(steps: Steps) -> Slowdown | None:
    """Return the slow stretch of a run, or None. Without enough earlier runs it is compared with the run's own median step."""
    if len(steps.step) < LEAST_STEPS:
        return None
    usual, sigma = usual_steps(steps.earlier_s)
    own = _pad_values(usual, int(steps.step[-1]) + 1)[steps.step]
    basis: Basis = "earlier runs"
    if np.isfinite(own).sum() < LEAST_STEPS:
        basis, own = "own steps", np.full(len(steps.step), float(np.median(steps.time_s)))
        sigma = max(LEAST_SIGMA, float(np.median(np.abs(np.log(steps.time_s / own)))) * TO_DEVIATION)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.log(steps.time_s / own)
    stretch = find_elevated_stretch(np.where(np.isfinite(ratio), ratio, np.nan), sigma)
    if stretch is None:
        return None
    first, last, _ = stretch
    low, high = onset_steps(ratio, first, last, sigma)
    line = build_timeline(steps, usual)
    mask = np.isfinite(own[first : last + 1])
    taken_s, due_s = steps.time_s[first : last + 1][mask], own[first : last + 1][mask]
    compared = basis == "earlier runs"
    log_factor = float(np.nan_to_num(ratio[first : last + 1]).mean())
    near = np.nan_to_num(ratio[last + 1 :]) < log_factor / 2
    over = is_over(near, steps.time_s[last + 1 :], steps.ended)
    to_come = _steps_to_come(steps, usual) if compared else None
    saved_within_s = 0.0
    if to_come is not None and len(to_come):
        left = usual[to_come]
        saved_within_s = math.hypot(
            _usual_within_s(steps, to_come, left, sigma, compared), _slow_within_s(taken_s, due_s, left, sigma)
        )
    guessed = float(line.guessed_s[first])
    # A step is slow even if only a part of it was disturbed, so the change lies within it or within the step before.
    return Slowdown(
        basis,
        float(taken_s.sum() / due_s.sum()),
        float(taken_s.sum() - due_s.sum()),
        float(line.begin_s[max(0, low - 1)]) - guessed,
        float(line.begin_s[first]),
        float(line.end_s[high]) + guessed,
        float(line.end_s[last]) if over else None,
        first == 0,
        int(steps.step[first]),
        int(steps.step[last]),
        len(steps.earlier_s),
        None if to_come is None else float(usual[to_come].sum()),
        _usual_within_s(steps, steps.step[first : last + 1][mask], due_s, sigma, compared),
        saved_within_s,
    )


@dataclass(frozen=True)
class Series:
    """Time series of a counter value: epoch seconds and values, (n,), NaN if unknown; `width_s` is a bucket's width."""

    at_s: Floats
    value: Floats
    width_s: float


def find_rise_s(series: Series, low_s: float, high_s: float) -> float | None:
    """Return when a value rose permanently within [low, high], in epoch seconds: the best dividing boundary between buckets; None if it did not.

    Least squares for one shift of the mean (Hinkley 1970), on logarithms, over the interval and half its length to either side.
    """
    span = max((high_s - low_s) / 2, 4 * series.width_s)
    inside = (
        (series.at_s >= low_s - span) & (series.at_s < high_s + span) & np.isfinite(series.value) & (series.value > 0)
    )
    at, value = series.at_s[inside], np.log(series.value[inside])
    if len(at) < 6:
        return None
    count = np.arange(1, len(at))
    head, total = np.cumsum(value)[:-1], value.sum()
    before, after = head / count, (total - head) / (len(at) - count)
    gain = count * (len(at) - count) / len(at) * (after - before) ** 2
    allowed = (at[1:] >= low_s - series.width_s) & (at[1:] <= high_s + series.width_s) & (after > before)
    if not allowed.any():
        return None
    best = int(np.argmax(np.where(allowed, gain, -1)))
    noise = float(np.median(np.abs(np.diff(value)))) * TO_DEVIATION / math.sqrt(2)
    rest = np.concatenate((value[: best + 1] - before[best], value[best + 1 :] - after[best]))
    noise = max(noise, float(rest.std()), 0.02)
    shifted = (after[best] - before[best]) / (noise * math.sqrt(1 / count[best] + 1 / (len(at) - count[best])))
    return float(at[best + 1]) if shifted >= COUNTER_Z and after[best] - before[best] >= math.log(1.2) else None


def narrow_onset(low_s: float, high_s: float, at_s: float) -> tuple[float, float]:
    """Narrow the interval of an onset, epoch seconds, given that counters rose at `at_s` within it."""
    return max(low_s, at_s - REFINED_S), min(high_s, at_s + REFINED_S)
