"""False alarm rate of blame, from the same runs and users with shuffled run times."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flitwatch_domain.blame import FOUND_Q, benjamini_hochberg
from flitwatch_domain.estimates import BlameCalibration, RunTimeDriver
from flitwatch_ml.blame.calendar import by_application, fit_calendar, winsorise_values
from flitwatch_ml.blame.observations import Observations, merge_observations
from flitwatch_ml.blame.selection import Problem, one_sided_p
from flitwatch_ml.blame.strata import day_numbers, normal_scores
from flitwatch_ml.blame.verdict import CalendarBlame

Floats = NDArray[np.float64]
#: False discovery rate up to which a shuffled set counts as one with a name.
CALIBRATION_Q = 0.1
#: Limit of runs times shuffles, because each shuffle costs as much as a verdict. With very many runs there are fewer shuffles, but at least this many.
MOST_DEALT, LEAST_SHUFFLES = 500_000, 5
#: Relative slowdowns of exposed runs by a planted user.
EFFECTS = (0.05, 0.1, 0.2, 0.4)


class Rotations(TypedDict):
    """The same for run times rotated in time together, which keeps the correlation of successive runs that a shuffle destroys."""

    rotations: int
    q: float
    sets_with_a_name: int


class Power(TypedDict):
    """Rate at which a user who slows exposed runs by `effect` (a share) is found at false discovery rate `q`, in runs like these."""

    effect: float
    draws: int
    found: int
    q: float


def calibrate_blame(
    exposure: Floats,
    run_time_s: Floats,
    start_s: Floats,
    covariates: ArrayLike | None = None,
    shuffles: int = 100,
    seed: int = 0,
    report: Callable[[int], object] = lambda done: None,
    application: ArrayLike | None = None,
) -> BlameCalibration:
    """Estimate the false alarm rate from sets with shuffled times of observations, in which exposure cannot matter.

    If runs times shuffles exceed 500,000, fewer sets than `shuffles` are used. The result contains their number.
    """
    rng = np.random.default_rng(seed)
    sets_with_name = 0
    runs = _observed(exposure, run_time_s, start_s, covariates, application)
    shuffles = min(shuffles, max(MOST_DEALT // len(runs.run_time_s), LEAST_SHUFFLES))
    for at in range(shuffles):
        sets_with_name += _names_anybody(runs, by_application(runs.application, rng.permutation, runs.run_time_s))
        report(at + 1)
    share = sets_with_name / shuffles if shuffles else None
    return {"shuffles": shuffles, "q": CALIBRATION_Q, "sets_with_a_name": sets_with_name, "share": share}


def rotate(
    exposure: Floats,
    run_time_s: Floats,
    start_s: Floats,
    covariates: ArrayLike | None = None,
    most: int = 100,
    application: ArrayLike | None = None,
) -> Rotations:
    """Estimate the false alarm rate from sets whose times are rotated in order of start, at most `most` rotations, evenly spaced."""
    runs = _observed(exposure, run_time_s, start_s, covariates, application)
    steps: list[int] = np.unique(np.linspace(1, len(runs.run_time_s) - 1, most).astype(int)).tolist()
    found = sum(_names_anybody(runs, _rotated(runs, by)) for by in steps)
    return {"rotations": len(steps), "q": CALIBRATION_Q, "sets_with_a_name": found}


def power(
    exposure: Floats,
    run_time_s: Floats,
    start_s: Floats,
    covariates: ArrayLike | None = None,
    draws: int = 25,
    seed: int = 0,
    application: ArrayLike | None = None,
) -> list[Power]:
    """Plant the effect of a random testable user in shuffled run times, at each of `EFFECTS`, and count how often that user is found."""
    rng = np.random.default_rng([seed, 2])
    runs = _observed(exposure, run_time_s, start_s, covariates, application)
    testable = np.flatnonzero(
        CalendarBlame().fit_scores(*runs[:4], below=0.0, joined=True, application=runs.application).testable_
    )
    if not len(testable) or not draws:
        return []
    found = np.zeros(len(EFFECTS), np.int64)
    for user in rng.choice(testable, draws).tolist():
        shuffled = by_application(runs.application, rng.permutation, runs.run_time_s)
        for at, effect in enumerate(EFFECTS):
            fit = _scored(runs, shuffled * (1 + effect * (runs.exposure[:, user] > 0)), FOUND_Q)
            found[at] += bool(fit.q_value_[user] <= FOUND_Q and fit.score_[user] > 0)
    return [
        {"effect": effect, "draws": draws, "found": count, "q": FOUND_Q}
        for effect, count in zip(EFFECTS, found.tolist(), strict=True)
    ]


def _observed(
    exposure: Floats,
    run_time_s: Floats,
    start_s: Floats,
    covariates: ArrayLike | None,
    application: ArrayLike | None,
) -> Observations:
    known = None if covariates is None else np.asarray(covariates, float)
    of = None if application is None else np.unique(np.asarray(application), return_inverse=True)[1]
    return merge_observations(
        np.asarray(exposure, float), np.asarray(run_time_s, float), np.asarray(start_s, float), known, application=of
    )


def _rotated(runs: Observations, by: int) -> Floats:
    return by_application(runs.application, lambda times: np.roll(times, by), runs.run_time_s)


def _scored(runs: Observations, times: Floats, below: float) -> CalendarBlame:
    return CalendarBlame().fit_scores(
        runs.exposure, times, runs.start_s, runs.covariates, below=below, joined=True, application=runs.application
    )


def _names_anybody(runs: Observations, times: Floats) -> bool:
    fitted = _scored(runs, times, CALIBRATION_Q)
    return bool(((fitted.q_value_ <= CALIBRATION_Q) & (fitted.score_ > 0)).any())


def rank_drivers(names: list[str], circumstances: Floats, run_time_s: Floats, start_s: Floats) -> list[RunTimeDriver]:
    """Correlate each circumstance of a run with its time after removing hours, dates and regimes. The most significant one comes first."""
    if not names:
        return []
    order = np.argsort(start_s, kind="stable")
    start, log_time = np.asarray(start_s)[order], np.log(np.asarray(run_time_s)[order])
    fit = fit_calendar(start, log_time)
    raw = np.column_stack([normal_scores(column[order]) for column in circumstances.T])
    outcome = fit.without(normal_scores(fit.without(winsorise_values(log_time))))
    problem = Problem(fit.without(raw), outcome, fit.axes, (raw**2).sum(0), (day_numbers(start),))
    z = problem.scores()
    p = np.minimum(2 * one_sided_p(np.abs(z), problem.degrees_of_freedom), 1.0)
    lengths = np.linalg.norm(problem.regressors, axis=0) * np.linalg.norm(outcome)
    correlation = np.divide(problem.regressors.T @ outcome, lengths, out=np.zeros(len(names)), where=lengths > 0)
    rows: list[RunTimeDriver] = [
        {"name": name, "correlation": float(correlation[at]), "p": float(p[at]), "q": float(q)}
        for at, (name, q) in enumerate(zip(names, benjamini_hochberg(p).tolist(), strict=True))
    ]
    return sorted(rows, key=lambda row: row["p"])
