"""Controls of a finding: dependence on single weeks, proxies, repeated weeks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import pearsonr

from flitwatch_ml.blame import CalendarBlame, ExposureBlame, PresenceBlame, calibration, controls
from flitwatch_ml.blame.calendar import fit_calendar
from flitwatch_ml.blame.calibration import rank_drivers
from flitwatch_ml.blame.checks import TooFewRuns
from flitwatch_ml.blame.copies import _group_by_users, same_runs
from flitwatch_ml.blame.observations import merge_observations
from flitwatch_ml.blame.selection import Problem, carrier_counts, one_sided_p, sum_clusters
from flitwatch_ml.blame.verdict import _permutation_count
from ml.golden_figures import problem

DAY_S = 86_400.0

MONDAY_S = 4 * DAY_S  # the epoch was a Thursday


def test_a_finding_on_two_weeks_rests_on_the_one_with_more_runs() -> None:
    made = problem(30, 1)
    period = np.repeat(np.arange(6), 5)
    exposed = np.zeros(30, bool)
    exposed[[3, 4, 10]] = True
    assert controls.depends_on_one_period(made, 0, exposed, period, 1.0) == 0


def test_a_finding_that_one_week_carries_rests_on_it() -> None:
    rng = np.random.default_rng(2)
    period = np.repeat(np.arange(10), 6)
    column = np.tile([1.0, -1, 1, -1, 1, -1], 10)
    axes = np.zeros((60, 0))

    def rests(outcome: np.ndarray, exposed: np.ndarray, spread: float = 1.0) -> int | None:
        made = Problem(column[:, None], outcome, axes, np.array([60.0]))
        return controls.depends_on_one_period(made, 0, exposed, period, spread)

    noise = rng.normal(size=60) * 0.5
    noise -= column * (noise @ column) / 60
    once = noise + 6 * column * (period == 7)
    assert rests(once, column > 0) == 7
    assert rests(noise + column, column > 0) is None
    assert rests(noise + column, column > 0, 8.0) is not None  # a score that wanders is no finding without any week
    assert rests(noise - column, column > 0) == 0  # who goes with fast runs rests on anything
    # Three weeks are enough, where each of them carries it.
    assert rests(noise + column, (column > 0) & (period < 3)) is None
    assert rests(noise + column, (column > 0) & (period < 2)) == 0


def test_stand_ins_are_alike_and_leave_nothing() -> None:
    rng = np.random.default_rng(4)
    user = rng.normal(size=80)
    twin, stranger = user + rng.normal(size=80) * 0.1, rng.normal(size=80)
    opposite = -twin
    outcome = user + rng.normal(size=80) * 0.5
    raw = np.column_stack([user, twin, stranger, opposite, np.zeros(80)])
    made = Problem(raw, outcome, np.zeros((80, 0)), np.array([*(raw**2).sum(0)[:4], 1.0]))
    with np.errstate(all="raise"):
        assert controls.proxy_users(made, 0, np.ones(5, bool), 1.0).tolist() in ([1], [])
        exact = Problem(raw, twin + 0.5 * rng.normal(size=80), made.axes, made.own)
        assert controls.proxy_users(exact, 0, np.ones(5, bool), 1.0).tolist() == [1]
        assert controls.proxy_users(exact, 0, np.array([True, False, True, True, True]), 1.0).tolist() == []
        # Alike by exactly a half is alike.
        e = np.eye(8)
        half = np.column_stack([e[0], 0.5 * e[0] + math.sqrt(0.75) * e[1], 0.49 * e[0] + math.sqrt(1 - 0.49**2) * e[2]])
        few = Problem(half, half[:, 1] + half[:, 2] - 0.9 * e[0] + 0.1 * e[3], np.zeros((8, 0)), np.ones(3))
        assert controls.proxy_users(few, 0, np.ones(3, bool), 1.0).tolist() == [1]
        # In whatever unit the amounts are.
        unit = np.array([0.1, 3.0, 7.0])
        scaled = Problem(half * unit, few.outcome, few.axes, unit**2)
        assert controls.proxy_users(scaled, 0, np.ones(3, bool), 1.0).tolist() == [1]


def test_the_more_runs_the_fewer_permutations_are_held_at_once() -> None:
    assert [_permutation_count(runs, 200, 5000) for runs in (100, 2000, 2500, 10_000, 50_000, 60_000)] == [
        5000,
        5000,
        4000,
        1000,
        200,
        200,
    ]


def test_presence_of_another_week_goes_with_slow_runs_where_weeks_repeat() -> None:
    start = MONDAY_S + np.arange(0, 70, 1.0) * DAY_S
    rng = np.random.default_rng(1)
    raw = (rng.random(70) < 0.4).astype(float)
    axes = np.full((70, 1), 1 / math.sqrt(70))

    def shifts(outcome: np.ndarray) -> list[int]:
        column = raw - raw.mean()
        outcome = outcome - outcome.mean()
        outcome = outcome - 0 * column
        return list(
            controls.other_weeks(
                Problem(column[:, None], outcome, axes, np.array([column @ column])), 0, raw, start, 1.0
            )
        )

    noise = rng.normal(size=70) * 0.3
    assert shifts(raw + noise) == []
    # A run is slow where the user is there in the week after it, or before it.
    after, before = np.roll(raw, -7), np.roll(raw, 7)
    assert shifts(after + noise) == [1] and shifts(before + noise) == [-1]
    assert shifts(after + before + noise) == [-1, 1]


def test_days_that_vary_together_are_no_presence_of_another_week() -> None:
    """Ten runs a day alongside the same users, and days that differ: twenty days a user would else look like two hundred runs."""
    start = MONDAY_S + np.repeat(np.arange(70), 10) * DAY_S + np.tile(np.arange(10), 70) * 3600.0
    day = np.repeat(np.arange(70), 10)
    axes = np.full((700, 1), 1 / math.sqrt(700))
    vetoed = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        raw = (rng.random(70) < 0.4)[day].astype(float)
        outcome = 1.5 * raw + rng.normal(size=70)[day] + 0.3 * rng.normal(size=700)
        column, outcome = raw - raw.mean(), outcome - outcome.mean()
        made = Problem(column[:, None], outcome, axes, np.array([column @ column]), (day,))
        vetoed += bool(list(controls.other_weeks(made, 0, raw, start, 1.0)))
    assert vetoed <= 6, "one in fifty by chance"


# Near copies: nineteen runs written five times with small changes are nineteen; runs that are alike by chance stay runs.


HOUR_S, LATER_MONDAY_S = 3_600.0, 1_767_571_200.0


def written(times: int, seed: int, runs: int = 19, gap_s: float = DAY_S, users: int = 12, jitter: float = 1e-3):
    """Runs of 13 weeks, each written so many times, `gap_s` apart, with times and amounts changed a little; user 0 slows runs by 40 s."""
    rng = np.random.default_rng(seed)
    start = LATER_MONDAY_S + np.sort(rng.uniform(0, 91 * DAY_S, runs))
    there = rng.random((runs, users)) < 0.35
    time_s = 300 * rng.lognormal(0, 0.03, runs) + 40 * there[:, 0]
    amounts = [there * 20.0 * rng.uniform(0.9, 1.1, there.shape) for _ in range(times)]
    longer = [time_s * rng.lognormal(0, jitter, runs) for _ in range(times)]
    return (
        np.concatenate(amounts),
        np.concatenate(longer),
        np.concatenate([start + gap_s * at for at in range(times)]),
    )


@pytest.mark.parametrize("jitter", [1e-4, 1e-3])
@pytest.mark.parametrize("gap_s", [5 * HOUR_S, DAY_S, 7 * DAY_S], ids=["hours apart", "days apart", "weeks apart"])
@pytest.mark.parametrize("seed", range(3))
def test_nineteen_runs_written_five_times_are_nineteen(seed: int, gap_s: float, jitter: float) -> None:
    with pytest.raises(TooFewRuns, match=r"needs 20 observations, has 1[89] \(near copies of a run"):
        CalendarBlame().fit(*written(5, seed, gap_s=gap_s, jitter=jitter))


@pytest.mark.parametrize("users", [3, 12])
@pytest.mark.parametrize("seed", range(4))
def test_copies_make_nobody_surer(seed: int, users: int) -> None:
    """Forty runs written five times: as many observations as there were runs, or fewer where few users leave runs alike; nobody innocent is named."""
    exposure, time_s, start = written(5, seed, runs=40, users=users)
    assert len(merge_observations(exposure, time_s, start).start_s) <= 40
    try:
        verdicts = CalendarBlame().fit(exposure, time_s, start).verdict_
    except TooFewRuns:
        return
    assert set(np.flatnonzero(np.array(verdicts) == "named").tolist()) <= {0}


@pytest.mark.parametrize("users", [1, 2, 3, 6, 12])
@pytest.mark.parametrize("noise", [0.003, 0.03])
def test_runs_alongside_the_same_users_that_are_alike_by_chance_stay_runs(users: int, noise: float) -> None:
    for seed in range(20):
        exposure, time_s, start = written(1, seed, runs=120, users=users)
        time_s = np.round(np.exp(np.log(time_s) * noise / 0.03) * 100) / 100
        assert len(np.unique(same_runs(exposure, time_s, start))) == 120


def test_times_in_whole_seconds_are_no_copies() -> None:
    for seed in range(20):
        exposure, time_s, start = written(1, seed, runs=120, users=4)
        assert len(np.unique(same_runs(exposure, np.round(time_s), start))) == 120
        two = np.where(exposure[:, 0] > 0, 340.0, 300.0)
        assert len(np.unique(same_runs(exposure, two, start))) == 120


def test_a_copy_has_the_first_ones_number_and_the_mean_of_what_differs() -> None:
    exposure, time_s, start = written(2, 1, runs=40)
    order = np.argsort(start)
    label = same_runs(exposure[order], time_s[order], start[order])
    run = np.tile(np.arange(40), 2)[order]
    assert all(len(np.unique(run[label == one])) == 1 for one in np.unique(label)) and len(np.unique(label)) == 40
    assert (label <= np.arange(80)).all()
    made = merge_observations(exposure, time_s, start)
    assert sorted(made.start_s.tolist()) == sorted(start[:40].tolist())
    assert sorted(made.run_time_s) == pytest.approx(sorted(np.sqrt(time_s[:40] * time_s[40:])))
    assert made.exposure.sum() == pytest.approx(exposure.sum() / 2)


def test_a_culprit_among_runs_with_near_copies_is_named() -> None:
    named = [CalendarBlame().fit(*written(3, seed, runs=90)).verdict_[0] == "named" for seed in range(4)]
    assert all(named)


@pytest.mark.parametrize(("dealt", "made"), [(120 * 7, 7), (120 * 2, 5), (120 * 30, 20)])
def test_of_very_many_runs_there_are_fewer_shuffles_and_the_result_says_how_many(monkeypatch, dealt, made) -> None:
    monkeypatch.setattr(calibration, "MOST_DEALT", dealt)
    found = calibration.calibrate_blame(*written(1, 0, runs=120), shuffles=20)
    assert found["shuffles"] == made and found["share"] == found["sets_with_a_name"] / made


def test_a_part_of_a_node_is_there() -> None:
    alike = _group_by_users(np.array([[0.5, 0.0], [0.0, 0.5], [0.2, 0.0]]))
    assert [group.tolist() for group in alike] == [[0, 2]]


@pytest.mark.system("numeric")
def test_shuffled_times_of_few_sets_of_users_are_no_copies() -> None:
    """Times in two heaps, alongside one of few sets of users: shuffled, close times are many by chance."""
    run, user = np.arange(40.0), np.arange(6.0)
    there = (np.sin(run[:, None] * 7.13 + user * 3.7) > 0.1) * (20.0 + user)
    time_s = 300 * (1 + 0.02 * (np.sin(run * 12.9898) * 43758.5453 % 1)) + 60 * (there[:, 0] > 0)
    start = LATER_MONDAY_S + (run * 7 % 24) * 3600 + run * 1.37 * DAY_S
    circumstances = np.column_stack([64 + run % 2, 1 + run % 5])
    assert calibration.calibrate_blame(there, time_s, start, circumstances)["shuffles"] == 100


# What cannot vary explains nothing: constant users and circumstances, runs of one moment, and nobody at all.


def runs(count: int = 80, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Start times, amounts of four users (drawn, drawn, never, always the same), and times that the first one's amount raises."""
    rng = np.random.default_rng(seed)
    start = LATER_MONDAY_S + np.sort(rng.uniform(0, 60 * DAY_S, count))
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
    fit = fit_calendar(np.full(40, LATER_MONDAY_S), rng.normal(size=40))
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
    start = LATER_MONDAY_S + np.sort(rng.uniform(0, 3 * DAY_S, 60))
    fit = fit_calendar(start, rng.normal(size=60))
    assert np.allclose(fit.without(5.0 - start / DAY_S), 0, atol=1e-6)
    bent = ((start - start.mean()) / DAY_S) ** 2
    assert np.abs(fit.without(bent)).max() > 0.1


