"""Recursive feature elimination: drop the least important feature and refit until none is left (Bhatele 2020, section IV-B).

The subset is chosen on rows of the training runs, and its error is measured on other rows. Reporting the error on the rows of the choice would be
too optimistic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_ml.deviation.learners import Learner

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
#: The well-performing subset is the smallest one with an error within this factor of the minimum.
AS_GOOD = 1.02


@dataclass(frozen=True)
class Elimination:
    """Result of one fold.

    Attributes
    ----------
    rank : int64, shape (features,)      1 for the last remaining feature
    survives : bool, shape (features,)   in the well-performing subset
    chosen_error : float                 error of that subset on the rows of the choice: too optimistic
    error : float                        error of that subset on held-out rows, after fitting on all training rows
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
        Rows for fitting during elimination, rows for choosing the subset, and rows for its error. They do not overlap. The last fit uses the
        first two together.
    error
        Function of predictions for the rows of a mask and the mask; returns an error.

    Ties in importance drop the later feature, so that the order of rows matters only to the learner.
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
