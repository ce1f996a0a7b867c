"""Share of the deviation explained by the features of one meaning on held-out runs, and agreement of the folds.

Counters of one meaning are interchangeable: elimination keeps different ones in different folds. So each group has its own model in each fold, with
all its features and no others. No features are selected, so its error on the held-out runs is not too optimistic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from flitwatch_ml.deviation.learners import Learner

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
LEVEL = 0.95
#: A group with verdict "carries" is kept in at least this share of the folds.
STABLE = 0.7

Verdict = Literal["carries", "cannot tell", "not used"]


@dataclass(frozen=True)
class Explained:
    """Share of the deviation explained by the features of one meaning.

    Attributes
    ----------
    name : str                     name of the group
    features : tuple of int        indices of its features
    explained, low, high : float   1 - error of this group's model / error of the mean curve, mean over folds, with a simultaneous interval for all
        groups; negative if the model is worse than the mean curve
    kept, folds : int              number of folds in which elimination kept one of its features, and number of all folds
    verdict : carries | cannot tell | not used     not used: no fold kept a feature
    """

    name: str
    features: tuple[int, ...]
    explained: float
    low: float
    high: float
    kept: int
    folds: int
    verdict: Verdict


def group_places(groups: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return the indices of each group's features; groups are in order of their first feature."""
    return {name: tuple(at for at, group in enumerate(groups) if group == name) for name in dict.fromkeys(groups)}


def share_explained(
    make: Callable[[], Learner],
    rows: tuple[Floats, Floats],
    columns: Sequence[int],
    known: Mask,
    held_out: Mask,
    error: Callable[[Floats, Mask], float],
) -> float:
    """Return 1 - error / error of the mean curve on held-out rows of (x, y), for a model of `columns` fitted to the `known` rows."""
    x, y = rows
    own = x[:, list(columns)]
    # Rows without readings of the group are not informative.
    usable = known & np.isfinite(own).any(1)
    if not usable.any():
        return 0.0
    learner = make().fit(own[usable], y[usable])
    curve = error(np.zeros(int(held_out.sum())), held_out)
    return 1 - error(learner.predict(own[held_out]), held_out) / curve if curve > 0 else 0.0


def rank_groups(groups: Sequence[str], shares: Sequence[dict[str, float]], survives: Sequence[Mask]) -> list[Explained]:
    """Return the groups over all folds, in descending order of the explained share.

    `shares` contains the shares explained on each fold's held-out runs, `survives` (features,) the features kept in each fold. Folds share training runs,
    so their mean is less certain than with independent folds: its variance is (1 / folds + 1 / (folds - 1)) times theirs (Nadeau and Bengio 2003).
    """
    folds, of = len(shares), group_places(groups)
    level = 1 - (1 - LEVEL) / max(len(of), 1)
    rows = []
    for name, features in of.items():
        values = np.array([entry[name] for entry in shares])
        mean, half = float(values.mean()), float("inf")
        if folds > 1:
            spread = float(values.std(ddof=1)) * np.sqrt(1 / folds + 1 / (folds - 1))
            half = float(student.ppf((1 + level) / 2, folds - 1) * spread)
        kept_folds = sum(bool(entry[list(features)].any()) for entry in survives)
        carries = mean - half > 0 and kept_folds >= STABLE * folds
        verdict: Verdict = "carries" if carries else "cannot tell" if kept_folds else "not used"
        rows.append(Explained(name, features, mean, mean - half, mean + half, kept_folds, folds, verdict))
    return sorted(rows, key=lambda entry: (entry.verdict != "carries", -entry.explained))
