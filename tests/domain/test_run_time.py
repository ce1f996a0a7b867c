"""Run times of jobs without steps: intervals hold what they say on jobs that come later, at any elapsed time; too few jobs say nothing."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from flitwatch_domain.run_time import BASES, LEAST_JOBS, MOST_JOBS, backtest_interval, predict_interval, run_time

ALIKE, NAMED, OF_USER = BASES
MEASURED = Path(__file__).parents[3] / "shared" / "data" / "variability"


def two_kinds(rng: np.random.Generator, count: int) -> np.ndarray:
    """Run times of short and long inputs, each with a tail."""
    return np.where(rng.random(count) < 0.4, 600, 3000) * rng.lognormal(0, 0.25, count)


@pytest.mark.system("numeric")
@pytest.mark.parametrize("elapsed_s", [0.0, 500.0, 1500.0, 3500.0])
@pytest.mark.parametrize("before", [25, 60, 250])
def test_the_interval_holds_nine_in_ten_later_jobs_that_last_as_long(elapsed_s: float, before: int) -> None:
    rng = np.random.default_rng(int(elapsed_s) + before)
    held: list[bool] = []
    while len(held) < 3000:
        past = two_kinds(rng, 20 * before)
        past = past[: int(np.flatnonzero(np.cumsum(past > elapsed_s) == before)[0]) + 1] if elapsed_s else past[:before]
        found = run_time({ALIKE: past[past > elapsed_s]}, elapsed_s)
        assert found.jobs == before
        later = two_kinds(rng, 200)
        held += [found.low_s <= time <= found.high_s for time in later[later > elapsed_s][:10].tolist()]
    assert 0.88 <= np.mean(held) <= 0.92


def test_the_longer_it_lasts_the_later_it_ends() -> None:
    past = two_kinds(np.random.default_rng(0), 250)
    found = [run_time({ALIKE: past}, elapsed) for elapsed in (0.0, 700.0, 2000.0)]
    assert [one.expected_s for one in found] == sorted(one.expected_s for one in found)
    assert all(one.elapsed_s < one.low_s < one.expected_s < one.high_s for one in found)
    assert found[1].low_s > 700 and found[0].expected_s < 3000 < found[2].high_s


def test_the_order_of_jobs_changes_no_quantile_and_the_extremes_are_those_of_19() -> None:
    times = np.arange(1.0, LEAST_JOBS + 1)
    assert predict_interval(times) == predict_interval(times[::-1]) == (10.0, 1.0, float(LEAST_JOBS))


def test_the_most_alike_serve_of_whom_there_are_enough() -> None:
    few, many = np.full(LEAST_JOBS - 1, 50.0), np.linspace(90, 110, 40)
    assert run_time({ALIKE: few, NAMED: many, OF_USER: many * 9}, 10.0).basis == NAMED
    assert run_time({ALIKE: many, NAMED: few}, 10.0).basis == ALIKE
    found = run_time({ALIKE: few, NAMED: few, OF_USER: many * 9}, 10.0)
    assert found.basis == OF_USER and found.jobs == 40 and "of the same user and size" in found.rests_on


def test_too_few_that_lasted_as_long_say_nothing_and_why() -> None:
    past = np.linspace(100, 200, 40)
    found = run_time({ALIKE: past, NAMED: past}, 180.0)
    assert (found.expected_s, found.low_s, found.high_s, found.basis, found.rests_on) == (None,) * 5
    assert "needs 19" in found.lacks and "of 40" in found.lacks and f"{(past > 180).sum()} did" in found.lacks
    assert run_time({}, 5.0).lacks and run_time({ALIKE: []}, 5.0).jobs == 0


def test_only_the_newest_count_and_the_test_of_the_interval_looks_back_only() -> None:
    old, new = np.full(5 * MOST_JOBS, 1e6), np.linspace(100, 120, MOST_JOBS)
    assert run_time({ALIKE: np.concatenate([old, new])}, 0.0).high_s < 121
    rising = 100 * 1.1 ** np.arange(60)
    assert backtest_interval(rising) == (60 - LEAST_JOBS, 0.0), "each is longer than all before it"
    tested, held = backtest_interval(two_kinds(np.random.default_rng(1), MOST_JOBS))
    assert tested == MOST_JOBS - LEAST_JOBS and 0.85 <= held <= 0.95
    assert backtest_interval(rising[:LEAST_JOBS]) == (0, None)


@pytest.mark.skipif(not MEASURED.exists(), reason="needs the measured runs beside the checkout")
def test_on_measured_runs_the_interval_of_earlier_ones_holds_later_ones() -> None:
    """MILC on Perlmutter in order of start (../shared/data/variability)."""
    with open(MEASURED / "perlmutter_milc_runs.csv", newline="", encoding="utf-8") as file:
        rows = sorted((row["start"], float(row["time_s"])) for row in csv.DictReader(file))
    times = np.array([time for _, time in rows])
    tested, held = backtest_interval(times)
    assert tested == len(times) - LEAST_JOBS and 0.8 <= held <= 0.97
