"""Run times of jobs without steps: intervals have their coverage on later jobs at any elapsed time; too few jobs give no interval."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from flitwatch_domain.outlook import HOUR_S, LEAST_HOURS, LEAST_RATIO, Outlook
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


@pytest.mark.skipif(not MEASURED.exists(), reason="needs the measured runs next to the checkout")
def test_on_measured_runs_the_interval_of_earlier_ones_holds_later_ones() -> None:
    """MILC on Perlmutter in order of start (../shared/data/variability)."""
    with open(MEASURED / "perlmutter_milc_runs.csv", newline="", encoding="utf-8") as file:
        rows = sorted((row["start"], float(row["time_s"])) for row in csv.DictReader(file))
    times = np.array([time for _, time in rows])
    tested, held = backtest_interval(times)
    assert tested == len(times) - LEAST_JOBS and 0.8 <= held <= 0.97


# The next hour's congestion: a planted day and a planted memory are found; too little past says nothing.


PLACE = (1, 7)


def _hours(logs):
    return {(*PLACE, hour * HOUR_S): float(np.exp(value)) for hour, value in enumerate(logs)}


def _days(count):
    return np.tile(np.sin(2 * np.pi * np.arange(24) / 24), count)


def test_a_day_that_repeats_is_expected() -> None:
    logs = _days(10)
    now_s = 240.0 * HOUR_S + 5 * HOUR_S
    found = Outlook(_hours(logs)).next_hour({PLACE: (float(np.exp(logs[5])), now_s)})
    assert found[PLACE] == (pytest.approx(np.exp(logs[6]), rel=1e-6), now_s)


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_as_much_of_a_difference_stays_as_stayed_before(memory) -> None:
    rng, days = np.random.default_rng(1), 60
    noise = np.zeros(24 * days)
    for hour in range(1, len(noise)):
        noise[hour] = memory * noise[hour - 1] + 0.1 * rng.standard_normal()
    logs = _days(days) + noise
    found = Outlook(_hours(logs)).next_hour({PLACE: (float(np.exp(_days(1)[5] + 1.0)), 5.0 * HOUR_S)})[PLACE][0]
    assert np.log(found) - _days(1)[6] == pytest.approx(memory, abs=0.1)


def test_too_little_past_or_no_counters_now_is_unknown() -> None:
    logs = _days(10)
    assert Outlook(_hours(logs[: LEAST_HOURS - 1])).next_hour({PLACE: (1.0, 0.0)}) == {}
    assert Outlook(_hours(logs)).next_hour({(1, 8): (1.0, 0.0)}) == {}
    assert Outlook(dict.fromkeys(_hours(logs))).next_hour({PLACE: (1.0, 0.0)}) == {}


def by_definition(hours, now):
    """Logarithms less the mean of the hour of the day; one rho for all groups; in plain loops."""
    logs: dict = {}
    for (fabric, group, at), ratio in hours.items():
        if ratio is not None:
            logs.setdefault((fabric, group), {})[at // HOUR_S] = float(np.log(max(ratio, LEAST_RATIO)))
    known = {place: held for place, held in logs.items() if len(held) >= LEAST_HOURS and place in now}
    usual = {}
    for place, held in known.items():
        of_day = [[value for hour, value in held.items() if hour % 24 == clock] for clock in range(24)]
        usual[place] = [float(np.mean(one or list(held.values()))) for one in of_day]
    apart = {p: {hour: value - usual[p][hour % 24] for hour, value in held.items()} for p, held in known.items()}
    pairs = [(held[hour], held[hour + 1]) for held in apart.values() for hour in held if hour + 1 in held]
    squares = sum(before * before for before, _ in pairs)
    stays = min(max(sum(before * after for before, after in pairs) / squares, 0.0), 1.0) if squares > 0 else 0.0
    found = {}
    for place, of_day in usual.items():
        hour = int(now[place][1] // HOUR_S)
        apart_now = float(np.log(max(now[place][0], LEAST_RATIO))) - of_day[hour % 24]
        found[place] = float(np.exp(of_day[(hour + 1) % 24] + stays * apart_now)), now[place][1]
    return found


@pytest.mark.parametrize("seed", range(4))
def test_hour_by_hour_it_says_to_the_last_bit_what_the_definition_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    outlook, hours = Outlook(), {}
    for hour in range(110):
        for group in range(3):
            if rng.random() < 0.9:
                ratio = None if rng.random() < 0.05 else float(rng.lognormal())
                hours[0, group, hour * HOUR_S] = ratio
                outlook.add((0, group), hour * HOUR_S, ratio)
        now = {(0, group): (float(rng.lognormal()), (hour + 0.5) * HOUR_S) for group in range(1 + hour % 3)}
        assert outlook.next_hour(now) == by_definition(hours, now)
    assert len(outlook.next_hour(now)) > 0, "too few hours: the test asks nothing"
    assert Outlook(hours).next_hour(now) == outlook.next_hour(now)
    backwards = Outlook(dict(reversed(hours.items()))).next_hour(now)
    assert {place: pytest.approx(value) for place, value in outlook.next_hour(now).items()} == backwards


def test_an_hour_of_the_day_that_was_never_counted_has_the_mean_of_all() -> None:
    hours = {(0, 0, hour * HOUR_S): 1.0 + hour % 24 for hour in range(24 * 8) if hour % 24 not in (5, 6)}
    now = {(0, 0): (6.0, 5.5 * HOUR_S)}
    assert Outlook(hours).next_hour(now) == by_definition(hours, now)
    assert set(Outlook(hours).usual_ratio()) == {(0, 0)}
    few = dict(list(hours.items())[: LEAST_HOURS - 1])
    assert Outlook(few).next_hour(now) == {} and Outlook(few).usual_ratio() == {}
