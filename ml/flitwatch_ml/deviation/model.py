"""The deviation model: gradient-boosted regression of deviations of time on deviations of counters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from flitwatch_domain.errors import BadInput, NotEnoughData
from flitwatch_ml.deviation.curve import MeanCurve
from flitwatch_ml.deviation.elimination import Elimination, eliminate_features
from flitwatch_ml.deviation.groups import Explained, group_places, rank_groups, share_explained
from flitwatch_ml.deviation.learners import Learner, make_learner
from flitwatch_ml.folds import distinct_runs, run_folds, too_few

Floats = NDArray[np.float64]
MIN_RUNS = 8
#: Minimum number of rows for growing a tree.
LEAST_ROWS = 2
#: One in this many of a fold's training runs (or rows) is set aside for choosing the subset of counters.
CHOOSE_ON = 4


@dataclass(frozen=True)
class _Fold:
    """Result of a fold: for the deviating features, for the mean curve alone, and for each group (explained share of the deviation)."""

    elimination: Elimination
    baseline: float
    shares: dict[str, float]


class DeviationModel(BaseEstimator):
    """Relevance of each counter for the deviation of step times, by recursive feature elimination over folds of runs.

    Selection is nested: in each fold the subset of counters is chosen on a part of the training runs, and its error is measured on the held-out runs.

    Parameters
    ----------
    inputs : {"rates", "deltas"}
        Counters per second of the step, or counts over the step (as in the paper). A count over a step reflects the step's own duration,
        which alone predicts its time. So does the rate of a counter with a fixed volume. A fold therefore uses a counter's rate only if the count
        agrees with it (`_agree`), and a group explains no more than its counts do.
    learner : {"lightgbm", "gbr"}
    folds : int
    split : {"run", "row"}
        Keep rows of one run together, or divide them at random (as in the paper). The latter is too optimistic and serves as a comparison.
    seed : int

    Attributes
    ----------
    relevance_ : float64, shape (counters,)      share of folds with the counter in the well-performing subset
    relevance_spread_ : float64, shape (counters,)   standard error of that share, for folds with common training runs; 0 only for constant counters
    rank_ : float64, shape (counters,)           mean elimination rank; 1 is the last remaining feature
    rank_spread_ : float64, shape (counters,)    its standard deviation over folds
    mape_ : float          % error of mean curve + predicted deviation on held-out runs not used in the choice;  mape_spread_ over folds
    chosen_mape_ : float   % error on the runs used in the choice, which is too optimistic
    baseline_mape_ : float % error of the mean curve alone, held out
    constant_ : bool, shape (counters,)          counters that never deviate; they are omitted, with relevance 0
    explained_ : list of Explained               explained share of each group of features; empty if no groups were given
    place_ : int64, shape (counters,)            from 1: ordered by the group's explained share, then by rank within the group; only by rank
    without groups
    runs_ : int                                  distinct runs used
    folds_ : int                                 number of folds; at most one per distinct run
    """

    def __init__(
        self, inputs: str = "rates", learner: str = "lightgbm", folds: int = 10, split: str = "run", seed: int = 0
    ) -> None:
        self.inputs = inputs
        self.learner = learner
        self.folds = folds
        self.split = split
        self.seed = seed

    def fit(
        self,
        counters: ArrayLike,
        step_time_s: ArrayLike,
        circumstances: ArrayLike | None = None,
        groups: Sequence[str] = (),
    ) -> DeviationModel:
        """Fit counts per step (runs, steps, counters) and times (runs, steps).

        NaN marks a missing step in times and a missing reading in counts. LightGBM uses steps with at least one reading, "gbr" only steps with
        all readings.

        Parameters
        ----------
        circumstances : (runs, k)
            Values that are constant during a run, such as the spanned groups; features after the counters.
        groups
            The meaning of each feature. Features of one meaning are also judged together.
        """
        if self.inputs not in ("rates", "deltas"):
            raise ValueError(f"inputs is 'rates' or 'deltas', not {self.inputs!r}")
        if self.split not in ("run", "row"):
            raise ValueError(f"split is 'run' or 'row', not {self.split!r}")
        features, times = self._check_input(counters, step_time_s, circumstances)
        self._counters = np.asarray(counters).shape[2]
        if groups and len(groups) != features.shape[2]:
            raise BadInput(f"{len(groups)} groups for {features.shape[2]} features: give one for each")
        self._groups = tuple(groups)
        labels = distinct_runs(times)
        canonical = np.argsort(labels, kind="stable")  # learners that sample rows must not depend on the runs' order
        features, times, labels = features[canonical], times[canonical], labels[canonical]
        self.runs_ = len(np.unique(labels))
        if self.runs_ < MIN_RUNS:
            raise too_few(f"needs {MIN_RUNS}", labels)
        self.constant_ = _never_deviates(features, times)
        if self.constant_.all():
            raise NotEnoughData("every counter is constant over the runs: nothing to relate to step times")
        folds = [fold for mask in self._held_out(labels, times) if (fold := self._fit_fold(features, times, mask))]
        if not folds:
            raise NotEnoughData("no step is in two runs: nothing to compare a held-out run with")
        self._summarise_folds([fold.elimination for fold in folds], [fold.baseline for fold in folds])
        survival = np.zeros((len(folds), len(self.constant_)), bool)
        survival[:, ~self.constant_] = [fold.elimination.survives for fold in folds]
        self.explained_: list[Explained] = rank_groups(self._groups, [fold.shares for fold in folds], list(survival))
        self.place_ = self._rank_places()
        return self

    def _rank_places(self) -> NDArray[np.int64]:
        """Return places ordered by group first. Ranks of interchangeable counters depend on which one a fold drops first; the explained share of
        their group does not."""
        of_group = {row.name: at for at, row in enumerate(sorted(self.explained_, key=lambda row: -row.explained))}
        group = np.array([of_group[name] for name in self._groups]) if self._groups else np.zeros(len(self.rank_))
        place = np.empty(len(self.rank_), np.int64)
        place[np.lexsort((self.rank_, group, self.constant_))] = np.arange(1, len(self.rank_) + 1)
        return place

    def _summarise_folds(self, folds: list[Elimination], baselines: list[float]) -> None:
        active = np.flatnonzero(~self.constant_)
        ranks = np.array([fold.rank for fold in folds], float)
        self.relevance_ = np.zeros(len(self.constant_))
        self.relevance_[active] = np.mean([fold.survives for fold in folds], axis=0)
        self.folds_ = len(folds)
        self.relevance_spread_ = _spread_of_share(self.relevance_, self.folds_)
        self.relevance_spread_[self.constant_] = 0.0
        self.rank_ = np.full(len(self.constant_), float(len(self.constant_)))
        self.rank_[active] = ranks.mean(0)
        self.rank_spread_ = np.zeros(len(self.constant_))
        self.rank_spread_[active] = ranks.std(0)
        self.mape_ = float(np.mean([fold.error for fold in folds]))
        self.mape_spread_ = float(np.std([fold.error for fold in folds]))
        self.chosen_mape_ = float(np.mean([fold.chosen_error for fold in folds]))
        self.baseline_mape_ = float(np.mean(baselines))

    def _check_input(
        self, counters: ArrayLike, step_time_s: ArrayLike, circumstances: ArrayLike | None
    ) -> tuple[Floats, Floats]:
        counts, times = np.asarray(counters, float), np.asarray(step_time_s, float)
        if counts.ndim != 3 or times.ndim != 2 or counts.shape[:2] != times.shape:
            raise BadInput(
                f"counters (runs, steps, counters) and times (runs, steps) do not fit: {counts.shape}, {times.shape}"
            )
        if (times <= 0).any():
            run, step = np.argwhere(times <= 0)[0]
            raise BadInput(f"run {run}, step {step}: a step's time must be above zero")
        lay = np.zeros((len(times), 0)) if circumstances is None else np.asarray(circumstances, float)
        if lay.ndim != 2 or len(lay) != len(times):
            raise BadInput(f"circumstances (runs, k) do not fit {len(times)} runs: {lay.shape}")
        if not counts.shape[2] + lay.shape[1]:
            raise NotEnoughData("there are no counters: nothing to relate to step times")
        read = np.isfinite(counts) if counts.shape[2] else np.ones((*times.shape, 1), bool)
        missing = ~np.isfinite(times) | ~(read.any(2) if self.learner == "lightgbm" else read.all(2))
        if missing.all(1).any():
            raise BadInput(f"run {int(np.argmax(missing.all(1)))} has no complete step", advice="Leave it out")
        times = np.where(missing, np.nan, times)
        counts = np.where(missing[:, :, None], np.nan, counts)
        counted = counts / times[:, :, None] if self.inputs == "rates" else counts
        alike = np.broadcast_to(lay[:, None, :], (*times.shape, lay.shape[1]))
        return np.concatenate([counted, np.where(missing[:, :, None], np.nan, alike)], axis=2), times

    def _held_out(self, labels: NDArray[np.int64], times: Floats) -> list[NDArray[np.bool_]]:
        """Return the held-out rows (runs, steps) of each fold."""
        masks = []
        if self.split == "run":
            for _, runs in run_folds(labels, self.folds, self.seed):
                mask = np.zeros(times.shape, bool)
                mask[runs] = True
                masks.append(mask)
            return masks
        drawn = np.random.default_rng(self.seed).integers(0, self.folds, (self.runs_, times.shape[1]))
        fold = drawn[labels]  # a step and its copy are held out together
        return [fold == k for k in range(self.folds)]

    def _fit_fold(self, features: Floats, times: Floats, held: NDArray[np.bool_]) -> _Fold | None:
        """Fit one fold; None if no held-out step can be compared with a training run."""
        curve = MeanCurve().fit(np.where(held[:, :, None], np.nan, features), np.where(held, np.nan, times))
        x, y = curve.deviations(features, times)
        x = x[:, :, ~self.constant_]
        counted = self._counted(features, times, held)[:, :, ~self.constant_]
        usable = np.isfinite(y) & np.isfinite(x).any(2)
        aside = self._selection_rows(held)
        train, choose, test = (mask[usable] for mask in (~held & ~aside, ~held & aside, held))
        if not test.any() or not choose.any() or train.sum() < LEAST_ROWS:
            return None
        rows, observed = (x[usable], y[usable]), times[usable]

        def percentage_error(predicted: Floats, mask: NDArray[np.bool_]) -> float:
            return float(np.mean(np.abs(predicted - rows[1][mask]) / observed[mask]) * 100)

        def make() -> Learner:
            return make_learner(self.learner, self.seed)

        known_rows, over_steps = train | choose, (counted[usable], y[usable])
        agrees = _agree(rows[0][known_rows], over_steps[0][known_rows], y[usable][known_rows])
        baseline = percentage_error(np.zeros(int(test.sum())), test)
        elimination = _nothing(len(agrees), baseline)
        if agrees.any():
            taken = (rows[0][:, agrees], rows[1])
            elimination = _placed(eliminate_features(make, taken, train, choose, test, percentage_error), agrees)
        place = np.cumsum(~self.constant_) - 1
        shares = {}
        for name, members in group_places(self._groups).items():
            columns = [int(place[at]) for at in members if not self.constant_[at] and agrees[place[at]]]
            by = (rows, over_steps) if self.inputs == "rates" else (rows,)
            shares[name] = min(
                (share_explained(make, each, columns, known_rows, test, percentage_error) for each in by if columns),
                default=0.0,
            )
        return _Fold(elimination, baseline, shares)

    def _counted(self, features: Floats, times: Floats, held: NDArray[np.bool_]) -> Floats:
        """Return deviations of counts over a step, and of circumstances."""
        if self.inputs == "rates":
            features = np.concatenate(
                [features[:, :, : self._counters] * times[:, :, None], features[:, :, self._counters :]], axis=2
            )
        curve = MeanCurve().fit(np.where(held[:, :, None], np.nan, features), np.where(held, np.nan, times))
        return curve.deviations(features, times)[0]

    def _selection_rows(self, held: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the training rows (runs, steps) for choosing the subset: whole runs, or rows if rows are divided."""
        rng = np.random.default_rng([self.seed, 1])
        if self.split == "row":
            return ~held & (rng.integers(0, CHOOSE_ON, held.shape) == 0)
        training = np.flatnonzero(~held.all(1))
        aside = np.zeros(held.shape, bool)
        aside[rng.permutation(training)[: max(1, len(training) // CHOOSE_ON)]] = True
        return aside


def _spread_of_share(share: Floats, folds: int) -> Floats:
    """Return the standard error of shares of folds. It uses (k + 1/2) / (n + 1), as k = n of so few folds is not certain, and is widened because folds
    share runs (Nadeau and Bengio 2003)."""
    likely = (share * folds + 0.5) / (folds + 1)
    return np.sqrt(likely * (1 - likely) * (1 / folds + 1 / max(folds - 1, 1)))


def _agree(rates: Floats, counts: Floats, time_s: Floats) -> NDArray[np.bool_]:
    """Return counters (features,) whose rates and counts, both (rows, features), correlate with time in the same direction.

    With a fixed volume, the rate falls as time rises, but the count does not: the rate only reflects the duration.
    """
    of_rates, of_counts = _correlations(rates, time_s), _correlations(counts, time_s)
    agree: NDArray[np.bool_] = (of_rates >= 0) | (of_counts <= of_rates / 2)
    return agree


def _correlations(values: Floats, with_: Floats) -> Floats:
    """Return the correlation of each column (features,) with `with_` (rows,) over its known rows; 0 without variation."""
    there = np.isfinite(values)
    rows = np.maximum(there.sum(0), 1)
    left = np.where(there, values - np.where(there, values, 0.0).sum(0) / rows, 0.0)
    right = np.where(there, with_[:, None] - np.where(there, with_[:, None], 0.0).sum(0) / rows, 0.0)
    size = np.sqrt((left**2).sum(0) * (right**2).sum(0))
    return np.divide((left * right).sum(0), size, out=np.zeros(len(rows)), where=size > 0)


def _nothing(features: int, baseline: float) -> Elimination:
    """Return a fold without features: the mean curve's error."""
    return Elimination(np.full(features, features, np.int64), np.zeros(features, bool), baseline, baseline)


def _placed(found: Elimination, taken: NDArray[np.bool_]) -> Elimination:
    """Return an elimination among the features `taken`, mapped to all features; omitted features come last."""
    rank, survives = np.full(len(taken), len(taken), np.int64), np.zeros(len(taken), bool)
    rank[taken], survives[taken] = found.rank, found.survives
    return Elimination(rank, survives, found.chosen_error, found.error)


def _never_deviates(features: Floats, times: Floats) -> NDArray[np.bool_]:
    """Return counters that are equal at each step of every run, or that were never read."""
    deviations, _ = MeanCurve().fit(features, times).deviations(features, times)
    largest, scale = (np.max(np.nan_to_num(np.abs(values)), axis=(0, 1)) for values in (deviations, features))
    return largest <= 1e-12 * np.maximum(scale, 1e-300)
