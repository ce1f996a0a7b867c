"""The next hour's congestion: a planted day and a planted memory are found; too little past says nothing."""

from __future__ import annotations

import numpy as np
import pytest

from flitwatch_domain.outlook import HOUR_S, LEAST_HOURS, next_hour

PLACE = (1, 7)


def _hours(logs):
    return {(*PLACE, hour * HOUR_S): float(np.exp(value)) for hour, value in enumerate(logs)}


def _days(count):
    return np.tile(np.sin(2 * np.pi * np.arange(24) / 24), count)


def test_a_day_that_repeats_is_expected() -> None:
    logs = _days(10)
    now_s = 240.0 * HOUR_S + 5 * HOUR_S
    found = next_hour(_hours(logs), {PLACE: (float(np.exp(logs[5])), now_s)})
    assert found[PLACE] == (pytest.approx(np.exp(logs[6]), rel=1e-6), now_s)


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_as_much_of_a_difference_stays_as_stayed_before(memory) -> None:
    rng, days = np.random.default_rng(1), 60
    noise = np.zeros(24 * days)
    for hour in range(1, len(noise)):
        noise[hour] = memory * noise[hour - 1] + 0.1 * rng.standard_normal()
    logs = _days(days) + noise
    found = next_hour(_hours(logs), {PLACE: (float(np.exp(_days(1)[5] + 1.0)), 5.0 * HOUR_S)})[PLACE][0]
    assert np.log(found) - _days(1)[6] == pytest.approx(memory, abs=0.1)


def test_too_little_past_or_no_counters_now_is_unknown() -> None:
    logs = _days(10)
    assert next_hour(_hours(logs[: LEAST_HOURS - 1]), {PLACE: (1.0, 0.0)}) == {}
    assert next_hour(_hours(logs), {(1, 8): (1.0, 0.0)}) == {}
    assert next_hour(dict.fromkeys(_hours(logs)), {PLACE: (1.0, 0.0)}) == {}
