"""Congestion of a group in the next hour: what is usual for the group at that hour of the day, and how much of today's difference from it stays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

HOUR_S = 3600
#: Hours of a group before anything is said about its next one.
LEAST_HOURS = 72
#: Below this a ratio counts as this: its logarithm is taken.
LEAST_RATIO = 1e-6

Place = tuple[int, int]


def next_hour(
    hours: Mapping[tuple[int, int, int], float | None], now: Mapping[Place, tuple[float, float]]
) -> dict[Place, tuple[float, float]]:
    """Expected stall cycles per flit of the hour that begins now.

    Logarithms of the hourly ratios less the group's mean at that hour of the day follow x(h + 1) = rho x(h) + noise; rho is that of all groups together.

    Parameters
    ----------
    hours : {(fabric, group, epoch s of the hour): stall cycles per flit, or None where it was not counted}
    now : {(fabric, group): (stall cycles per flit of the last minutes, until when in epoch s)}

    Returns
    -------
    {(fabric, group): (expected stall cycles per flit, from when)}; groups with fewer than `LEAST_HOURS` hours are left out.
    """
    logs: dict[Place, dict[int, float]] = defaultdict(dict)
    for (fabric, group, at), ratio in hours.items():
        if ratio is not None:
            logs[fabric, group][at // HOUR_S] = float(np.log(max(ratio, LEAST_RATIO)))
    known = {place: held for place, held in logs.items() if len(held) >= LEAST_HOURS and place in now}
    usual = {place: _usual(held) for place, held in known.items()}
    apart = {
        place: {hour: value - usual[place][hour % 24] for hour, value in held.items()} for place, held in known.items()
    }
    pairs = [(held[hour], held[hour + 1]) for held in apart.values() for hour in held if hour + 1 in held]
    squares = sum(before * before for before, _ in pairs)
    stays = min(max(sum(before * after for before, after in pairs) / squares, 0.0), 1.0) if squares > 0 else 0.0
    found = {}
    for place, of_day in usual.items():
        ratio, at_s = now[place]
        hour = int(at_s // HOUR_S)
        difference = float(np.log(max(ratio, LEAST_RATIO))) - of_day[hour % 24]
        found[place] = float(np.exp(of_day[(hour + 1) % 24] + stays * difference)), at_s
    return found


def usual_ratio(hours: Mapping[tuple[int, int, int], float | None]) -> dict[Place, float]:
    """Mean of each group's hours; groups with fewer than `LEAST_HOURS` of them are left out."""
    held: dict[Place, list[float]] = defaultdict(list)
    for (fabric, group, _), ratio in hours.items():
        if ratio is not None:
            held[fabric, group].append(ratio)
    return {place: float(np.mean(values)) for place, values in held.items() if len(values) >= LEAST_HOURS}


def _usual(held: dict[int, float]) -> list[float]:
    """Mean by hour of the day; an hour that was never counted has the mean of all."""
    overall = float(np.mean(list(held.values())))
    by_hour: list[list[float]] = [[] for _ in range(24)]
    for hour, value in held.items():
        by_hour[hour % 24].append(value)
    return [float(np.mean(values)) if values else overall for values in by_hour]
