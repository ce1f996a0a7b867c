"""One execution of an instrumented application, and its time steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Run:
    """Metadata of a run.

    Attributes
    ----------
    run_key : str
        Stable name of the run at its source; a repeated import changes nothing.
    start_s : float or None
        Epoch seconds.
    ranks : tuple of int
        Reporting ranks (AriesNCL: one per node).
    nodes : tuple of (str or None)
        Node of each of `ranks`.
    counters : tuple of str
        Vendor names, in the order of a step's values.
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
    time_ns : int64[ranks]
        Elapsed time of the step on each rank.
    values : int64[ranks, counters] or None
        Counts within the step; None if not recorded.
    """

    step: int
    time_ns: NDArray[np.int64]
    values: NDArray[np.int64] | None = None

    @property
    def time_s(self) -> float:
        """Return the slowest rank's time in seconds."""
        return float(self.time_ns.max()) / 1e9


class RankRecord(TypedDict):
    """A reporting rank and its node."""

    rank: int
    node: str | None


class RunRecord(TypedDict):
    """Metadata of a run on topic flitwatch.runs.v1 (docs/contracts/log.md): the fields of `Run`; `start` is in epoch seconds."""

    type: Literal["run"]
    run_key: str
    job_id: str | None
    exe: str
    start: float | None
    ranks: list[RankRecord]
    counters: list[str]
    simulated: bool


class RunStepRecord(TypedDict):
    """A time step on topic flitwatch.runs.v1: nanoseconds by rank, and counts, if recorded, by rank and counter."""

    type: Literal["step"]
    run_key: str
    step: int
    time_ns: list[int]
    values: list[list[int]] | None
