"""Blame's scores, controls and bounds against sums made by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, norm
from scipy.stats import t as student

from flitwatch_domain.errors import BadInput, NotEnoughData
from flitwatch_domain.neighbourhood import Jobs, Windows, circumstances, large_job_nodes, neighbourhood, nodes_near
from flitwatch_domain.several_sets import benjamini_hochberg
from flitwatch_ml.blame import CalendarBlame, ExposureBlame, PresenceBlame, controls
from flitwatch_ml.blame.blocks import block_orders, block_p_values, design_effect, permuted
from flitwatch_ml.blame.calendar import _largest_step, _trend, calendar, orthonormal, winsorised
from flitwatch_ml.blame.checks import check_runs
from flitwatch_ml.blame.effects import effects
from flitwatch_ml.blame.information import association_sign, exact_p_values, mutual_information_bits
from flitwatch_ml.blame.permutation import permutation_p_values
from flitwatch_ml.blame.selection import (
    Problem,
    carriers,
    chance,
    conditional,
    confirmed,
    p_values,
    select,
    summed,
)
from flitwatch_ml.blame.strata import centred, hour_and_weekend, normal_scores
from flitwatch_ml.blame.verdict import _permutations, runs_needed

DAY_S, WEEK_S = 86_400.0, 604_800.0
MONDAY_S = 4 * DAY_S  # the epoch was a Thursday


def problem(runs: int = 30, users: int = 4, seed: int = 1, clusters: tuple[np.ndarray, ...] = ()) -> Problem:
    rng = np.random.default_rng(seed)
    axes = np.full((runs, 1), 1 / math.sqrt(runs))
    raw, outcome = rng.normal(size=(runs, users)), rng.normal(size=runs)
    return Problem(raw - raw.mean(0), outcome - outcome.mean(), axes, ((raw - raw.mean(0)) ** 2).sum(0), clusters)


# Scores


def test_a_score_is_a_correlation_by_the_root_of_its_freedom() -> None:
    made = problem()
    by_hand = [
        np.corrcoef(made.regressors[:, user], made.outcome)[0, 1] * math.sqrt(30 - 1)
        for user in range(4)
    ]  # fmt: skip
    assert made.degrees_of_freedom == 29 and made.scores() == pytest.approx(np.array(by_hand))
    assert made.scores(np.array([2])) == pytest.approx(by_hand[2:3])
    # Of a least-squares fit (Frisch-Waugh-Lovell): the partial correlation.
    given = made.given(np.array([0]))
    assert given.degrees_of_freedom == 28 and made.given(np.array([], np.int64)) is made
    design = np.column_stack([np.ones(30), made.regressors[:, 0]])
    left = made.regressors[:, 1] - design @ np.linalg.lstsq(design, made.regressors[:, 1], rcond=None)[0]
    rest = made.outcome - design @ np.linalg.lstsq(design, made.outcome, rcond=None)[0]
    partial = left @ rest / np.linalg.norm(left) / np.linalg.norm(rest)
    assert given.scores()[1] == pytest.approx(partial * math.sqrt(28))
    assert given.scores()[0] == 0.0  # nothing is left of whom is taken out


def test_the_day_effect_is_the_clustered_error_of_a_residual() -> None:
    day = np.repeat(np.arange(10), 3)
    made = problem(clusters=(day,))
    expected = []
    for column in made.regressors.T:
        slope = column @ made.outcome / (column @ column)
        products = column * (made.outcome - slope * column)
        over = sum(products[day == one].sum() ** 2 for one in range(10))
        independent = ((made.outcome - slope * column) ** 2).sum() * (column @ column) / 28
        expected.append(math.sqrt(max(1.0, over / independent)))
    assert max(expected) > 1 and made.day_effect() == pytest.approx(np.array(expected))
    assert made.scores() == pytest.approx(problem().scores() / np.array(expected))


def test_sums_over_clusters_need_no_order() -> None:
    assert summed(np.arange(6.0), np.array([2, 0, 2, 0, 5, 2])).tolist() == [4, 7, 4]


def test_a_score_is_carried_by_as_many_runs_as_are_even() -> None:
    columns = np.column_stack([[1.0, -1, 1, -1], [0, 0, 0, 2], [1, 1, 0, 0], [0, 0, 0, 0]])
    with np.errstate(all="raise"):
        assert carriers(columns).tolist() == [4, 1, 2, 0]


def test_the_chance_of_a_score_is_a_partial_correlations() -> None:
    """t = r sqrt(df / (1 - r^2)) with df one less than the runs' freedom (Fisher 1924)."""
    from scipy.stats import pearsonr

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 12))
    found = pearsonr(x, y, alternative="greater")
    z = np.array([found.statistic * math.sqrt(11)])
    assert chance(z, 11) == pytest.approx([found.pvalue])
    r = 0.6
    t = r * math.sqrt(10 / (1 - r * r))
    z = np.array([r * math.sqrt(11)] * 3)
    carried = chance(z, 11, np.array([4.0, 1.0, 99.0]))
    assert carried == pytest.approx([student.sf(t, 3), student.sf(t, 1), student.sf(t, 10)])
    three = pearsonr(x[:3], y[:3], alternative="greater")  # one degree of freedom is left, the fewest there are
    assert chance(np.array([three.statistic * math.sqrt(2)]), 2) == pytest.approx([three.pvalue])
    assert chance(np.array([r]), 1) == pytest.approx([student.sf(r / math.sqrt(1 - r * r), 1)])
    assert chance(np.array([9.0]), 1)[0] > 0  # one run's freedom is one, whatever it scores
    assert chance(np.array([0.0]), 5)[0] == 0.5


