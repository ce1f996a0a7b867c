"""Permutations that keep days or weeks together, which preserves correlation within them, so that p-values are not too small."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_ml.blame.selection import Problem

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def block_orders(block: Ints, permutations: int, rng: np.random.Generator) -> Ints:
    """Return orders of runs (permutations, runs): blocks of neighbouring runs in random order, then a circular shift.

    `block` (runs,) does not decrease. The runs of a block stay adjacent, except in the block that the shift splits.
    """
    first = np.flatnonzero(np.diff(block, prepend=block[:1] - 1))
    size = np.diff(np.append(first, len(block)))
    orders = np.empty((permutations, len(block)), np.int64)
    for at, block_order in enumerate(np.argsort(rng.random((permutations, len(first))), axis=1, kind="stable")):
        ends = np.cumsum(size[block_order])
        orders[at] = np.arange(len(block)) + np.repeat(first[block_order] - ends + size[block_order], size[block_order])
    shift = rng.integers(len(block), size=permutations)
    for at, by in enumerate(shift.tolist()):
        orders[at] = np.roll(orders[at], -by)
    return orders


def permuted_correlations(problem: Problem, orders: Ints, users: Ints | slice = slice(None)) -> tuple[Floats, Floats]:
    """Return correlations of each user with the outcome: observed (users,), and with permuted outcomes (permutations, users).

    The outcome is the residual of the rest of the model (Freedman and Lane 1983). Each permutation is projected again.
    """
    columns = problem.regressors[:, users]
    lengths = np.sqrt((columns**2).sum(0))
    columns = np.divide(columns, lengths, out=np.zeros_like(columns), where=lengths > 0)
    shuffled = problem.outcome[orders]
    explained = shuffled @ problem.axes
    residual_norms = np.sqrt(np.maximum(problem.outcome @ problem.outcome - (explained**2).sum(1), 1e-300))
    observed = columns.T @ problem.outcome / max(float(np.linalg.norm(problem.outcome)), 1e-300)
    return observed, (shuffled @ columns) / residual_norms[:, None]


def design_effect(problem: Problem, orders: list[Ints], users: Ints | slice = slice(None)) -> Floats:
    """Return the factor by which each user's score varies more than with independent runs, (users,); at least 1, the maximum over the kinds of blocks."""
    wander = [
        permuted_correlations(problem, each, users)[1].std(0) * np.sqrt(max(problem.degrees_of_freedom, 1))
        for each in orders
    ]
    return np.maximum(np.max(wander, axis=0), 1.0) if wander else np.ones(problem.regressors[:, users].shape[1])


def block_p_values(problem: Problem, orders: Ints, users: Ints) -> Floats:
    """Return one-sided p-values (users,), add-one estimates: the minimum is 1 / (permutations + 1)."""
    observed, by_chance = permuted_correlations(problem, orders, users)
    return ((by_chance >= observed - 1e-12).sum(0) + 1) / (len(orders) + 1)
