"""Primal-dual hybrid gradient with reflected Halpern averaging, restarts and an adaptive primal weight.

Chambolle and Pock 2011; restarts and weight as in PDLP (Applegate et al. 2021); reflection and Halpern anchoring as in Lu and Yang 2024 (r2HPDHG).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from flitwatch_routing.reconstruction.limit import Limit
from flitwatch_routing.reconstruction.program import Program, Vectors

#: Iterations between two looks at the fixed-point residual, and between two looks at optimality.
LOOK_EVERY, JUDGE_EVERY = 10, 40
#: Restart where the residual fell to this part, or to the second and rises again, or when the length reaches this part of all iterations.
SUFFICIENT, NECESSARY, ARTIFICIAL = 0.2, 0.8, 0.36
MOST_ITERATIONS = 200_000
#: Seconds between two calls of the watch where optimality is not judged so often.
PATIENCE_S = 0.5
#: Below this many values a second thread costs more than it does.
SINGLE_THREAD = 300_000
#: watch(iterations, residual, gap) -> go on
Watch = Callable[[int, float, float], bool]


@dataclass(frozen=True)
class Solution:
    """x and y, the primal weight and the operator's norm to go on with; residual, gap, infeasible: relative optimality; converged: below the tolerance;  stopped: by the watch."""

    x: Vectors
    y: Vectors
    weight: float
    norm: float
    iterations: int
    residual: float
    gap: float
    infeasible: float
    converged: bool
    stopped: bool


@contextmanager
def threads_for(values: int) -> Iterator[None]:
    """One thread for short vectors."""
    before = torch.get_num_threads()
    torch.set_num_threads(1 if values < SINGLE_THREAD else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@torch.no_grad()
def solve(
    program: Program, tolerance: float, limit: Limit = Limit(), watch: Watch | None = None, start: Solution | None = None,
    norm: float | None = None, most_iterations: int = MOST_ITERATIONS,
) -> Solution:  # fmt: skip
    """Solve to a relative tolerance, to a limit, for so many iterations, or until the watch says no; from zero or a solution.

    The watch is told what was last judged: before the first time that everything is wrong.
    """
    x, y = program.start() if start is None else (start.x, start.y)
    norm = norm or program.norm()
    step, weight = 0.98 / norm, 1.0 if start is None else start.weight
    x0, y0, length, first, last = x, y, 0, 0.0, math.inf
    iteration, found, told = 0, (1.0, 1.0, 1.0), limit.clock()
    while True:
        xt, yt = _step(program, x, y, step / weight, step * weight)
        iteration += 1
        restart = False
        if length == 0 or iteration % LOOK_EVERY == 0:
            residual = math.sqrt(weight * _apart(xt, x) + _apart(yt, y) / weight)
            if length == 0:
                first, last = residual, math.inf
            else:
                restart = (
                    residual <= SUFFICIENT * first
                    or (residual <= NECESSARY * first and residual > last)
                    or length >= ARTIFICIAL * iteration + 50
                )
                last = residual
        if restart:
            moved, turned = math.sqrt(_apart(xt, x0)), math.sqrt(_apart(yt, y0))
            if moved > 1e-10 and turned > 1e-10:
                weight = math.exp(0.5 * math.log(turned / moved) + 0.5 * math.log(weight))
            x, y = xt, yt
            x0, y0, length = x, y, 0
        else:
            part = (length + 1) / (length + 2)
            x = [_halpern(a, b, c, part) for a, b, c in zip(xt, x, x0, strict=True)]
            y = [_halpern(a, b, c, part) for a, b, c in zip(yt, y, y0, strict=True)]
            length += 1
        now = limit.clock()
        late = now > limit.until or iteration >= most_iterations
        judged = iteration % JUDGE_EVERY == 0 or late
        if judged:
            found = program.optimality(xt, yt)
        done, stopped = judged and max(found) <= tolerance, False
        if watch is not None and (judged or now > told + PATIENCE_S):
            stopped, told = not watch(iteration, found[0], found[1]), now
        if done or late or stopped:
            return Solution(xt, yt, weight, norm, iteration, *found, converged=done, stopped=stopped)


def _step(program: Program, x: Vectors, y: Vectors, tau: float, sigma: float) -> tuple[Vectors, Vectors]:
    g = program.adjoint(y)
    xt = [torch.sub(a, b, alpha=tau) for a, b in zip(x, g, strict=True)]
    torch.maximum(xt[0], program.least, out=xt[0])
    k = program([torch.sub(2 * a, b) for a, b in zip(xt, x, strict=True)])
    return xt, program.dual_step(y, k, sigma)


def _halpern(moved: torch.Tensor, at: torch.Tensor, anchor: torch.Tensor, part: float) -> torch.Tensor:
    """part (2 T(u) - u) + (1 - part) anchor."""
    return torch.lerp(anchor, torch.sub(2 * moved, at), part)


def _apart(a: Vectors, b: Vectors) -> float:
    return float(sum(((p - q) ** 2).sum(dtype=torch.float64) for p, q in zip(a, b, strict=True)))
