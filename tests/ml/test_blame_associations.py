"""Information of presence and scores of exposure, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from flitwatch_domain.errors import BadInput, NotEnoughData
from flitwatch_ml.blame import ExposureBlame, PresenceBlame
from flitwatch_ml.blame.checks import check_runs
from flitwatch_ml.blame.information import association_sign, exact_p_values, mutual_information_bits
from flitwatch_ml.blame.strata import centre_values, normal_scores


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
        x, y = centre_values(np.log1p(amounts), strata), centre_values(made, strata)
        z = (x.T @ y) / np.sqrt((y @ y) * (x**2).sum(0) / 22)
        assert found.score_ == pytest.approx(z) and found.p_value_ == pytest.approx(norm.sf(z))
        assert found.sign_.tolist() == np.sign(z).tolist() and not len(found.selected_)
        day = np.arange(24) // 4
        sums = np.array([(x[day == one] * y[day == one, None]).sum(0) for one in range(6)])
        clustered = ExposureBlame(alpha=0.0, response=response).fit(amounts, times, strata, day + 100)
        error = np.sqrt(np.maximum((sums**2).sum(0), (y @ y) * (x**2).sum(0) / 22))
        assert clustered.score_ == pytest.approx((x.T @ y) / error)
    both = ExposureBlame(alpha=9.0).fit(amounts, times)
    x, y = centre_values(np.log1p(amounts), np.zeros(24)), centre_values(normal_scores(times), np.zeros(24))
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