def test_selection_takes_the_best_until_chance_and_not_beyond_the_most() -> None:
    rng = np.random.default_rng(3)
    raw = rng.normal(size=(60, 6))
    outcome = 3 * raw[:, 4] + 2 * raw[:, 1] + rng.normal(size=60) * 0.3
    made = Problem(raw, outcome, np.zeros((60, 0)), (raw**2).sum(0))
    everybody = np.ones(6, bool)
    assert select(made, everybody, 0.05, 5).tolist()[:2] == [4, 1]
    assert len(select(made, everybody, 1e-6, 5)) == 2
    assert select(made, everybody, 1e-6, 1).tolist() == [4]
    assert select(made, np.arange(6) != 4, 0.05, 1).tolist() == [1]
    assert select(made, everybody, 1e-6, 5, 50.0).tolist() == []
    assert select(made, np.zeros(6, bool), 1.0, 5).tolist() == []
    assert len(select(made, everybody, 6.0, 9)) == 6  # no chance is too great: all
    z, freedom = conditional(made, np.array([4, 1]))
    assert freedom.tolist() == [58, 59, 58, 58, 59, 58]
    assert z[4] == pytest.approx(made.given(np.array([1])).scores()[4])
    assert z[0] == pytest.approx(made.given(np.array([1, 4])).scores()[0])


@pytest.mark.parametrize(("runs", "most"), [(3, 1), (4, 2), (5, 3)])
def test_selection_leaves_two_runs_of_freedom(runs: int, most: int) -> None:
    made = problem(runs, 6)  # a mean is taken out: one less
    made = Problem(made.regressors, made.outcome, np.zeros((runs, 0)), made.own)
    assert len(select(made, np.ones(6, bool), 99.0, 6)) == most


def test_bonferroni_is_a_chance_times_the_candidates() -> None:
    made = problem(40, 5)
    best = int(np.argmax(made.scores()))
    p = chance(made.scores()[[best]], made.degrees_of_freedom)[0] * 5
    everybody = np.ones(5, bool)
    assert select(made, everybody, p, 1).tolist() == [best] and select(made, everybody, p * 0.999, 1).tolist() == []


# Permutations


def test_permuted_correlations_by_hand() -> None:
    made = problem(8, 2)
    orders = np.array([np.arange(8), np.arange(8)[::-1]])
    seen, other = permuted(made, orders)
    r = np.array([np.corrcoef(made.regressors[:, user], made.outcome)[0, 1] for user in range(2)])
    back = np.array([np.corrcoef(made.regressors[:, user], made.outcome[::-1])[0, 1] for user in range(2)])
    assert seen == pytest.approx(r) and other[0] == pytest.approx(r) and other[1] == pytest.approx(back)
    p = block_p_values(made, orders, np.array([0, 1]))
    assert p == pytest.approx((1 + 1 + (back >= r)) / 3)
    rng = np.random.default_rng(0)
    many = block_orders(np.repeat(np.arange(4), 2), 50, rng)
    assert np.array_equal(np.sort(many, axis=1), np.tile(np.arange(8), (50, 1)))
    spread = permuted(made, many)[1].std(0) * math.sqrt(7)
    assert design_effect(made, [many]) == pytest.approx(np.maximum(spread, 1))
    assert design_effect(made, []).tolist() == [1, 1]


