"""Folds that keep a run and its copies on the same side."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flitwatch_domain.errors import NotEnoughData

Ints = NDArray[np.int64]


def distinct_runs(step_time_s: ArrayLike) -> Ints:
    """Return a label for each run, shape (runs,), which depends only on its times, not on its position.

    Runs with equal times in every step, to seven digits, count as one run recorded twice and share a label.
    """
    times = np.ascontiguousarray(np.nan_to_num(np.asarray(step_time_s, float), nan=-1.0), np.float32)
    return np.unique(times, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def too_few(needed: str, labels: ArrayLike) -> NotEnoughData:
    """Return the error for fewer distinct runs than `needed`; its message contains the number of copies."""
    recorded, distinct = len(np.asarray(labels)), len(np.unique(labels))
    copies = (
        f" ({recorded} are recorded, but {recorded - distinct} have the times of another)"
        if recorded > distinct
        else ""
    )
    return NotEnoughData(f"not enough data: {needed} runs, has {distinct}{copies}")


def run_folds(labels: ArrayLike, folds: int, seed: int = 0) -> Iterator[tuple[Ints, Ints]]:
    """Yield (training, held-out) run indices of each fold. Runs with the same label are held out together, and every run exactly once.

    The division depends only on the labels and the seed.
    """
    labels = np.asarray(labels)
    names, index = np.unique(labels, return_inverse=True)
    if len(names) < 2:
        raise NotEnoughData(f"not enough data: folds by run need 2 distinct runs, have {len(names)}")
    folds = min(folds, len(names))
    fold_of_name = np.random.default_rng(seed).permutation(len(names)) % folds
    fold = fold_of_name[index]
    for k in range(folds):
        yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)
