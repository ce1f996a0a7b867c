"""Near copies: nineteen runs written five times with small changes are nineteen; runs that are alike by chance stay runs."""

from __future__ import annotations

import numpy as np
import pytest

from flitwatch_ml.blame import CalendarBlame, calibration
from flitwatch_ml.blame.checks import TooFewRuns
from flitwatch_ml.blame.copies import _beside_the_same, same_runs
from flitwatch_ml.blame.observations import merge_observations

HOUR_S, DAY_S, MONDAY_S = 3_600.0, 86_400.0, 1_767_571_200.0


def written(times: int, seed: int, runs: int = 19, gap_s: float = DAY_S, users: int = 12, jitter: float = 1e-3):
    """Runs of 13 weeks, each written so many times, `gap_s` apart, with times and amounts changed a little; user 0 slows runs by 40 s."""
    rng = np.random.default_rng(seed)
    start = MONDAY_S + np.sort(rng.uniform(0, 91 * DAY_S, runs))
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
def test_runs_beside_the_same_users_that_are_alike_by_chance_stay_runs(users: int, noise: float) -> None:
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
    alike = _beside_the_same(np.array([[0.5, 0.0], [0.0, 0.5], [0.2, 0.0]]))
    assert [group.tolist() for group in alike] == [[0, 2]]


def test_shuffled_times_of_few_sets_of_users_are_no_copies() -> None:
    """Times in two heaps, beside one of few sets of users: shuffled, close times are many by chance."""
    run, user = np.arange(40.0), np.arange(6.0)
    there = (np.sin(run[:, None] * 7.13 + user * 3.7) > 0.1) * (20.0 + user)
    time_s = 300 * (1 + 0.02 * (np.sin(run * 12.9898) * 43758.5453 % 1)) + 60 * (there[:, 0] > 0)
    start = MONDAY_S + (run * 7 % 24) * 3600 + run * 1.37 * DAY_S
    circumstances = np.column_stack([64 + run % 2, 1 + run % 5])
    assert calibration.calibrate_blame(there, time_s, start, circumstances)["shuffles"] == 100