def test_a_user_without_exposure_has_no_correlation() -> None:
    made = problem(8, 2)
    made.regressors[:, 1] = 0
    with np.errstate(all="raise"):
        assert permuted(made, np.arange(8)[None])[0][1] == 0


def test_permutation_p_values_are_the_share_of_orders_that_reach() -> None:
    """One of four runs is exposed, and it is the slowest: one in four orders reaches that, of two strata of two one in two."""
    exposed, outcome = np.array([[0.0], [0], [0], [1]]), np.array([1.0, 2, 3, 9])
    p = permutation_p_values(exposed, outcome, permutations=4000, seed=1)[0]
    assert binom.cdf(round(p * 4001) - 1, 4000, 0.25) == pytest.approx(0.5, abs=0.499)
    p = permutation_p_values(exposed, outcome, np.array([7, 7, 9, 9]), permutations=4000, seed=1)[0]
    assert binom.cdf(round(p * 4001) - 1, 4000, 0.5) == pytest.approx(0.5, abs=0.499)
    assert permutation_p_values(np.zeros((4, 1)), outcome, permutations=9)[0] == 1.0
    assert permutation_p_values(exposed, -outcome, permutations=3000)[0] == 1.0


# Calendar


def test_weeks_run_from_six_of_them_on_and_days_below() -> None:
    starts = np.arange(6) * WEEK_S + 5
    assert controls.periods(starts)[1] == "week" and controls.periods(starts)[0].tolist() == [0, 1, 2, 3, 4, 5]
    assert controls.periods(starts[:5])[1] == "day" and controls.periods(starts[:5])[0].tolist() == [0, 7, 14, 21, 28]


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
    assert winsorised(values) == pytest.approx([-4 * 1.4826 * 2, -1, 0, 1, 2, -2, 4 * 1.4826 * 2])
    assert winsorised(np.array([1.0, 1, 1, 9])).tolist() == [1, 1, 1, 9]


def test_a_basis_spans_its_columns_and_leaves_out_dependent_and_empty_ones() -> None:
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(9, 2)) * [1e-9, 1e9]
    basis = orthonormal(np.column_stack([columns, columns[:, 0] * 3, np.zeros(9)]))
    assert basis.shape == (9, 2) and np.allclose(basis.T @ basis, np.eye(2))
    assert np.allclose(basis @ (basis.T @ columns / [1e-9, 1e9]), columns / [1e-9, 1e9])
    assert orthonormal(np.zeros((9, 2))).shape == (9, 0)
    assert orthonormal(np.column_stack([columns[:, 1], columns[:, 1] * (1 + 1e-9)])).shape[1] == 1


def test_the_largest_step_is_the_one_of_least_squares() -> None:
    rng = np.random.default_rng(5)
    response = rng.normal(size=20) + 3 * (np.arange(20) >= 12)
    order, candidates = np.arange(20), np.arange(6, 15)
    best, z = _largest_step(order, candidates, response, np.full((20, 1), 1 / math.sqrt(20)))
    scores = [np.corrcoef(order >= place, response)[0, 1] * math.sqrt(18) for place in candidates]
    assert best == candidates[np.argmax(np.abs(scores))] == 12 and z == pytest.approx(max(scores))
    assert _largest_step(order, candidates, -response, np.full((20, 1), 1 / math.sqrt(20)))[1] == pytest.approx(-z)
    assert _largest_step(order, np.zeros(0, np.int64), response, np.full((20, 1), 0.2)) == (None, 0.0)
    # A step that the axes explain already is none: a change at 12 leaves nothing of 12.
    axes = orthonormal(np.column_stack([np.ones(20), order >= 12]))
    assert _largest_step(order, np.array([12]), response, axes)[1] == 0.0
    for taken, found in ((17, 10), (18, None)):
        axes = np.linalg.qr(rng.normal(size=(20, taken)))[0]
        assert _largest_step(order, np.array([10]), response, axes)[0] == found


