"""What cannot vary explains nothing: constant users and circumstances, runs of one moment, and nobody at all."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr

from flitwatch_ml.blame import CalendarBlame, ExposureBlame, PresenceBlame
from flitwatch_ml.blame.calendar import fit_calendar
from flitwatch_ml.blame.calibration import rank_drivers
from flitwatch_ml.blame.selection import Problem, carrier_counts, one_sided_p, sum_clusters

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
    found = {row["name"]: row for row in rank_drivers(["amount", "constant"], amounts[:, [0, 3]], times, start)}
    assert found["constant"]["correlation"] == 0.0 and found["constant"]["p"] == 1.0
    assert found["amount"]["correlation"] > 0.5 and found["amount"]["q"] < 1e-4


@pytest.mark.filterwarnings("error")
def test_runs_of_one_moment_have_no_trend() -> None:
    rng = np.random.default_rng(2)
    fit = fit_calendar(np.full(40, MONDAY_S), rng.normal(size=40))
    values = rng.normal(size=40)
    assert np.allclose(fit.without(values), values - values.mean()) and fit.degrees_of_freedom == 39


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
    assert carrier_counts(columns)[1] == 0.0
    assert np.array_equal(sum_clusters(np.arange(6.0), np.array([2, 0, 2, 1, 0, 2])), [5.0, 3.0, 7.0])


def test_within_a_week_the_trend_is_a_line() -> None:
    rng = np.random.default_rng(4)
    start = MONDAY_S + np.sort(rng.uniform(0, 3 * DAY_S, 60))
    fit = fit_calendar(start, rng.normal(size=60))
    assert np.allclose(fit.without(5.0 - start / DAY_S), 0, atol=1e-6)
    bent = ((start - start.mean()) / DAY_S) ** 2
    assert np.abs(fit.without(bent)).max() > 0.1


def test_each_mark_is_a_step_whatever_the_runs_show_and_shifts_are_found_beside_it() -> None:
    rng = np.random.default_rng(5)
    start = MONDAY_S + np.arange(240) * DAY_S / 2
    mark, shift = start[60], start[150]
    response = rng.normal(0, 0.1, 240) + 2.0 * (start >= shift)
    marked = mark + 60.0 - DAY_S / 2
    fit = fit_calendar(start, response, marks_s=np.array([marked, start[0]]))
    # The mark has runs on both sides, the other one has none before it; the shift is found by itself.
    assert marked in fit.regimes_s and start[0] not in fit.regimes_s
    assert np.abs(fit.regimes_s - shift).min() <= 2 * DAY_S
    step = (start >= mark).astype(float)
    assert np.allclose(fit.without(step), 0, atol=1e-6)


def test_of_many_who_come_together_three_are_listed_and_the_others_counted() -> None:
    rng = np.random.default_rng(5)
    count = 200
    start = MONDAY_S + (np.arange(count) + rng.uniform(0, 1, count)) * DAY_S
    there = np.where(rng.random(count) < 0.4, rng.uniform(20, 80, count), 0.0)
    amounts = np.column_stack([there * rng.uniform(0.98, 1.02, count) for _ in range(6)])
    times = 100 * np.exp(0.2 * (there > 0) + rng.normal(0, 0.05, count))
    fitted = CalendarBlame().fit(amounts, times, start)
    told = [reason for reasons in fitted.reasons_ for reason in reasons if "appears together" in reason]
    assert "named" not in fitted.verdict_ and len(told) >= 1
    assert any(reason.endswith("and 2 more: cannot tell which of them") and reason.count("{") == 3 for reason in told)


def test_defaults_are_those_that_were_scored() -> None:
    assert CalendarBlame().get_params() == {"alpha": 0.5, "max_selected": 40, "min_exposed": 5, "seed": 0}
    assert ExposureBlame().get_params() == {"alpha": 0.05, "max_selected": 40, "min_exposed": 5, "response": "rank"}
    assert PresenceBlame().get_params() == {"tau": 1.0, "rule": "throughout", "min_exposed": 5}


@pytest.mark.parametrize("count", [3, 4, 30])
def test_the_chance_of_a_score_is_that_of_the_correlation(count: int) -> None:
    """One-sided, against scipy's test of Pearson's correlation, down to the fewest runs that have one."""
    rng = np.random.default_rng(count)
    columns, outcome = rng.normal(size=(count, 5)), rng.normal(size=count)
    columns, outcome = columns - columns.mean(0), outcome - outcome.mean()
    problem = Problem(columns, outcome, np.full((count, 1), count**-0.5), (columns**2).sum(0), ())
    wanted = [pearsonr(column, outcome, alternative="greater").pvalue for column in columns.T]
    assert np.allclose(one_sided_p(problem.scores(), problem.degrees_of_freedom), wanted)


@pytest.mark.parametrize("kind", [CalendarBlame, ExposureBlame, PresenceBlame])
def test_scikit_learn_is_told_that_amounts_are_not_negative_and_times_are_needed_and_above_zero(kind) -> None:
    tags = kind().__sklearn_tags__()
    assert tags.input_tags.positive_only and tags.target_tags.positive_only and tags.target_tags.required
