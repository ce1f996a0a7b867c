"""Near copies: runs alongside exactly the same users whose times lie closer together than those of separate runs do.

A file in which runs were written several times, with their starts moved and times and amounts changed a little, holds no more than the runs it was made
from. Ordinary runs alongside the same users have times that differ by the noise of the machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_ml.blame.calendar import fit_calendar, winsorise_values
from flitwatch_ml.blame.selection import Problem, select_users
from flitwatch_ml.blame.strata import day_numbers

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Times are close where they differ by this share of the noise or less; it is halved until copies stand out, so many times at most.
CLOSE, HALVINGS = 0.5, 24
#: Copies stand out where so many times as many pairs are close as chance gives, and by so many standard deviations, and more than this by number.
TIMES, SIGMAS, LEAST_PAIRS = 2.0, 5.0, 5
#: The noise of the machine is at least this share of how far all run times differ.
LEAST_NOISE = 0.05
#: A user is taken out of the noise while the chance of the score is below this.
ALPHA = 0.05


def same_runs(exposure: Floats, run_time_s: Floats, start_s: Floats, covariates: Floats | None = None) -> Ints:
    """Return a number for each run, (runs,): near copies of one run have the same. `exposure` is (runs, users), `covariates` (runs, k)."""
    log_time = np.log(run_time_s)
    alone, groups = np.arange(len(log_time)), _beside_the_same(exposure)
    if not groups:
        return alone
    # Less noise makes close times more of a chance. Whatever does not stand out beside all the differences there are is not looked at any further.
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


def _beside_the_same(exposure: Floats) -> list[Ints]:
    """Return groups of two or more runs alongside exactly the same users, regardless of the amounts."""
    there = np.packbits(exposure > 0, axis=1)
    keys = np.ascontiguousarray(there).view(np.dtype((np.void, there.shape[1]))).ravel()
    label = np.unique(keys, return_inverse=True)[1]
    order = np.argsort(label, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    return [group for group in groups if len(group) > 1]


def _find_closeness(log_time: Floats, groups: list[Ints], noise: float, grain: float) -> float | None:
    """Return the largest difference of log times within which pairs are more than chance gives of such noise (a standard deviation); None: there is none.

    `grain`: times that are rounded are equal by chance too.
    """
    if noise <= 0:
        return None
    size = np.array([len(group) for group in groups])
    pairs = float((size * (size - 1) / 2).sum())
    # One row of all groups, farther apart than any two times that count as close.
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
    """Estimate the variation of log times that neither the calendar nor a user explains; a robust standard deviation."""
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
    """Return the least step between two run times, as a share of the middle one."""
    steps = np.diff(np.unique(run_time_s))
    return float(steps.min() / np.median(run_time_s)) if len(steps) else 1.0
