"""An early end: few coefficients that explain every counter exactly are the answer, long before the last digits of the solver's iterates.

A matrix with k coefficients is the only one so sparse where k is below half the number of columns that can be dependent (Donoho and Elad 2003,
theorem 2); a fit of many counters by fewer than half as many coefficients is therefore kept, if the solver's own bound agrees with its objective.
Nothing here knows the answer: support, fit and bound come from the iterate and the counters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import linalg, sparse

from flitwatch_routing.reconstruction.bases import Basis
from flitwatch_routing.reconstruction.program import Program, Vectors
from flitwatch_routing.reconstruction.sensing import LinkCounters

Floats = NDArray[np.float64]
#: Parts of the largest coefficient that count as nonzero, tried in turn.
PARTS = (0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4)
#: Coefficients at most: the fit is a dense system of this order.
MOST = 2500
#: Share of the rows that coefficients may be.
SHARE = 0.5
#: Relative distance to the counters of a fit that is exact, and values below zero that rounding explains.
EXACT = 1e-6
#: How far the fit's objective may be from the solver's bound.
NEAR = 0.1


def counter_matrix(counters: LinkCounters, pairs: int) -> sparse.csr_matrix:
    """R as a sparse matrix (rows, pairs)."""
    columns, rows = [], []
    for of, places in counters._parts():
        group = of.cpu().numpy()
        for place in places.cpu().numpy():
            columns.append(np.arange(pairs))
            rows.append(place[group])
    row, column = np.concatenate(rows), np.concatenate(columns)
    used = row < len(counters.row)
    shape = (len(counters.row), pairs)
    return sparse.csr_matrix((np.ones(int(used.sum())), (row[used], column[used])), shape)


def synthesis(basis: Basis, coefficients: NDArray[np.int64]) -> sparse.csr_matrix:
    """Psi (places, chosen): what one unit of each coefficient is; the basis must stand on all places of the jobs."""
    assert basis.own is None
    count = len(coefficients)
    place, value = [coefficients], [np.ones(count)]
    column = [np.arange(count)]
    if basis.mirror is not None:
        # w_low = y_low + y_up, w_up = y_up - y_low: half of either goes to both.
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
    """x (pairs,) in the solver's units;  wrong: |R x - t| / |t|;  objective: sum of the coefficients' sizes;  exact: nothing is left to explain"""

    x: Floats
    coefficients: int
    objective: float
    wrong: float
    exact: bool


class Settler:
    """Fits the counters by the coefficients that stand out of an iterate."""

    def __init__(self, program: Program) -> None:
        self._bases = program.bases
        self._program = program
        scale = program.row_scale.double().cpu().numpy()
        kept = scale > 0  # rows that are held out have no scale
        self._rows = counter_matrix(program.counters, program.pairs)[kept]
        self._target = program.target.double().cpu().numpy()[kept] / scale[kept]
        at = np.arange(program.places) if program.place_of is None else program.place_of.cpu().numpy()
        self._pairs = at
        outside = np.ones(program.places, bool)
        outside[at] = False
        self._outside = np.flatnonzero(outside)

    @staticmethod
    def fits(program: Program) -> bool:
        """Whether the bases stand on all places of the jobs and the counters are exact."""
        return all(basis.own is None for basis in program.bases) and not bool((program.slack > 0).any())

    def attempt(self, x: Vectors, y: Vectors) -> Fit | None:
        """The sparsest fit of an iterate that is exact and near the bound of the dual iterate; None where there is none."""
        bound = -float((y[0] * self._program.target).sum(dtype=torch.float64))
        spread = self._program.spread(x[0])
        parts = [spread] if len(x) == 1 else [spread - x[1], x[1]]
        found = [basis(part).double().cpu().numpy() for basis, part in zip(self._bases, parts, strict=True)]
        largest = max(float(np.abs(one).max()) for one in found)
        before = 0
        for part in PARTS:
            chosen = [np.flatnonzero(np.abs(one) > part * largest) for one in found]
            count = sum(map(len, chosen))
            if count > min(MOST, SHARE * len(self._target)):
                return None
            if count == before:
                continue
            before = count
            fit = self._fit(chosen)
            if fit.exact:
                return fit if abs(fit.objective - bound) <= NEAR * fit.objective else None
        return None

    def _fit(self, chosen: list[NDArray[np.int64]]) -> Fit:
        columns = sparse.hstack([synthesis(b, one) for b, one in zip(self._bases, chosen, strict=True)]).tocsr()
        inside, outside = columns[self._pairs], columns[self._outside]
        seen = (self._rows @ inside).tocsr()
        normal = (seen.T @ seen + outside.T @ outside).toarray()
        wanted = seen.T @ self._target
        scale = np.sqrt(np.maximum(normal.diagonal(), 1e-30))
        normal /= scale[:, None] * scale
        normal[np.diag_indices_from(normal)] += 1e-11
        factor = linalg.cho_factor(normal, overwrite_a=True, check_finite=False)
        c = np.zeros(len(scale))
        for _ in range(
            3
        ):  # the residual is formed from the counters themselves, so that rounding of the square falls away
            left = wanted - seen.T @ (seen @ c) - outside.T @ (outside @ c)
            c += linalg.cho_solve(factor, left / scale, check_finite=False) / scale
        x = inside @ c
        size = float(np.linalg.norm(self._target))
        wrong = float(np.hypot(np.linalg.norm(seen @ c - self._target), np.linalg.norm(outside @ c))) / size
        good = wrong <= EXACT and float(x.min()) >= -10 * EXACT * float(x.max())
        return Fit(np.maximum(x, 0), len(c), float(np.abs(c).sum()), wrong, good)
