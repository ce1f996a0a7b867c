"""Recursive feature elimination: drop the least important feature, fit again, until none is left (Bhatele 2020, section IV-B).

The subset is chosen on rows of the training runs and its error taken on rows that played no part in the choice: a subset that is chosen on
the rows whose error is reported looks better than it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_ml.deviation.learners import Learner

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
#: The smallest feature set whose error is within this factor of the least counts as the well-performing one.
AS_GOOD = 1.02


@dataclass(frozen=True)
class Elimination:
    """Result of one fold.

    Attributes
    ----------
    rank : int64, shape (features,)      1 for the feature that was left last
    survives : bool, shape (features,)   in the well-performing subset
    chosen_error : float                 of that subset on the rows that it was chosen on: too good
    error : float                        of that subset, fitted on all training rows, on held-out rows
    """

    rank: NDArray[np.int64]
    survives: NDArray[np.bool_]
    chosen_error: float
    error: float


def eliminate_features(
    make: Callable[[], Learner],
    rows: tuple[Floats, Floats],
    train: Mask,
    choose: Mask,
    held_out: Mask,
    error: Callable[[Floats, Mask], float],
) -> Elimination:
    """Eliminate features of `rows` (x, y) one at a time.

    Parameters
    ----------
    train, choose, held_out : bool, shape (rows,)
        Rows to learn from while eliminating, rows that the subset is chosen on, and rows that its error is taken on. No two overlap; for
        the last fit the first two are joined.
    error
        Maps predictions for the rows of a mask, and the mask, to an error.

    Ties in importance drop the later feature, so the order of rows plays no part beyond the learner's own.
    """
    x, y = rows
    features = x.shape[1]
    remaining = list(range(features))
    rank = np.zeros(features, np.int64)
    history: list[tuple[float, tuple[int, ...]]] = []
    while remaining:
        learner = make().fit(x[train][:, remaining], y[train])
        history.append((error(learner.predict(x[choose][:, remaining]), choose), tuple(remaining)))
        importance = np.asarray(learner.feature_importances_, float)
        worst = len(remaining) - 1 - int(np.argmin(importance[::-1]))
        rank[remaining[worst]] = len(remaining)
        remaining.pop(worst)
    least = min(value for value, _ in history)
    chosen, subset = [entry for entry in history if entry[0] <= least * AS_GOOD][-1]
    survives = np.zeros(features, bool)
    survives[list(subset)] = True
    training = train | choose
    learner = make().fit(x[training][:, survives], y[training])
    return Elimination(rank, survives, chosen, error(learner.predict(x[held_out][:, survives]), held_out))
