"""Rhythms: who comes with slow Mondays, nights, weeks or first days of the month cannot be told from them; who slows runs among others of the same day can."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from flitwatch_ml.blame import CalendarBlame
from flitwatch_ml.blame.controls import other_weeks
from flitwatch_ml.blame.rhythm import list_rhythms, residuals_within
from flitwatch_ml.blame.selection import Problem

DAY_S, WEEK_S, MONDAY_S = 86_400.0, 604_800.0, 1_767_571_200.0


def runs(seed: int, slow: str, count: int = 120, days: int = 120):
    """Ten users who come and go, times, starts, and whether each run lies in the part of the calendar that is 15 % slower for another reason."""
    rng = np.random.default_rng(seed)
    start = MONDAY_S + np.sort(rng.uniform(0, days * DAY_S, count))
    weekday, hour = np.floor(start / DAY_S + 3) % 7, start % DAY_S / 3600
    in_month = np.array([datetime.fromtimestamp(one, UTC).day for one in start])
    part = {
        "Mondays": weekday == 0,
        "Mondays west of Greenwich": np.floor((start - 6 * 3600) / DAY_S + 3) % 7 == 0,
        "two nights": (weekday < 2) & (hour >= 18),
        "at two o'clock": (hour >= 2) & (hour < 4),
        "every other Monday": np.floor(start / DAY_S + 3) % 14 == 0,
        "every fourth week": np.floor((start - MONDAY_S) / WEEK_S) % 4 == 1,
        "every fourth week from Thursday on": np.floor((start - MONDAY_S - 3 * DAY_S) / WEEK_S) % 4 == 1,
        "first days of the month": in_month <= 3,
        "never": weekday < 0,
    }[slow]
    exposure = (rng.random((count, 11)) < 0.35) * 20.0
    return rng, exposure, 300 * rng.lognormal(0, 0.03, count) * np.where(part, 1.15, 1.0), start, part


@pytest.mark.parametrize(
    ("slow", "rhythm"),
    [
        ("Mondays", "the day of the week"),
        ("Mondays west of Greenwich", "the day of the week"),
        ("two nights", "the hour and day of the week"),
        ("at two o'clock", "the hour of the day"),
        ("every other Monday", "the day of the fortnight"),
        ("every fourth week", "the week"),
        ("every fourth week from Thursday on", "the week"),
        ("first days of the month", "the day of the month"),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_who_comes_only_when_all_is_slow_anyway_is_not_named(slow: str, rhythm: str, seed: int) -> None:
    _, exposure, time_s, start, part = runs(seed, slow, 240, 240)
    exposure[:, 0] = part * 9.0
    fitted = CalendarBlame().fit(exposure, time_s, start)
    assert fitted.verdict_[0] == "cannot tell"
    assert any(rhythm in reason for reason in fitted.reasons_[0]), fitted.reasons_[0]


@pytest.mark.parametrize("seed", [0, 3, 4])
def test_who_comes_mostly_on_slow_mondays_and_at_times_on_other_days_is_not_named(seed: int) -> None:
    rng, exposure, time_s, start, part = runs(seed, "Mondays")
    exposure[:, 0] = (rng.random(len(start)) < np.where(part, 0.9, 0.1)) * 9.0
    fitted = CalendarBlame().fit(exposure, time_s, start)
    assert fitted.verdict_[0] == "cannot tell"
    assert any("between runs of the same day of the week chance gives" in one for one in fitted.reasons_[0])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("slow", ["Mondays", "never"])
def test_who_comes_on_all_days_and_slows_runs_is_named(slow: str, seed: int) -> None:
    _, exposure, time_s, start, _ = runs(seed, slow)
    fitted = CalendarBlame().fit(exposure, time_s + 30 * (exposure[:, 0] > 0), start)
    assert fitted.verdict_[0] == "named", fitted.reasons_[0]


@pytest.mark.parametrize("seed", range(3))
def test_who_comes_on_some_mondays_and_slows_runs_against_other_mondays_is_named(seed: int) -> None:
    """A weekly campaign: only on Mondays and Tuesdays, on half of them, with Mondays slow for another reason."""
    rng, exposure, time_s, start, _ = runs(seed, "Mondays", 240, 168)
    weekday, day = np.floor(start / DAY_S + 3) % 7, np.floor(start / DAY_S).astype(int)
    exposure[:, 0] = ((weekday < 2) & (rng.random(day.max() + 1) < 0.5)[day]) * 9.0
    fitted = CalendarBlame().fit(exposure, time_s + 45 * (exposure[:, 0] > 0), start)
    assert fitted.verdict_[0] == "named", fitted.reasons_[0]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_who_comes_in_many_runs_of_slow_weeks_alone_is_not_named(share: float, seed: int) -> None:
    """Every fourth week is slow. Who slows runs whenever they come is named beside them."""
    rng, exposure, time_s, start, part = runs(seed, "every fourth week", 240, 168)
    exposure[:, 0] = (part & (rng.random(len(start)) < share)) * 9.0
    fitted = CalendarBlame().fit(exposure, time_s + 30 * (exposure[:, 1] > 0), start)
    assert np.flatnonzero(np.array(fitted.verdict_) == "named").tolist() == [1], fitted.reasons_[0]


@pytest.mark.parametrize("seed", range(3))
def test_who_comes_for_some_weeks_and_slows_runs_against_others_of_those_weeks_is_named(seed: int) -> None:
    rng, exposure, time_s, start, _ = runs(seed, "never", 240, 168)
    week = np.floor((start - MONDAY_S) / WEEK_S).astype(int)
    exposure[:, 0] = ((rng.random(24) < 0.5)[week] & (rng.random(len(start)) < 0.5)) * 9.0
    fitted = CalendarBlame().fit(exposure, time_s + 30 * (exposure[:, 0] > 0), start)
    assert fitted.verdict_[0] == "named", fitted.reasons_[0]


def test_means_of_parts_and_axes_are_taken_out_as_by_projection() -> None:
    """Beside an orthonormal basis of both, written out; a direction that the parts hold whole is none of its own."""
    rng = np.random.default_rng(5)
    part = np.sort(rng.integers(0, 9, 80))
    axes = np.linalg.qr(np.column_stack([np.ones(80), part == 4, rng.normal(size=(80, 3))]))[0]
    values = rng.normal(size=(80, 2))
    basis = np.linalg.qr(np.column_stack([part[:, None] == np.arange(9), axes[:, 2:]]))[0]
    left, directions = residuals_within(axes, values, part)
    assert left == pytest.approx(values - basis @ (basis.T @ values), abs=1e-12)
    assert directions == 9 + 3


def test_parts_of_a_rhythm_have_runs_enough_and_weekdays_are_always_looked_at() -> None:
    start = MONDAY_S + np.arange(24) * (DAY_S + 3600.0)
    few = [(name, int(part.max()) + 1) for name, part in list_rhythms(start) if name != "week"]
    assert few == [("day of the week", 7)] * 4 + [("day of the month", 5)] * 4
    hours = MONDAY_S + np.arange(24 * 90) * 3600.0
    many = [(name, int(part.max()) + 1) for name, part in list_rhythms(hours) if name != "week"]
    assert many == (
        [("day of the week", 7)] * 4
        + [("hour of the day", 24)]
        + [("hour and day of the week", 28)]
        + [("day of the fortnight", 14)] * 4
        + [("day of the month", 7)] * 4
    )
    weeks = [part for name, part in list_rhythms(hours) if name == "week"]
    assert len({int(np.flatnonzero(np.diff(part))[0]) for part in weeks}) == 28, "every day and every midnight"
    weekday = dict(list_rhythms(MONDAY_S + np.arange(90) * DAY_S))["day of the week"]
    assert (weekday[:14] == np.tile(np.arange(7), 2)).all()
    month = np.array([datetime(2026, 3, day, tzinfo=UTC).timestamp() for day in range(1, 32)])
    part = dict(list(list_rhythms(np.repeat(month, 4)))[::-1])["day of the month"][::4]
    assert np.flatnonzero(np.diff(part)).tolist() == [0, 2, 6, 13, 20, 26]


@pytest.mark.parametrize(("share", "told"), [(0.15, []), (0.6, [-1])])
def test_presence_of_another_week_counts_where_what_goes_with_it_is_sizeable(share: float, told: list[int]) -> None:
    """With very many runs a tenth of the effect is beyond chance, and cannot be what made the finding."""
    rng = np.random.default_rng(3)
    start = MONDAY_S + np.arange(300 * 24) * 3600.0
    there = (rng.random(len(start)) < 0.4) * 1.0
    before = np.concatenate([np.zeros(7 * 24), there[: -7 * 24]])
    outcome = there + share * before + rng.normal(0, 1, len(start))
    raw = there - there.mean()
    problem = Problem(
        raw[:, None], outcome - outcome.mean(), np.full((len(start), 1), len(start) ** -0.5), np.array([raw @ raw])
    )
    assert list(other_weeks(problem, 0, there, start, 1.0)) == told
