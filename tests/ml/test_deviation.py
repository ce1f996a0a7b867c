"""The deviation model on processes with a planted relevant counter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsRegressor

from flitwatch_domain.counters.features import answer_in_words, in_words
from flitwatch_domain.errors import BadInput, NotEnoughData
from flitwatch_ml.deviation import DeviationModel, MeanCurve
from flitwatch_ml.deviation.groups import rank_groups, share_explained
from flitwatch_ml.folds import distinct_runs, run_folds
from flitwatch_ml.work.deviation import fit_deviation, group_rows

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


# Groups of features: the one that carries is found and said, those that say nothing are not, and a place hangs on no quirk of elimination.


CARRIES, ERRORS, SAYS_NOTHING = "port_xmit_wait", "symbol_error", "port_xmit_data"

NAMES = [CARRIES, "port_rcv_wait", SAYS_NOTHING, ERRORS]


def runs(seed: int, effect: float = 0.4, lay_effect: float = 0.0, count: int = 60, steps: int = 8):
    """Counts of InfiniBand's counters of which the first slows steps by its rate, and how the runs lay."""
    rng = np.random.default_rng(seed)
    rates = rng.lognormal(0, 0.6, (count, 1, len(NAMES))) * rng.lognormal(0, 0.2, (count, steps, len(NAMES)))
    lay = np.column_stack([rng.integers(1, 9, count), rng.uniform(0.2, 1, count), rng.integers(20, 90, count)]) * 1.0
    times = 5 * (1 + effect * rates[:, :, 0] + lay_effect * lay[:, :1]) * rng.lognormal(0, 0.02, (count, steps))
    return rates * times[:, :, None] * 1e6, times, lay


def groups_of(model: DeviationModel) -> dict[str, dict]:
    return {one["name"]: dict(one) for one in group_rows(model, FEATURES)}


FEATURES = [*NAMES, "groups spanned", "largest share of its nodes in one group", "jobs that met it"]


def test_the_group_that_carries_is_found_and_said_in_words() -> None:
    counts, times, lay = runs(0)
    model = fit_deviation(counts, times, lay, FEATURES)
    of = groups_of(model)
    stalls = of["stalls at switch ports"]
    assert stalls["verdict"] == "carries" and stalls["kept"] == stalls["folds"] == 10
    assert stalls["features"] == [CARRIES] and 0.6 < stalls["low"] < stalls["explained"] < 1
    assert [one for one in of.values() if one["verdict"] == "carries"] == [stalls]
    first = answer_in_words(group_rows(model, FEATURES))[0]
    share = round(100 * stalls["explained"])
    assert first.startswith(f"stalls at switch ports: prediction error reduced by {share} % (95 %: ")
    assert first.endswith("kept in 10 of 10 folds")
    assert model.place_[0] == 1 and sorted(model.place_) == list(range(1, len(FEATURES) + 1))


def unexplained(seed: int, count: int = 30, steps: int = 4):
    """Slow runs that no counter sees: the first two count a fixed volume, to 1 and 30 %, the others at a rate that has nothing to do with time."""
    rng = np.random.default_rng(seed)
    times = 5 * rng.lognormal(0, 0.3, (count, 1)) * rng.lognormal(0, 0.1, (count, steps))
    counts = 1e9 * rng.lognormal(0, [0.01, 0.3, 0.2, 0.05], (count, steps, 4))
    counts[:, :, 2:] *= times[:, :, None]
    return counts, times, np.zeros((count, 0))


@pytest.mark.parametrize("fixed_places", [[0, 1], [2, 3], [0, 2]])
def test_a_fixed_volume_explains_nothing(fixed_places) -> None:
    order = np.argsort([*fixed_places, *[at for at in range(4) if at not in fixed_places]])
    for seed in range(3):
        counts, times, lay = unexplained(seed)
        model = fit_deviation(counts[:, :, order], times, lay, NAMES)
        assert [one.name for one in model.explained_ if one.verdict == "carries"] == []
        assert model.relevance_[fixed_places].max() < 0.5 and model.mape_ > 0.8 * model.baseline_mape_


@pytest.mark.system("numeric")
def test_a_fixed_volume_explains_nothing_in_a_hundred_draws() -> None:
    for seed in range(1000, 1100):
        rows = group_rows(fit_deviation(*unexplained(seed), NAMES), NAMES)
        assert not [one for one in rows if one["verdict"] == "carries"], seed


def test_the_counter_that_slows_steps_is_found_alongside_a_fixed_volume() -> None:
    counts, times, lay = runs(0)
    counts[:, :, 2] = 1e9 * np.random.default_rng(3).lognormal(0, 0.01, times.shape)
    of = groups_of(fit_deviation(counts, times, lay, FEATURES))
    assert of["stalls at switch ports"]["verdict"] == "carries"
    assert [name for name, one in of.items() if one["verdict"] == "carries"] == ["stalls at switch ports"]


def test_how_a_run_lay_is_a_driver_too() -> None:
    counts, times, lay = runs(1, effect=0.0, lay_effect=0.2)
    model = fit_deviation(counts, times, lay, FEATURES)
    assert groups_of(model)["placement"]["verdict"] == "carries"
    assert model.place_[FEATURES.index("groups spanned")] == 1
    assert answer_in_words(group_rows(model, FEATURES))[0].startswith("placement: prediction error reduced by ")


