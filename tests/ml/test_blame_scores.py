"""Scores and the choice among them, against sums made by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t as student

from flitwatch_ml.blame.selection import (
    Problem,
    carrier_counts,
    conditional_scores,
    one_sided_p,
    select_users,
    sum_clusters,
)
from ml.blame_problems import problem


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
    z, freedom = conditional_scores(made, np.array([4, 1]))
    assert freedom.tolist() == [58, 59, 58, 58, 59, 58]
    assert z[4] == pytest.approx(made.given(np.array([1])).scores()[4])
    assert z[0] == pytest.approx(made.given(np.array([1, 4])).scores()[0])


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
