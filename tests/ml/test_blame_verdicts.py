"""From scores to verdicts: named and unnamed users, and the reasons."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student

from flitwatch_domain.blame import benjamini_hochberg
from flitwatch_domain.errors import BadInput, NotEnoughData
from flitwatch_ml.blame import CalendarBlame
from flitwatch_ml.blame.blocks import design_effect
from flitwatch_ml.blame.information import mutual_information_bits
from flitwatch_ml.blame.selection import (
    Problem,
    carrier_counts,
    chance_of_t,
    conditional_scores,
    confirm_users,
    one_sided_p,
    p_values,
    select_users,
    sum_clusters,
)
from flitwatch_ml.blame.verdict import _format_users
from ml.golden_figures import problem

DAY_S, WEEK_S = 86_400.0, 604_800.0

MONDAY_S = 4 * DAY_S  # the epoch was a Thursday


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


def test_who_goes_with_the_date_cannot_be_distinguished_from_it(planted: tuple[np.ndarray, ...]) -> None:
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
        assert (f"the runs are from {days} day{'' if days == 1 else 's'}; 4 are needed" in reasons) is words


def test_of_the_selected_those_stay_who_are_found_given_the_others_that_stay() -> None:
    """Eight columns that chance alone selects go, the least certain first; the two that are planted stay, in their order."""
    planted_in = problem(runs=80, users=60, seed=3)
    outcome = planted_in.outcome + 0.9 * planted_in.regressors[:, 7] + 0.7 * planted_in.regressors[:, 4]
    given = replace(planted_in, outcome=outcome - planted_in.axes @ (planted_in.axes.T @ outcome))
    everybody = np.ones(60, bool)
    selected = select_users(given, everybody, alpha=30.0, most=10)
    assert len(selected) == 10 and {4, 7} < set(selected.tolist())
    kept = confirm_users(given, selected, everybody, 1.0, 0.05)
    assert set(kept.tolist()) == {4, 7} and kept.tolist() == [user for user in selected.tolist() if user in (4, 7)]
    # Nothing that is uncertain enough stays, and nobody goes where every rate will do.
    assert confirm_users(given, selected, everybody, 50.0, 0.05).tolist() == []
    assert confirm_users(given, selected, everybody, 1.0, 1.0).tolist() == selected.tolist()
    assert confirm_users(given, selected[:0], everybody, 1.0, 0.05).tolist() == []


def test_chances_are_those_of_the_candidates_by_their_own_freedom() -> None:
    t, freedom, carried = np.array([2.0, 2.0, 2.0, -1.0]), np.array([30, 20, 30, 30]), np.array([30.0, 30.0, 5.0, 30.0])
    p = p_values(2 * t, freedom, np.array([True, True, True, False]), np.full(4, 2.0), carried)
    expected = [chance_of_t(t[[at]], int(freedom[at]), carried[[at]])[0] for at in range(3)]
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
    alone = p_values(*conditional_scores(given, selected), everybody, 1.0, carrier_counts(given.regressors))
    assert (benjamini_hochberg(alone)[:8] > 0.05).any(), "a name asks for more"
    assert confirm_users(given, selected, everybody, 1.0, 0.05).tolist() == selected.tolist()


def test_three_stand_ins_are_listed_and_of_more_their_number() -> None:
    assert _format_users([5]) == "{5}" and _format_users([5, 6, 7]) == "{5}, {6}, {7}"
    assert _format_users([5, 6, 7, 8, 9]) == "{5}, {6}, {7} and 2 more"


def test_of_one_degree_of_freedom_no_shuffle_wanders_farther_than_the_score() -> None:
    axes = np.array([[1, 1, 1], [1, 1, -2]]).T / np.sqrt([3, 6])
    there = np.array([1.0, -1.0, 0.0]) / math.sqrt(2)
    made = Problem(there[:, None], there, axes, np.array([1.0]))
    assert design_effect(made, [np.array([[0, 1, 2], [1, 0, 2]])]) == pytest.approx(np.array([1.0]))


def test_who_is_always_or_never_there_says_nothing_at_all() -> None:
    """To the last bit: the sum that says so is rounded."""
    for runs in range(3, 60):
        slow = np.arange(runs) % 3 == 0
        there = np.column_stack([np.ones(runs, bool), np.zeros(runs, bool)])
        assert mutual_information_bits(there, slow).tolist() == [0.0, 0.0]


# Scores and the choice among them, against sums made by hand.


def test_one_degree_of_freedom_is_one() -> None:
    axes, column, outcome = np.eye(3)[:, :2], np.array([0.0, 0.0, 2.0]), np.array([0.0, 0.0, 3.0])
    assert Problem(column[:, None], outcome, axes, np.array([4.0])).scores() == pytest.approx(np.array([1.0]))


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
    assert given.t_values()[1] == pytest.approx(partial * math.sqrt(27 / (1 - partial**2)))


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
    assert made.t_values() == pytest.approx(problem().t_values() / np.array(expected))


def test_sums_over_clusters_need_no_order() -> None:
    assert sum_clusters(np.arange(6.0), np.array([2, 0, 2, 0, 5, 2])).tolist() == [4, 7, 4]


def test_a_score_is_carried_by_as_many_runs_as_are_even() -> None:
    columns = np.column_stack([[1.0, -1, 1, -1], [0, 0, 0, 2], [1, 1, 0, 0], [0, 0, 0, 0]])
    with np.errstate(all="raise"):
        assert carrier_counts(columns).tolist() == [4, 1, 2, 0]


def test_the_chance_of_a_score_is_a_partial_correlations() -> None:
    """t = r sqrt(df / (1 - r^2)) with df one less than the runs' freedom (Fisher 1924)."""
    from scipy.stats import pearsonr

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 12))
    found = pearsonr(x, y, alternative="greater")
    z = np.array([found.statistic * math.sqrt(11)])
    assert one_sided_p(z, 11) == pytest.approx([found.pvalue])
    r = 0.6
    t = r * math.sqrt(10 / (1 - r * r))
    z = np.array([r * math.sqrt(11)] * 3)
    carried = one_sided_p(z, 11, np.array([4.0, 1.0, 99.0]))
    assert carried == pytest.approx([student.sf(t, 3), student.sf(t, 1), student.sf(t, 10)])
    three = pearsonr(x[:3], y[:3], alternative="greater")  # one degree of freedom is left, the fewest there are
    assert one_sided_p(np.array([three.statistic * math.sqrt(2)]), 2) == pytest.approx([three.pvalue])
    assert one_sided_p(np.array([r]), 1) == pytest.approx([student.sf(r / math.sqrt(1 - r * r), 1)])
    assert one_sided_p(np.array([9.0]), 1)[0] > 0  # one run's freedom is one, whatever it scores
    assert one_sided_p(np.array([0.0]), 5)[0] == 0.5