def test_circumstances_are_not_divided_by_the_time_of_a_step() -> None:
    """Whoever divides them sees the step's own duration in a circumstance that is the same in all runs."""
    counts, times, lay = runs(2, effect=0.0)
    times = times * np.random.default_rng(0).lognormal(0, 0.3, times.shape)
    model = DeviationModel(folds=5).fit(counts, times, lay * 0 + 3.0)
    assert model.constant_[len(NAMES) :].all()


@pytest.mark.system("numeric")
def test_where_nothing_carries_no_group_is_said_to() -> None:
    found = []
    for seed in range(12):
        counts, times, lay = runs(100 + seed, effect=0.0, count=30, steps=4)
        rows = group_rows(fit_deviation(counts, times, lay, FEATURES), FEATURES)
        found += [one["name"] for one in rows if one["verdict"] == "carries"]
        assert found or answer_in_words(rows)[0].startswith("cannot tell what predicts the deviation")
    assert len(found) <= 1


def test_an_interval_over_folds_is_wider_than_that_of_independent_ones() -> None:
    shares = [{"a": value, "b": 0.5} for value in (0.1, 0.2, 0.3, 0.4, 0.5)]
    kept = [np.array([True, True, fold > 2]) for fold in range(5)]
    first, second = rank_groups(["a", "a", "b"], shares, kept)
    assert (first.name, first.explained, first.low, first.high, first.kept) == ("b", 0.5, 0.5, 0.5, 2)
    of = {one.name: one for one in (first, second)}
    # Student's quantile for 4 degrees of freedom at 97.5 + 1.25 %, and a variance of (1/5 + 1/4) times the folds'.
    half = 3.4954 * np.std([0.1, 0.2, 0.3, 0.4, 0.5], ddof=1) * np.sqrt(0.45)
    assert of["a"].explained == pytest.approx(0.3) and of["a"].high - 0.3 == pytest.approx(half, rel=1e-3)
    assert (of["a"].verdict, of["b"].verdict) == ("cannot tell", "cannot tell"), "b is kept in two of five folds"
    assert of["b"].features == (2,) and of["b"].kept == 2 and of["a"].folds == 5


def test_a_group_is_judged_on_rows_that_its_model_did_not_see() -> None:
    """The nearest neighbour knows every row that it learned from, and of noise nothing else."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(80, 2)), rng.normal(size=80)
    held_out = np.arange(80) >= 60
    x[:7] = np.nan  # the learner refuses what was not read

    def share(y: np.ndarray, columns: list[int], known: np.ndarray) -> float:
        def error(guess: np.ndarray, rows: np.ndarray) -> float:
            return float(np.abs(guess - y[rows]).mean())

        return share_explained(lambda: KNeighborsRegressor(1), (x, y), columns, known, held_out, error)

    assert share(y, [0, 1], ~held_out) < 0.1
    assert share(np.nan_to_num(x[:, 0]), [0], ~held_out) > 0.8 > 0.1 > share(np.nan_to_num(x[:, 0]), [1], ~held_out)
    assert share(y, [0], np.arange(80) < 7) == 0, "nothing of the group was read where it would have learned"


def test_a_group_that_explains_nothing_in_any_fold_carries_nothing() -> None:
    (found,) = rank_groups(["a"], [{"a": 0.0}] * 10, [np.array([True])] * 10)
    assert (found.low, found.high, found.kept, found.verdict) == (0, 0, 10, "cannot tell")


def test_what_is_said_of_a_group_follows_from_its_verdict() -> None:
    group = {
        "name": "NIC latency at the network cards",
        "explained": 0.604,
        "low": 0.52,
        "high": 0.68,
        "kept": 8,
        "folds": 10,
    }
    assert in_words(group | {"verdict": "carries"}) == (
        "NIC latency at the network cards: prediction error reduced by 60 % (95 %: 52 to 68 %), kept in 8 of 10 folds"
    )
    assert in_words(group | {"verdict": "cannot tell"}).startswith(
        "NIC latency at the network cards: cannot tell, folds disagree: prediction error reduced by 60 %"
    )
    doubt = in_words(group | {"low": -0.2, "verdict": "cannot tell"})
    assert "within chance" in doubt and "−20 to 68 %" in doubt
    worse = in_words(group | {"explained": -0.05, "low": -0.12, "high": 0.03, "verdict": "cannot tell"})
    assert "prediction error increased by 5 % (95 %: −3 to 12 %)" in worse
    assert answer_in_words([group | {"verdict": "not used"}]) == [
        "cannot tell what predicts the deviation: no group reduces the error beyond chance in most folds"
    ]


def test_groups_that_do_not_fit_are_named() -> None:
    counts, times, lay = runs(3)
    with pytest.raises(BadInput, match="2 groups for 7 features"):
        DeviationModel().fit(counts, times, lay, ["a", "b"])
    with pytest.raises(BadInput, match="circumstances"):
        DeviationModel().fit(counts, times, lay[:-1])


def test_runs_without_any_counter_are_distinguished_by_how_they_lay() -> None:
    counts, times, lay = runs(4, effect=0.0, lay_effect=0.2)
    model = fit_deviation(counts[:, :, :0], times, lay, FEATURES[len(NAMES) :])
    assert model.explained_[0].verdict == "carries" and model.mape_ < 0.5 * model.baseline_mape_
