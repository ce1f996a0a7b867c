"""What cannot vary explains nothing: constant users and circumstances, runs of one moment, and nobody at all."""

from __future__ import annotations

import numpy as np
import pytest

from flitwatch_ml.blame import CalendarBlame, ExposureBlame
from flitwatch_ml.blame.calendar import calendar
from flitwatch_ml.blame.calibration import drivers
from flitwatch_ml.blame.selection import Problem, carriers, summed

DAY_S, MONDAY_S = 86_400.0, 1_767_571_200.0


def runs(count: int = 80, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Start times, amounts of four users (drawn, drawn, never, always the same), and times that the first one's amount raises."""
    rng = np.random.default_rng(seed)
    start = MONDAY_S + np.sort(rng.uniform(0, 60 * DAY_S, count))
    drawn = np.where(rng.random((count, 2)) < 0.5, rng.uniform(10, 100, (count, 2)), 0.0)
    # The constant one has the middle amount, which is the unit of all.
    amounts = np.column_stack([drawn, np.zeros(count), np.full(count, np.median(drawn[drawn > 0]))])
    return start, amounts, 100 * np.exp(0.004 * drawn[:, 0] + rng.normal(0, 0.05, count))


@pytest.mark.filterwarnings("error")
def test_a_user_who_is_always_or_never_there_is_not_testable_and_changes_nobody_else() -> None:
    start, amounts, times = runs()
    both = [CalendarBlame().fit(table, times, start) for table in (amounts, amounts[:, :2])]
    assert both[0].testable_.tolist() == [True, True, False, False]
    for name in ("score_", "p_value_", "effect_s_"):
        assert np.allclose(getattr(both[0], name)[:2], getattr(both[1], name), equal_nan=True)
    assert both[0].verdict_ == ["named", "no evidence", "cannot tell", "cannot tell"]
    assert np.isnan(both[0].q_value_[2:]).all()
    plain = ExposureBlame().fit(amounts, times)
    assert plain.testable_.tolist() == [True, True, False, False] and np.isnan(plain.p_value_[2:]).all()
    assert plain.score_[2:].tolist() == [0, 0]


@pytest.mark.filterwarnings("error")
def test_a_circumstance_that_is_always_the_same_goes_with_nothing() -> None:
    start, amounts, times = runs()
    found = {row["name"]: row for row in drivers(["amount", "constant"], amounts[:, [0, 3]], times, start)}
    assert found["constant"]["correlation"] == 0.0 and found["constant"]["p"] == 1.0
    assert found["amount"]["correlation"] > 0.5 and found["amount"]["q"] < 1e-4


@pytest.mark.filterwarnings("error")
def test_runs_of_one_moment_have_no_trend() -> None:
    rng = np.random.default_rng(2)
    fit = calendar(np.full(40, MONDAY_S), rng.normal(size=40))
    values = rng.normal(size=40)
    assert np.allclose(fit.without(values), values - values.mean()) and fit.freedom == 39


@pytest.mark.filterwarnings("error")
def test_a_column_of_which_nothing_is_left_has_no_score() -> None:
    rng = np.random.default_rng(3)
    columns, outcome = rng.normal(size=(30, 3)), rng.normal(size=30)
    columns[:, 1] = 0.0
    days = np.repeat(np.arange(10), 3)
    problem = Problem(columns, outcome - outcome.mean(), np.full((30, 1), 30**-0.5), np.ones(3), (days,))
    alone = Problem(columns[:, [0, 2]], problem.outcome, problem.axes, np.ones(2), (days,))
    assert problem.scores()[1] == 0.0 and problem.day_effect()[1] == 1.0
    assert np.allclose(problem.scores()[[0, 2]], alone.scores()) and (problem.day_effect() >= 1).all()
    assert carriers(columns)[1] == 0.0
    assert np.array_equal(summed(np.arange(6.0), np.array([2, 0, 2, 1, 0, 2])), [5.0, 3.0, 7.0])
