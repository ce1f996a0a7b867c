"""Information of presence and scores of exposure, against manual calculations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student
from sklearn.base import clone

from flitwatch_domain.errors import BadInput, NotEnoughData
from flitwatch_ml.blame import ExposureBlame, PresenceBlame
from flitwatch_ml.blame.checks import check_runs
from flitwatch_ml.blame.effects import estimate_effects
from flitwatch_ml.blame.information import association_sign, exact_p_values, mutual_information_bits
from flitwatch_ml.blame.selection import Problem
from flitwatch_ml.blame.strata import centre_values, hour_and_weekend, normal_scores


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
        (np.where(np.arange(8)[:, None] > 2, np.nan, good), times, "run 3 contains"),
        (good, np.where(times > 4, np.inf, times), "run 4 contains"),
        (good - 2, times, "cannot be negative"),
        (good, times - 1, "run 0 took no time"),
        (good, times * 0 + 3, "all 8 runs took 3 s"),
    ):
        with pytest.raises((BadInput, NotEnoughData), match=words.replace("(", r"\(")):
            check_runs(matrix, run_time)
    assert check_runs(good * 0, times)[0].sum() == 0


# Effects in seconds and their intervals, against least squares by hand.


def one_users_effect(absent: int, days: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Amounts (40, 1), seconds and days of runs, `absent` of them without the user."""
    rng = np.random.default_rng(6)
    raw = np.abs(rng.normal(size=(40, 1))) + 0.1
    raw[rng.permutation(40)[:absent]] = 0
    log_time = 4 + 0.07 * raw[:, 0] + 0.04 * (raw[:, 0] > 0) + 0.01 * rng.normal(size=40)
    return raw, np.exp(log_time), np.arange(40) % days