def test_a_calendar_takes_a_step_out_where_there_is_one() -> None:
    rng = np.random.default_rng(0)
    start = MONDAY_S + np.sort(rng.uniform(0, 8 * WEEK_S, 120))
    noise = rng.normal(size=120) * 0.01
    quiet, stepped = calendar(start, noise), calendar(start, noise + 0.2 * (np.arange(120) >= 60))
    assert len(quiet.regimes_s) == 0 and start[60] in stepped.regimes_s.tolist()
    assert quiet.degrees_of_freedom == 120 - quiet.axes.shape[1] and stepped.strata
    assert np.allclose(quiet.axes.T @ quiet.axes, np.eye(quiet.axes.shape[1]))
    # Hours and weekends from 32 runs on.
    assert [calendar(start[:runs], noise[:runs]).strata for runs in (31, 32)] == [False, True]
    # What an operator marked is a regime where runs lie on both sides.
    assert calendar(start, noise, marks_s=[start[50]]).regimes_s.tolist() == [start[50]]
    assert calendar(start, noise, marks_s=[start[5]]).regimes_s.tolist() == []
    assert calendar(start, noise, marks_s=[start[6], start[114]]).regimes_s.tolist() == [start[6], start[114]]
    assert calendar(start, noise, marks_s=[start[115]]).regimes_s.tolist() == []


def test_what_is_known_of_times_is_no_regime() -> None:
    rng = np.random.default_rng(0)
    start = MONDAY_S + np.sort(rng.uniform(0, 8 * WEEK_S, 120))
    step = 0.2 * (np.arange(120) >= 60)
    times = rng.normal(size=120) * 0.01 + step
    assert len(calendar(start, times, known=step).regimes_s) == 0


@pytest.mark.parametrize(
    ("weeks", "runs", "directions"), [(2.9, 30, 2), (3.1, 30, 3), (6.1, 30, 4), (9.1, 30, 4), (9.1, 31, 4)]
)
def test_the_trend_bends_once_in_three_weeks_and_twelve_runs(weeks: float, runs: int, directions: int) -> None:
    """Below one bend it is a line: with the mean two directions; quadratic splines of n pieces have n + 2, the mean among them."""
    start = np.linspace(0, weeks * WEEK_S, runs)
    assert orthonormal(np.column_stack([np.ones(runs), _trend(start)])).shape[1] == directions


def test_runs_of_one_moment_have_no_trend() -> None:
    assert calendar(np.full(25, 9.0), np.random.default_rng(1).normal(size=25)).axes.shape[1] == 1


# What a finding must survive


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
    assert [_permutations(runs, 200, 5000) for runs in (100, 2000, 2500, 10_000, 50_000, 60_000)] == [
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
            controls.other_weeks(Problem(column[:, None], outcome, axes, np.array([column @ column])), 0, raw, start)
        )

    noise = rng.normal(size=70) * 0.3
    assert shifts(raw + noise) == []
    # A run is slow where the user is there in the week after it, or before it.
    after, before = np.roll(raw, -7), np.roll(raw, 7)
    assert shifts(after + noise) == [1] and shifts(before + noise) == [-1]
    assert shifts(after + before + noise) == [-1, 1]


# Effects


def test_effects_are_slopes_by_mean_exposure_with_students_interval() -> None:
    rng = np.random.default_rng(6)
    raw = np.abs(rng.normal(size=(40, 1))) * (rng.random((40, 1)) < 0.6)
    seconds = 100 + 7 * raw[:, 0] + rng.normal(size=40)
    axes = np.full((40, 1), 1 / math.sqrt(40))
    column = raw - raw.mean(0)
    made = Problem(column, seconds - seconds.mean(), axes, (column**2).sum(0))
    exposed = raw > 0
    day = np.arange(40) // 2
    found, interval = effects(made, raw, exposed, day, np.array([1.5]))
    slope = (column[:, 0] @ made.outcome) / (column**2).sum()
    typical = raw[exposed].mean()
    left = made.outcome - slope * column[:, 0]
    own = left @ left / 38 / (column**2).sum()
    by_day = sum((column[day == one, 0] @ left[day == one]) ** 2 for one in range(20)) / (column**2).sum() ** 2
    by_day *= 20 / 19 * 39 / 38  # the small-sample factor of clustered errors (Cameron and Miller 2015)
    reach = student.ppf(0.975, 19) * math.sqrt(max(own, by_day)) * 1.5
    assert found == pytest.approx([slope * typical])
    assert interval == pytest.approx(np.array([[(slope - reach) * typical, (slope + reach) * typical]]))
    alone, wide = effects(made, raw, exposed, np.zeros(40, np.int64), np.ones(1))
    assert alone == pytest.approx(found) and np.ptp(wide) == pytest.approx(
        2 * student.ppf(0.975, 1) * math.sqrt(own) * typical, rel=0.01
    )
    gone = Problem(column * 1e-9, made.outcome, axes, (column**2).sum(0))
    assert np.isnan(effects(gone, raw, exposed, day, np.ones(1))[0]).all()


