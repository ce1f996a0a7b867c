"""Distances between matrices that explain every counter with coefficients of the same minimal sum.

The columns of a fit's coefficients can be dependent: shifting traffic around a cycle of a few pairs then leaves the counters unchanged, and least squares
picks an arbitrary mixture. The objective is the minimal sum of sizes (Taffet 2021, equation 4.4.1). If it is reached on a face of equally good matrices,
the counters cannot distinguish them. The result is then a point inside the face, and the size of the face is part of its error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.optimize import linprog

from flitwatch_routing.reconstruction.limit import Limit

Floats = NDArray[np.float64]
#: Squared pivot, in a matrix with unit diagonal, below which a column depends on previous ones; other pivots are 1e-7 and above.
DEPENDENT = 1e-8
#: Added to the diagonal of the scaled matrix, which may be nearly singular; refinement corrects for it.
RIDGE, REFINEMENTS = 1e-11, 4
#: Residual that a cycle may leave in the counters, as a share of its free column.
SEEN = 1e-6
#: Shares of a column in a cycle up to this are rounding errors.
ROUNDING = 1e-7
#: Relative difference up to which sums count as equal.
SAME_SUM = 1e-9
#: Number of random directions, each searched both ways for a corner.
DIRECTIONS = 6


@dataclass(frozen=True)
class Face:
    """c : the coefficients at the centre of the found corners;  reach : (corners, coefficients) offsets from there to the corners"""

    c: Floats
    reach: Floats


def find_circles(normal: Floats, pivots: Floats) -> Floats:
    """Return changes of the coefficients (cycles, coefficients) without effect on any counter, from the normal matrix and its factor's squared, scaled pivots."""
    free = pivots < DEPENDENT
    own = np.flatnonzero(~free)
    changes = np.zeros((int(free.sum()), len(pivots)))
    changes[:, free] = np.eye(len(changes))
    if not len(changes):
        return changes
    scale = np.sqrt(normal.diagonal())
    scaled = normal / (scale[:, None] * scale)
    inside, across = scaled[np.ix_(own, own)], scaled[np.ix_(own, free)]
    factor = linalg.cho_factor(inside + RIDGE * np.eye(len(own)), check_finite=False)
    share = np.zeros_like(across)
    for _ in range(REFINEMENTS):
        share += linalg.cho_solve(factor, across - inside @ share, check_finite=False)
    changes[:, own] = -(share * scale[free]).T / scale[own]
    changes[np.abs(changes) < ROUNDING] = 0
    # Changes with an effect on counters are not cycles: the columns were only nearly dependent.
    visible_size = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", changes, normal, changes), 0))
    return changes[visible_size <= SEEN * scale[free]]


def least_sum(c: Floats, turns: Floats, x: Floats, moves: Floats, limit: Limit = Limit()) -> Face:
    """Return the face of minimal sum |c + turns.T t| with x + moves.T t >= 0, from its corners in random directions.

    Parameters
    ----------
    c : (coefficients,);  turns : (cycles, coefficients)
    x : (pairs,) result of c;  moves : (cycles, pairs) changes of x by the turns
    limit : ends the search for corners
    """
    k = len(turns)
    turned, moved = (turns != 0).any(axis=0), (np.abs(moves) > ROUNDING).any(axis=0)
    ways, steps, size = turns[:, turned].T, moves[:, moved].T, c[turned]
    identity = np.eye(len(size))
    above = np.block([[ways, -identity], [-ways, -identity], [-steps, np.zeros((len(steps), len(size)))]])
    limits = np.concatenate([-size, size, np.maximum(x[moved], 0)])
    sums = np.concatenate([np.zeros(k), np.ones(len(size))])

    def solved(cost: Floats) -> Floats | None:
        if limit.over():
            return None
        bounds = [(None, None)] * k + [(0, None)] * len(size)
        result = linprog(cost, above, limits, bounds=bounds, options={"time_limit": min(limit.left(), 1e9)})
        return result.x if result.status == 0 else None

    best = solved(sums)
    if best is None:
        return Face(c, np.zeros((0, len(c))))
    above, limits = np.vstack([above, sums]), np.append(limits, sums @ best * (1 + SAME_SUM))
    corners = [best[:k]]
    for direction in np.random.default_rng(19).standard_normal((DIRECTIONS, len(steps))):
        for towards in (direction @ steps, -direction @ steps):
            end = solved(np.concatenate([towards, np.zeros(len(size))]))
            if end is not None:
                corners.append(end[:k])
    # Corners that differ only in coefficients are one matrix.
    _, each = np.unique(np.round(np.array(corners) @ steps.T, 6), axis=0, return_index=True)
    apart = np.array(corners)[each]
    inside = apart.mean(axis=0)
    return Face(c + inside @ turns, (apart - inside) @ turns)
