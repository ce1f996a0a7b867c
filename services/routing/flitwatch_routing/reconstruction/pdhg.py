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
from flitwatch_routing.reconstruction.steps import steps_for

#: Iterations between checks of the fixed-point residual, and between checks of optimality.
LOOK_EVERY, JUDGE_EVERY = 10, 40
#: Restart if the residual has fallen to the first share, or to the second and rises again, or if the length reaches the third share of all iterations.
SUFFICIENT, NECESSARY, ARTIFICIAL = 0.2, 0.8, 0.36
MOST_ITERATIONS = 200_000
#: Seconds between calls of the watch if optimality is checked less often.
PATIENCE_S = 0.5
#: Below this many values a second thread costs more than it saves.
SINGLE_THREAD = 300_000
#: watch(iterations, residual, gap) -> whether to continue
Watch = Callable[[int, float, float], bool]
#: look(iterations, x): called with each checked iterate; it must not change it
Look = Callable[[int, Vectors], None]


@dataclass(frozen=True)
class Solution:
    """x, y, primal weight and operator norm;  residual, gap, infeasible: relative optimality;  converged: below the tolerance;  stopped: by the watch."""

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
    """Use one thread for short vectors."""
    before = torch.get_num_threads()
    torch.set_num_threads(1 if values < SINGLE_THREAD else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@torch.no_grad()
def solve_program(
    program: Program,
    tolerance: float,
    limit: Limit = Limit(),
    watch: Watch | None = None,
    start: Solution | None = None,
    norm: float | None = None,
    most_iterations: int = MOST_ITERATIONS,
    look: Look | None = None,
) -> Solution:
    """Solve from zero or a solution until a relative tolerance, a limit or a number of iterations is reached, or the watch returns False.

    The watch is called with the values of the last check. Before the first check, these say that everything is wrong.
    """
    steps = steps_for(program)
    begin = program.start() if start is None else (start.x, start.y)
    x, y, x0, y0 = ([part.clone() for part in vectors] for vectors in (*begin, *begin))
    norm = norm or program.norm()
    step, weight = 0.98 / norm, 1.0 if start is None else start.weight
    length, first, last = 0, 0.0, math.inf
    iteration, optimality, last_report = 0, (1.0, 1.0, 1.0), limit.clock()
    while True:
        xt, yt = steps.step(x, y, step / weight, step * weight)
        iteration += 1
        restart = False
        if length == 0 or iteration % LOOK_EVERY == 0:
            residual = math.sqrt(weight * steps.squared_distance(xt, x) + steps.squared_distance(yt, y) / weight)
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
            moved, turned = math.sqrt(steps.squared_distance(xt, x0)), math.sqrt(steps.squared_distance(yt, y0))
            if moved > 1e-10 and turned > 1e-10:
                weight = math.exp(0.5 * math.log(turned / moved) + 0.5 * math.log(weight))
            for part, new in zip([*x, *x0, *y, *y0], [*xt, *xt, *yt, *yt], strict=True):
                part.copy_(new)
            length = 0
        else:
            share = (length + 1) / (length + 2)
            steps.reflect(x, xt, x0, share)
            steps.reflect(y, yt, y0, share)
            length += 1
        now = limit.clock()
        late = now > limit.until or iteration >= most_iterations
        judged = iteration % JUDGE_EVERY == 0 or late
        if judged:
            optimality = program.optimality(xt, yt)
            if look is not None:
                look(iteration, xt)
        done, stopped = judged and max(optimality) <= tolerance, False
        if watch is not None and (judged or now > last_report + PATIENCE_S):
            stopped, last_report = not watch(iteration, optimality[0], optimality[1]), now
        if done or late or stopped:
            return Solution(xt, yt, weight, norm, iteration, *optimality, converged=done, stopped=stopped)