# Presence and exposure


def test_slow_runs_take_the_mean_time_or_longer() -> None:
    times = np.array([1.0, 1, 1, 3, 3, 3, 2, 2])  # mean 2: slow from 2 on
    overlap = (times >= 2).astype(float)[:, None]
    found = PresenceBlame(min_exposed=3).fit(np.column_stack([overlap, 1 - overlap]), times)
    share = 5 / 8
    bits = -(share * math.log2(share) + (1 - share) * math.log2(1 - share))
    assert found.mi_bits_ == pytest.approx([bits, bits]) and found.sign_.tolist() == [1, -1]
    assert found.score_ == pytest.approx([bits, -bits]) and found.ranking_.tolist() == [0, 1]
    assert found.exposed_runs_.tolist() == [5, 3] and found.testable_.all()
    assert not PresenceBlame(min_exposed=4).fit(overlap, times).testable_.any()
    assert found.p_value_ == pytest.approx([1 / math.comb(8, 5), 1.0])
    for tau, word in ((0.1, "slow"), (9.0, "optimal")):
        with pytest.raises(NotEnoughData, match=f"all 8 runs count as {word}"):
            PresenceBlame(tau).fit(overlap, times)


def test_presence_that_says_nothing_has_no_sign_and_no_score() -> None:
    times = np.array([1.0, 1, 1, 1, 3, 3, 3, 3])
    even = np.array([1.0, 1, 0, 0, 1, 1, 0, 0])[:, None]
    found = PresenceBlame(min_exposed=4).fit(even, times)
    assert found.score_.tolist() == [0.0] and found.sign_.tolist() == [0]


def test_information_and_tails_of_a_table_by_hand() -> None:
    slow = np.array([True] * 3 + [False] * 5)
    present = np.array([[1, 1, 1, 0, 0, 0, 0, 0], [1, 0, 0, 1, 1, 0, 0, 0], [1] * 8, [0] * 8], bool).T
    p = 3 / 8
    joint = {(1, 1): 1 / 8, (1, 0): 2 / 8, (0, 1): 2 / 8, (0, 0): 3 / 8}
    by_hand = sum(q * math.log2(q / ((p if a else 1 - p) * (p if b else 1 - p))) for (a, b), q in joint.items())
    found = mutual_information_bits(present, slow)
    assert found == pytest.approx([-p * math.log2(p) - (1 - p) * math.log2(1 - p), by_hand, 0, 0])
    assert association_sign(present, slow).tolist() == [1, -1, 0, 0]
    assert exact_p_values(present, slow) == pytest.approx([1 / 56, 1 - 10 / 56, 1, 1])
    # In strata of 4 (3 slow) and 4 (none slow): the first's three are drawn from the first stratum alone, the second's one.
    strata = np.repeat([0, 1], 4)
    assert exact_p_values(present, slow, strata) == pytest.approx([1 / 4, 1.0, 1, 1])


