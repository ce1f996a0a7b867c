"""Numbers of nonzero and of significant coefficients of a matrix in a basis (Taffet 2021, section 4.3, table 4.1)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from flitwatch_routing.reconstruction.bases import Basis

#: Share of the largest entry below which a value counts as zero.
NONZERO = 1e-9
#: Two measures of significance: error of the matrix without the other coefficients, or share of the coefficients' norm kept.
MOST_ERROR, LEAST_POWER = 0.1, 0.9


def count_coefficients(basis: Basis, x: Tensor) -> tuple[int, int, int]:
    """Return numbers of coefficients of x (places,): (all, for at most 10 % error, for at least 90 % power). The basis must have as many coefficients as places.

    The threshold is the highest one that satisfies the measure, found among the coefficients' sizes by bisection; coefficients of this size are kept.
    """
    y = basis(x)
    size = y.abs().numpy()
    there = size > NONZERO * float(x.abs().max())
    steps = _distinct_sizes(size[there])
    norm = float(torch.linalg.vector_norm(x))

    def wrong(threshold: float) -> bool:
        coefficients = torch.where(y.abs() >= threshold, y, 0.0)
        return float(torch.linalg.vector_norm(x - restore_matrix(basis, coefficients))) > MOST_ERROR * norm

    by_error = _lowest_of_most(steps, wrong)
    power = float(np.linalg.norm(size))
    by_power = _lowest_of_most(steps, lambda at: float(np.linalg.norm(size[size >= at])) < LEAST_POWER * power)
    return int(there.sum()), int((size >= by_error).sum()), int((size >= by_power).sum())


def restore_matrix(basis: Basis, y: Tensor) -> Tensor:
    """Return x (places,) from coefficients y (coefficients,) of a basis over whole matrices; the inverse of `basis.forward`."""
    if basis.mirror is not None:
        # Below the diagonal is the sum of a place and its mirror, above it the difference.
        other = y.index_select(0, basis.mirror)
        y = (y - basis.sign * other) / 2
    if basis.earlier is not None:
        # Sums along each chain of earlier places, by doubling the distance in each round.
        padded, back = torch.cat([y, y.new_zeros(1)]), torch.cat([basis.earlier.long(), torch.tensor([len(y)])])
        while bool((back[:-1] < len(y)).any()):
            padded, back = padded + padded.index_select(0, back), back.index_select(0, back)
        y = padded[:-1]
    return y


def _distinct_sizes(size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return distinct sizes in descending order; of sizes equal up to rounding, the smallest is used."""
    ascending = np.sort(size)
    first = np.ones(len(ascending), bool)
    first[1:] = np.diff(ascending) > NONZERO * ascending[1:]
    return ascending[first][::-1]


def _lowest_of_most(steps: NDArray[np.float64], fails) -> float:  # type: ignore[no-untyped-def]
    """Return the highest threshold for which `fails` is false."""
    low, high = 0, len(steps) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if fails(float(steps[middle])) else (low, middle)
    return float(steps[low])
