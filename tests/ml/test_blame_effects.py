"""Effects in seconds and their intervals, against least squares by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t as student

from flitwatch_ml.blame.effects import estimate_effects
from flitwatch_ml.blame.selection import (
    Problem,
)


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
