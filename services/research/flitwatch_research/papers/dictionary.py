"""Figures 4.7 and 4.8 of Taffet 2021: which part of a matrix each basis of an overcomplete dictionary expresses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from flitwatch_routing.reconstruction.bases import BASES, Basis
from flitwatch_routing.reconstruction.pdhg import threads_for

Floats = NDArray[np.float64]
#: Steps of the solver; coefficients below this share of the largest entry are its noise.
STEPS, NOISE = 1500, 1e-3


@dataclass(frozen=True)
class Part:
    """One basis' part of a matrix, and its coefficients in this basis, each (ranks, ranks), relative to the matrix's largest entry."""

    basis: str
    values: Floats
    coefficients: Floats

    @property
    def nonzeros(self) -> int:
        """Number of coefficients above the solver's noise."""
        return count_nonzeros(self.coefficients)


def count_nonzeros(values: Floats) -> int:
    """Return the number of entries above the solver's noise, for values relative to the largest entry."""
    return int((np.abs(values) > NOISE).sum())


def split_matrix(matrix: Floats, first: str, second: str) -> tuple[Part, Part]:
    """Return the two parts that add up to the matrix and whose coefficients have the smallest sum of sizes, by primal-dual steps.

    This is the reconstruction's program if counters determine the matrix: R is the identity.
    """
    ranks = len(matrix)
    key = np.flatnonzero(~np.eye(ranks, dtype=bool).reshape(-1))
    x = torch.from_numpy(matrix.reshape(-1)[key] / matrix.max())
    bases = [Basis(name, np.array([ranks]), key).double() for name in (first, second)]
    # The square of a basis' norm is at most 4 for differences along diagonals, and twice that with sums and differences of both directions.
    step = float(
        np.sqrt(1 / sum((4 if BASES[name][0] else 1) * (2 if BASES[name][1] else 1) for name in (first, second)))
    )
    whole, part = bases[1](x), torch.zeros_like(x)
    ahead, duals = part, [torch.zeros(basis.coefficients, dtype=torch.float64) for basis in bases]
    with threads_for(len(x)):
        for _ in range(STEPS):
            duals[0] = (duals[0] + step * bases[0](ahead)).clamp(-1, 1)
            duals[1] = (duals[1] + step * (bases[1](ahead) - whole)).clamp(-1, 1)
            last, part = part, part - step * (bases[0].adjoint(duals[0]) + bases[1].adjoint(duals[1]))
            ahead = 2 * part - last
    parts = []
    for name, basis, values in zip((first, second), bases, (part, x - part), strict=True):
        placed = [np.zeros(ranks * ranks) for _ in range(2)]
        for into, entries in zip(placed, (values, basis(values)), strict=True):
            into[key] = entries.numpy()
        parts.append(Part(name, *(entries.reshape(ranks, ranks) for entries in placed)))
    return parts[0], parts[1]
