"""Recursive feature elimination: drop the least important feature, fit again, until none is left (Bhatele 2020, section IV-B)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_ml.deviation.learners import Learner

Floats = NDArray[np.float64]
#: The smallest feature set whose error is within this factor of the least counts as the well-performing one.
AS_GOOD = 1.02


@dataclass(frozen=True)
class Elimination:
    """What one fold found.

    Attributes
    ----------
    rank : int64, shape (features,)      1 for the feature that was left last
    survives : bool, shape (features,)   in the well-performing subset
    error : float                        of that subset, on held-out rows
    """

    rank: NDArray[np.int64]
    survives: NDArray[np.bool_]
    error: float


def eliminate(
    make: Callable[[], Learner],
    train: tuple[Floats, Floats],
    held_out: tuple[Floats, Floats],
    error: Callable[[Floats], float],
) -> Elimination:
    """Eliminate features of `train` (x, y) one at a time; `error` maps predictions for `held_out` x to an error.

    Ties in importance drop the later feature, so the order of rows plays no part beyond the learner's own.
    """
    features = train[0].shape[1]
    kept = list(range(features))
    rank = np.zeros(features, np.int64)
    history: list[tuple[float, tuple[int, ...]]] = []
    while kept:
        learner = make().fit(train[0][:, kept], train[1])
        history.append((error(learner.predict(held_out[0][:, kept])), tuple(kept)))
        importance = np.asarray(learner.feature_importances_, float)
        worst = len(kept) - 1 - int(np.argmin(importance[::-1]))
        rank[kept[worst]] = len(kept)
        kept.pop(worst)
    least = min(value for value, _ in history)
    best, subset = [entry for entry in history if entry[0] <= least * AS_GOOD][-1]
    survives = np.zeros(features, bool)
    survives[list(subset)] = True
    return Elimination(rank, survives, best)