def test_exposures_scores_by_hand() -> None:
    rng = np.random.default_rng(8)
    amounts = rng.uniform(0, 9, (24, 2)) * (rng.random((24, 2)) < 0.6)
    times = np.exp(rng.normal(size=24))
    strata = np.arange(24) % 2
    for response, made in (("log", np.log(times)), ("rank", normal_scores(times))):
        found = ExposureBlame(alpha=0.0, response=response).fit(amounts, times, strata)
        x, y = centred(np.log1p(amounts), strata), centred(made, strata)
        z = (x.T @ y) / np.sqrt((y @ y) * (x**2).sum(0) / 22)
        assert found.score_ == pytest.approx(z) and found.p_value_ == pytest.approx(norm.sf(z))
        assert found.sign_.tolist() == np.sign(z).tolist() and not len(found.selected_)
        day = np.arange(24) // 4
        sums = np.array([(x[day == one] * y[day == one, None]).sum(0) for one in range(6)])
        clustered = ExposureBlame(alpha=0.0, response=response).fit(amounts, times, strata, day + 100)
        error = np.sqrt(np.maximum((sums**2).sum(0), (y @ y) * (x**2).sum(0) / 22))
        assert clustered.score_ == pytest.approx((x.T @ y) / error)
    both = ExposureBlame(alpha=9.0).fit(amounts, times)
    x, y = centred(np.log1p(amounts), np.zeros(24)), centred(normal_scores(times), np.zeros(24))
    left = [x[:, a] - x[:, b] * (x[:, a] @ x[:, b]) / (x[:, b] @ x[:, b]) for a, b in ((0, 1), (1, 0))]
    rest = [y - x[:, b] * (y @ x[:, b]) / (x[:, b] @ x[:, b]) for b in (1, 0)]
    partial = [a @ r / math.sqrt((r @ r) * (a @ a) / 22) for a, r in zip(left, rest, strict=True)]
    assert sorted(both.selected_.tolist()) == [0, 1] and both.score_ == pytest.approx(partial)
    assert len(ExposureBlame(alpha=9.0, max_selected=1).fit(amounts, times).selected_) == 1


def test_normal_scores_are_symmetric_and_ties_share_theirs() -> None:
    assert normal_scores(np.array([5.0, 1, 9])) == pytest.approx(norm.ppf([0.5, 1 / 6, 5 / 6]))
    assert normal_scores(np.array([2.0, 2])).tolist() == [0, 0]


def test_runs_are_checked_one_by_one() -> None:
    good, times = np.ones((8, 1)), np.arange(1.0, 9)
    assert check_runs(good, times)[1].tolist() == times.tolist()
    for matrix, run_time, words in (
        (good[:7], times[:7], "needs 8 runs, has 7"),
        (good[:, 0], times, "do not fit"),
        (good, times[:, None], "do not fit"),
        (good[:7], times, "do not fit"),
        (good[:, :0], times, "no users"),
        (np.where(np.arange(8)[:, None] > 2, np.nan, good), times, "run 3 holds"),
        (good, np.where(times > 4, np.inf, times), "run 4 holds"),
        (good - 2, times, "cannot be negative"),
        (good, times - 1, "run 0 took no time"),
        (good, times * 0 + 3, "all 8 runs took 3 s"),
    ):
        with pytest.raises((BadInput, NotEnoughData), match=words.replace("(", r"\(")):
            check_runs(matrix, run_time)
    assert check_runs(good * 0, times)[0].sum() == 0


# Neighbourhood


def _jobs(*rows: tuple[int, float, float, float, list[float]]) -> Jobs:
    name, begin, end, nodes, groups = zip(*rows, strict=True)
    return Jobs(np.array(name), np.array(begin), np.array(end), np.array(nodes), np.array(groups))


def test_circumstances_of_a_run_by_hand() -> None:
    jobs = _jobs(
        (0, 0.0, 10.0, 4.0, [3.0, 1.0, 0.0]), (1, 10.0, 20.0, 2.0, [0, 0, 2.0]), (2, -5.0, 0.0, 2.0, [1, 1, 0]), (-1, 9.0, math.inf, 1.0, [0, 0, 0])
    )  # fmt: skip
    windows = Windows(np.array([0.0, 0.0, 0.0]), np.array([10.0, 10.0, 10.1]), np.array([0, 3, -1]))
    found = circumstances(windows, jobs)
    assert found[0].tolist() == [2, 0.75, 2] and found[1, 2] == 2 and found[2, 2] == 3
    assert np.isnan(found[1:, :2]).all()  # a run whose place is not known
    assert nodes_near(np.array([[2.0, 4, 0]]), np.array([3.0, 1, 0])).tolist() == [2.5]
    assert nodes_near(np.array([[2.0, 4, 0]]), np.zeros(3)).tolist() == [0]


