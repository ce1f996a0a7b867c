"""Share of the deviation that the features of one meaning explain on held-out runs, and whether the folds agree.

Counters of one meaning stand in for one another: elimination keeps one of them in one fold and another one in the next. So a group has a model of its own in
each fold, of all its features and no others. No feature is chosen for it, hence nothing flatters its error on the held-out runs.
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
#: A group that carries is kept in at least this share of the folds.
STABLE = 0.7

Verdict = Literal["carries", "cannot tell", "not used"]


@dataclass(frozen=True)
class Explained:
    """Share of the deviation explained by the features of one meaning.

    Attributes
    ----------
    name : str                     the group's
    features : tuple of int        places of its features
    explained, low, high : float   1 - error of a model of this group alone / error of the mean curve alone, mean over folds, with an interval that holds for
        all groups at once; below zero where such a model is worse than the mean curve
    kept, folds : int              folds in which the elimination kept one of its features, of all
    verdict : carries | cannot tell | not used     not used: no fold kept any
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
    """Return places of the features of each group, groups in order of their first feature."""
    return {name: tuple(at for at, group in enumerate(groups) if group == name) for name in dict.fromkeys(groups)}


def share_explained(
    make: Callable[[], Learner],
    rows: tuple[Floats, Floats],
    columns: Sequence[int],
    known: Mask,
    held_out: Mask,
    error: Callable[[Floats, Mask], float],
) -> float:
    """1 - error / error of the mean curve, on held-out rows of (x, y), of a model of `columns` that learned from the `known` rows."""
    x, y = rows
    own = x[:, list(columns)]
    # Rows without any reading of the group say nothing of it.
    usable = known & np.isfinite(own).any(1)
    if not usable.any():
        return 0.0
    learner = make().fit(own[usable], y[usable])
    curve = error(np.zeros(int(held_out.sum())), held_out)
    return 1 - error(learner.predict(own[held_out]), held_out) / curve if curve > 0 else 0.0


def rank_groups(groups: Sequence[str], shares: Sequence[dict[str, float]], survives: Sequence[Mask]) -> list[Explained]:
    """Return the groups over folds, the one that explains most first.

    `shares` has what each fold's held-out runs say, `survives` (features,) which features each fold kept. Folds share their training runs, so their
    mean is less certain than that of independent ones: its variance is (1 / folds + 1 / (folds - 1)) times theirs (Nadeau and Bengio 2003).
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
