"""The next hour's congestion: a planted day and a planted memory are found; too little past says nothing."""

from __future__ import annotations

import numpy as np
import pytest

from flitwatch_domain.outlook import HOUR_S, LEAST_HOURS, LEAST_RATIO, Outlook

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
