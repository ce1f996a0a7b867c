"""Dives: from an iterate of the solver level by level down to a fit that explains every counter.

Traffic of an application spans orders of magnitude (faces, edges and corners of a halo), and a first-order solver sees the small ones last. A dive fits
what stands out, takes what the fit explains out of the counters and solves for what is left in its own units, so that every level begins with values
about 1, as iterative refinement does with linear programs (Gleixner, Steffy and Wolter 2016); the objective stays that of the whole. A dive may follow a
wrong support, so the solver itself goes on from where it was, and two dives should agree.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from flitwatch_routing.reconstruction.limit import Limit
from flitwatch_routing.reconstruction.pdhg import MOST_ITERATIONS, Solution, Watch, solve
from flitwatch_routing.reconstruction.program import Program, Vectors
from flitwatch_routing.reconstruction.settle import CounterFit, Fit, score

Floats = NDArray[np.float64]
#: Iterations before the first look at the support, and how much later each further look is.
FIRST_LOOK, LATER = 120, 1.4
#: A dive begins, and goes a level down, where a fit leaves at most this part of what the level before left.
PROGRESS = 0.5
#: Part of the time that looks and dives may have taken when another begins, and after two that led nowhere.
SHARE, LATER_SHARE = 0.75, 0.45
#: Two dives whose matrices are apart by less agree; where none agrees within so many times the time of the first, the least objective is taken.
SAME, AGAIN = 1e-4, 2.0
#: A fit that does not explain all must predict the rows it has not seen to this part.
PREDICTING = 0.02
#: Coefficients of an iterate above this part of the largest are what it explains the counters by.
EXPLAINING = 1e-4
#: Counters that are left, as a part of the largest, that say in which units the next level is.
COUNTS = 1e-3


class DivingSolver:
    """The solver and its dives.

    Parameters
    ----------
    program : Program
        Is changed level by level, and is as before after each dive.
    limit : Limit
        Ends it; no look at the support begins that would last beyond it, by the longest before.
    watch : Watch or None
        Is told the iterations of solver and dives together; False ends it.
    norm : float or None
        The operator's, where it is known.
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
        """Solve; with the relative error that two dives leave possible where they agree, else None."""
        begun, diving, failed, own, look = self._limit.clock(), 0.0, 0, 0, FIRST_LOOK
        found: Solution | None = None
        while True:
            found = self._solved(tolerance, 1.0, found, look - own)
            own += found.iterations
            if (
                found.converged
                or self._over(found)
                or self._limit.clock() > self._until_agreed
                or own >= MOST_ITERATIONS
            ):
                return self._end(found, own)
            look = round(LATER * own)
            started = self._limit.clock()
            if diving > (SHARE if failed < 2 else LATER_SHARE) * (started - begun) or self._no_look():
                continue
            fit = self._dive(found, own)
            diving += self._limit.clock() - started
            failed += fit is None
            if fit is not None and self._agreed(fit):
                return self._end(found, own)
            if fit is not None and self._until_agreed == math.inf:
                self._until_agreed = self._limit.clock() + AGAIN * (self._limit.clock() - begun)

    def _solved(self, tolerance: float, wrong: float, start: Solution | None, most: int) -> Solution:
        done, watch = self._done, self._watch
        follow: Watch | None = None
        if watch is not None:
            follow = lambda iterations, residual, gap: watch(done + iterations, min(residual, 1.0) * wrong, gap)  # noqa: E731
        goal = min(tolerance / wrong, 0.1)
        found = solve(self._program, goal, self._limit, follow, start, self._norm, most)
        self._done += found.iterations
        return found

    def _agreed(self, fit: Fit) -> bool:
        """Whether a dive's matrix is that of one before it; the one whose objective is less is kept."""
        before = self._best
        if before is None or fit.objective < before.objective:
            self._best = fit
        if before is None:
            return False
        apart = float(np.linalg.norm(fit.x - before.x) / np.linalg.norm(fit.x))
        known = max(fit.refit_distance or 0.0, before.refit_distance or 0.0)
        if apart <= max(SAME, known):
            self._apart = max(apart, known)
        return self._apart is not None

    def _over(self, found: Solution) -> bool:
        return found.stopped or self._limit.over()

    def _no_look(self) -> bool:
        """Whether a look at the support could last beyond the limit."""
        return self._limit.left() < self._longest

    def _end(self, found: Solution, iterations: int) -> tuple[Solution, float | None]:
        # The iterations that made the solver's own iterate: how far it has come is judged by them.
        found, fit = replace(found, iterations=iterations), self._best
        if fit is None and self._deepest is not None and self._explains_more(self._deepest, found):
            fit = self._deepest
        if fit is None:
            return found, None
        x = [torch.from_numpy(part).to(found.x[0]) for part in (np.maximum(fit.x, 0), *self._settler.second(fit))]
        known = fit.refit_distance or 0.0
        return replace(
            found, x=x, residual=fit.wrong, converged=found.converged or fit.exact
        ), self._apart if self._apart is not None or known <= SAME else known

    def _explains_more(self, fit: Fit, found: Solution) -> bool:
        """Whether a fit that does not explain all is still the better explanation than where the solver is."""
        sizes = np.abs(np.concatenate(self._settler.coefficients(self._program, found.x)))
        rows = len(self._settler.target)
        count = min(int((sizes > EXPLAINING * sizes.max()).sum()), rows)
        return not found.converged and score(fit.wrong, fit.count, rows) < score(found.residual, count, rows)

    def _deeper(self, fit: Fit | None) -> Fit | None:
        """The fit itself; it is kept where none before explained as much by as little."""
        rows, best = len(self._settler.target), self._deepest
        if (
            fit is not None
            and fit.missed <= PREDICTING
            and (best is None or score(fit.wrong, fit.count, rows) < score(best.wrong, best.count, rows))
        ):
            self._deepest = fit
        return fit

    def _dive(self, found: Solution, iterations: int) -> Fit | None:
        """The fit that explains all, below an iterate; None where the levels lead nowhere."""
        program = self._program
        before = program.target.clone(), program.least.clone()
        zero = [np.zeros(basis.coefficients) for basis in program.bases]
        fit, wrong = self._deeper(self._look(found.x, zero, 1.0)), 1.0
        try:
            while fit is not None and not fit.exact and fit.wrong <= PROGRESS * wrong:
                wrong, unit = fit.wrong, self._descend(fit)
                level = self._solved(0.0, wrong, None, iterations)
                if self._over(level) or self._no_look():
                    return None
                fit = self._deeper(self._look(level.x, fit.coefficients, unit))
        finally:
            program.target.copy_(before[0])
            program.least.copy_(before[1])
            program.shift = None
        return fit if fit is not None and fit.exact else None

    def _look(self, x: Vectors, base: list[Floats], unit: float) -> Fit | None:
        started = self._limit.clock()
        here = self._settler.coefficients(self._program, x)
        found = self._settler.best([unit * part + known for part, known in zip(here, base, strict=True)], self._limit)
        self._longest = max(self._longest, self._limit.clock() - started)
        return found

    def _descend(self, fit: Fit) -> float:
        """Leave to the program what a fit does not explain; the unit it is in."""
        program, like = self._program, self._program.target
        left = self._settler.left(fit.x)
        size = np.abs(left)
        unit = float(np.median(size[size > COUNTS * size.max()])) if size.max() > 0 else 1.0
        rows = np.zeros(len(like))
        rows[self._settler.kept] = left / unit
        program.target.copy_(torch.from_numpy(rows).to(like) * program.row_scale)
        program.least.copy_(torch.from_numpy(-fit.x / unit).to(like))
        program.shift = [torch.from_numpy(part / unit).to(like) for part in fit.coefficients]
        return unit


def solve_with_dives(
    program: Program, tolerance: float, limit: Limit = Limit(), watch: Watch | None = None, norm: float | None = None
) -> tuple[Solution, float | None]:
    """Solve to a relative tolerance or until sparse fits settle it, with the relative error that the fits leave possible where two of them agree.

    Without dives where counters are noisy or bases do not stand everywhere.
    """
    if not CounterFit.fits(program):
        return solve(program, tolerance, limit, watch, norm=norm), None
    return DivingSolver(program, limit, watch, norm).run(tolerance)
