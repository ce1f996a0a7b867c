"""Distances between matrices that explain every counter with coefficients of the same, least sum.

The columns of a fit's coefficients can be dependent: traffic that goes round a few pairs in a circle, one way or the other, then leaves the same counters,
and least squares picks some mixture. What is sought is the least sum of sizes (Taffet 2021, equation 4.4.1), and where that leaves a face of equally good
matrices, nothing in the counters says which one was sent: the answer is a point inside the face, and how large the face is belongs into its error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.optimize import linprog

from flitwatch_routing.reconstruction.limit import Limit

Floats = NDArray[np.float64]
#: Squared pivot, of a matrix with ones on its diagonal, below which a column depends on those before it: others stand at 1e-7 and above.
DEPENDENT = 1e-8
#: Added to the diagonal of the scaled matrix, which may be close to singular; refinement takes it out again.
RIDGE, REFINEMENTS = 1e-11, 4
#: Part of its free column that a circle may leave in the counters.
SEEN = 1e-6
#: Shares of a column in a circle that are rounding.
ROUNDING = 1e-7
#: Sums this close, relative, are the same.
SAME_SUM = 1e-9
#: Random directions, each looked along both ways for a corner.
DIRECTIONS = 6


@dataclass(frozen=True)
class Face:
    """c : the coefficients in the middle of the corners that were found;  reach : (corners, coefficients) from there to them"""

    c: Floats
    reach: Floats


def find_circles(normal: Floats, pivots: Floats) -> Floats:
    """Return changes of the coefficients (circles, coefficients) that no counter sees, from their normal matrix and its factor's squared, scaled pivots."""
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
    # What a counter sees all the same is no circle: the columns were only close to dependent.
    visible_size = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", changes, normal, changes), 0))
    return changes[visible_size <= SEEN * scale[free]]


def least_sum(c: Floats, turns: Floats, x: Floats, moves: Floats, limit: Limit = Limit()) -> Face:
    """Return the face of least sum |c + turns.T t| with x + moves.T t >= 0, by its corners in random directions.

    Parameters
    ----------
    c : (coefficients,);  turns : (circles, coefficients)
    x : (pairs,) that c makes;  moves : (circles, pairs) how the turns change them
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
    # Corners that differ in coefficients alone are one matrix.
    _, each = np.unique(np.round(np.array(corners) @ steps.T, 6), axis=0, return_index=True)
    apart = np.array(corners)[each]
    inside = apart.mean(axis=0)
    return Face(c + inside @ turns, (apart - inside) @ turns)
