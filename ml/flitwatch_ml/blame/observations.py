"""Runs joined into observations: near copies of one run, and successive runs of a day with the same users."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flitwatch_ml.blame.copies import same_runs
from flitwatch_ml.blame.selection import sum_clusters
from flitwatch_ml.blame.strata import day_numbers

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Amounts of two runs count as equal up to this relative difference.
SAME = 0.05


class Observations(NamedTuple):
    """Arrays: exposure (observations, users);  run_time_s, start_s, application (observations,);  covariates (observations, k), None if there are none."""

    exposure: Floats
    run_time_s: Floats
    start_s: Floats
    covariates: Floats | None
    application: Ints


def merge_observations(
    exposure: Floats,
    run_time_s: Floats,
    start_s: Floats,
    covariates: Floats | None = None,
    marks_s: Floats | None = None,
    application: Ints | None = None,
) -> Observations:
    """Return runs in order of start, with related runs joined into one: geometric mean of times, first start, mean of the rest.

    Other causes of slowness at that time affect all of them. Counted separately, they would look like independent evidence. A mark (`marks_s`: a
    change of routes or firmware) separates them. Near copies of a run (`copies`) are joined too, at any distance. Runs of different applications
    (`application`: a number per run) are never joined.
    """
    of = np.zeros(len(start_s), np.int64) if application is None else application
    parts = []
    for label in np.unique(of).tolist():
        own = of == label
        lay = None if covariates is None else covariates[own]
        made = _of_one(exposure[own], run_time_s[own], start_s[own], lay, marks_s)
        parts.append(made._replace(application=np.full(len(made.start_s), label, np.int64)))
    if len(parts) == 1:
        return parts[0]
    order = np.argsort(np.concatenate([part.start_s for part in parts]), kind="stable")

    def joined(values: list[Floats]) -> Floats:
        return np.concatenate(values)[order]

    return Observations(
        joined([part.exposure for part in parts]),
        joined([part.run_time_s for part in parts]),
        joined([part.start_s for part in parts]),
        None if covariates is None else joined([part.covariates for part in parts if part.covariates is not None]),
        np.concatenate([part.application for part in parts])[order],
    )


def _of_one(
    exposure: Floats, run_time_s: Floats, start_s: Floats, covariates: Floats | None, marks_s: Floats | None
) -> Observations:
    """Return the observations of one application."""
    joined = _merge_neighbours(exposure, run_time_s, start_s, covariates, marks_s)
    label = same_runs(joined.exposure, joined.run_time_s, joined.start_s, joined.covariates)
    _, firsts, copy, sizes = np.unique(label, return_index=True, return_inverse=True, return_counts=True)
    if len(firsts) == len(label):
        return joined

    def mean(values: Floats) -> Floats:
        return sum_clusters(values, copy) / sizes.reshape(-1, *[1] * (values.ndim - 1))

    return Observations(
        mean(joined.exposure),
        np.exp(mean(np.log(joined.run_time_s))),
        joined.start_s[firsts],
        None if joined.covariates is None else mean(joined.covariates),
        joined.application[firsts],
    )


def _merge_neighbours(
    exposure: Floats, run_time_s: Floats, start_s: Floats, covariates: Floats | None, marks_s: Floats | None
) -> Observations:
    """Return runs in order of start, with successive runs of a day and the same users joined."""
    order = np.argsort(start_s, kind="stable")
    amounts, start = exposure[order], start_s[order]
    same = (np.abs(np.diff(amounts, axis=0)) <= SAME * np.maximum(amounts[1:], amounts[:-1])).all(1)
    since = np.searchsorted(np.sort(marks_s), start, side="right") if marks_s is not None else np.zeros(len(start))
    together = same & (np.diff(day_numbers(start)) == 0) & (np.diff(since) == 0)
    firsts = np.flatnonzero(np.concatenate([[True], ~together]))
    sizes = np.diff(np.append(firsts, len(start)))

    def mean(values: Floats) -> Floats:
        return np.add.reduceat(values[order], firsts) / sizes.reshape(-1, *[1] * (values.ndim - 1))

    return Observations(
        mean(exposure),
        np.exp(mean(np.log(run_time_s))),
        start[firsts],
        None if covariates is None else mean(covariates),
        np.zeros(len(firsts), np.int64),
    )
