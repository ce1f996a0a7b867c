"""Weeks, days, steps and trends that a calendar takes out, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from flitwatch_ml.blame import controls
from flitwatch_ml.blame.calendar import _largest_step, _trend_basis, fit_calendar, orthonormal_basis, winsorise_values
from flitwatch_ml.blame.strata import hour_and_weekend

DAY_S, WEEK_S = 86_400.0, 604_800.0
MONDAY_S = 4 * DAY_S  # the epoch was a Thursday


def test_weeks_run_from_six_of_them_on_and_days_below() -> None:
    starts = np.arange(6) * WEEK_S + 5
    assert controls.assign_periods(starts)[1] == "week" and controls.assign_periods(starts)[0].tolist() == [
        0,
        1,
        2,
        3,
        4,
        5,
    ]
    assert controls.assign_periods(starts[:5])[1] == "day" and controls.assign_periods(starts[:5])[0].tolist() == [
        0,
        7,
        14,
        21,
        28,
    ]


def test_parts_of_days_and_weekends_are_strata() -> None:
    starts = MONDAY_S + np.array([0, 6, 12, 18, 23.9, 24]) * 3600
    assert hour_and_weekend(starts).tolist() == [0, 1, 2, 3, 3, 0]
    assert hour_and_weekend(MONDAY_S + np.array([4.99, 5, 6.99, 7]) * DAY_S).tolist() == [3, 4, 7, 0]
    assert hour_and_weekend(MONDAY_S + np.array([5, 5.9]) * DAY_S, 12).tolist() == [2, 3]
    with pytest.raises(ValueError, match="divide 24"):
        hour_and_weekend(starts, 5)


def test_wild_values_are_pulled_to_four_robust_deviations() -> None:
    values = np.array([-100.0, -1, 0, 1, 2, -2, 100])
    # Median 0; the median of the distances 0 1 1 2 2 100 100 is 2; 1.4826 of it is a normal deviation (Hampel 1974).
    assert winsorise_values(values) == pytest.approx([-4 * 1.4826 * 2, -1, 0, 1, 2, -2, 4 * 1.4826 * 2])
    assert winsorise_values(np.array([1.0, 1, 1, 9])).tolist() == [1, 1, 1, 9]


def test_a_basis_spans_its_columns_and_leaves_out_dependent_and_empty_ones() -> None:
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(9, 2)) * [1e-9, 1e9]
    basis = orthonormal_basis(np.column_stack([columns, columns[:, 0] * 3, np.zeros(9)]))
    assert basis.shape == (9, 2) and np.allclose(basis.T @ basis, np.eye(2))
    assert np.allclose(basis @ (basis.T @ columns / [1e-9, 1e9]), columns / [1e-9, 1e9])
    assert orthonormal_basis(np.zeros((9, 2))).shape == (9, 0)
    assert orthonormal_basis(np.column_stack([columns[:, 1], columns[:, 1] * (1 + 1e-9)])).shape[1] == 1


def test_the_largest_step_is_the_one_of_least_squares() -> None:
    rng = np.random.default_rng(5)
    response = rng.normal(size=20) + 3 * (np.arange(20) >= 12)
    order, candidates = np.arange(20), np.arange(6, 15)
    best, z = _largest_step(candidates, response, np.full((20, 1), 1 / math.sqrt(20)), order)
    scores = [np.corrcoef(order >= place, response)[0, 1] * math.sqrt(18) for place in candidates]
    assert best == candidates[np.argmax(np.abs(scores))] == 12 and z == pytest.approx(max(scores))
    assert _largest_step(candidates, -response, np.full((20, 1), 1 / math.sqrt(20)), order)[1] == pytest.approx(-z)
    assert _largest_step(np.zeros(0, np.int64), response, np.full((20, 1), 0.2), order) == (None, 0.0)
    # A step that the axes explain already is none: a change at 12 leaves nothing of 12.
    axes = orthonormal_basis(np.column_stack([np.ones(20), order >= 12]))
    assert _largest_step(np.array([12]), response, axes, order)[1] == 0.0
    for taken, found in ((17, 10), (18, None)):
        axes = np.linalg.qr(rng.normal(size=(20, taken)))[0]
        assert _largest_step(np.array([10]), response, axes, order)[0] == found
    # Days whose runs vary together are worth a run each; what the step itself explains is none of that.
    day, four = np.repeat(order, 4), np.repeat(response, 4)
    everything = np.full((80, 1), 1 / math.sqrt(80))
    at, alike = _largest_step(4 * candidates, four, everything, day)
    assert at == 48 and alike == pytest.approx(z * math.sqrt(78 / 18) / 2)


def test_a_calendar_takes_a_step_out_where_there_is_one() -> None:
    rng = np.random.default_rng(0)
    start = MONDAY_S + (np.arange(120) + rng.uniform(0, 1, 120)) * DAY_S
    noise = rng.normal(size=120) * 0.01
    quiet, stepped = fit_calendar(start, noise), fit_calendar(start, noise + 0.2 * (np.arange(120) >= 60))
    assert len(quiet.regimes_s) == 0 and start[60] in stepped.regimes_s.tolist()
    assert quiet.degrees_of_freedom == 120 - quiet.axes.shape[1] and stepped.strata
    assert np.allclose(quiet.axes.T @ quiet.axes, np.eye(quiet.axes.shape[1]))
    # Hours and weekends from 32 days on.
    assert [fit_calendar(start[:runs], noise[:runs]).strata for runs in (31, 32)] == [False, True]
    # What an operator marked is a regime where runs lie on both sides.
    assert fit_calendar(start, noise, marks_s=[start[50]]).regimes_s.tolist() == [start[50]]
    assert fit_calendar(start, noise, marks_s=[start[5]]).regimes_s.tolist() == []
    assert fit_calendar(start, noise, marks_s=[start[6], start[114]]).regimes_s.tolist() == [start[6], start[114]]
    assert fit_calendar(start, noise, marks_s=[start[115]]).regimes_s.tolist() == []
    # Ten runs a day are no more days.
    often = np.repeat(start, 10)
    assert fit_calendar(often, np.repeat(noise, 10), marks_s=[start[5]]).regimes_s.tolist() == []
    assert fit_calendar(often, np.repeat(noise, 10), marks_s=[start[6]]).regimes_s.tolist() == [start[6]]
    assert [fit_calendar(often[: 10 * runs], np.repeat(noise, 10)[: 10 * runs]).strata for runs in (31, 32)] == [
        False,
        True,
    ]


def test_what_is_known_of_times_is_no_regime() -> None:
    rng = np.random.default_rng(0)
    start = MONDAY_S + np.sort(rng.uniform(0, 8 * WEEK_S, 120))
    step = 0.2 * (np.arange(120) >= 60)
    times = rng.normal(size=120) * 0.01 + step
    assert len(fit_calendar(start, times, known=step).regimes_s) == 0


@pytest.mark.parametrize(
    ("weeks", "runs", "directions"), [(2.9, 30, 2), (3.1, 30, 3), (6.1, 30, 4), (9.1, 30, 4), (9.1, 31, 4)]
)
def test_the_trend_bends_once_in_three_weeks_and_twelve_runs(weeks: float, runs: int, directions: int) -> None:
    """Below one bend it is a line: with the mean two directions; quadratic splines of n pieces have n + 2, the mean among them."""
    start = np.linspace(0, weeks * WEEK_S, runs)
    assert orthonormal_basis(np.column_stack([np.ones(runs), _trend_basis(start)])).shape[1] == directions


def test_runs_of_one_moment_have_no_trend() -> None:
    assert fit_calendar(np.full(25, 9.0), np.random.default_rng(1).normal(size=25)).axes.shape[1] == 1
