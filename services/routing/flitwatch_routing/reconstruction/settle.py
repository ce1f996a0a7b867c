"""Fits of the counters with the dominant coefficients of an iterate: all sizes of the support at the cost of one.

A matrix with k coefficients is the unique sparsest one if k is below half the number of columns that can be dependent (Donoho and Elad 2003,
theorem 2). A fit of all counters with at most little more than a third as many coefficients is therefore the solution, if nine tenths of the counters
predict the others with it. The truth is not used: support and fit come from the iterate and the counters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from flitwatch_routing.reconstruction.bases import Basis
from flitwatch_routing.reconstruction.faces import find_circles, least_sum
from flitwatch_routing.reconstruction.limit import Limit
from flitwatch_routing.reconstruction.program import Program, Vectors
from flitwatch_routing.reconstruction.sensing import LinkCounters

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Shares of the largest coefficient, tried in turn as thresholds for nonzero coefficients.
PARTS = np.geomspace(0.3, 1e-7, 32)
#: Limit of coefficients: the fit is a dense system of this order.
MOST = 2000
#: Limit of entries in the counters' matrix, which takes about a gigabyte with its indices.
MOST_ENTRIES = 40_000_000
#: Limit of the number of coefficients, as a share of the rows.
SHARE = 0.35
#: Relative distance to the counters up to which a fit is exact, and negative values explained by rounding.
EXACT = 1e-6
#: Share of rows that an exact fit must predict from the others, and the required precision.
HELD_OUT, PREDICTED = 0.1, 1e-4
#: Added to the diagonal of the scaled normal matrix; refinement corrects for it.
RIDGE, REFINEMENTS = 1e-11, 3


def counter_matrix(counters: LinkCounters, pairs: int) -> sparse.csr_matrix:
    """Return R as a sparse matrix (rows, pairs)."""
    rows = list(counters.entries())
    columns = [np.arange(pairs)] * len(rows)
    row, column = np.concatenate(rows), np.concatenate(columns)
    used = row < len(counters.row)
    shape = (len(counters.row), pairs)
    return sparse.csr_matrix((np.ones(int(used.sum())), (row[used], column[used])), shape)


def synthesis_matrix(basis: Basis, coefficients: NDArray[np.int64]) -> sparse.csr_matrix:
    """Return Psi (places, chosen), the effect of one unit of each coefficient; the basis must cover all places of the jobs."""
    assert basis.own is None
    count = len(coefficients)
    place, value = [coefficients], [np.ones(count)]
    column = [np.arange(count)]
    if basis.mirror is not None:
        # w_low = y_low + y_up, w_up = y_up - y_low: half of each contributes to both.
        mirror, sign = basis.mirror.cpu().numpy(), basis.sign.cpu().numpy()
        low = sign[coefficients] > 0
        place = [coefficients, mirror[coefficients].astype(np.int64)]
        value = [np.full(count, 0.5), np.where(low, 0.5, -0.5)]
        column = [column[0], column[0]]
    at, amount, of = np.concatenate(place), np.concatenate(value), np.concatenate(column)
    if basis.later is not None:
        later, end = basis.later.cpu().numpy(), basis.coefficients
        ats, amounts, ofs = [at], [amount], [of]
        while len(at):
            at = later[at].astype(np.int64)
            inside = at < end
            at, amount, of = at[inside], amount[inside], of[inside]
            ats.append(at)
            amounts.append(amount)
            ofs.append(of)
        at, amount, of = np.concatenate(ats), np.concatenate(amounts), np.concatenate(ofs)
    return sparse.csr_matrix((amount, (at, of)), (basis.coefficients, count))


@dataclass(frozen=True)
class Fit:
    """Explanation of the counters with few coefficients.

    Attributes
    ----------
    x : (pairs,) in the solver's units
    coefficients : coefficients of each basis, at all its places
    wrong : |R x - t| / |t|
    count, objective : number of nonzero coefficients, and the sum of their sizes
    missed : error of the fit of nine tenths of the rows on the other rows
    refit_distance : relative distance to the fit of nine tenths of the rows, or to other complete explanations with coefficients of the same sum, if
        those rows predict the rest, so that nothing is left to explain; else None
    """

    x: Floats
    coefficients: list[Floats]
    wrong: float
    count: int
    objective: float
    missed: float
    refit_distance: float | None

    @property
    def exact(self) -> bool:
        """Return whether nothing is left to explain."""
        return self.refit_distance is not None


def schwarz_score(wrong: float, count: int, rows: int) -> float:
    """Return the score of an explanation with this many coefficients, lower is better: rows ln(wrong^2) + count ln(rows) (Schwarz 1978)."""
    return 2 * rows * math.log(max(wrong, 1e-15)) + count * math.log(rows)


class CounterFit:
    """Fit of all counters of a program that are not held out."""

    def __init__(self, program: Program) -> None:
        self._bases = program.bases
        scale = program.row_scale.double().cpu().numpy()
        self.kept = scale > 0  # held-out rows have no scale
        self._rows = counter_matrix(program.counters, program.pairs)[self.kept]
        self.target: Floats = program.target.double().cpu().numpy()[self.kept] / scale[self.kept]
        self._size = float(np.linalg.norm(self.target))
        self._pairs = np.arange(program.places) if program.place_of is None else program.place_of.cpu().numpy()
        outside = np.ones(program.places, bool)
        outside[self._pairs] = False
        self._outside = np.flatnonzero(outside)

    @staticmethod
    def fits(program: Program) -> bool:
        """Return whether the bases cover all places of the jobs, the counters are exact and their matrix is not too large."""
        entries = program.pairs * program.counters.depth
        everywhere = all(basis.own is None for basis in program.bases)
        return everywhere and entries <= MOST_ENTRIES and not bool((program.slack > 0).any())

    def coefficients(self, program: Program, x: Vectors) -> list[Floats]:
        """Return Psi^-1 of an iterate for each basis."""
        return [part.double().cpu().numpy() for part in program.coefficients(x)]

    def second(self, fit: Fit) -> list[Floats]:
        """Return a list with the part of a fit in the second basis of a dictionary (places,); an empty list for one basis."""
        parts = []
        for basis, part in zip(self._bases[1:], fit.coefficients[1:], strict=True):
            chosen = np.flatnonzero(part)
            parts.append(np.asarray(synthesis_matrix(basis, chosen) @ part[chosen]))
        return parts

    def left(self, x: Floats) -> Floats:
        """Return the residual of x (pairs,) in the counters: t - R x for the kept rows."""
        return self.target - self._rows @ x

    def best(self, total: list[Floats], limit: Limit = Limit()) -> Fit | None:
        """Return the fit on a support of the largest coefficients: the first exact fit, or the one with the best score.

        The result is None if there are too many dominant coefficients, or the limit is reached.
        """
        sizes = np.abs(np.concatenate(total))
        order, counts = _standing_out(sizes, int(min(MOST, SHARE * len(self.target))))
        if not counts:
            return None
        fits = _Nested(self, order, [len(part) for part in total])
        chosen, least = (np.zeros(0), math.inf), math.inf
        for count in counts:
            if limit.over():
                return None
            c, wrong = fits.fit(count)
            if wrong <= EXACT and (fit := self._try_exact_fit(fits, c, wrong, limit)):
                return fit
            if (found_score := schwarz_score(wrong, count, len(self.target))) < least:
                chosen, least = (c, wrong), found_score
        return self._build_fit(fits, *chosen, fits.refit(len(chosen[0]))[1])

    def _try_exact_fit(self, fits: _Nested, c: Floats, wrong: float, limit: Limit) -> Fit | None:
        again, missed = fits.refit(len(c))
        fit = self._build_fit(fits, c, wrong, missed)
        if missed > PREDICTED or float(fit.x.min()) < -10 * EXACT * float(fit.x.max()):
            return None
        inside = fits.inside[:, : len(c)]
        distance = float(np.linalg.norm(inside @ (again - c)))
        turns = find_circles(*fits.dependence(len(c)))
        if len(turns):
            face = least_sum(c, turns, fit.x, (inside @ turns.T).T, limit)
            fit = self._build_fit(fits, face.c, fits.misfit(face.c), missed)
            distance = max([distance, *np.linalg.norm(inside @ face.reach.T, axis=0).tolist()])
        return replace(fit, refit_distance=distance / float(np.linalg.norm(fit.x)))

    def _build_fit(self, fits: _Nested, c: Floats, wrong: float, missed: float) -> Fit:
        x = np.asarray(fits.inside[:, : len(c)] @ c)
        return Fit(x, fits.spread(c), wrong, len(c), float(np.abs(c).sum()), missed, None)


def _standing_out(sizes: Floats, most: int) -> tuple[Ints, list[int]]:
    """Return the largest coefficients in descending order, and the number of them above each threshold of PARTS, up to `most`."""
    largest = float(sizes.max(initial=0.0))
    if largest <= 0:
        return np.zeros(0, np.int64), []
    part_counts = [int((sizes > part * largest).sum()) for part in PARTS]
    counts = sorted({count for count in part_counts if 0 < count <= most})
    if not counts:
        return np.zeros(0, np.int64), []
    first = np.argpartition(-sizes, counts[-1] - 1)[: counts[-1]]
    return first[np.argsort(-sizes[first], kind="stable")], counts


class _Nested:
    """Least squares on the first coefficients of an order, for any number of them, from one Cholesky factor."""

    def __init__(self, settler: CounterFit, order: Ints, lengths: list[int]) -> None:
        self._settler, self._order, self._lengths = settler, order, lengths
        starts = np.cumsum([0, *lengths])
        parts, places = [], []
        for number, basis in enumerate(settler._bases):
            mine = np.flatnonzero((order >= starts[number]) & (order < starts[number + 1]))
            parts.append(synthesis_matrix(basis, order[mine] - starts[number]))
            places.append(mine)
        columns = sparse.hstack(parts).tocsc()[:, np.argsort(np.concatenate(places))].tocsr()
        self.inside = columns[settler._pairs].tocsc()
        self._outside = columns[settler._outside].tocsc()
        self._seen = (settler._rows @ self.inside).toarray()
        self._normal = self._seen.T @ self._seen + (self._outside.T @ self._outside).toarray()
        self._factor, self._scale = _factor_normal(self._normal)

    def fit(self, count: int) -> tuple[Floats, float]:
        """Return the fit of the first `count` coefficients, and its error."""
        everything = np.ones(len(self._settler.target), bool)
        c = self._solve_refined(self._factor[:count, :count], self._scale[:count], everything)
        return c, self.misfit(c)

    def misfit(self, c: Floats) -> float:
        """Return the relative misfit of the first coefficients."""
        gap = self._seen[:, : len(c)] @ c - self._settler.target
        return float(
            np.hypot(np.linalg.norm(gap), np.linalg.norm(self._outside[:, : len(c)] @ c)) / self._settler._size
        )

    def dependence(self, count: int) -> tuple[Floats, Floats]:
        """Return the normal matrix of the first `count`, and the squares of its scaled factor's pivots."""
        return self._normal[:count, :count], self._factor.diagonal()[:count] ** 2

    def refit(self, count: int) -> tuple[Floats, float]:
        """Return the fit of the first `count` coefficients to nine tenths of the rows, and its error on the others."""
        rows = np.random.default_rng(13).random(len(self._settler.target)) >= HELD_OUT
        hidden = self._seen[~rows, :count]
        factor, scale = _factor_normal(self._normal[:count, :count] - hidden.T @ hidden)
        c = self._solve_refined(factor, scale, rows)
        beyond = self._settler.target[~rows]
        return c, float(np.linalg.norm(hidden @ c - beyond) / max(float(np.linalg.norm(beyond)), 1e-30))

    def _solve_refined(self, factor: Floats, scale: Floats, rows: NDArray[np.bool_]) -> Floats:
        # The residual is computed from the counters, which avoids rounding errors of the squared form.
        count = len(scale)
        counter_rows, outside, target = self._seen[:, :count], self._outside[:, :count], self._settler.target
        c = np.zeros(count)
        for _ in range(REFINEMENTS):
            residual = counter_rows.T @ (rows * (target - counter_rows @ c)) - outside.T @ (outside @ c)
            half = linalg.solve_triangular(factor, residual / scale, lower=True, check_finite=False)
            c += linalg.solve_triangular(factor, half, lower=True, trans="T", check_finite=False) / scale
        return c

    def spread(self, c: Floats) -> list[Floats]:
        """Return coefficients at all places of each basis."""
        whole = np.zeros(sum(self._lengths))
        whole[self._order[: len(c)]] = c
        return np.split(whole, np.cumsum(self._lengths)[:-1])


def _factor_normal(normal: Floats) -> tuple[Floats, Floats]:
    """Return the lower Cholesky factor of the scaled normal matrix, and the scale."""
    scale = np.sqrt(np.maximum(normal.diagonal(), 1e-30))
    scaled = normal / (scale[:, None] * scale)
    scaled[np.diag_indices_from(scaled)] += RIDGE
    return linalg.cholesky(scaled, lower=True, overwrite_a=True, check_finite=False), scale
