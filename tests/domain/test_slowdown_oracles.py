"""The statistics of an onset against the same written plainly: every stretch, every beginning and every boundary is tried."""

from __future__ import annotations

import math

import numpy as np
import pytest
from domain.scenes import T0

from flitwatch_domain.explanation import slowdown
from flitwatch_domain.explanation.slowdown import COUNTER_Z, INTERVAL_DROP, Series


def test_the_largest_sum_is_that_of_all_stretches() -> None:
    rng = np.random.default_rng(11)
    for _ in range(200):
        values = rng.normal(0, 1, 30)
        sums = {(i, j): values[i : j + 1].sum() for i in range(30) for j in range(i, 30)}
        assert slowdown._largest_sum(values) == max(sums, key=lambda ends: sums[ends])
    assert slowdown._largest_sum(np.full(5, -1.0)) == (0, -1)
    # Of stretches of one sum the first and shortest: what adds nothing is not slow.
    assert slowdown._largest_sum(np.array([0.0, 2.0, 0.0, -5.0, 2.0])) == (1, 1)


def test_the_onset_is_every_beginning_that_is_likely_enough_and_hangs_together() -> None:
    rng = np.random.default_rng(12)
    widths = []
    for _ in range(200):
        first, sigma = int(rng.integers(2, 12)), float(rng.uniform(0.03, 0.3))
        ratio = rng.normal(0, sigma, 20)
        ratio[first:18] += 0.4
        mean = ratio[first:18].mean()

        def likelihood(begin: int, ratio: np.ndarray = ratio, mean: float = mean, sigma: float = sigma) -> float:
            return float(sum(-((one - mean) ** 2) + one**2 for one in ratio[begin:18]) / (2 * sigma**2))

        fits = [likelihood(begin) >= likelihood(first) - INTERVAL_DROP for begin in range(18)]
        low = next((begin + 1 for begin in range(first, -1, -1) if not fits[begin]), 0)
        high = next((begin - 1 for begin in range(first, 18) if not fits[begin]), 17)
        assert slowdown.onset_steps(ratio, first, 17, sigma) == (low, high)
        widths.append(high - low)
    assert 0 in widths and max(widths) >= 2


def plain_rise(at: np.ndarray, value: np.ndarray, low_s: float, high_s: float, width_s: float) -> float | None:
    """Every boundary within the interval, by the sum of squares that it leaves."""
    span = max((high_s - low_s) / 2, 4 * width_s)
    taken = [
        (moment, math.log(one))
        for moment, one in zip(at.tolist(), value.tolist(), strict=True)
        if low_s - span <= moment < high_s + span and math.isfinite(one) and one > 0
    ]
    moments, logs = [one[0] for one in taken], np.array([one[1] for one in taken])
    if len(logs) < 6:
        return None
    best = None
    for cut in range(1, len(logs)):
        before, after = logs[:cut], logs[cut:]
        left = ((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum()
        inside = low_s - width_s <= moments[cut] <= high_s + width_s
        if inside and after.mean() > before.mean() and (best is None or left < best[0] - 1e-12):
            best = (left, cut)
    if best is None:
        return None
    before, after = logs[: best[1]], logs[best[1] :]
    rest = np.concatenate((before - before.mean(), after - after.mean()))
    noise = max(float(np.median(np.abs(np.diff(logs)))) / 0.6745 / math.sqrt(2), float(rest.std()), 0.02)
    gap = after.mean() - before.mean()
    z = gap / (noise * math.sqrt(1 / len(before) + 1 / len(after)))
    return float(moments[best[1]]) if z >= COUNTER_Z and gap >= math.log(1.2) else None


@pytest.mark.parametrize("width_s", [1.0, 10.0])
def test_the_rise_is_the_boundary_that_leaves_the_least(width_s: float) -> None:
    rng = np.random.default_rng(13)
    found = []
    for _ in range(300):
        at = T0 + width_s * np.arange(60)
        shift = rng.uniform(0.0, 1.2)
        place = int(rng.integers(10, 50))
        value = np.exp(rng.normal(0, rng.uniform(0.01, 0.3), 60) + np.where(np.arange(60) >= place, shift, 0))
        value[rng.random(60) < 0.1] = rng.choice([np.nan, 0.0])
        low = T0 + width_s * (place - rng.uniform(0, 12))
        high = low + width_s * rng.uniform(1, 24)
        wanted = plain_rise(at, value, low, high, width_s)
        assert slowdown.find_rise_s(Series(at, value, width_s), low, high) == wanted
        found.append(wanted is not None)
    assert 50 < sum(found) < 250