def test_each_mark_is_a_step_whatever_the_runs_show_and_shifts_are_found_alongside_it() -> None:
    rng = np.random.default_rng(5)
    start = LATER_MONDAY_S + np.arange(240) * DAY_S / 2
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
    start = LATER_MONDAY_S + (np.arange(count) + rng.uniform(0, 1, count)) * DAY_S
    there = np.where(rng.random(count) < 0.4, rng.uniform(20, 80, count), 0.0)
    amounts = np.column_stack([there * rng.uniform(0.98, 1.02, count) for _ in range(6)])
    times = 100 * np.exp(0.2 * (there > 0) + rng.normal(0, 0.05, count))
    fitted = CalendarBlame().fit(amounts, times, start)
    together = [reason for reasons in fitted.reasons_ for reason in reasons if "appears together" in reason]
    assert "named" not in fitted.verdict_ and len(together) >= 1
    assert any(
        reason.endswith("and 2 more: cannot tell which of them") and reason.count("{") == 3 for reason in together
    )


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
def test_scikit_learn_is_informed_that_amounts_are_not_negative_and_times_are_needed_and_above_zero(kind) -> None:
    tags = kind().__sklearn_tags__()
    assert tags.input_tags.positive_only and tags.target_tags.positive_only and tags.target_tags.required
