"""The deviation model on processes whose carrying counter is planted here."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flitwatch_domain.errors import BadInput, NotEnoughData
from flitwatch_ml.deviation import DeviationModel, MeanCurve
from flitwatch_ml.folds import distinct_runs, run_folds

PLANTED = 2


def process(seed: int, runs: int = 60, steps: int = 12, counters: int = 6):
    """Counts per step of counters of which one, by its rate, slows the step; all count for as long as the step takes."""
    rng = np.random.default_rng(seed)
    rates = rng.lognormal(0, 0.5, (runs, 1, counters)) * rng.lognormal(0, 0.2, (runs, steps, counters))
    curve = 5 + 2 * np.sin(np.arange(steps))
    times = curve * (1 + 0.3 * rates[:, :, PLANTED]) * rng.lognormal(0, 0.01, (runs, steps))
    return rates * times[:, :, None] * 1e6, times


def test_the_planted_counter_is_left_last_and_survives() -> None:
    for seed in range(3):
        fitted = DeviationModel(folds=5).fit(*process(seed))
        assert np.argmin(fitted.rank_) == PLANTED
        assert fitted.relevance_[PLANTED] == 1
        assert fitted.mape_ < 0.5 * fitted.baseline_mape_


@pytest.mark.system("numeric")
def test_the_error_is_not_that_of_the_rows_that_the_subset_was_chosen_on() -> None:
    """A planted leak: forty counters that say nothing. Some subset of them looks useful on the rows that it is chosen on, and is not."""
    fitted = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        times = 5 * rng.lognormal(0, 0.3, (24, 3))
        counts = rng.lognormal(0, 1, (24, 3, 40)) * times[:, :, None]
        fitted.append(DeviationModel(folds=8, seed=seed).fit(counts, times))
    chosen, nested, none = (
        np.mean([getattr(one, name) for one in fitted]) for name in ("chosen_mape_", "mape_", "baseline_mape_")
    )
    assert chosen < 0.97 * none, "the planted leak does not flatter, so this test asks nothing"
    assert nested >= none, "counters that say nothing were reported to help"


def test_single_lost_readings_are_no_reason_to_drop_a_step() -> None:
    counts, times = process(8)
    lost = (
        np.random.default_rng(0).random(counts.shape) < 0.2
    )  # of six counters: only a quarter of the steps stays whole
    fitted = DeviationModel(folds=5).fit(np.where(lost, np.nan, counts), times)
    assert np.argmin(fitted.rank_) == PLANTED and fitted.mape_ < 0.75 * fitted.baseline_mape_
    counts[:, :, 0] = np.nan  # nobody read this one
    fitted = DeviationModel(folds=5).fit(counts, times)
    assert fitted.constant_[0] and fitted.relevance_[0] == 0


def test_splitting_by_row_flatters() -> None:
    counts, times = process(0, runs=30)
    drift = np.random.default_rng(1).lognormal(0, 0.4, (30, 1))
    counts[:, :, 0] *= drift  # a fingerprint of the run: useless for new runs, telling for rows of seen ones
    times = times * drift**0.5
    by_run = DeviationModel(folds=5).fit(counts, times)
    by_row = DeviationModel(folds=5, split="row").fit(counts, times)
    assert by_row.mape_ < by_run.mape_


def test_the_order_of_runs_changes_nothing() -> None:
    counts, times = process(4, runs=30)
    fitted = DeviationModel(folds=5).fit(counts, times)
    order = np.random.default_rng(0).permutation(len(times))
    shuffled = DeviationModel(folds=5).fit(counts[order], times[order])
    assert (shuffled.rank_ == fitted.rank_).all()
    assert (shuffled.relevance_ == fitted.relevance_).all()
    assert shuffled.mape_ == pytest.approx(fitted.mape_, rel=1e-9)


@pytest.mark.system("numeric")
def test_both_learners_agree_on_what_matters() -> None:
    counts, times = process(5, runs=30, steps=6, counters=4)
    ranks = [np.argmin(DeviationModel(learner=name, folds=3).fit(counts, times).rank_) for name in ("lightgbm", "gbr")]
    assert ranks == [PLANTED, PLANTED]


def test_the_mean_curve_never_sees_the_held_out_run() -> None:
    counts, times = process(6, runs=10)
    spoiled = times.copy()
    spoiled[3] *= 1000
    masked = np.where(np.arange(10)[:, None] == 3, np.nan, spoiled)
    assert np.allclose(MeanCurve().fit(counts, masked).time_s_, np.delete(times, 3, axis=0).mean(0))


@given(st.lists(st.integers(0, 12), min_size=2, max_size=60), st.integers(2, 10), st.integers(0, 5))
def test_no_run_stands_in_two_folds(labels, folds, seed) -> None:
    if len(set(labels)) < 2:
        with pytest.raises(NotEnoughData):
            list(run_folds(labels, folds, seed))
        return
    held = [set(test.tolist()) for _, test in run_folds(labels, folds, seed)]
    assert sorted(i for fold in held for i in fold) == list(range(len(labels)))
    for train, test in run_folds(labels, folds, seed):
        assert not {labels[i] for i in train} & {labels[i] for i in test}


def test_a_run_recorded_twice_is_held_out_once() -> None:
    _, times = process(0, runs=5)
    labels = distinct_runs(np.concatenate([times, times[1:2]]))
    assert labels[5] == labels[1]
    assert len(set(labels.tolist())) == 5


def test_a_copy_is_one_whose_times_agree_to_seven_digits() -> None:
    _, times = process(0, runs=5)
    labels = distinct_runs(np.concatenate([times, times[1:2] * (1 + 1e-12), times[2:3] * (1 + 1e-4)]))
    assert labels[5] == labels[1] and len(set(labels.tolist())) == 6


def test_a_copy_of_a_run_does_not_stand_on_both_sides_even_where_rows_are_divided() -> None:
    """Counters that tell nothing about the time, but everything about which run it is: a copy in training would give the time away."""
    rng = np.random.default_rng(0)
    times = 5 * rng.lognormal(0, 0.4, (60, 6))
    counts = rng.lognormal(0, 1, (60, 6, 3)) * times[:, :, None]
    doubled = DeviationModel(folds=5, split="row").fit(np.concatenate([counts] * 4), np.concatenate([times] * 4))
    assert doubled.mape_ > 0.9 * doubled.baseline_mape_


@pytest.mark.parametrize("split", ["run", "row"])
def test_a_fold_without_a_comparable_step_is_left_out(split) -> None:
    counts, times = process(10, runs=9, steps=4)
    if split == "run":
        times[0, :3] = np.nan
        times[1:, 3] = np.nan  # the only step of run 0 is one that no other run has
    else:
        counts, times = counts[:, :1], times[:, :1]  # nine rows in twenty folds
    found = DeviationModel(folds=20, split=split).fit(counts, times)
    assert found.folds_ < 20 and np.isfinite([found.mape_, found.baseline_mape_]).all()


def test_missing_steps_are_left_out_and_constant_counters_have_no_relevance() -> None:
    counts, times = process(7)
    counts[5, 3] = np.nan
    times[6, 4:] = np.nan
    counts[:, :, 4] = 7.0 * np.nan_to_num(times, nan=1.0)  # a constant rate
    fitted = DeviationModel(folds=4).fit(counts, times)
    assert fitted.constant_.tolist() == [False, False, False, False, True, False]
    assert fitted.relevance_[4] == 0
    assert np.isfinite(fitted.mape_)


@pytest.mark.parametrize(
    ("spoil", "error", "words"),
    [
        (lambda c, t: (c[:3], t[:3]), NotEnoughData, "needs 8 runs, has 3"),
        (lambda c, t: (np.repeat(c[:1], 20, 0), np.repeat(t[:1], 20, 0)), NotEnoughData, "has 1"),
        (lambda c, t: (c[:, :-1], t), BadInput, "do not fit"),
        (lambda c, t: (c, np.where(t == t[2, 1], 0.0, t)), BadInput, "run 2, step 1"),
        (
            lambda c, t: (c, np.where(np.arange(len(t))[:, None] == 3, np.nan, t)),
            BadInput,
            "run 3 has no complete step",
        ),
        (lambda c, t: (np.ones_like(c) * t[:, :, None], t), NotEnoughData, "every counter is constant"),
        (lambda c, t: (c[:, :, :0], t), NotEnoughData, "no counters"),
        (
            lambda c, t: (np.concatenate([c[:5], c[:4]]), np.concatenate([t[:5], t[:4]])),
            NotEnoughData,
            "has 5 .9 are recorded, but 4",
        ),
    ],
)
def test_bad_input_gets_a_clear_error(spoil, error, words) -> None:
    with pytest.raises(error, match=words):
        DeviationModel(folds=3).fit(*spoil(*process(0, runs=12)))
