"""What a finding must survive: weeks that carry it, stand-ins, repeated weeks."""

from __future__ import annotations

import math

import numpy as np

from flitwatch_ml.blame import controls
from flitwatch_ml.blame.selection import (
    Problem,
)
from flitwatch_ml.blame.verdict import _permutation_count
from ml.blame_problems import problem

DAY_S = 86_400.0
MONDAY_S = 4 * DAY_S  # the epoch was a Thursday


def test_a_finding_on_two_weeks_rests_on_the_one_with_more_runs() -> None:
    made = problem(30, 1)
    period = np.repeat(np.arange(6), 5)
    exposed = np.zeros(30, bool)
    exposed[[3, 4, 10]] = True
    assert controls.depends_on_one_period(made, 0, exposed, period, 1.0) == 0


def test_a_finding_that_one_week_carries_rests_on_it() -> None:
    rng = np.random.default_rng(2)
    period = np.repeat(np.arange(10), 6)
    column = np.tile([1.0, -1, 1, -1, 1, -1], 10)
    axes = np.zeros((60, 0))

    def rests(outcome: np.ndarray, exposed: np.ndarray, spread: float = 1.0) -> int | None:
        made = Problem(column[:, None], outcome, axes, np.array([60.0]))
        return controls.depends_on_one_period(made, 0, exposed, period, spread)

    noise = rng.normal(size=60) * 0.5
    noise -= column * (noise @ column) / 60
    once = noise + 6 * column * (period == 7)
    assert rests(once, column > 0) == 7
    assert rests(noise + column, column > 0) is None
    assert rests(noise + column, column > 0, 8.0) is not None  # a score that wanders is no finding without any week
    assert rests(noise - column, column > 0) == 0  # who goes with fast runs rests on anything
    # Three weeks are enough, where each of them carries it.
    assert rests(noise + column, (column > 0) & (period < 3)) is None
    assert rests(noise + column, (column > 0) & (period < 2)) == 0


def test_stand_ins_are_alike_and_leave_nothing() -> None:
    rng = np.random.default_rng(4)
    user = rng.normal(size=80)
    twin, stranger = user + rng.normal(size=80) * 0.1, rng.normal(size=80)
    opposite = -twin
    outcome = user + rng.normal(size=80) * 0.5
    raw = np.column_stack([user, twin, stranger, opposite, np.zeros(80)])
    made = Problem(raw, outcome, np.zeros((80, 0)), np.array([*(raw**2).sum(0)[:4], 1.0]))
    with np.errstate(all="raise"):
        assert controls.proxy_users(made, 0, np.ones(5, bool), 1.0).tolist() in ([1], [])
        exact = Problem(raw, twin + 0.5 * rng.normal(size=80), made.axes, made.own)
        assert controls.proxy_users(exact, 0, np.ones(5, bool), 1.0).tolist() == [1]
        assert controls.proxy_users(exact, 0, np.array([True, False, True, True, True]), 1.0).tolist() == []
        # Alike by exactly a half is alike.
        e = np.eye(8)
        half = np.column_stack([e[0], 0.5 * e[0] + math.sqrt(0.75) * e[1], 0.49 * e[0] + math.sqrt(1 - 0.49**2) * e[2]])
        few = Problem(half, half[:, 1] + half[:, 2] - 0.9 * e[0] + 0.1 * e[3], np.zeros((8, 0)), np.ones(3))
        assert controls.proxy_users(few, 0, np.ones(3, bool), 1.0).tolist() == [1]
        # In whatever unit the amounts are.
        unit = np.array([0.1, 3.0, 7.0])
        scaled = Problem(half * unit, few.outcome, few.axes, unit**2)
        assert controls.proxy_users(scaled, 0, np.ones(3, bool), 1.0).tolist() == [1]


def test_the_more_runs_the_fewer_permutations_are_held_at_once() -> None:
    assert [_permutation_count(runs, 200, 5000) for runs in (100, 2000, 2500, 10_000, 50_000, 60_000)] == [
        5000,
        5000,
        4000,
        1000,
        200,
        200,
    ]


def test_presence_of_another_week_goes_with_slow_runs_where_weeks_repeat() -> None:
    start = MONDAY_S + np.arange(0, 70, 1.0) * DAY_S
    rng = np.random.default_rng(1)
    raw = (rng.random(70) < 0.4).astype(float)
    axes = np.full((70, 1), 1 / math.sqrt(70))

    def shifts(outcome: np.ndarray) -> list[int]:
        column = raw - raw.mean()
        outcome = outcome - outcome.mean()
        outcome = outcome - 0 * column
        return list(
            controls.other_weeks(
                Problem(column[:, None], outcome, axes, np.array([column @ column])), 0, raw, start, 1.0
            )
        )

    noise = rng.normal(size=70) * 0.3
    assert shifts(raw + noise) == []
    # A run is slow where the user is there in the week after it, or before it.
    after, before = np.roll(raw, -7), np.roll(raw, 7)
    assert shifts(after + noise) == [1] and shifts(before + noise) == [-1]
    assert shifts(after + before + noise) == [-1, 1]


def test_days_that_vary_together_are_no_presence_of_another_week() -> None:
    """Ten runs a day beside the same users, and days that differ: twenty days a user would else look like two hundred runs."""
    start = MONDAY_S + np.repeat(np.arange(70), 10) * DAY_S + np.tile(np.arange(10), 70) * 3600.0
    day = np.repeat(np.arange(70), 10)
    axes = np.full((700, 1), 1 / math.sqrt(700))
    vetoed = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        raw = (rng.random(70) < 0.4)[day].astype(float)
        outcome = 1.5 * raw + rng.normal(size=70)[day] + 0.3 * rng.normal(size=700)
        column, outcome = raw - raw.mean(), outcome - outcome.mean()
        made = Problem(column[:, None], outcome, axes, np.array([column @ column]), (day,))
        vetoed += bool(list(controls.other_weeks(made, 0, raw, start, 1.0)))
    assert vetoed <= 6, "one in fifty by chance"
