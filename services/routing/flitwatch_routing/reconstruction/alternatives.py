"""Distance of the solution to other matrices that explain the counters equally well, with coefficients of the same minimal sum.

If the minimal sum is reached on a face of matrices, the agreement of two solutions proves little: both may end at the same point of the face. So this
module solves the program as a linear program (HiGHS) for the furthest matrices of that sum in random directions, regardless of any solution.
"""

from __future__ import annotations

import highspy
import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from flitwatch_routing.reconstruction.bases import Basis
from flitwatch_routing.reconstruction.dives import EXPLAINING
from flitwatch_routing.reconstruction.limit import Limit
from flitwatch_routing.reconstruction.program import Program, Vectors
from flitwatch_routing.reconstruction.settle import SHARE, counter_matrix

Floats = NDArray[np.float64]
#: Limit of places in the jobs' matrices for which the linear program is small enough.
MOST_PLACES = 6_000
#: Number of random directions, each searched both ways.
DIRECTIONS = 3
#: Relative difference up to which sums count as equal.
SAME_SUM = 1e-7


def furthest_distance(program: Program, x: torch.Tensor, limit: Limit) -> float | None:
    """Return the relative distance of x (pairs,) to the furthest such matrix; None if the program is too large or the limit is reached."""
    if program.places > MOST_PLACES or limit.over():
        return None
    model = _Model(program)
    least = model.least(limit)
    if least is None:
        return None
    sum_, corner = least
    model.hold(sum_)
    here, size = x.double().cpu().numpy(), float(torch.linalg.vector_norm(x))
    distance = float(np.linalg.norm(corner - here))
    for direction in np.random.default_rng(17).standard_normal((DIRECTIONS, len(here))):
        for sign in (1.0, -1.0):
            end = model.towards(sign * direction, limit)
            if end is None:
                return None
            distance = max(distance, float(np.linalg.norm(end - here)))
    return distance / size if size > 0 else None


def has_many_solutions(program: Program, x: Vectors) -> bool:
    """Return whether a solution has more coefficients than SHARE of the counters: many other, equally sparse solutions are then as good."""
    sizes = [part.abs() for part in program.coefficients(x)]
    largest = max(float(part.max()) for part in sizes)
    count = sum(int((part > EXPLAINING * largest).sum()) for part in sizes)
    return count > SHARE * int((program.row_scale > 0).sum())


def analysis_matrix(basis: Basis, places: int) -> sparse.csr_matrix:
    """Return Psi^-1 as a matrix (coefficients, places)."""
    count = basis.coefficients
    own = np.arange(count) if basis.own is None else basis.own.cpu().numpy()
    matrix = _pick_places(own, places)
    if basis.earlier is not None:
        matrix = matrix - _pick_places(basis.earlier.cpu().numpy(), places)
    if basis.mirror is not None:
        matrix = matrix + sparse.diags(basis.sign.double().cpu().numpy()) @ matrix[basis.mirror.cpu().numpy()]
    return sparse.csr_matrix(matrix)


def _pick_places(place: NDArray[np.integer], places: int) -> sparse.csr_matrix:
    """Return a matrix with one row per place, zero if the place is not valid."""
    inside = np.flatnonzero(place < places)
    return sparse.csr_matrix((np.ones(len(inside)), (inside, place[inside])), (len(place), places))


class _Model:
    """Linear program: min sum s over (x, z, s) with |Psi^-1 parts| <= s, |R x - t| <= slack, x >= 0; then other objectives at that sum."""

    def __init__(self, program: Program) -> None:
        scale = program.row_scale.double().cpu().numpy()
        row_mask = scale > 0
        target, slack = (
            part.double().cpu().numpy()[row_mask] / scale[row_mask] for part in (program.target, program.slack)
        )
        self.pairs, places = program.pairs, program.places
        rows = counter_matrix(program.counters, self.pairs)[row_mask]
        place = np.arange(self.pairs) if program.place_of is None else program.place_of.cpu().numpy()
        spread = sparse.csr_matrix((np.ones(self.pairs), (place, np.arange(self.pairs))), (places, self.pairs))
        parts = [analysis_matrix(basis, places) for basis in program.bases]
        if len(parts) == 1:
            coefficients = parts[0] @ spread
        else:
            coefficients = sparse.bmat([[parts[0] @ spread, -parts[0]], [None, parts[1]]])
        count, free = coefficients.shape[0], coefficients.shape[1] - self.pairs
        identity = sparse.identity(count)
        counted = sparse.hstack([rows, sparse.csr_matrix((rows.shape[0], free + count))])
        everything = sparse.csc_matrix(
            sparse.vstack(
                [
                    counted,
                    sparse.hstack([coefficients, -identity]),
                    sparse.hstack([coefficients, identity]),
                    np.concatenate([np.zeros(self.pairs + free), np.ones(count)])[None],
                ]
            )
        )
        infinite, none = highspy.kHighsInf, np.zeros(count)
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = everything.shape
        model.col_cost_ = np.concatenate([np.zeros(self.pairs + free), np.ones(count)])
        model.col_lower_ = np.concatenate([np.zeros(self.pairs), np.full(free, -infinite), none])
        model.col_upper_ = np.full(everything.shape[1], infinite)
        model.row_lower_ = np.concatenate([target - slack, np.full(count, -infinite), none, [0.0]])
        model.row_upper_ = np.concatenate([target + slack, none, np.full(count, infinite), [infinite]])
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_, model.a_matrix_.index_ = everything.indptr, everything.indices
        model.a_matrix_.value_ = everything.data
        self._solver = highspy.Highs()
        self._solver.silent()
        self._solver.passModel(model)
        self._last, self._columns = everything.shape[0] - 1, everything.shape[1]

    def least(self, limit: Limit) -> tuple[float, Floats] | None:
        """Return the minimal sum, and a matrix with this sum."""
        x = self._solved(limit)
        return None if x is None else (float(self._solver.getInfo().objective_function_value), x)

    def hold(self, sum_: float) -> None:
        """Exclude larger sums from now on."""
        self._solver.changeRowBounds(self._last, 0.0, sum_ * (1 + SAME_SUM))

    def towards(self, direction: Floats, limit: Limit) -> Floats | None:
        """Return the matrix furthest in a direction (pairs,)."""
        cost = np.zeros(self._columns)
        cost[: self.pairs] = -direction
        self._solver.changeColsCost(self._columns, np.arange(self._columns, dtype=np.int32), cost)
        return self._solved(limit)

    def _solved(self, limit: Limit) -> Floats | None:
        seconds_left = limit.left()
        if seconds_left <= 0:
            return None
        self._solver.setOptionValue("time_limit", self._solver.getRunTime() + min(seconds_left, 1e9))
        self._solver.run()
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        return np.array(self._solver.getSolution().col_value[: self.pairs])