def test_overlap_is_a_union_of_large_jobs_and_exposure_a_sum_of_all() -> None:
    nowhere = [0.0]
    jobs = _jobs(
        (0, 0.0, 4.0, 8.0, nowhere), (0, 2.0, 6.0, 8.0, nowhere), (0, 9.0, 99.0, 7.0, nowhere), (1, -9.0, 0.0, 8.0, nowhere), (1, 10.0, 12.0, 8.0, nowhere),
        (2, -3.0, math.inf, 8.0, nowhere), (-1, 0.0, 10.0, 8.0, nowhere), (3, 0.0, 10.0, 8.0, nowhere),
    )  # fmt: skip
    found = neighbourhood(Windows(np.array([0.0]), np.array([10.0]), np.array([7])), jobs, 4, 8)
    assert found.overlap[0].tolist() == pytest.approx([0.6, 0, 1, 0])
    assert found.exposure[0].tolist() == pytest.approx([0.4 * 8 + 0.4 * 8 + 0.1 * 7, 0, 8, 0])


@pytest.mark.parametrize(
    ("machine", "nodes"), [(None, 129), (32, 2), (64, 2), (96, 3), (4096, 128), (4128, 129), (9688, 129), (1, 2)]
)
def test_a_large_job_has_more_than_128_nodes_or_a_share_of_a_small_machine(machine: int | None, nodes: int) -> None:
    assert large_job_nodes(machine) == nodes


# Verdicts


