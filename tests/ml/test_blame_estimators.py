"""The blame estimators on processes whose truth is planted here and never passed to them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from flitwatch_domain.errors import BadInput, NotEnoughData
from flitwatch_ml.blame import ExposureBlame, PresenceBlame
from flitwatch_ml.blame.strata import centre_values, hour_and_weekend, normal_scores

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
