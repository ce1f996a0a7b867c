"""Exact values for cases in which a distribution would hide an off-by-one error."""

from __future__ import annotations

import numpy as np
import pytest

from flitwatch_ml.blame import CalendarBlame, ExposureBlame, PresenceBlame
from flitwatch_ml.blame.blocks import block_p_values
from flitwatch_ml.blame.selection import Problem
from flitwatch_ml.blame.strata import day_numbers, hour_and_weekend

DAY_S = 86_400.0
MONDAY_S = 4 * DAY_S  # the epoch was a Thursday


def test_a_score_that_no_permutation_reaches_has_the_least_p_value_there_is() -> None:
    # Only orders that change nothing reach it here: all of them do, and the p-value is 1, not more.
    column = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    problem = Problem(column, column[:, 0], np.full((4, 1), 0.5), np.full(1, 4.0))
    same = np.tile(np.arange(4), (9, 1))
    assert block_p_values(problem, same, np.array([0]))[0] == 1.0
    assert block_p_values(problem, same[:, ::-1], np.array([0]))[0] == 0.1


def test_saturday_and_sunday_are_the_weekend_and_each_six_hours_are_a_part_of_the_day() -> None:
    hours = MONDAY_S + np.arange(7 * 24) * 3600.0
    strata = hour_and_weekend(hours).reshape(7, 24)
    week, weekend = set(strata[:5].ravel().tolist()), set(strata[5:].ravel().tolist())
    assert len(week) == len(weekend) == 4 and not week & weekend
    assert all((row == np.repeat(row[::6], 6)).all() for row in strata)


def test_a_day_begins_at_midnight() -> None:
    assert len(np.unique(day_numbers(MONDAY_S + np.arange(48) * 3600.0))) == 2
    noon, next_morning = day_numbers(np.array([MONDAY_S + DAY_S / 2, MONDAY_S + 1.2 * DAY_S])).tolist()
    assert next_morning == noon + 1
    assert day_numbers(np.array([MONDAY_S, MONDAY_S + DAY_S - 1]))[1] == day_numbers(np.array([MONDAY_S]))[0]


@pytest.mark.parametrize("estimator", [ExposureBlame(min_exposed=5), PresenceBlame(rule="any", min_exposed=5)])
@pytest.mark.parametrize(("exposed", "testable"), [(4, False), (5, True), (35, True), (36, False)])
def test_the_fewest_and_the_most_exposed_runs_that_are_tested(estimator, exposed: int, testable: bool) -> None:
    rng = np.random.default_rng(exposed)
    presence = np.zeros((40, 2))
    presence[rng.permutation(40)[:exposed], 0] = 1.0
    presence[::2, 1] = 1.0
    assert estimator.fit(presence, rng.lognormal(5, 0.1, 40)).testable_.tolist() == [testable, True]


@pytest.mark.parametrize(("exposed", "testable"), [(4, False), (5, True), (75, True), (76, False)])
def test_the_same_bounds_hold_with_a_calendar(exposed: int, testable: bool) -> None:
    rng = np.random.default_rng(exposed)
    presence = np.zeros((80, 2))
    presence[rng.permutation(80)[:exposed], 0] = 1.0
    presence[rng.random(80) < 0.4, 1] = 1.0
    start = MONDAY_S + (np.arange(80) + rng.uniform(0, 1, 80)) * DAY_S
    fitted = CalendarBlame().fit_scores(presence, rng.lognormal(5, 0.1, 80), start, below=0.0)
    assert fitted.testable_.tolist() == [testable, True]


def test_selection_ends_where_the_best_of_the_rest_is_chance() -> None:
    """Two slow the runs; of 40 others none is taken out alongside them in most sets, and both are taken out in all."""
    more = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        exposure = (rng.random((150, 42)) < 0.3) * 1.0
        times = np.exp(0.1 * (rng.normal(size=150) + 2 * exposure[:, 0] + 2 * exposure[:, 1]))
        selected = ExposureBlame().fit(exposure, times).selected_.tolist()
        assert {0, 1} <= set(selected)
        more += len(selected) > 2
    assert more <= 5
    assert len(ExposureBlame(max_selected=1).fit(exposure, times).selected_) == 1
