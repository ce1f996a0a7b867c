"""Dives: from an iterate of the solver, level by level, to a fit that explains every counter.

An application's traffic spans orders of magnitude (faces, edges and corners of a halo), and a first-order solver finds the small values last. A dive fits
the dominant coefficients, subtracts the explained part from the counters and solves for the rest in its own units, so that each level begins with values
about 1, like iterative refinement of linear programs (Gleixner, Steffy and Wolter 2016). The objective remains that of the whole problem. A dive may
follow a wrong support, so the solver itself continues from its own iterate, and two dives should agree.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from flitwatch_routing.reconstruction.limit import Limit
from flitwatch_routing.reconstruction.pdhg import MOST_ITERATIONS, Solution, Watch, solve_program
from flitwatch_routing.reconstruction.program import Program, Vectors
from flitwatch_routing.reconstruction.settle import CounterFit, Fit, schwarz_score

Floats = NDArray[np.float64]
#: Iterations before the first check of the support, and growth factor for later checks.
FIRST_LOOK, LATER = 120, 1.4
#: A dive begins, or goes one level down, if a fit leaves at most this share of the previous level's residual.
PROGRESS = 0.5
#: Share of the time for checks and dives, up to which another one begins; and the share after two unsuccessful ones.
SHARE, LATER_SHARE = 0.75, 0.45
#: Relative distance up to which two dives agree. If none agree within this multiple of the first one's time, the least objective is used.
SAME, AGAIN = 1e-4, 2.0
#: Largest relative error on held-out rows of a fit that does not explain everything.
PREDICTING = 0.02
#: Coefficients of an iterate above this share of the largest count as its support.
EXPLAINING = 1e-4
#: Share of the largest remaining counter above which counters determine the units of the next level.
COUNTS = 1e-3


class DivingSolver:
    """The solver with its dives.

    Parameters
    ----------
    program : Program
        It is changed at each level, and restored after each dive.
    limit : Limit
        Time limit. A check of the support begins only if it can finish in time, judged from the longest previous one.
    watch : Watch or None
        Called with the total iterations of solver and dives; returning False ends the run.
    norm : float or None
        Norm of the operator, if known.
    """

    def __init__(self, program: Program, limit: Limit, watch: Watch | None, norm: float | None = None) -> None:
        self._program, self._settler = program, CounterFit(program)
        self._limit, self._watch = limit, watch
        self._norm, self._done, self._longest = norm or program.norm(), 0, 0.0
        self._best: Fit | None = None
        self._deepest: Fit | None = None
        self._apart: float | None = None
        self._until_agreed = math.inf

    def run(self, tolerance: float) -> tuple[Solution, float | None]:
        """Return the solution, and the relative error left possible by two agreeing dives, else None."""
        begun, diving, failed, own, look = self._limit.clock(), 0.0, 0, 0, FIRST_LOOK
        solution: Solution | None = None
        while True:
            solution = self._solved(tolerance, 1.0, solution, look - own)
            own += solution.iterations
            if (
                solution.converged
                or self._is_over(solution)
                or self._limit.clock() > self._until_agreed
                or own >= MOST_ITERATIONS
            ):
                return self._end(solution, own)
            look = round(LATER * own)
            started = self._limit.clock()
            if diving > (SHARE if failed < 2 else LATER_SHARE) * (started - begun) or self._no_look():
                continue
            fit = self._dive_below(solution, own)
            diving += self._limit.clock() - started
            failed += fit is None
            if fit is not None and self._check_agreement(fit):
                return self._end(solution, own)
            if fit is not None and self._until_agreed == math.inf:
                self._until_agreed = self._limit.clock() + AGAIN * (self._limit.clock() - begun)

    def _solved(self, tolerance: float, wrong: float, start: Solution | None, most: int) -> Solution:
        done, watch = self._done, self._watch
        follow: Watch | None = None
        if watch is not None:
            follow = lambda iterations, residual, gap: watch(done + iterations, min(residual, 1.0) * wrong, gap)  # noqa: E731
        goal = min(tolerance / wrong, 0.1)
        solution = solve_program(self._program, goal, self._limit, follow, start, self._norm, most)
        self._done += solution.iterations
        return solution

    def _check_agreement(self, fit: Fit) -> bool:
        """Return whether a dive's matrix agrees with an earlier dive's; keep the one with the smaller objective."""
        before = self._best
        if before is None or fit.objective < before.objective:
            self._best = fit
        if before is None:
            return False
        apart = float(np.linalg.norm(fit.x - before.x) / np.linalg.norm(fit.x))
        refit_distance = max(fit.refit_distance or 0.0, before.refit_distance or 0.0)
        if apart <= max(SAME, refit_distance):
            self._apart = max(apart, refit_distance)
        return self._apart is not None

    def _is_over(self, found: Solution) -> bool:
        return found.stopped or self._limit.over()

    def _no_look(self) -> bool:
        """Return whether a check of the support could exceed the limit."""
        return self._limit.left() < self._longest

    def _end(self, found: Solution, iterations: int) -> tuple[Solution, float | None]:
        # Iterations behind the solver's own iterate, which measure its progress.
        found, fit = replace(found, iterations=iterations), self._best
        if fit is None and self._deepest is not None and self._explains_more(self._deepest, found):
            fit = self._deepest
        if fit is None:
            return found, None
        x = [torch.from_numpy(part).to(found.x[0]) for part in (np.maximum(fit.x, 0), *self._settler.second(fit))]
        refit_distance = fit.refit_distance or 0.0
        return replace(
            found, x=x, residual=fit.wrong, converged=found.converged or fit.exact
        ), self._apart if self._apart is not None or refit_distance <= SAME else refit_distance

    def _explains_more(self, fit: Fit, found: Solution) -> bool:
        """Return whether an incomplete fit is still better than the solver's present solution."""
        sizes = np.abs(np.concatenate(self._settler.coefficients(self._program, found.x)))
        rows = len(self._settler.target)
        count = min(int((sizes > EXPLAINING * sizes.max()).sum()), rows)
        return not found.converged and schwarz_score(fit.wrong, fit.count, rows) < schwarz_score(
            found.residual, count, rows
        )

    def _keep_deepest(self, fit: Fit | None) -> Fit | None:
        """Return the fit, and keep it if no earlier fit explained as much with as few coefficients."""
        rows, best = len(self._settler.target), self._deepest
        if (
            fit is not None
            and fit.missed <= PREDICTING
            and (
                best is None or schwarz_score(fit.wrong, fit.count, rows) < schwarz_score(best.wrong, best.count, rows)
            )
        ):
            self._deepest = fit
        return fit

    def _dive_below(self, found: Solution, iterations: int) -> Fit | None:
        """Return the complete fit found below an iterate; None if the levels fail."""
        program = self._program
        before = program.target.clone(), program.least.clone()
        zero = [np.zeros(basis.coefficients) for basis in program.bases]
        fit, wrong = self._keep_deepest(self._fit_support(found.x, zero, 1.0)), 1.0
        try:
            while fit is not None and not fit.exact and fit.wrong <= PROGRESS * wrong:
                wrong, unit = fit.wrong, self._descend_level(fit)
                level = self._solved(0.0, wrong, None, iterations)
                if self._is_over(level) or self._no_look():
                    return None
                fit = self._keep_deepest(self._fit_support(level.x, fit.coefficients, unit))
        finally:
            program.target.copy_(before[0])
            program.least.copy_(before[1])
            program.shift = None
        return fit if fit is not None and fit.exact else None

    def _fit_support(self, x: Vectors, base: list[Floats], unit: float) -> Fit | None:
        started = self._limit.clock()
        here = self._settler.coefficients(self._program, x)
        fit = self._settler.best(
            [unit * part + base_part for part, base_part in zip(here, base, strict=True)], self._limit
        )
        self._longest = max(self._longest, self._limit.clock() - started)
        return fit

    def _descend_level(self, fit: Fit) -> float:
        """Set the program to the residual of a fit. Return its unit."""
        program, like = self._program, self._program.target
        misfit = self._settler.left(fit.x)
        size = np.abs(misfit)
        unit = float(np.median(size[size > COUNTS * size.max()])) if size.max() > 0 else 1.0
        rows = np.zeros(len(like))
        rows[self._settler.kept] = misfit / unit
        program.target.copy_(torch.from_numpy(rows).to(like) * program.row_scale)
        program.least.copy_(torch.from_numpy(-fit.x / unit).to(like))
        program.shift = [torch.from_numpy(part / unit).to(like) for part in fit.coefficients]
        return unit


def solve_with_dives(
    program: Program, tolerance: float, limit: Limit = Limit(), watch: Watch | None = None, norm: float | None = None
) -> tuple[Solution, float | None]:
    """Solve to a relative tolerance or until sparse fits settle it. Also return the relative error left possible by two agreeing fits.

    Dives are not used if counters are noisy or bases do not cover all places.
    """
    if not CounterFit.fits(program):
        return solve_program(program, tolerance, limit, watch, norm=norm), None
    return DivingSolver(program, limit, watch, norm).run(tolerance)
