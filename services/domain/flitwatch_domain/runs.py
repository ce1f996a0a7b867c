"""One execution of an instrumented application, and its time steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Run:
    """The head of a run.

    Attributes
    ----------
    run_key : str
        Stable name of the run at its source; importing it again changes nothing.
    exe : str
    job_id : str or None
    start_s : float or None
        Epoch seconds.
    ranks : tuple of int
        The ranks that report (AriesNCL: one a node).
    nodes : tuple of (str or None)
        The node of each of `ranks`.
    counters : tuple of str
        Vendor names, in the order of a step's values.
    simulated : bool
    """

    run_key: str
    exe: str
    job_id: str | None = None
    start_s: float | None = None
    ranks: tuple[int, ...] = ()
    nodes: tuple[str | None, ...] = ()
    counters: tuple[str, ...] = ()
    simulated: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class RunStep:
    """One time step.

    Attributes
    ----------
    step : int
    time_ns : int64[ranks]
        Elapsed time of the step on each rank.
    values : int64[ranks, counters] or None
        Counts within the step; None where they were not recorded.
    """

    step: int
    time_ns: NDArray[np.int64]
    values: NDArray[np.int64] | None = None

    @property
    def time_s(self) -> float:
        """The slowest rank's time in seconds."""
        return float(self.time_ns.max()) / 1e9
