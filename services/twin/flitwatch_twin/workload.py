"""Submissions over time: users' jobs according to their schedules, and the many small jobs that fragment the machine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_twin.calendar import WEEK_S, hour_of_day, is_weekday
from flitwatch_twin.scheduler import Request
from flitwatch_twin.users import Schedule, Users

#: Time step in which a schedule's intensity is treated as constant.
BIN_S = 900.0
#: Placeholder owner of the small jobs.
CROWD = -1


@dataclass(frozen=True)
class OfferedLoad:
    """Offered load: `load` is the share of all nodes, `large` the part of it from users' jobs.

    Small jobs have 2^N(`small_log2_nodes`, 1.2) nodes.
    """

    load: float = 0.75
    large: float = 0.6
    small_log2_nodes: float = 4.0
    small_median_s: float = 2.0 * 3600


def schedule_weight(schedule: int, time_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the relative submission rate of a schedule at simulated seconds."""
    hour, weekday = hour_of_day(time_s), is_weekday(time_s)
    day = np.where(weekday & (hour > 8) & (hour < 19), 1.0, 0.7)
    if schedule == Schedule.WORKING_HOURS:
        return day * np.where(weekday & (hour > 8) & (hour < 18), 1.0, 0.06)
    if schedule == Schedule.NIGHTS:
        return day * np.where((hour < 6) | (hour > 21), 1.0, 0.1)
    if schedule == Schedule.WEEKENDS:
        return day * np.where(~weekday, 1.0, 0.1)
    return day * 0.9


def draw_submissions(
    rng: np.random.Generator,
    users: Users,
    presence: NDArray[np.float64],
    nodes: int,
    begin_s: float,
    end_s: float,
    offer: OfferedLoad,
    active: NDArray[np.bool_] | None = None,
) -> list[Request]:
    """Draw every submission in [begin_s, end_s), sorted by time.

    `nodes` is the number of nodes that can run jobs. `presence` (float64[users]) is the required share of time in which a user has a running job.
    These jobs use up the large share first. Users with NaN divide the rest by activity. Users outside `active` (all by default) submit nothing.
    """
    active = np.ones(len(users), bool) if active is None else active
    span = end_s - begin_s
    requests: list[Request] = []
    guaranteed = ~np.isnan(presence)
    run_counts = -np.log1p(-np.where(guaranteed, presence, 0.0)) * span / users.duration_s
    fixed_work = float((run_counts * users.nodes * users.duration_s)[guaranteed].sum())
    free_work = max(offer.load * offer.large * nodes * span - fixed_work, 0.1 * offer.load * offer.large * nodes * span)
    weight = np.where(guaranteed | ~active, 0.0, users.activity * users.nodes * users.duration_s)
    for user in np.flatnonzero(active).tolist():
        mean = run_counts[user] if guaranteed[user] else users.activity[user] * free_work / weight.sum()
        times = _draw_times_s(rng, int(users.schedule[user]), begin_s, span, float(mean))
        count = len(times)
        sizes = users.nodes[user] * rng.choice([0.5, 1, 1, 1, 2], count)
        if guaranteed[user]:
            sizes = np.full(count, users.nodes[user])
        lives = users.duration_s[user] * rng.lognormal(0, 0.4, count)
        requests.extend(
            Request(user, int(min(size, nodes // 2)), float(life), float(time))
            for time, size, life in zip(times, sizes, lives, strict=True)
        )
    requests.extend(_small_jobs(rng, nodes, begin_s, span, offer))
    requests.sort(key=lambda request: request.submit_s)
    return requests


def _draw_times_s(
    rng: np.random.Generator, schedule: int, begin_s: float, span: float, mean: float
) -> NDArray[np.float64]:
    """Draw a Poisson process over the window with the schedule's intensity. `mean` is the expected count for the weekly average intensity."""
    week = schedule_weight(schedule, np.arange(0, WEEK_S, BIN_S) + BIN_S / 2).mean()
    bins = np.arange(0, span, BIN_S)
    width = np.minimum(BIN_S, span - bins)
    weight = schedule_weight(schedule, begin_s + bins + width / 2) * width
    count = int(rng.poisson(mean * weight.sum() / (week * span)))
    chosen = rng.choice(len(bins), count, p=weight / weight.sum())
    times: NDArray[np.float64] = np.sort(begin_s + bins[chosen] + rng.random(count) * width[chosen])
    return times


def _small_jobs(rng: np.random.Generator, nodes: int, begin_s: float, span: float, offer: OfferedLoad) -> list[Request]:
    most = max(1, min(100, nodes // 8))
    typical = np.minimum(2 ** rng.normal(offer.small_log2_nodes, 1.2, 4096), most).mean() + 1
    mean_life = offer.small_median_s * np.exp(0.7**2 / 2)
    count = int(offer.load * (1 - offer.large) * nodes * span / (typical * mean_life))
    times = begin_s + rng.uniform(0, span, 2 * count + 8)
    hour, weekday = hour_of_day(times), is_weekday(times)
    times = times[rng.random(len(times)) < np.where(weekday & (hour > 8) & (hour < 19), 1.0, 0.5)][:count]
    sizes = np.minimum(2 ** rng.normal(offer.small_log2_nodes, 1.2, len(times)), most).astype(int) + 1
    lives = rng.lognormal(np.log(offer.small_median_s), 0.7, len(times))
    return [
        Request(CROWD, int(size), float(life), float(time))
        for time, size, life in zip(times, sizes, lives, strict=True)
    ]