@pytest.fixture(scope="module")
def planted() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Twelve weeks; user 0 slows runs by about a tenth, user 1 nobody, user 2 is hardly there, 3 always, alike, and 4 always, by different amounts."""
    rng = np.random.default_rng(11)
    start = MONDAY_S + np.sort(rng.uniform(0, 12 * WEEK_S, 150))
    exposure = rng.gamma(2, 1, (150, 5)) * (rng.random((150, 5)) < 0.4)
    exposure[:, 2] = 0
    exposure[[20, 60, 90, 130], 2] = 5.0
    exposure[:, 3] = 3.0 + rng.uniform(0, 0.1, 150)
    exposure[:, 4] = rng.gamma(1.0, 2, 150) + 0.01
    return exposure, 100 * np.exp(0.1 * (exposure[:, 0] > 0) + 0.02 * rng.normal(size=150)), start


def test_a_planted_culprit_is_named_alone_and_others_get_their_reason(planted: tuple[np.ndarray, ...]) -> None:
    found = CalendarBlame().fit(*planted)
    assert found.verdict_[:2] == ["named", "no evidence"] and found.verdict_[4] == "no evidence"
    assert found.reasons_[2] == ["exposed in 4 of 150 runs, needs 5"]
    assert found.reasons_[3] == ["without exposure in 0 of 150 runs, needs 5"]
    assert found.testable_.tolist() == [True, True, False, False, True]
    assert found.exposed_runs_.tolist()[2:] == [4, 150, 150]
    assert found.reasons_[1] == [f"q = {found.q_value_[1]:.2g}"]
    assert found.effect_interval_s_[0, 0] < found.effect_s_[0] < found.effect_interval_s_[0, 1]
    assert np.isnan(found.effect_s_[2:4]).all()
    assert found.ranking_[0] == 0 and found.sign_[0] == 1
    assert math.isnan(found.runs_needed_[0])


def test_the_runs_needed_grow_with_the_square_of_what_is_lacking() -> None:
    # Three are tested, q of 0.05 at most, and four of five such sets are to find it (power 0.8).
    from flitwatch_domain.blame import FOUND_Q

    wanted = norm.isf(FOUND_Q / 3) + norm.ppf(0.8)
    needed = runs_needed(np.array([9.0, 2.0, 1.0, 0.5, -2.0, np.nan]), 150, 3)
    assert needed[1:3].tolist() == [math.ceil(150 * (wanted / 2.0) ** 2), math.ceil(150 * wanted**2)]
    assert np.isnan(needed[[0, 3, 4, 5]]).all()


def test_whom_nothing_is_lacking_or_who_cannot_be_tested_needs_no_runs(planted: tuple[np.ndarray, ...]) -> None:
    found = CalendarBlame().fit(*planted)
    assert found.verdict_[0] == "named" and np.isnan(found.runs_needed_[0])
    assert np.isnan(found.runs_needed_[~found.testable_]).all()


def test_who_goes_with_the_date_cannot_be_told_from_it(planted: tuple[np.ndarray, ...]) -> None:
    exposure, times, start = planted
    late = np.where(start > np.median(start), 3.0, 0.0)[:, None]
    found = CalendarBlame().fit(np.column_stack([exposure[:, :2], late]), times, start, marks_s=[np.median(start)])
    assert found.verdict_[2] == "cannot tell"
    share = float(found.reasons_[2][0].split("%")[0])
    assert 90 < share <= 100 and "cannot be separated from the calendar" in found.reasons_[2][0]


@pytest.mark.parametrize("runs", [19, 20])
def test_twenty_runs_may_be_judged(planted: tuple[np.ndarray, ...], runs: int) -> None:
    exposure, times, start = (one[:runs] for one in planted)
    if runs == 19:
        with pytest.raises(NotEnoughData, match="needs 20 runs, has 19"):
            CalendarBlame().fit(exposure, times, start)
    else:
        assert len(CalendarBlame().fit(exposure, times, start).verdict_) == 5
        with pytest.raises(BadInput, match="6 circumstances for 20 runs: give at most 5"):
            CalendarBlame().fit(exposure, times, start, np.random.default_rng(0).normal(size=(20, 6)))
        CalendarBlame().fit(exposure, times, start, np.random.default_rng(0).normal(size=(20, 5)))
        for spoiled in (start[:19], np.where(start == start[3], np.nan, start)):
            with pytest.raises(BadInput, match="when it started"):
                CalendarBlame().fit(exposure, times, spoiled)


def test_runs_of_three_days_name_nobody_and_of_four_they_may(planted: tuple[np.ndarray, ...]) -> None:
    exposure, times, _ = planted
    for days, words in ((3, True), (4, False)):
        start = MONDAY_S + np.linspace(0, days * DAY_S - 1, 150)
        reasons = CalendarBlame().fit(exposure[:, :2], times, start).reasons_[0]
        assert (f"the runs lie in {days} days, needs 4" in reasons) is words


def test_of_the_selected_those_stay_who_are_found_given_the_others_that_stay() -> None:
    """Eight columns that chance alone selects go, the least certain first; the two that are planted stay, in their order."""
    planted_in = problem(runs=80, users=60, seed=3)
    outcome = planted_in.outcome + 0.9 * planted_in.regressors[:, 7] + 0.7 * planted_in.regressors[:, 4]
    given = replace(planted_in, outcome=outcome - planted_in.axes @ (planted_in.axes.T @ outcome))
    everybody = np.ones(60, bool)
    selected = select(given, everybody, alpha=30.0, most=10)
    assert len(selected) == 10 and {4, 7} < set(selected.tolist())
    kept = confirmed(given, selected, everybody, 1.0, 0.05)
    assert set(kept.tolist()) == {4, 7} and kept.tolist() == [user for user in selected.tolist() if user in (4, 7)]
    # Nothing that is uncertain enough stays, and nobody goes where every rate will do.
    assert confirmed(given, selected, everybody, 50.0, 0.05).tolist() == []
    assert confirmed(given, selected, everybody, 1.0, 1.0).tolist() == selected.tolist()
    assert confirmed(given, selected[:0], everybody, 1.0, 0.05).tolist() == []


def test_chances_are_those_of_the_candidates_by_their_own_freedom() -> None:
    z, freedom, carried = np.array([2.0, 2.0, 2.0, -1.0]), np.array([30, 20, 30, 30]), np.array([30.0, 30.0, 5.0, 30.0])
    p = p_values(2 * z, freedom, np.array([True, True, True, False]), np.full(4, 2.0), carried)
    expected = [chance(z[[at]], int(freedom[at]), carried[[at]])[0] for at in range(3)]
    assert p[:3].tolist() == pytest.approx(expected) and np.isnan(p[3]) and p[0] < p[2]


def test_of_the_selected_a_score_that_few_runs_carry_counts_in_full() -> None:
    """Eight culprits of whom each is there in six of 120 runs: each stands out of the noise that the others leave, and none goes."""
    rng = np.random.default_rng(11)
    exposure = np.zeros((120, 60))
    for user in range(60):
        exposure[rng.choice(120, 6, replace=False), user] = 1.0
    outcome = rng.normal(size=120) + 1.9 * exposure[:, :8].sum(1)
    axes = np.full((120, 1), 120**-0.5)
    given = Problem(exposure - exposure.mean(0), outcome - outcome.mean(), axes, (exposure**2).sum(0))
    selected, everybody = np.arange(8), np.ones(60, bool)
    alone = p_values(*conditional(given, selected), everybody, 1.0, carriers(given.regressors))
    assert (benjamini_hochberg(alone)[:8] > 0.05).any(), "a name asks for more"
    assert confirmed(given, selected, everybody, 1.0, 0.05).tolist() == selected.tolist()