def test_selection_takes_the_best_until_chance_and_not_beyond_the_most() -> None:
    rng = np.random.default_rng(3)
    raw = rng.normal(size=(60, 6))
    outcome = 3 * raw[:, 4] + 2 * raw[:, 1] + rng.normal(size=60) * 0.3
    made = Problem(raw, outcome, np.zeros((60, 0)), (raw**2).sum(0))
    everybody = np.ones(6, bool)
    assert select_users(made, everybody, 0.05, 5).tolist()[:2] == [4, 1]
    assert len(select_users(made, everybody, 1e-6, 5)) == 2
    assert select_users(made, everybody, 1e-6, 1).tolist() == [4]
    assert select_users(made, np.arange(6) != 4, 0.05, 1).tolist() == [1]
    assert select_users(made, everybody, 1e-6, 5, 50.0).tolist() == []
    assert select_users(made, np.zeros(6, bool), 1.0, 5).tolist() == []
    assert len(select_users(made, everybody, 6.0, 9)) == 6  # no chance is too great: all
    t, freedom = conditional_scores(made, np.array([4, 1]))
    assert freedom.tolist() == [58, 59, 58, 58, 59, 58]
    assert t[4] == pytest.approx(made.given(np.array([1])).t_values()[4])
    assert t[0] == pytest.approx(made.given(np.array([1, 4])).t_values()[0])


@pytest.mark.parametrize(("runs", "most"), [(3, 1), (4, 2), (5, 3)])
def test_selection_leaves_two_runs_of_freedom(runs: int, most: int) -> None:
    made = problem(runs, 6)  # a mean is taken out: one less
    made = Problem(made.regressors, made.outcome, np.zeros((runs, 0)), made.own)
    assert len(select_users(made, np.ones(6, bool), 99.0, 6)) == most


def test_bonferroni_is_a_chance_times_the_candidates() -> None:
    made = problem(40, 5)
    best = int(np.argmax(made.scores()))
    p = one_sided_p(made.scores()[[best]], made.degrees_of_freedom)[0] * 5
    everybody = np.ones(5, bool)
    assert (
        select_users(made, everybody, p, 1).tolist() == [best]
        and select_users(made, everybody, p * 0.999, 1).tolist() == []
    )
