"""An integer program in HiGHS: its best solution, the times of improvements, and solutions added while it runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import sparray

Floats = NDArray[np.float64]
#: HiGHS stops at this relative distance from its bound.
GAP = 1e-6


@dataclass(frozen=True)
class Found:
    """Result of a search.

    Attributes
    ----------
    x : the best solution, None if there is none
    value, bound : its value, and the lower bound; infinite if unknown
    nodes : number of branch-and-bound nodes
    progress : (seconds since the start, value) of each improvement
    """

    x: Floats | None
    value: float
    bound: float
    nodes: int
    progress: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Program:
    """Minimisation of cost @ x with lower <= rows @ x <= upper and 0 <= x <= most, where x is an integer if `whole` is not 0."""

    cost: Floats
    rows: sparray
    lower: Floats
    upper: Floats
    most: Floats
    whole: NDArray[np.bool_]

    def minimise(
        self,
        limit_s: float,
        stopped: Callable[[], bool] | None = None,
        offered: Callable[[], Floats | None] | None = None,
        enough: float = -math.inf,
    ) -> Found:
        """Search for at most this many seconds.

        Parameters
        ----------
        stopped : polled during the search; returns whether to end it
        offered : polled for an external solution until there is one; an infeasible one is ignored
        enough : stop at a solution of at most this value
        """
        solver = highspy.Highs()
        options = {"output_flag": False, "time_limit": limit_s, "mip_rel_gap": GAP, "objective_target": enough}
        for name, setting in options.items():
            solver.setOptionValue(name, setting)
        progress: list[tuple[float, float]] = []
        solver.cbMipImprovingSolution += lambda event: progress.append(
            (event.data_out.running_time, event.data_out.objective_function_value)
        )
        if stopped is not None:
            solver.cbMipInterrupt += lambda event: event.interrupt(stopped())
        if offered is not None:
            offer_taken = [False]

            def hand(event: highspy.HighsCallbackEvent) -> None:
                if not offer_taken[0] and event.data_in is not None and (solution := offered()) is not None:
                    offer_taken[0] = True
                    event.data_in.setSolution(solution)

            solver.cbMipUserSolution += hand
        solver.passModel(self._model())
        solver.run()
        info = solver.getInfo()
        is_feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        return Found(
            np.asarray(solver.getSolution().col_value) if is_feasible else None,
            info.objective_function_value if is_feasible else math.inf,
            info.mip_dual_bound if math.isfinite(info.mip_dual_bound) else -math.inf,
            max(int(info.mip_node_count), 0),
            tuple(progress),
        )

    def _model(self) -> highspy.HighsLp:
        matrix = self.rows.tocsc()
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = matrix.shape
        model.col_cost_, model.col_lower_, model.col_upper_ = self.cost, np.zeros(matrix.shape[1]), self.most
        model.row_lower_, model.row_upper_ = self.lower, self.upper
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = (
            matrix.indptr,
            matrix.indices,
            matrix.data,
        )
        kinds = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger
        model.integrality_ = [kinds[int(flag)] for flag in self.whole]
        return model
