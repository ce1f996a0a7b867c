"""Near copies: runs with exactly the same users and closer times than separate runs have.

A file that repeats runs with shifted starts and slightly changed times and amounts contains no more information than the original runs. Times of
ordinary runs with the same users differ by the machine's noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_ml.blame.calendar import fit_calendar, winsorise_values
from flitwatch_ml.blame.selection import Problem, select_users
from flitwatch_ml.blame.strata import day_numbers

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Times are close if they differ by at most this share of the noise. The share is halved until copies become significant, at most this many times.
CLOSE, HALVINGS = 0.5, 24
#: Copies are significant if the close pairs exceed the expected number by this factor, by this many standard deviations, and by this count.
TIMES, SIGMAS, LEAST_PAIRS = 2.0, 5.0, 5
#: The machine's noise is at least this share of the spread of all run times.
LEAST_NOISE = 0.05
#: A user's effect is removed from the noise if the p-value of the score is below this.
ALPHA = 0.05


def same_runs(exposure: Floats, run_time_s: Floats, start_s: Floats, covariates: Floats | None = None) -> Ints:
    """Return a number for each run, (runs,); near copies share a number. `exposure` is (runs, users), `covariates` (runs, k)."""
    log_time = np.log(run_time_s)
    alone, groups = np.arange(len(log_time)), _group_by_users(exposure)
    if not groups:
        return alone
    # With less noise, close times are more likely by chance. Copies that are not significant relative to all differences are not examined further.
    most = _robust_deviation(log_time)
    grain = _time_grain(run_time_s)
    if _find_closeness(log_time, groups, most, grain) is None:
        return alone
    noise = max(_estimate_noise(exposure, log_time, start_s, covariates), LEAST_NOISE * most)
    close = _find_closeness(log_time, groups, noise, grain)
    if close is None:
        return alone
    for group in groups:
        order = group[np.argsort(log_time[group], kind="stable")]
        first = np.concatenate([[True], np.diff(log_time[order]) > close])
        heads = np.minimum.reduceat(order, np.flatnonzero(first))
        alone[order] = heads[np.cumsum(first) - 1]
    return alone


def _group_by_users(exposure: Floats) -> list[Ints]:
    """Return groups of two or more runs with exactly the same users, regardless of the amounts."""
    there = np.packbits(exposure > 0, axis=1)
    keys = np.ascontiguousarray(there).view(np.dtype((np.void, there.shape[1]))).ravel()
    label = np.unique(keys, return_inverse=True)[1]
    order = np.argsort(label, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    return [group for group in groups if len(group) > 1]


def _find_closeness(log_time: Floats, groups: list[Ints], noise: float, grain: float) -> float | None:
    """Return the largest difference of log times with significantly many pairs, given noise of this standard deviation; None if there is none.

    `grain`: rounded times can be equal by chance.
    """
    if noise <= 0:
        return None
    size = np.array([len(group) for group in groups])
    pairs = float((size * (size - 1) / 2).sum())
    # All groups in one row, separated by more than the difference of close times.
    far = float(np.ptp(log_time)) + 2 * CLOSE * noise
    row = np.sort(log_time[np.concatenate(groups)] - log_time.min() + np.repeat(np.arange(len(groups)) * far, size))
    for halving in range(HALVINGS):
        close = CLOSE * noise / 2**halving
        close_pairs = int((np.searchsorted(row, row + close, side="right") - np.arange(1, len(row) + 1)).sum())
        expected = pairs * min((close + grain) / (np.sqrt(np.pi) * noise), 1.0)
        if close_pairs >= TIMES * expected and close_pairs - expected >= SIGMAS * np.sqrt(expected) + LEAST_PAIRS:
            return close
    return None


def _estimate_noise(exposure: Floats, log_time: Floats, start_s: Floats, covariates: Floats | None) -> float:
    """Estimate the robust standard deviation of log times that neither the calendar nor users explain."""
    order = np.argsort(start_s, kind="stable")
    positive = exposure[exposure > 0]
    raw = np.log1p(exposure[order] / (np.median(positive) if len(positive) else 1.0))
    fit = fit_calendar(start_s[order], log_time[order], None if covariates is None else covariates[order])
    outcome = fit.without(winsorise_values(log_time[order]))
    own = ((raw - raw.mean(0)) ** 2).sum(0)
    problem = Problem(fit.without(raw), outcome, fit.axes, own, (day_numbers(start_s[order]),))
    rest = problem.given(select_users(problem, own > 0, ALPHA, len(log_time) // 4))
    return _robust_deviation(rest.outcome) * float(np.sqrt(len(log_time) / max(rest.degrees_of_freedom, 1)))


def _robust_deviation(values: Floats) -> float:
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))


def _time_grain(run_time_s: Floats) -> float:
    """Return the smallest difference between two run times as a share of the median."""
    steps = np.diff(np.unique(run_time_s))
    return float(steps.min() / np.median(run_time_s)) if len(steps) else 1.0
