"""Calendar rhythms that both a user and slow periods may follow: hours, weekdays, weeks, fortnights and days of the month.

If Mondays are slow for any reason, a user who is active only on Mondays correlates with slow runs. Only runs of the same weekday, with and without
this user, can separate the two. Likewise, for users who are active for whole weeks, only runs of the same week can.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_ml.blame.calendar import WEEK_S, orthonormal_basis
from flitwatch_ml.blame.selection import EXPLAINED, Problem, carrier_counts, one_sided_p
from flitwatch_ml.blame.strata import DAY_S

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Runs needed per part of a rhythm. With fewer runs, coarser parts are used, or the rhythm is skipped.
RUNS_A_PART = 4
#: Weekdays are tested with any number of runs.
ALWAYS = "day of the week"
WEEK = "week"
#: A user is present for whole weeks if less than this share of the exposure that the calendar leaves varies within weeks.
WITHIN_WEEKS = 0.4
#: Starts are in UTC. A site's midnight may differ, in steps of a quarter of a day.
MIDNIGHTS_S = tuple(hour * 3600.0 for hour in (0, 6, 12, 18))
#: Possible first days of a week: a slow week need not begin on a Monday.
WEEK_DAYS = 7
#: First days of the parts of a month.
MONTH_PARTS = (1, 2, 4, 8, 15, 22, 28)


def list_rhythms(start_s: Floats) -> Iterator[tuple[str, Ints]]:
    """Yield each rhythm's name and each run's part of the rhythm (runs,). A name may be repeated with several midnights."""
    candidates = (
        [(ALWAYS, weekday_numbers(start_s + midnight)) for midnight in MIDNIGHTS_S]
        + [_first_affordable("hour of the day", [np.floor(start_s % DAY_S / (3600 * width)) for width in (1, 2, 3)])]
        + [("hour and day of the week", weekday_numbers(start_s) * 4 + np.floor(start_s % DAY_S / (6 * 3600)))]
        + [
            (WEEK, np.floor((start_s + day * DAY_S + midnight) / WEEK_S))
            for day in range(WEEK_DAYS)
            for midnight in MIDNIGHTS_S
        ]
        + [("day of the fortnight", np.floor((start_s + midnight) / DAY_S) % 14) for midnight in MIDNIGHTS_S]
        + [("day of the month", _part_of_month(start_s + midnight)) for midnight in MIDNIGHTS_S]
    )
    for name, parts in candidates:
        label = np.unique(parts, return_inverse=True)[1]
        if name == ALWAYS or _is_affordable(label):
            yield name, label


@dataclass(frozen=True)
class Rhythm:
    """A rhythm from which a user's presence cannot be separated.

    Attributes
    ----------
    name : str
    share : float    share of the exposure left after removing it
    p : float        p-value of the rest: 1 if nothing is left
    limit : float    largest accepted p-value
    """

    name: str
    share: float
    p: float
    limit: float


def find_rhythm(
    problem: Problem, user: int, start_s: Floats, limit: float, of_all: float, apart: float
) -> Rhythm | None:
    """Return the first rhythm given which the p-value of a user's finding exceeds `limit`; None if there is none.

    If weeks differ, every user of slow weeks correlates with slow runs, and those with slow runs within these weeks by chance would be named. The limit
    between runs of the same week is therefore `of_all`, that of a finding among all users, for users who are present for whole weeks. `apart` is the share
    of the exposure that the calendar leaves.
    """
    column, own = problem.regressors[:, [user]], float(problem.own[user])
    values = np.column_stack([column, problem.outcome])
    for name, part in list_rhythms(start_s):
        residuals, directions = residuals_within(problem.axes, values, part)
        nothing = np.zeros((len(residuals), 0))
        rest = Problem(residuals[:, :1], residuals[:, 1], nothing, np.array([own]), problem.clusters, directions)
        p = float(one_sided_p(rest.scores(), rest.degrees_of_freedom, carrier_counts(rest.regressors))[0])
        share = float((rest.regressors**2).sum() / max(own, EXPLAINED))
        accepted = of_all if name == WEEK and share < WITHIN_WEEKS * apart else limit
        if p > accepted or rest.degrees_of_freedom < 2:
            return Rhythm(name, share, p, accepted)
    return None


def residuals_within(axes: Floats, values: Floats, part: Ints) -> tuple[Floats, int]:
    """Remove from `values` (runs, columns) orthonormal `axes` (runs, directions) and the means of parts (runs,); also return the number of directions removed.

    Many runs span hundreds of weeks, which may begin on any day. The axes' content between runs of a part is therefore computed from sums only.
    """
    residuals, runs = _without_means(values, part), np.bincount(part)
    sums = _sum_parts(axes, part)
    eigenvalues, turned = np.linalg.eigh(np.eye(axes.shape[1]) - sums.T @ (sums / runs[:, None]))
    usable = eigenvalues > EXPLAINED
    basis = turned[:, usable] / np.sqrt(eigenvalues[usable])
    shares = axes @ (basis @ (basis.T @ (axes.T @ residuals)))
    return residuals - _without_means(shares, part), len(runs) + int(usable.sum())


def _without_means(values: Floats, part: Ints) -> Floats:
    return values - (_sum_parts(values, part) / np.bincount(part)[:, None])[part]


def _sum_parts(values: Floats, part: Ints) -> Floats:
    """Return sums over the runs of each part, (parts, columns)."""
    totals = np.zeros((int(part.max()) + 1, values.shape[1]))
    for sums, column in zip(totals.T, values.T, strict=True):
        sums[:] = np.bincount(part, column)
    return totals


def rhythm_directions(axes: Floats, part: Ints) -> Floats:
    """Return orthonormal directions (runs, k) of the differences between a rhythm's parts that `axes` (runs, directions) do not contain."""
    directions = (part[:, None] == np.unique(part)).astype(float)
    directions -= axes @ (axes.T @ directions)
    return orthonormal_basis(directions[:, (directions**2).sum(0) > EXPLAINED * len(directions)])


def weekday_numbers(start_s: Floats) -> Ints:
    """Return the day of the week of each run, (runs,): 0 is Monday; the epoch was a Thursday."""
    return (np.floor(start_s / DAY_S).astype(np.int64) + 3) % 7


def _part_of_month(start_s: Floats) -> Ints:
    date = np.floor(start_s / DAY_S).astype("datetime64[D]")
    in_month = (date - date.astype("datetime64[M]").astype("datetime64[D]")).astype(np.int64) + 1
    return np.searchsorted(MONTH_PARTS, in_month, side="right")


def _first_affordable(name: str, finest_first: list[Floats]) -> tuple[str, Floats]:
    return name, next((parts for parts in finest_first if _is_affordable(parts)), finest_first[-1])


def _is_affordable(parts: Floats | Ints) -> bool:
    return len(np.unique(parts)) * RUNS_A_PART <= len(parts)