def of_one(raw: np.ndarray, seconds: np.ndarray, day: np.ndarray, shrunk: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    column = raw - raw.mean(0)
    log_time = np.log(seconds)
    made = Problem(column * shrunk, log_time - log_time.mean(), np.full((40, 1), 1 / math.sqrt(40)), (column**2).sum(0))
    return estimate_effects(made, raw, raw > 0, day, np.array([1.5]), seconds)


@pytest.mark.parametrize(
    ("absent", "by_presence"), [(16, True), (5, True), (4, False), (0, False)], ids=["often", "five", "four", "never"]
)
@pytest.mark.parametrize("days", [20, 40, 3])
def test_effects_are_least_squares_of_logarithms_with_students_interval(
    absent: int, by_presence: bool, days: int
) -> None:
    raw, seconds, day = one_users_effect(absent, days)
    fitted = np.column_stack([np.ones(40), raw, raw > 0][: 3 if by_presence else 2])
    inverse = np.linalg.inv(fitted.T @ fitted)
    slopes = inverse @ fitted.T @ np.log(seconds)
    left, freedom = np.log(seconds) - fitted @ slopes, 40 - fitted.shape[1]
    there = raw[:, 0] > 0
    alone = seconds * np.exp(-fitted[:, 1:] @ slopes[1:])
    extra, mean = (seconds - alone)[there].mean(), (alone[:, None] * fitted)[there].mean(0)
    mean[0] = 0  # a run without the user takes what it takes
    by_run = left @ left / freedom * inverse
    sums = np.array([(fitted * left[:, None])[day == one].sum(0) for one in range(days)])
    # The small-sample factor of clustered errors (Cameron and Miller 2015).
    by_day = inverse @ sums.T @ sums @ inverse * days / (days - 1) * 39 / freedom
    reach = (
        student.ppf(0.975, min(freedom, days - 1)) * math.sqrt(max(mean @ by_run @ mean, mean @ by_day @ mean)) * 1.5
    )
    effect, interval = of_one(raw, seconds, day)
    assert effect == pytest.approx([extra])
    assert interval == pytest.approx(np.array([[extra - reach, extra + reach]]))


def test_runs_of_one_day_have_one_degree_of_freedom_and_of_whom_nothing_is_left_there_is_no_effect() -> None:
    raw, seconds, _ = one_users_effect(16, 20)
    effect, wide = of_one(raw, seconds, np.zeros(40, np.int64))
    _, narrow = of_one(raw, seconds, np.arange(40))
    assert np.ptp(wide) > 5 * np.ptp(narrow) and wide.mean() == pytest.approx(effect[0])
    assert np.isnan(of_one(raw, seconds, np.arange(40), 1e-9)[0]).all()


def test_amounts_that_never_differ_say_no_more_than_presence() -> None:
    raw, seconds, day = one_users_effect(16, 20)
    same = 2.0 * (raw > 0)
    effect, interval = of_one(same, seconds, day)
    there = raw[:, 0] > 0
    ratio = np.exp(np.log(seconds[there]).mean() - np.log(seconds[~there]).mean())
    assert effect == pytest.approx([(seconds[there] * (1 - 1 / ratio)).mean()])
    assert np.isfinite(interval).all()


# The blame estimators on processes whose truth is planted here and never passed to them.


ESTIMATORS = [PresenceBlame(rule="any"), ExposureBlame()]


def planted(seed: int, runs: int = 200, users: int = 300, aggressors: int = 5, effect: float = 1.2):
    """Exposure of users of whom the first few slow the runs they are exposed to."""
    rng = np.random.default_rng(seed)
    share = np.clip(rng.lognormal(-2.5, 0.8, users), 0.03, 0.5)
    share[:aggressors] = 0.2
    exposure = (rng.random((runs, users)) < share) * rng.exponential(1, (runs, users))
    log_time = 0.2 * (rng.normal(size=runs) + effect * exposure[:, :aggressors].sum(1))
    return exposure, np.exp(log_time)


def innocents_by_schedule(seed: int, runs: int = 240):
    """Half of the runs start in working hours, when the machine is busy; ten users work only then and slow nobody."""
    rng = np.random.default_rng(seed)
    working = rng.random(runs) < 0.5
    start_s = rng.integers(0, 60, runs) * 7 * 86400 + 4 * 86400 + np.where(working, 13, 2) * 3600.0
    exposure = (rng.random((runs, 40)) < 0.3) * 1.0
    exposure[:, :10] = rng.random((runs, 10)) < np.where(working, 0.6, 0.02)[:, None]
    return exposure, np.exp(0.2 * (rng.normal(size=runs) + 1.5 * working)), hour_and_weekend(start_s)


def test_exposure_finds_the_planted_aggressors() -> None:
    hits = [np.isin(ExposureBlame().fit(*planted(seed)).ranking_[:5], range(5)).mean() for seed in range(8)]
    assert np.mean(hits) >= 0.95


def test_false_share_stays_near_the_rate_asked_for() -> None:
    shares = []
    for seed in range(20):
        fitted = ExposureBlame().fit(*planted(seed))
        found = np.flatnonzero(fitted.q_value_ <= 0.1)
        shares.append((found >= 5).sum() / max(1, len(found)))
    assert np.mean(shares) <= 0.12


def test_nobody_is_found_where_nobody_interferes() -> None:
    found = [(ExposureBlame().fit(*planted(seed, effect=0.0)).q_value_ <= 0.1).any() for seed in range(30)]
    assert np.mean(found) <= 0.2


def test_strata_clear_those_who_only_share_the_working_hours() -> None:
    accused = {False: 0, True: 0}
    for seed in range(5):
        exposure, times, strata = innocents_by_schedule(seed)
        for stratified in accused:
            fitted = ExposureBlame().fit(exposure, times, strata if stratified else None)
            accused[stratified] += int((fitted.q_value_[:10] <= 0.1).sum())
    assert accused[False] >= 10
    assert accused[True] <= 2


def test_a_masked_aggressor_scores_higher_given_the_others() -> None:
    rng = np.random.default_rng(3)
    exposure = (rng.random((200, 30)) < 0.3) * 1.0
    times = np.exp(0.2 * (rng.normal(size=200) + exposure[:, 0] * 4 + exposure[:, 1] * 1.0))
    together = ExposureBlame().fit(exposure, times)
    alone = ExposureBlame(max_selected=0).fit(exposure, times)
    assert together.score_[1] > alone.score_[1] + 1
    assert set(together.selected_[:2]) == {0, 1}


def test_clustering_by_day_only_lowers_certainty() -> None:
    exposure, times = planted(1)
    day = np.repeat(np.arange(40), 5)
    plain = ExposureBlame(max_selected=0).fit(exposure, times)
    clustered = ExposureBlame(max_selected=0).fit(exposure, times, clusters=day)
    assert (np.abs(clustered.score_) <= np.abs(plain.score_) + 1e-12).all()


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_renaming_users_changes_nothing(estimator) -> None:
    exposure, times = planted(2, users=60)
    order = np.random.default_rng(0).permutation(60)
    one = clone(estimator).fit(np.minimum(exposure, 1), times)
    other = clone(estimator).fit(np.minimum(exposure, 1)[:, order], times)
    assert np.allclose(one.score_[order], other.score_)
    assert np.allclose(one.q_value_[order], other.q_value_, equal_nan=True)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_always_present_and_hardly_present_users_are_not_testable(estimator) -> None:
    exposure, times = planted(4, users=20)
    exposure[:, 7] = 1.0
    exposure[:, 8] = 0.0
    exposure[:3, 8] = 1.0
    fitted = clone(estimator).fit(exposure, times)
    assert not fitted.testable_[[7, 8]].any()
    assert np.isnan(fitted.q_value_[[7, 8]]).all()


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize(
    ("spoil", "error", "words"),
    [
        (lambda e, t: (e[:5], t[:5]), NotEnoughData, "needs 8 runs, has 5"),
        (lambda e, t: (e, np.full_like(t, 3.0)), NotEnoughData, "nothing to explain"),
        (lambda e, t: (np.where(np.arange(len(t))[:, None] == 4, np.nan, e), t), BadInput, "run 4"),
        (lambda e, t: (e, np.where(np.arange(len(t)) == 6, 0.0, t)), BadInput, "run 6 took no time"),
        (lambda e, t: (-e, t), BadInput, "negative"),
        (lambda e, t: (e[:-1], t), BadInput, "do not fit"),
    ],
)
def test_bad_input_gets_a_clear_error(estimator, spoil, error, words) -> None:
    with pytest.raises(error, match=words):
        clone(estimator).fit(*spoil(*planted(0, users=10)))


def test_presence_rules_differ_as_the_words_say() -> None:
    overlap = np.array([1.0, 0.4, 0.0, 1.0, 0.4, 0.0, 1.0, 0.0])[:, None]
    times = np.array([2.0, 1, 1, 2, 1, 1, 2, 1])
    assert PresenceBlame(rule="throughout").fit(overlap, times).exposed_runs_.tolist() == [3]
    assert PresenceBlame(rule="any").fit(overlap, times).exposed_runs_.tolist() == [5]


def test_centring_leaves_no_mean_in_any_stratum_and_scores_ignore_monotone_changes() -> None:
    rng = np.random.default_rng(0)
    values, strata = rng.normal(size=(50, 3)), rng.integers(0, 4, 50)
    left = centre_values(values, strata)
    assert all(np.allclose(left[strata == s].mean(0), 0) for s in range(4))
    assert np.allclose(normal_scores(values[:, 0]), normal_scores(np.exp(values[:, 0])))


def test_strata_tell_weekends_and_parts_of_the_day() -> None:
    saturday_noon = 2 * 86400 + 12 * 3600.0  # the epoch was a Thursday
    monday_noon, monday_night = 4 * 86400 + 12 * 3600.0, 4 * 86400 + 1 * 3600.0
    assert len(set(hour_and_weekend(np.array([saturday_noon, monday_noon, monday_night])).tolist())) == 3
